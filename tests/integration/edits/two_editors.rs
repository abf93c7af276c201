//! Two editors at once: changes of different cases are all saved, and of two changes to the same case the later one
//! is rejected with a conflict.

use super::open;
use crate::common::TestWorkspace;
use evaltrail_core::domain::Conversation;
use evaltrail_core::formats::{Edit, SetFile, plan, rebase};
use evaltrail_engine::store::{AppFolders, EditLog, FileAction, FileEdit, SaveError};
use std::path::Path;

const ROUNDS: usize = 100;

fn set() -> String {
    let case = |id: &str| {
        format!(
            r#"    {{"eval_id": "{id}", "conversation": [{{"user_content": {{"parts": [{{"text": "0"}}]}}}}]}}"#
        )
    };
    let cases = ["a", "b", "shared"].map(case).join(",\n");
    format!("{{\"eval_set_id\": \"s\", \"eval_cases\": [\n{cases}\n]}}\n")
}

fn said(file: &SetFile, at: usize) -> String {
    file.case(at).unwrap().turns()[0].user.scored_text()
}

fn to_say(file: &SetFile, at: usize, words: &str) -> Edit {
    let mut case = file.case(at).unwrap();
    let Conversation::Turns(turns) = &mut case.conversation else {
        unreachable!()
    };
    turns[0].user.parts[0].text = Some(words.into());
    Edit::Case(at, Box::new(case))
}

/// Saves an edit. If the file has changed, the edit is rebased onto the new content. Returns `false` if that is not
/// possible.
fn save(path: &Path, at: usize, words: impl Fn(&SetFile) -> String) -> bool {
    let own = path.parent().unwrap().join("own");
    let log = EditLog::in_folder(Some(&AppFolders {
        data: own.clone(),
        cache: own.clone(),
        config: own,
    }));
    let mut file = open(&std::fs::read_to_string(path).unwrap());
    let mut edits = vec![to_say(&file, at, &words(&file))];
    loop {
        let change = plan(&file, &edits).unwrap();
        let jobs = [FileEdit {
            path: path.to_path_buf(),
            action: FileAction::Change(file.shared_text(), change),
        }];
        match log.make(None, "edit", &jobs) {
            Ok(_) => return true,
            Err(failed) => match failed.why {
                SaveError::Changed { theirs } => {
                    let now = open(std::str::from_utf8(&theirs).unwrap());
                    match rebase(&file, &now, &edits) {
                        Some(again) => (file, edits) = (now, again),
                        None => return false,
                    }
                }
                other => panic!("{other}"),
            },
        }
    }
}

#[test]
fn two_editors_lose_nothing_silently() {
    let workspace = TestWorkspace::new(&[("s.evalset.json", set())]);
    let path = workspace.path().join("s.evalset.json");
    let count = |file: &SetFile, at: usize| said(file, at).parse::<usize>().unwrap();
    // Each editor increments a number in its own case and in the shared case: the other one never undoes a saved
    // edit.
    let editor = |own: usize| {
        let mut made = 0;
        for _ in 0..ROUNDS {
            assert!(
                save(&path, own, |file| (count(file, own) + 1).to_string()),
                "nobody else has this case"
            );
            made += usize::from(save(&path, 2, |file| (count(file, 2) + 1).to_string()));
        }
        made
    };
    let made = std::thread::scope(|scope| {
        let editors = [scope.spawn(|| editor(0)), scope.spawn(|| editor(1))];
        editors.map(|editor| editor.join().unwrap())
    });
    let file = open(&std::fs::read_to_string(&path).unwrap());
    assert_eq!((count(&file, 0), count(&file, 1)), (ROUNDS, ROUNDS));
    assert_eq!(count(&file, 2), made[0] + made[1], "made by both: {made:?}");
}
