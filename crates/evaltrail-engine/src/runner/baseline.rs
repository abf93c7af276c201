//! The baseline of a workspace: pins a run as the baseline, and compares a run with it.

use super::past::history_of;
use super::removed::removed_cases;
use crate::store::{
    BASELINE_FILE, Baseline, RunLabel, baseline_run_id, remove_baseline, run_name_error,
    save_run_label, write_baseline,
};
use crate::workspace::Workspace;
use evaltrail_core::analysis::{
    CaseChange, ChangedCondition, ComparedCase, ComparisonRule, RunComparison, RunConditions,
    RunToCompare, compare_runs,
};
use evaltrail_core::domain::{RunState, clean_line};
use std::path::Path;

/// Maximum number of cases that are named.
const NAMED: usize = 10;

/// Why a run cannot be pinned.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    /// Attempts are missing.
    #[error("run {0} is unfinished ({1} attempts are missing), so it cannot be the baseline")]
    Unfinished(String, usize),
    /// Only one turn was run.
    #[error("run {0} is of turn {1} alone, so it cannot be the baseline")]
    OneTurn(String, u32),
    /// Only a part of the cases was run.
    #[error(
        "run {0} is {1}, so it cannot be the baseline; evaltrail merge merges the shards to one run"
    )]
    OneShard(String, String),
    /// A file cannot be written.
    #[error("{0}: {1}")]
    Io(&'static str, std::io::Error),
}

/// Keeps a run when old ones are removed, and writes it as the baseline. Returns a message.
pub fn pin_run(workspace: &Workspace, state: &RunState) -> Result<String, PinError> {
    let run_id = state.plan.run_id.clone();
    let missing = state.count_outstanding();
    if missing > 0 {
        return Err(PinError::Unfinished(run_id, missing));
    }
    if let Some(turn) = state.plan.options.turn {
        return Err(PinError::OneTurn(run_id, turn));
    }
    if let Some(shard) = state.plan.options.shard {
        return Err(PinError::OneShard(run_id, shard.describe()));
    }
    label_run(workspace, &run_id, |label| label.pinned = true)
        .map_err(|error| PinError::Io("the pin is not saved", error))?;
    let baseline = Baseline {
        conditions: RunConditions::from_run(state),
        state: state.clone(),
    };
    write_baseline(&workspace.root, &baseline)
        .map_err(|error| PinError::Io(BASELINE_FILE, error))?;
    Ok(format!(
        "run {} is pinned, and written as the baseline to {BASELINE_FILE}, which can be committed",
        clean_line(&run_id)
    ))
}

/// Keeps a run no longer than others. If it is the baseline, its file is removed. Returns a message.
pub fn unpin_run(workspace: &Workspace, run_id: &str) -> std::io::Result<String> {
    label_run(workspace, run_id, |label| label.pinned = false)?;
    let id = clean_line(run_id).into_owned();
    if baseline_run_id(&workspace.root).as_deref() != Some(run_id) {
        return Ok(format!("run {id} is no longer pinned"));
    }
    remove_baseline(&workspace.root)?;
    Ok(format!(
        "run {id} is no longer pinned, and {BASELINE_FILE} is removed"
    ))
}

/// Names a run; `None` removes the name. The error says why it cannot have the name: names are
/// unique.
pub fn name_run(workspace: &Workspace, run_id: &str, name: Option<&str>) -> Result<(), String> {
    if let Some(name) = name {
        let history = history_of(workspace);
        let of_id = history.runs.iter().find(|run| run.run_id.starts_with(name));
        let is_other =
            |label: &RunLabel| label.run != run_id && label.name.as_deref() == Some(name);
        let exists = |label: &RunLabel| history.runs.iter().any(|run| run.run_id == label.run);
        let other = history
            .labels
            .values()
            .find(|label| is_other(label) && exists(label));
        let why = run_name_error(name)
            .or_else(|| of_id.map(|run| format!("the id of run {} begins with it", run.run_id)))
            .or_else(|| other.map(|label| format!("run {} has this name", label.run)));
        if let Some(why) = why {
            return Err(format!("{}: {why}", clean_line(name)));
        }
    }
    label_run(workspace, run_id, |label| {
        label.name = name.map(str::to_string)
    })
    .map_err(|error| format!("the name is not saved: {error}"))
}

