//! The edits of criteria and rules since the start of the explorer, so that results of earlier runs can say so.

use evaltrail_engine::store::fingerprint;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The contents that the files had since the start, as far as they were edited here.
#[derive(Debug, Default)]
pub struct CriteriaEdits {
    /// The changes of each file, in the order in which they were made.
    files: BTreeMap<PathBuf, EditedCriteria>,
}

#[derive(Debug, Default)]
struct EditedCriteria {
    /// The number of edits that were made here and are not undone.
    standing: usize,
    /// When the file was written, and a hash of its content; `None` for the content that it had at the start.
    contents: Vec<(Timestamp, Option<String>)>,
}

impl CriteriaEdits {
    /// Whether no file was edited.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Adds an edit that was made or made again, or one that was undone if it does not stand. `text` is the new content; `None`
    /// for a deleted file.
    pub(crate) fn add(&mut self, path: PathBuf, text: Option<&str>, at: Timestamp, stands: bool) {
        let file = self.files.entry(path).or_default();
        let was_edited = file.standing > 0;
        file.standing = match stands {
            true => file.standing + 1,
            false => file.standing.saturating_sub(1),
        };
        // The undo of an edit that was made before the start leads to another content than that of the start.
        let is_as_at_start = !stands && was_edited && file.standing == 0;
        let content = fingerprint(&[text.unwrap_or_default().as_bytes()]);
        file.contents
            .push((at, (!is_as_at_start).then_some(content)));
    }

    /// A file whose content was another one at this time than it is now, of those for which `is_of_case` is true.
    pub(crate) fn changed_since(
        &self,
        time: Timestamp,
        is_of_case: impl Fn(&Path) -> bool,
    ) -> Option<&Path> {
        let is_changed = |file: &EditedCriteria| {
            let earlier = file.contents.iter().rfind(|(at, _)| *at <= time);
            let before = earlier.and_then(|(_, content)| content.as_ref());
            let now = file
                .contents
                .last()
                .and_then(|(_, content)| content.as_ref());
            before != now
        };
        let of_case = self.files.iter().filter(|(path, _)| is_of_case(path));
        let mut changed = of_case.filter(|(_, file)| is_changed(file));
        changed.next().map(|(path, _)| path.as_path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// Whether results of these times were made with other criteria than those of now.
    fn stale<const N: usize>(edits: &CriteriaEdits, times: [i64; N]) -> [bool; N] {
        times.map(|at| edits.changed_since(time(at), |_| true).is_some())
    }

    #[test]
    fn results_between_edit_and_undo_are_stale() {
        let mut edits = CriteriaEdits::default();
        let file = || PathBuf::from("evaltrail.toml");
        edits.add(file(), Some("rule"), time(10), true);
        assert_eq!(stale(&edits, [5, 15]), [true, false]);
        edits.add(file(), Some(""), time(20), false);
        assert_eq!(stale(&edits, [5, 15, 25]), [false, true, false]);
        edits.add(file(), Some("rule"), time(30), true);
        assert_eq!(stale(&edits, [5, 15, 25, 35]), [true, false, true, false]);
        let of_other = edits.changed_since(time(5), |path| path.ends_with("other"));
        assert_eq!(of_other, None);
    }

    #[test]
    fn each_of_several_edits_is_told_apart() {
        let mut edits = CriteriaEdits::default();
        let file = || PathBuf::from("test_config.json");
        edits.add(file(), Some("one"), time(10), true);
        edits.add(file(), Some("two"), time(20), true);
        edits.add(file(), Some("one"), time(30), false);
        assert_eq!(stale(&edits, [5, 15, 25, 35]), [true, false, true, false]);
        edits.add(file(), Some(""), time(40), false);
        assert_eq!(stale(&edits, [5, 15, 25, 45]), [false, true, true, false]);
    }

    #[test]
    fn undo_of_an_edit_before_the_start_is_a_change() {
        let mut edits = CriteriaEdits::default();
        edits.add("evaltrail.toml".into(), Some(""), time(10), false);
        assert_eq!(stale(&edits, [5, 15]), [true, false]);
    }
}
