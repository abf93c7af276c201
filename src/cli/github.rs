//! Output for GitHub Actions: annotations, and the summary of the step.

use super::output::{print_log_command, print_note};
use evaltrail_core::domain::{RunPlan, RunState};
use evaltrail_engine::report::{EarlierRuns, MARKDOWN, github_annotations};
use evaltrail_engine::store::append_to;
use std::path::{Path, PathBuf};

/// Prints an annotation for each cause, and appends the Markdown report to the file that `GITHUB_STEP_SUMMARY` names.
/// With the JSON report on standard output, the annotations are on standard error, where GitHub reads them, too.
/// `plan` is the run's plan with the real paths.
pub(super) fn write(
    (state, earlier): (&RunState, EarlierRuns<'_>),
    plan: &RunPlan,
    root: &Path,
    is_output_json: bool,
) {
    let top = root.ancestors().find(|folder| folder.join(".git").exists());
    for line in github_annotations(state, plan, top, earlier.causes) {
        print_log_command(&line, is_output_json);
    }
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else {
        return;
    };
    let path = PathBuf::from(path);
    let mut summary = Vec::new();
    let written =
        (MARKDOWN.write)(state, earlier, &mut summary).and_then(|()| append_to(&path, &summary));
    if let Err(error) = written {
        print_note(&format!(
            "the summary of the step is not written: {}: {error}",
            path.display()
        ));
    }
}
