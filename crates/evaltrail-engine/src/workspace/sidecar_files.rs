//! The files beside an eval set: evaltrail's notes, for which ADK's file has no fields, and recorded answers of tools.

use crate::config::CRITERIA_FILE;
use crate::store::fingerprint;
use crate::stubs::StubFile;
use evaltrail_core::formats::Notes;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The ending of the name of a file of notes.
pub const NOTES_ENDING: &str = ".evaltrail.json";

/// The ending of the name of a file of stubs.
pub const STUBS_ENDING: &str = ".tools.jsonl";

/// The ending of the name of a file of drafts.
pub const DRAFTS_ENDING: &str = ".drafts.jsonl";

/// The path of a set's notes.
pub fn notes_path(set: &Path) -> PathBuf {
    sidecar_path(set, NOTES_ENDING)
}

/// The path of the recorded answers of a set's tools.
pub fn stubs_path(set: &Path) -> PathBuf {
    sidecar_path(set, STUBS_ENDING)
}

/// The path of the drafts of a set.
pub fn drafts_path(set: &Path) -> PathBuf {
    sidecar_path(set, DRAFTS_ENDING)
}

fn sidecar_path(set: &Path, ending: &str) -> PathBuf {
    let name = set
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let endings = [".evalset.json", ".test.json", ".jsonl", ".json"];
    let stem = endings.iter().find_map(|ending| name.strip_suffix(ending));
    set.with_file_name(format!("{}{ending}", stem.unwrap_or(&name)))
}

/// The recorded answers of a set's tools.
#[derive(Default)]
pub struct SetStubs {
    /// The answers.
    pub file: Arc<StubFile>,
    /// SHA-256 of the file; `None` when there is none.
    pub digest: Option<String>,
}

/// Reads the recorded answers of a set's tools; there are none when there is no file.
pub fn read_stubs(set: &Path) -> Result<SetStubs, String> {
    let path = stubs_path(set);
    if !path.is_file() {
        return Ok(SetStubs::default());
    }
    let told = |why: String| format!("{}: {why}", path.display());
    let text = super::read_text(&path).map_err(|error| told(error.to_string()))?;
    let file = StubFile::parse(&text).map_err(|error| told(error.to_string()))?;
    Ok(SetStubs {
        file: Arc::new(file),
        digest: Some(fingerprint(&[text.as_bytes()])),
    })
}

/// The text of the file of a set's stubs, whether it is valid or not; `None` when there is none, or it cannot be read.
pub fn stubs_text(set: &Path) -> Option<String> {
    let path = stubs_path(set);
    path.is_file()
        .then(|| super::read_text(&path).ok())
        .flatten()
}

/// The files that are edited together with a set: the set, its notes, its stubs, its drafts, and the criteria of its folder.
pub fn edited_with(set: &Path) -> [PathBuf; 5] {
    [
        set.to_path_buf(),
        notes_path(set),
        stubs_path(set),
        drafts_path(set),
        set.with_file_name(CRITERIA_FILE),
    ]
}

/// Reads the notes of a set; they are empty when there is no file.
pub fn read_notes(set: &Path) -> Result<Notes, String> {
    let path = notes_path(set);
    if !path.is_file() {
        return Ok(Notes::default());
    }
    let told = |why: String| format!("{}: {why}", path.display());
    let text = super::read_text(&path).map_err(|error| told(error.to_string()))?;
    Notes::open(Arc::from(text)).map_err(|problem| told(problem.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_in_the_folder_of_their_set() {
        assert_eq!(
            notes_path(Path::new("/a/x.evalset.json")),
            Path::new("/a/x.evaltrail.json")
        );
        assert_eq!(
            notes_path(Path::new("x.test.json")),
            Path::new("x.evaltrail.json")
        );
        assert_eq!(
            read_notes(Path::new("/nowhere/x.evalset.json")),
            Ok(Notes::default())
        );
    }
}