/// Changes the name or the pin of a run.
fn label_run(
    workspace: &Workspace,
    run_id: &str,
    change: impl FnOnce(&mut RunLabel),
) -> std::io::Result<()> {
    let known = history_of(workspace).labels.get(run_id).cloned();
    let mut label = known.unwrap_or_else(|| RunLabel {
        run: run_id.to_string(),
        ..RunLabel::default()
    });
    change(&mut label);
    save_run_label(&workspace.root, &label)
}

/// How a run compares with the baseline.
#[derive(Clone, Debug, Default)]
pub struct BaselineChange {
    /// The number of cases that broke, or that passed and are not evaluated any more:
    /// [`evaltrail_core::analysis::RunComparison::lost`].
    pub broke: usize,
    /// Whether the rate of all cases fell significantly: [`evaltrail_core::analysis::RunComparison::fall`].
    pub fell: bool,
    /// The number of cases that passed in the baseline and that the workspace does not have any more.
    pub removed: usize,
    /// The cases that `broke` counts, as positions in the plan of the run, ascending.
    pub broke_cases: Vec<usize>,
    /// A line about the comparison, followed by lines that name these cases.
    pub words: String,
    /// What broke and was fixed, and a significant change of the rate: for a place with little room.
    pub short: String,
}

/// Compares a run with the baseline of its workspace, by a rule.
pub fn compared_with(
    baseline: &Baseline,
    state: &RunState,
    rule: &ComparisonRule,
    root: &Path,
) -> BaselineChange {
    let before = RunToCompare {
        state: &baseline.state,
        conditions: Some(&baseline.conditions),
    };
    let found = compare_runs(before, state, rule);
    let lost: Vec<String> = found
        .lost(&baseline.state, state)
        .filter_map(|case| lost_text(state, case))
        .collect();
    let mut broke_cases: Vec<usize> = found
        .lost(&baseline.state, state)
        .filter_map(|case| case.after)
        .collect();
    broke_cases.sort_unstable();
    let removed: Vec<String> = removed_cases(&found, before, root)
        .into_iter()
        .map(|case| name_of(&baseline.state, case))
        .collect();
    let rate = found
        .rate_change
        .filter(|_| found.overall.is_repeated())
        .map(|change| format!("; {}", change.describe()));
    let short = format!(
        "vs baseline: {}{}",
        changes_text(&found),
        rate.unwrap_or_default()
    );
    let mut words = headline(&found, removed.len());
    words += &named("passed before", &lost);
    words += &named("removed, passed before", &removed);
    BaselineChange {
        broke: lost.len(),
        broke_cases,
        fell: found.fall().is_some(),
        removed: removed.len(),
        words,
        short,
    }
}

/// The numbers of cases that changed, or that the run and the baseline have no case in common.
fn changes_text(found: &RunComparison) -> String {
    let is_in_both = |case: &ComparedCase| case.before.is_some() && case.after.is_some();
    match found.cases.iter().any(is_in_both) {
        true => found.changes_text(),
        false => "none of these cases is in the baseline".into(),
    }
}

/// What changed since the baseline, in one line.
fn headline(found: &RunComparison, removed: usize) -> String {
    let count = |change| found.cases_with(change).count();
    let mut words = format!("vs baseline: {}", changes_text(found));
    for (cases, label) in [
        (count(CaseChange::Edited), "edited, not comparable"),
        (
            count(CaseChange::NotEvaluated),
            "not evaluated in one of the runs",
        ),
        (count(CaseChange::OnlyAfter), "new"),
        (count(CaseChange::OnlyBefore) - removed, "not in this run"),
        (removed, "removed that passed"),
    ] {
        if cases > 0 {
            words += &format!(", {cases} {label}");
        }
    }
    if found.overall.is_repeated() || found.overall.is_by_rates() {
        words += &format!("; {} ({})", found.overall.passed_text(), found.test_text());
        words.extend(
            found
                .rate_change
                .map(|change| format!("; {}", change.describe())),
        );
    }
    words.extend(found.undecidable_text().map(|why| format!("; {why}")));
    let conditions = [
        ChangedCondition::Criteria,
        ChangedCondition::Agent,
        ChangedCondition::Tools,
        ChangedCondition::Judge,
    ];
    let changed: Vec<&str> = conditions
        .into_iter()
        .filter(|condition| found.changed_in(*condition) > 0)
        .map(ChangedCondition::label)
        .collect();
    if !changed.is_empty() {
        words += &format!("; changed since: {}", changed.join(", "));
    }
    words
}

