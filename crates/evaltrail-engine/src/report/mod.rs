//! Reports of a run in all formats. External data is cleaned before it is written.

mod attempt_lines;
mod attempts;
mod cause_states;
mod comparison;
mod coverage;
mod csv;
mod exported_file;
mod failures;
mod format;
mod github;
mod html;
mod json;
mod json_case;
mod json_steps;
mod junit;
mod markdown;
mod markdown_cell;
mod metric_table;
mod open_command;
mod paint;
mod remarks;
mod rerun;
mod summary;
mod turns;
mod unscored;
mod vertex;

pub use attempt_lines::{attempt_line, score_lines};
pub use cause_states::{CauseStates, new_cause_texts};
pub use comparison::{ComparedRuns, SetupDifference, started_text};
pub use coverage::{AgentReport, coverage_html, coverage_json, coverage_markdown, coverage_text};
pub use exported_file::{ExportedFile, export_as_named, export_name_problem};
pub use format::{BaselineText, EarlierRuns, ReportFormat};
pub use github::github_annotations;
pub use json::write_json_report;
pub use markdown::REPORT as MARKDOWN;
pub use markdown_cell::cell as markdown_cell;
pub use open_command::shell_word;
pub use paint::Paint;
pub use rerun::{rerun_of_plan, resume_of_plan, secret_note};
pub use summary::{NextCommands, SummaryStyle, Verbosity, run_summary};
pub use turns::turn_lines;

/// The formats of reports, in the order of the help.
pub static REPORTS: &[&ReportFormat] = &[
    &json::REPORT,
    &junit::REPORT,
    &markdown::REPORT,
    &html::REPORT,
    &csv::REPORT,
    &vertex::METRICS_TABLE,
    &vertex::SUMMARY,
    &vertex::EVALUATION_RESULT,
];

/// The format with a name.
pub fn report_format(name: &str) -> Option<&'static ReportFormat> {
    REPORTS
        .iter()
        .copied()
        .find(|format| format.name == name || !name.is_empty() && format.alias == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::{
        AgentSpec, Attempt, AttemptKey, AttemptRecords, EndedAttempt, InMemory, JudgeSpec,
        PlannedCase, PlannedCases, PlannedSet, RecordedAt, RunEvent, RunOptions, RunPlan, RunState,
        Status,
    };
    use std::sync::Arc;

    struct Lost;

    impl AttemptRecords for Lost {
        fn read(&self, _: RecordedAt) -> Result<Arc<Attempt>, String> {
            Err("the journal is gone".into())
        }
    }

    #[test]
    fn unreadable_attempts_are_in_no_report() {
        let set = PlannedSet {
            stubs: None,
            tools: Default::default(),
            id: "s".into(),
            file: "s".into(),
            path: "/s".into(),
            digest: String::new(),
            agent: AgentSpec::Saved,
            agent_name: String::new(),
            agent_jobs: None,
            agent_files: None,
            file_cases: None,
            app_dir: None,
            criteria: Vec::new(),
            user: Default::default(),
        };
        let mut state = RunState::new(Arc::new(RunPlan {
            commit: None,
            run_id: "r".into(),
            started: String::new(),
            sets: vec![set],
            cases: PlannedCases::new([PlannedCase {
                set: 0,
                index: 0,
                eval_id: "a".into(),
                content: "".into(),
                quarantine: None,
            }])
            .unwrap(),
            options: RunOptions::default(),
            judge: JudgeSpec::standard(),
        }));
        let key = AttemptKey {
            case: 0,
            attempt: 1,
        };
        let attempt = Attempt {
            status: Status::Passed,
            ..Attempt::blank(key, "a")
        };
        let lost: Arc<dyn AttemptRecords> = Arc::new(Lost);
        let at = RecordedAt {
            offset: 0,
            length: 1,
        };
        let ended = EndedAttempt::recorded(attempt, at, &lost, InMemory::Summary);
        state.apply(RunEvent::Finished(Arc::new(ended)));
        for format in REPORTS {
            let of_summaries = ["junit", "markdown", "vertex-summary"].contains(&format.name);
            let written = (format.write)(&state, EarlierRuns::default(), &mut Vec::new());
            assert_eq!(
                written.is_ok(),
                of_summaries,
                "{}: {written:?}",
                format.name
            );
            if let Err(error) = written {
                assert_eq!(
                    error.to_string(),
                    "a: the journal is gone",
                    "{}",
                    format.name
                );
            }
        }
    }
}
