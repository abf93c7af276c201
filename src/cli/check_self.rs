//! `evaltrail check --self`: finds cases whose expectations cannot be met, are too weak, or contradict each other.

use super::exit::Exit;
use super::output::{print_line, print_note};
use evaltrail_core::analysis::{ExpectationFault, ExpectationFaults, check_expectations};
use evaltrail_core::domain::{Status, clean_line, counted};
use evaltrail_core::formats::{ColumnMap, SetFile};
use evaltrail_engine::report::Paint;
use evaltrail_engine::workspace::{SetPath, Workspace, criteria_for, open_set};
use std::path::{Path, PathBuf};

/// Checks the cases of these files and folders by their criteria, and prints the faults. Sets and cases that cannot be read are
/// left out: the check of the files reports them.
pub(super) fn check_self(paths: &[PathBuf], columns: &ColumnMap, paint: Paint) -> Exit {
    let mut all = ExpectationFaults::default();
    let (mut sets, mut has_errors) = (0, false);
    for path in paths {
        let Ok(workspace) = Workspace::open_with(path, columns) else {
            continue;
        };
        for set in sets_of_path(&workspace, path) {
            let Ok(opened) = open_set(&set) else {
                continue;
            };
            let file = &opened.file;
            let criteria = match criteria_for(&workspace, &set, file, None, &[]) {
                Ok((criteria, _)) => criteria,
                Err(problem) => {
                    print_line(&clean_line(&format!("{}: error: {problem}", set.shown)));
                    has_errors = true;
                    continue;
                }
            };
            let found = check_expectations(file.len(), |at| file.case(at).ok(), &criteria);
            for (at, fault) in &found.faults {
                print_line(&fault_line(&set.path, file, *at, fault, paint));
            }
            sets += 1;
            all.faults.extend(found.faults);
            all.checked += found.checked;
            all.undecided += found.undecided;
            all.without_turns += found.without_turns;
        }
    }
    print_line(&summary(&all, sets));
    if all.undecided > 0 {
        let cases = counted(all.undecided, "case");
        print_note(&format!(
            "not known for {cases} whether a wrong agent fails: metrics that decide are not computed here"
        ));
    }
    match (has_errors, all.faults.is_empty()) {
        (true, _) => Exit::UsageError,
        (false, true) => Exit::Success,
        (false, false) => Exit::Failures,
    }
}

/// The sets of a folder, or the set of a file.
fn sets_of_path(workspace: &Workspace, path: &Path) -> Vec<SetPath> {
    match path.is_file() {
        true => vec![SetPath {
            path: path.to_path_buf(),
            ..workspace.set_path(path)
        }],
        false => workspace.sets.clone(),
    }
}

/// A fault with its place.
fn fault_line(
    path: &Path,
    file: &SetFile,
    at: usize,
    fault: &ExpectationFault,
    paint: Paint,
) -> String {
    let (kind, text) = match fault {
        ExpectationFault::CannotPass(metric, why) => (
            "cannot pass",
            format!("an agent that does exactly what is expected fails {metric}: {why}"),
        ),
        ExpectationFault::TooWeak => (
            "too weak",
            "an agent that calls another tool and says something else passes".to_string(),
        ),
        ExpectationFault::Contradicts(other) => (
            "contradiction",
            format!(
                "an agent that does what {} (line {}) expects fails, and the other way round; messages and session are the same",
                file.eval_id(*other),
                file.line_of(*other)
            ),
        ),
    };
    format!(
        "{}:{}: {}: {}: {}",
        clean_line(&path.display().to_string()),
        file.line_of(at),
        paint.status(Status::Failed, kind),
        clean_line(&file.eval_id(at)),
        clean_line(&text)
    )
}

/// The numbers of cases, in one line.
fn summary(all: &ExpectationFaults, sets: usize) -> String {
    let count = |kind: &str| {
        let of_kind = all.faults.iter().filter(|(_, fault)| fault.kind() == kind);
        of_kind.count()
    };
    let scenarios = match all.without_turns {
        0 => String::new(),
        count => format!("; {} not checked", counted(count, "scenario")),
    };
    format!(
        "{} of {} checked against themselves: {} cannot pass, {} too weak, {} contradict another case{scenarios}",
        counted(all.checked, "case"),
        counted(sets, "set"),
        count("cannot_pass"),
        count("too_weak"),
        count("contradicts")
    )
}
