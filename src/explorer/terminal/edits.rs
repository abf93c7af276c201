//! Making edits, and taking them back.

use crate::explorer::shared::message::{EditDone, EditFailure, EditMsg, Msg};
use crate::store::{EditLog, EditOutcome, FileEdit, SaveError, Scope, UndoError};
use crate::workspace::edited_with;
use jiff::Timestamp;
use std::path::Path;
use std::sync::Arc;

/// Makes an edit; links may lead out of the folder only where that was asked.
pub(crate) fn make(
    log: &EditLog,
    root: &Path,
    words: &str,
    jobs: &[FileEdit],
    anywhere: bool,
) -> Msg {
    let within = (!anywhere).then_some(root);
    match log.make(within, words, jobs) {
        Ok(done) => Msg::Edits(EditMsg::Made(done_of(done, true))),
        Err(failed) => Msg::Edits(EditMsg::Failed(match failed.why {
            SaveError::Changed { theirs } => match String::from_utf8(theirs) {
                Ok(text) => EditFailure::Changed(failed.path, Arc::from(text)),
                Err(_) => {
                    EditFailure::Other("the file was changed and is no longer valid text".into())
                }
            },
            SaveError::Outside(path) => EditFailure::Outside(path),
            _ => EditFailure::Other(format!("not saved: {failed}")),
        })),
    }
}

/// Takes the last edit of what was opened back, or makes it again.
pub(crate) fn turn(log: &EditLog, opened: &Path, back: bool) -> Msg {
    let scope = match opened.is_file() {
        true => Scope::files(&edited_with(opened)),
        false => Scope::folder(opened),
    };
    match log.turn(&scope, None, back) {
        Ok(done) => Msg::Edits(EditMsg::Made(done_of(done, !back))),
        Err(UndoError::Nothing(what)) => Msg::Notice(format!("there is nothing to {what} here")),
        Err(error) => Msg::Edits(EditMsg::Failed(EditFailure::Other(error.to_string()))),
    }
}

fn done_of(done: EditOutcome, stands: bool) -> EditDone {
    EditDone {
        words: done.words,
        note: done.note,
        written: done.written,
        stands,
        at: Some(Timestamp::now()),
    }
}
