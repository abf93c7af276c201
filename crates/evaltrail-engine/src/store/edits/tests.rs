use super::*;
use crate::store::edit_log::MAX_LOG_BYTES;
use crate::store::edited_file::FileAction;
use evaltrail_core::formats::json::TextChange;
use proptest::prelude::*;
use std::fs;
use std::io::Write;

fn log(folder: &Path) -> EditLog {
    EditLog {
        path: Some(folder.join("own/edits.jsonl")),
    }
}

fn change(path: &Path, new: &str) -> FileEdit {
    let text: Arc<str> = fs::read_to_string(path).unwrap().into();
    let change = TextChange::one(0, &text, new);
    FileEdit {
        path: path.to_path_buf(),
        action: FileAction::Change(text, change),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    /// Compares random sequences of edits, undos and redos with a model that stores whole texts.
    #[test]
    fn walks_end_where_the_model_ends(steps in prop::collection::vec((0..4u8, 0..3usize), 1..25)) {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<PathBuf> = (0..3).map(|at| folder.path().join(format!("f{at}"))).collect();
        files.iter().for_each(|file| fs::write(file, "0").unwrap());
        let mut models = vec![(vec!["0".to_string()], 0usize); 3];
        for (at, (step, which)) in steps.into_iter().enumerate() {
            let (file, (states, now)) = (&files[which], &mut models[which]);
            match step {
                0 | 1 => {
                    let new = format!("{at}");
                    log(folder.path()).make(None, "edit", &[change(file, &new)]).unwrap();
                    states.truncate(*now + 1);
                    states.push(new);
                    *now += 1;
                }
                2 => {
                    let undone = log(folder.path()).undo(None, std::slice::from_ref(file));
                    prop_assert_eq!(undone.is_ok(), *now > 0);
                    *now = now.saturating_sub(1);
                }
                _ => {
                    let redone = log(folder.path()).redo(None, std::slice::from_ref(file));
                    prop_assert_eq!(redone.is_ok(), *now + 1 < states.len());
                    *now = (*now + 1).min(states.len() - 1);
                }
            }
            prop_assert_eq!(&fs::read_to_string(file).unwrap(), &states[*now]);
        }
    }
}

/// If the log is too long, its older half is removed up to the end of a line. The newest edit can still be undone.
#[test]
fn a_long_log_keeps_its_newer_half() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(folder.path());
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    for file in [&old, &new] {
        fs::write(file, "before").unwrap();
    }
    log.make(None, "old", &[change(&old, "after")]).unwrap();
    let path = folder.path().join("own/edits.jsonl");
    let filler = format!("{{\"{}\": 0}}\n", "x".repeat(1 << 20));
    fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap()
        .write_all(filler.repeat(17).as_bytes())
        .unwrap();
    log.make(None, "new", &[change(&new, "after")]).unwrap();
    assert!(log.undo(None, std::slice::from_ref(&new)).is_ok());
    assert!(
        log.undo(None, std::slice::from_ref(&old)).is_err(),
        "it was in the older half"
    );
    assert_eq!(fs::read_to_string(&new).unwrap(), "before");
    let left = fs::read_to_string(&path).unwrap();
    assert!(
        left.len() as u64 > MAX_LOG_BYTES / 3 && (left.len() as u64) < MAX_LOG_BYTES,
        "{}",
        left.len()
    );
    assert!(left.starts_with('{'), "it begins with a whole line");
}

#[test]
fn files_that_could_not_be_put_back_are_named() {
    assert_eq!(left_text(&[]), "");
    let words = left_text(&["a".into(), "b".into()]);
    assert_eq!(words, "; already written, and could not be restored: a, b");
}

#[test]
fn multi_file_edit_is_atomic() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    fs::write(&a, "a").unwrap();
    fs::write(&b, "b").unwrap();
    let jobs = [
        change(&a, "A"),
        FileEdit {
            path: b.clone(),
            action: FileAction::Create("x".into()),
        },
    ];
    let failed = log(folder.path()).make(None, "both", &jobs).unwrap_err();
    assert!(matches!(failed.why, SaveError::Exists));
    assert_eq!(fs::read_to_string(&a).unwrap(), "a");
    let text: Arc<str> = "b".into();
    let jobs = [
        change(&a, "A"),
        FileEdit {
            path: b.clone(),
            action: FileAction::Delete(text),
        },
    ];
    log(folder.path()).make(None, "both", &jobs).unwrap();
    assert!(!b.exists());
    assert_eq!(
        log(folder.path())
            .undo(None, std::slice::from_ref(&b))
            .unwrap()
            .words,
        "both"
    );
    assert_eq!(
        (
            fs::read_to_string(&a).unwrap(),
            fs::read_to_string(&b).unwrap()
        ),
        ("a".into(), "b".into())
    );
}

#[test]
fn file_changed_elsewhere_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f");
    fs::write(&file, "one two").unwrap();
    let job = change(&file, "1 two");
    fs::write(&file, "one TWO").unwrap();
    let failed = log(folder.path()).make(None, "edit", &[job]).unwrap_err();
    assert!(matches!(failed.why, SaveError::Changed { theirs } if theirs == b"one TWO"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "one TWO");
}

