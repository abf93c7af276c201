//! The edits of criteria and rules since the start of the explorer, so that results of earlier runs can say so.

use jiff::Timestamp;
use std::path::{Path, PathBuf};

/// The edits in the order in which they were made, taken back and made again.
#[derive(Debug, Default)]
pub struct CriteriaEdits(Vec<CriteriaEdit>);

#[derive(Debug)]
struct CriteriaEdit {
    path: PathBuf,
    description: String,
    at: Timestamp,
    /// Whether it was made or made again; false if it was taken back.
    stands: bool,
}

impl CriteriaEdits {
    /// Adds an edit of a file that was made at a time, or taken back if it does not stand.
    pub(crate) fn add(&mut self, path: PathBuf, description: String, at: Timestamp, stands: bool) {
        self.0.push(CriteriaEdit {
            path,
            description,
            at,
            stands,
        });
    }

    /// The file whose content was another one at this time than it is now, of those for which `is_of_case` is true.
    pub(crate) fn changed_since(
        &self,
        time: Timestamp,
        is_of_case: impl Fn(&Path) -> bool,
    ) -> Option<&Path> {
        let of_case = self.0.iter().filter(|edit| is_of_case(&edit.path));
        // The first later event of an edit says how the file was: an edit that was made did not stand before.
        let mut seen: Vec<(&Path, &str)> = Vec::new();
        for edit in of_case.filter(|edit| edit.at > time) {
            let key = (edit.path.as_path(), edit.description.as_str());
            if seen.contains(&key) {
                continue;
            }
            if self.stands_now(edit) == edit.stands {
                return Some(&edit.path);
            }
            seen.push(key);
        }
        None
    }

    /// Whether the edit that an event is about stands now.
    fn stands_now(&self, of: &CriteriaEdit) -> bool {
        let is_it =
            |edit: &&CriteriaEdit| edit.path == of.path && edit.description == of.description;
        self.0.iter().rfind(is_it).is_some_and(|edit| edit.stands)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_between_edit_and_undo_are_stale() {
        let time = |second| Timestamp::from_second(second).unwrap();
        let mut edits = CriteriaEdits::default();
        let is_stale =
            |edits: &CriteriaEdits, at| edits.changed_since(time(at), |_| true).is_some();
        edits.add("evaltrail.toml".into(), "rule".into(), time(10), true);
        assert!(is_stale(&edits, 5) && !is_stale(&edits, 15));
        edits.add("evaltrail.toml".into(), "rule".into(), time(20), false);
        assert!(!is_stale(&edits, 5) && is_stale(&edits, 15) && !is_stale(&edits, 25));
        edits.add("evaltrail.toml".into(), "rule".into(), time(30), true);
        assert!(is_stale(&edits, 5) && !is_stale(&edits, 15) && is_stale(&edits, 25));
        assert!(
            edits
                .changed_since(time(5), |path| path.ends_with("other"))
                .is_none()
        );
    }
}
