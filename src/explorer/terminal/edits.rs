//! Making edits, and taking them back.

use crate::explorer::shared::message::{EditDone, EditFailure, EditMsg, Msg};
use evaltrail_engine::store::{
    EditLog, EditOutcome, FileEdit, Reversal, ReversibleEdit, SaveError, Scope, UndoError,
};
use evaltrail_engine::workspace::edited_with;
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

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

/// The edits of what was opened.
fn scope_of(opened: &Path) -> Scope {
    match opened.is_file() {
        true => Scope::files(&edited_with(opened)),
        false => Scope::folder(opened),
    }
}

/// The edit that would be undone or redone, if the user may not expect that: it is not of the shown set, or it
/// was made before the program started. After a question, that is any edit but the confirmed one.
pub(crate) fn unexpected_edit(
    log: &EditLog,
    opened: &Path,
    (reversal, shown, since): (Reversal, Option<PathBuf>, SystemTime),
    confirmed: Option<u64>,
) -> Option<ReversibleEdit> {
    let edit = log.next_edit(&scope_of(opened), reversal)?;
    let is_shown = shown.is_some_and(|set| edit.concerns(&edited_with(&set)));
    let is_recent = edit
        .made
        .is_some_and(|made| SystemTime::from(made) >= since);
    // Another edit may have been made since the question.
    let is_expected = match confirmed {
        Some(id) => id == edit.id,
        None => is_shown && is_recent,
    };
    (!is_expected).then_some(edit)
}

/// Takes the last edit of what was opened back, or makes it again.
pub(crate) fn undo_or_redo(log: &EditLog, opened: &Path, reversal: Reversal) -> Msg {
    match log.undo_or_redo(&scope_of(opened), None, reversal) {
        Ok(done) => {
            let stands = reversal == Reversal::Redo;
            Msg::Edits(EditMsg::Made(done_of(done, stands)))
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_engine::store::{AppFolders, FileAction};
    use std::time::Duration;

    #[test]
    fn unexpected_edits_are_not_undone_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let log = EditLog::in_folder(Some(&AppFolders {
            config: folder.path().join("config"),
            data: folder.path().join("data"),
            cache: folder.path().join("cache"),
        }));
        let [edited, other] = ["a", "b"].map(|name| folder.path().join(format!("{name}.json")));
        let edit = FileEdit {
            path: edited.clone(),
            action: FileAction::Create("{}".into()),
        };
        log.make(None, "an edit", &[edit]).unwrap();
        let question = |shown: &Path, since: SystemTime| {
            unexpected_edit(
                &log,
                folder.path(),
                (Reversal::Undo, Some(shown.into()), since),
                None,
            )
        };
        let (before, after) = (
            SystemTime::UNIX_EPOCH,
            SystemTime::now() + Duration::from_secs(60),
        );
        assert_eq!(question(&edited, before), None);
        let asked = question(&other, before).expect("another set is shown");
        assert_eq!((asked.words.as_str(), asked.files.len()), ("an edit", 1));
        assert_eq!(question(&edited, after), Some(asked), "an earlier session");
        let confirmed = |id| {
            unexpected_edit(
                &log,
                folder.path(),
                (Reversal::Undo, None, before),
                Some(id),
            )
            .is_none()
        };
        assert!(confirmed(1) && !confirmed(7), "only what was asked about");
        assert!(matches!(
            undo_or_redo(&log, folder.path(), Reversal::Undo),
            Msg::Edits(EditMsg::Made(_))
        ));
        assert_eq!(question(&other, before), None, "nothing is left to undo");
    }
}