#[test]
fn undo_keeps_changes_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f");
    fs::write(&file, "one").unwrap();
    log(folder.path())
        .make(None, "edit", &[change(&file, "two")])
        .unwrap();
    fs::write(&file, "theirs").unwrap();
    assert!(matches!(
        log(folder.path()).undo(None, std::slice::from_ref(&file)),
        Err(UndoError::Moved(..))
    ));
    assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
    fs::write(&file, "two").unwrap();
    log(folder.path())
        .undo(None, std::slice::from_ref(&file))
        .unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "one");
    // Only the incomplete line is lost.
    fs::OpenOptions::new()
        .append(true)
        .open(folder.path().join("own/edits.jsonl"))
        .unwrap()
        .write_all(b"{\"made")
        .unwrap();
    log(folder.path())
        .make(None, "again", &[change(&file, "three")])
        .unwrap();
    assert_eq!(
        log(folder.path())
            .undo(None, std::slice::from_ref(&file))
            .unwrap()
            .words,
        "again"
    );
}

#[test]
fn the_last_edit_is_the_same_from_every_folder() {
    let folder = tempfile::tempdir().unwrap();
    let sub = folder.path().join("sub");
    fs::create_dir(&sub).unwrap();
    let (a, b) = (folder.path().join("a"), sub.join("b"));
    fs::write(&a, "a").unwrap();
    fs::write(&b, "b").unwrap();
    log(folder.path())
        .make(None, "of a", &[change(&a, "A")])
        .unwrap();
    log(folder.path())
        .make(None, "of b", &[change(&b, "B")])
        .unwrap();
    log(folder.path())
        .make(None, "of b again", &[change(&b, "BB")])
        .unwrap();
    let (whole, below) = (Scope::folder(folder.path()), Scope::folder(&sub));
    let words = |scope: &Scope, reversal| {
        log(folder.path())
            .undo_or_redo(scope, None, reversal)
            .map(|done| done.words)
            .unwrap_or_default()
    };
    assert_eq!(words(&below, Reversal::Undo), "of b again");
    assert_eq!(words(&whole, Reversal::Undo), "of b");
    assert_eq!(words(&whole, Reversal::Undo), "of a");
    assert_eq!(words(&whole, Reversal::Undo), "");
    assert_eq!(
        words(&below, Reversal::Redo),
        "of b",
        "only of b: a is outside the folder"
    );
    assert_eq!(
        (
            fs::read_to_string(&a).unwrap(),
            fs::read_to_string(&b).unwrap()
        ),
        ("a".into(), "B".into())
    );
}

/// A kill may happen between writing the log and the files; the next undo or redo detects the state.
#[test]
fn edits_can_be_undone_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    let text = |path: &Path| fs::read_to_string(path).unwrap();
    fs::write(&a, "a0").unwrap();
    fs::write(&b, "b0").unwrap();
    let log = log(folder.path());
    log.make(None, "first", &[change(&a, "a1")]).unwrap();
    let both = [change(&a, "a2"), change(&b, "b2")];
    log.make(None, "both", &both).unwrap();
    let undo = || {
        log.undo(None, std::slice::from_ref(&a))
            .map(|done| done.words)
    };
    let redo = || {
        log.redo(None, std::slice::from_ref(&a))
            .map(|done| done.words)
    };
    // Only the line was written, and no file: the edit was not made.
    fs::write(&a, "a1").unwrap();
    fs::write(&b, "b0").unwrap();
    assert_eq!(undo().unwrap(), "first");
    assert_eq!(text(&a), "a0");
    assert_eq!(
        (redo().unwrap(), redo().unwrap()),
        ("first".into(), "both".into())
    );
    // One of two files was written: the whole edit is undone.
    fs::write(&b, "b0").unwrap();
    assert_eq!(undo().unwrap(), "both");
    assert_eq!((text(&a), text(&b)), ("a1".into(), "b0".into()));
    // The undo was logged, but the files were not written: the edit is still made, and is undone again.
    fs::write(&a, "a2").unwrap();
    fs::write(&b, "b2").unwrap();
    assert_eq!(
        (undo().unwrap(), undo().unwrap()),
        ("both".into(), "first".into())
    );
    assert_eq!((text(&a), text(&b)), ("a0".into(), "b0".into()));
}

#[test]
fn two_logs_at_once_take_different_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<PathBuf> = (0..4)
        .map(|at| folder.path().join(format!("f{at}")))
        .collect();
    files.iter().for_each(|file| fs::write(file, "0").unwrap());
    std::thread::scope(|scope| {
        for file in &files {
            let log = log(folder.path());
            scope.spawn(move || {
                for at in 1..8 {
                    log.make(None, "edit", &[change(file, &at.to_string())])
                        .unwrap();
                }
            });
        }
    });
    for file in &files {
        for at in (0..7).rev() {
            log(folder.path())
                .undo(None, std::slice::from_ref(file))
                .unwrap();
            assert_eq!(fs::read_to_string(file).unwrap(), at.to_string());
        }
    }
}

#[test]
fn failed_edit_does_not_change_redo_history() {
    let folder = tempfile::tempdir().unwrap();
    let a = folder.path().join("a");
    fs::write(&a, "a0").unwrap();
    let log = log(folder.path());
    log.make(None, "first", &[change(&a, "a1")]).unwrap();
    log.undo(None, std::slice::from_ref(&a)).unwrap();
    let stale = change(&a, "never");
    fs::write(&a, "theirs").unwrap();
    assert!(log.make(None, "refused", &[stale]).is_err());
    fs::write(&a, "a0").unwrap();
    assert_eq!(
        log.redo(None, std::slice::from_ref(&a)).unwrap().words,
        "first"
    );
    assert!(
        log.redo(None, std::slice::from_ref(&a)).is_err(),
        "a refused edit cannot be redone"
    );
}
