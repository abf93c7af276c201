//! Names and pins of runs: one line each, appended. Of two lines about the same run, the later one counts.

use super::evaltrail_folder::EvaltrailFolder;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;

const NAME: &str = "run_labels.jsonl";
/// The maximum length of a name, in characters.
const MAX_RUN_NAME: usize = 60;

/// Names that mean something else where a run is named.
const RESERVED: [&str; 3] = ["last", "previous", "baseline"];

/// Why a text cannot be the name of a run; an empty text removes the name.
pub fn run_name_error(name: &str) -> Option<String> {
    if name.chars().count() > MAX_RUN_NAME {
        return Some(format!("a name has at most {MAX_RUN_NAME} characters"));
    }
    RESERVED
        .contains(&name)
        .then(|| format!("{name:?} has another meaning; choose another name"))
}

/// The name that the user gave a run, and whether the run is pinned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLabel {
    /// The run's id.
    pub run: String,
    /// A name for the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether the run is kept when old runs are removed.
    #[serde(default)]
    pub pinned: bool,
}

/// Saves the label of a run.
pub fn save_run_label(workspace: &Path, label: &RunLabel) -> io::Result<()> {
    let line = serde_json::to_string(label)? + "\n";
    let mut file = EvaltrailFolder::make(workspace)?.append(NAME)?;
    file.write_all(line.as_bytes())?;
    file.sync_data()
}

/// The current labels, by the run's id. Lines that cannot be read are skipped.
pub fn read_run_labels(workspace: &Path) -> HashMap<String, RunLabel> {
    let bytes = EvaltrailFolder::in_workspace(workspace)
        .and_then(|ours| ours.read(NAME))
        .unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let labels = text
        .lines()
        .filter_map(|line| serde_json::from_str::<RunLabel>(line).ok());
    labels.map(|label| (label.run.clone(), label)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latest_label_applies_bad_lines_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read_run_labels(folder.path()).is_empty());
        let label = |run: &str, name: Option<&str>, pinned| RunLabel {
            run: run.into(),
            name: name.map(str::to_string),
            pinned,
        };
        save_run_label(folder.path(), &label("a", Some("before the upgrade"), true)).unwrap();
        save_run_label(folder.path(), &label("b", None, true)).unwrap();
        EvaltrailFolder::in_workspace(folder.path())
            .unwrap()
            .append(NAME)
            .unwrap()
            .write_all(b"{\"run\": 3}\n{")
            .unwrap();
        EvaltrailFolder::in_workspace(folder.path())
            .unwrap()
            .append(NAME)
            .unwrap()
            .write_all(b"\n")
            .unwrap();
        save_run_label(folder.path(), &label("b", None, false)).unwrap();
        let read = read_run_labels(folder.path());
        assert_eq!(read["a"], label("a", Some("before the upgrade"), true));
        assert_eq!(read["b"], label("b", None, false));
        assert_eq!(read.len(), 2);
    }
}
