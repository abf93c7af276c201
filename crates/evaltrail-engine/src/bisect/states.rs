//! The states of the code that commits have: what they change beside the code does not make another state.

use super::git::Commit;
use crate::config::{CRITERIA_FILE, FILE_NAME};
use crate::workspace::{DRAFTS_ENDING, NOTES_ENDING, STUBS_ENDING};

/// Commits in a row, the oldest first, that do not differ in what an agent reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeState {
    /// The position of the first one: the one that made this state.
    pub first: usize,
    /// The position of the last one.
    pub last: usize,
}

/// The states of commits. An agent reads what is below `paths`, relative to the top folder; everything if there are none. Files of
/// evaluations are left out: the current ones are used for all commits.
pub fn code_states(commits: &[Commit], paths: &[String]) -> Vec<CodeState> {
    let mut states: Vec<CodeState> = Vec::new();
    for (at, commit) in commits.iter().enumerate() {
        let is_named =
            |file: &str| paths.is_empty() || paths.iter().any(|path| is_inside(file, path));
        let is_read = |file: &String| !is_of_evaluations(file) && is_named(file);
        match states.last_mut() {
            Some(state) if !commit.files.iter().any(is_read) => state.last = at,
            _ => states.push(CodeState {
                first: at,
                last: at,
            }),
        }
    }
    states
}

fn is_inside(file: &str, path: &str) -> bool {
    let path = path.trim_start_matches("./").trim_end_matches('/');
    let rest = file.strip_prefix(path);
    path.is_empty()
        || path == "."
        || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a file contains cases, criteria or what evaltrail stores beside them, by its name.
fn is_of_evaluations(file: &str) -> bool {
    const ENDINGS: [&str; 5] = [
        ".evalset.json",
        ".test.json",
        NOTES_ENDING,
        STUBS_ENDING,
        DRAFTS_ENDING,
    ];
    let name = file.rsplit('/').next().unwrap_or(file);
    name == FILE_NAME
        || name == CRITERIA_FILE
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(files: &[&str]) -> Commit {
        Commit {
            id: String::new(),
            author: String::new(),
            day: String::new(),
            subject: String::new(),
            files: files.iter().map(|file| file.to_string()).collect(),
        }
    }

    #[test]
    fn commits_without_code_share_a_state() {
        let commits = [
            commit(&["desk/agent.py"]),
            commit(&["desk/basic.evalset.json", "desk/test_config.json"]),
            commit(&["lib/tools.py"]),
            commit(&[]),
            commit(&["desk2/agent.py"]),
        ];
        let states = |paths: &[&str]| -> Vec<(usize, usize)> {
            let paths: Vec<String> = paths.iter().map(|path| path.to_string()).collect();
            let states = code_states(&commits, &paths).into_iter();
            states.map(|state| (state.first, state.last)).collect()
        };
        assert_eq!(states(&[]), [(0, 1), (2, 3), (4, 4)]);
        assert_eq!(states(&["desk/"]), [(0, 4)]);
        assert_eq!(states(&["desk", "lib/tools.py"]), [(0, 1), (2, 4)]);
        assert_eq!(states(&["./desk2"]), [(0, 3), (4, 4)]);
    }
}
