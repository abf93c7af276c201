//! Making edits, and taking them back.

use crate::app::{EditFailure, Msg};
use crate::store::{self, Done, FileJob, SaveError, UndoError};
use crate::workspace::edited_with;
use std::path::Path;
use std::sync::Arc;

/// Makes an edit; links may lead out of the folder only where that was asked.
pub(super) fn make(root: &Path, words: &str, jobs: &[FileJob], anywhere: bool) -> Msg {
    let within = (!anywhere).then_some(root);
    match store::make(root, within, words, jobs) {
        Ok(done) => Msg::Edited(told(done, "u undoes it")),
        Err(failed) => Msg::EditFailed(match failed.why {
            SaveError::Changed { theirs } => match String::from_utf8(theirs) {
                Ok(text) => EditFailure::Changed(Arc::from(text)),
                Err(_) => EditFailure::Other("the file was changed since, and is no text any more".into()),
            },
            SaveError::Outside(path) => EditFailure::Outside(path),
            _ => EditFailure::Other(format!("not saved: {failed}")),
        }),
    }
}

/// Takes the last edit of a file back, or makes it again.
pub(super) fn turn(root: &Path, path: &Path, back: bool) -> Msg {
    let files = edited_with(path);
    let turned = if back { store::undo(root, None, &files) } else { store::redo(root, None, &files) };
    match turned {
        Ok(done) if back => Msg::Edited(format!("undone: {}", told(done, "U makes it again"))),
        Ok(done) => Msg::Edited(format!("made again: {}", told(done, "u undoes it"))),
        Err(UndoError::Nothing(_)) => {
            let what = if back { "undo" } else { "redo" };
            Msg::Told(format!("there is nothing to {what} in this file"))
        }
        Err(error) => Msg::EditFailed(EditFailure::Other(error.to_string())),
    }
}

fn told(done: Done, next: &str) -> String {
    match done.note {
        Some(note) => format!("{} ({note})", done.words),
        None => format!("{}; {next}", done.words),
    }
}