/// The name of a case that broke, and what else differs between the two results: with other criteria, the agent may have done
/// the same.
fn lost_text(state: &RunState, case: &ComparedCase) -> Option<String> {
    let name = name_of(state, case.after?);
    Some(match case.other_conditions_text() {
        Some(words) => format!("{name}  [{words}]"),
        None => name,
    })
}

fn name_of(run: &RunState, case: usize) -> String {
    format!(
        "{} › {}",
        clean_line(&run.plan.case_location(case)),
        clean_line(run.plan.cases.eval_id(case))
    )
}

/// Lines that name the first of these cases.
fn named(what: &str, cases: &[String]) -> String {
    let mut lines: String = cases
        .iter()
        .take(NAMED)
        .map(|case| format!("\n  {what}: {case}"))
        .collect();
    let more = cases.len().saturating_sub(NAMED);
    if more > 0 {
        lines += &format!("\n  … and {more} more: evaltrail compare baseline last");
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::{
        AgentSpec, Attempt, AttemptKey, Criterion, EndedAttempt, JudgeSpec, PlannedCase,
        PlannedCases, PlannedSet, RunEvent, RunOptions, RunPlan, Status, UserSpec,
    };
    use std::sync::Arc;

    /// A run of one case with one attempt.
    fn run(threshold: f64, status: Status) -> RunState {
        let set = PlannedSet {
            stubs: None,
            tools: Default::default(),
            id: "lights".into(),
            file: "a.json".into(),
            path: "a.json".into(),
            digest: String::new(),
            agent: AgentSpec::PriorAttempts,
            agent_name: String::new(),
            agent_jobs: None,
            agent_files: None,
            file_cases: None,
            app_dir: None,
            criteria: vec![Criterion::new("m", Some(threshold))],
            user: UserSpec::default(),
        };
        let case = PlannedCase {
            set: 0,
            index: 0,
            eval_id: "a".into(),
            content: "".into(),
            quarantine: None,
        };
        let plan = RunPlan {
            commit: None,
            run_id: "r".into(),
            started: String::new(),
            sets: vec![set],
            cases: PlannedCases::new([case]).unwrap(),
            options: RunOptions::default(),
            judge: JudgeSpec::standard(),
        };
        let mut state = RunState::new(Arc::new(plan));
        let attempt = Attempt {
            status,
            ..Attempt::blank(
                AttemptKey {
                    case: 0,
                    attempt: 1,
                },
                "a",
            )
        };
        state.apply(RunEvent::Finished(Arc::new(EndedAttempt::unrecorded(
            attempt,
        ))));
        state
    }

    #[test]
    fn run_without_cases_of_the_baseline_says_so() {
        let before = run(0.5, Status::Passed);
        let baseline = Baseline {
            conditions: RunConditions::from_run(&before),
            state: before,
        };
        let mut other = run(0.5, Status::Failed);
        let mut plan = (*other.plan).clone();
        (plan.sets[0].path, plan.sets[0].file) = ("b.json".into(), "b.json".into());
        other.plan = Arc::new(plan);
        let root = tempfile::tempdir().unwrap();
        let change = compared_with(&baseline, &other, &ComparisonRule::default(), root.path());
        assert_eq!(
            change.short,
            "vs baseline: none of these cases is in the baseline"
        );
        assert!(
            change
                .words
                .starts_with(&format!("{}, 1 new", change.short)),
            "{}",
            change.words
        );
    }

    /// A stricter threshold breaks a case of an agent that did not change.
    #[test]
    fn broken_case_under_other_criteria_is_marked() {
        let before = run(0.5, Status::Passed);
        let baseline = Baseline {
            conditions: RunConditions::from_run(&before),
            state: before,
        };
        let root = tempfile::tempdir().unwrap();
        let words = |threshold: f64| {
            let after = run(threshold, Status::Failed);
            let change = compared_with(&baseline, &after, &ComparisonRule::default(), root.path());
            assert_eq!(change.broke, 1);
            change.words
        };
        assert!(
            words(0.5).ends_with("\n  passed before: lights › a"),
            "{}",
            words(0.5)
        );
        assert!(
            words(0.8).ends_with("\n  passed before: lights › a  [other criteria]"),
            "{}",
            words(0.8)
        );
    }
}
