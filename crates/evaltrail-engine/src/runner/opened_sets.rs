//! The sets that a request for a run selects, opened with the files beside them.

use crate::runner::Selection;
use crate::workspace::{OpenSet, SetProblem, SetStubs, open_full_set, read_notes, read_stubs};
use evaltrail_core::formats::{FileProblem, Notes};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A selection, its set, and the files beside the set.
pub(super) struct OpenedSelection<'a> {
    pub(super) selection: &'a Selection,
    pub(super) open: OpenSet,
    pub(super) notes: Notes,
    pub(super) stubs: SetStubs,
}

/// The selected sets that could be opened, and the problems with the others.
#[derive(Default)]
pub(super) struct OpenedSelections<'a> {
    pub(super) opened: Vec<OpenedSelection<'a>>,
    /// What could not be read, as file and problem.
    pub(super) problems: Vec<(String, String)>,
    /// The sets with invalid content.
    pub(super) malformed: BTreeMap<PathBuf, FileProblem>,
}

/// Opens the selected sets with the files beside them.
pub(super) fn open_selections(selections: &[Selection]) -> OpenedSelections<'_> {
    let OpenedSelections {
        mut opened,
        mut problems,
        mut malformed,
    } = OpenedSelections::default();
    for selection in selections {
        let mut problem = |why: String| problems.push((selection.set.shown.clone(), why));
        let read = open_full_set(&selection.set).map_err(|error| {
            let why = error.to_string();
            if let SetProblem::Content(problem) = error {
                malformed.insert(selection.set.path.clone(), problem);
            }
            why
        });
        // Without its stubs, every case of a set would fail for a reason that is not the agent's.
        match read.and_then(|open| Ok((open, read_stubs(&selection.set.path)?))) {
            Err(why) => problem(why),
            Ok((open, stubs)) => {
                let notes = read_notes(&selection.set.path).unwrap_or_else(|why| {
                    problem(why);
                    Notes::default()
                });
                opened.push(OpenedSelection {
                    selection,
                    open,
                    notes,
                    stubs,
                });
            }
        }
    }
    OpenedSelections {
        opened,
        problems,
        malformed,
    }
}
