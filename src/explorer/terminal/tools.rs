//! The tools that occur in a workspace.

use crate::explorer::Tools;
use crate::workspace::{SetPath, open_set};

/// Maximum number of cases of a file that are searched.
const CASES: usize = 2_000;

/// The tools that the cases of sets call, in expected and saved turns.
pub(crate) fn of_sets(sets: &[SetPath]) -> Tools {
    let mut tools = Tools::default();
    for open in sets.iter().filter_map(|set| open_set(set).ok()) {
        for case in (0..open.file.len().min(CASES)).filter_map(|at| open.file.case(at).ok()) {
            let saved = case.saved.iter().flat_map(|saved| &saved.turns);
            for turn in case.turns().iter().chain(saved) {
                turn.calls().into_iter().for_each(|call| tools.see(call));
            }
        }
    }
    tools
}
