//! The data from which the lines of a case are built: expected and actual turns, states and people's verdicts.

use crate::explorer::shared::case_lines::{CaseTab, Compared, ComparedTurn, FailureReason};
use crate::explorer::shared::case_screen::CaseScreen;
use crate::explorer::shared::model::Model;
use crate::explorer::shown_case::body::turn_status;
use evaltrail_core::diff::same_calls;
use evaltrail_core::domain::{
    Attempt, AttemptSummary, EndedAttempt, Finding, HumanVerdict, Invocation, MetricResult, Status,
    Trajectory,
};
use evaltrail_core::metrics::is_declared;
use serde_json::Value;
use std::sync::Arc;

/// The data for the lines of a case that was not run.
pub(crate) fn not_run(model: &Model, case: &CaseScreen) -> Option<Compared> {
    let read = model.last_file(case.at.set)?.case(case.at.index);
    let problem = read.as_ref().err().map(ToString::to_string);
    let read = read.ok();
    let state = read
        .as_ref()
        .and_then(|read| read.final_session_state.as_ref());
    let turns = read
        .as_ref()
        .map(|read| read.turns().to_vec())
        .unwrap_or_default();
    let turn = |(turn, expected)| ComparedTurn {
        turn,
        expected: Some(expected),
        ..ComparedTurn::default()
    };
    Some(Compared {
        turns: turns.into_iter().enumerate().map(turn).collect(),
        problem,
        states: states(state, None),
        ..Compared::default()
    })
}

/// The data for the lines of an attempt. If the attempt can no longer be read, the lines contain the error.
pub(crate) fn compared(
    model: &Model,
    case: &CaseScreen,
    ended: &EndedAttempt,
    read: Result<Arc<Attempt>, String>,
    mode: CaseTab,
) -> Compared {
    let people = human_verdicts(model, case, ended);
    let attempt = match read {
        Ok(attempt) => attempt,
        Err(why) => {
            let problem = Some(format!("the attempt can no longer be read: {why}"));
            return Compared {
                people,
                problem,
                ..Compared::default()
            };
        }
    };
    // An attempt of a single turn has only that turn.
    let first = if attempt.turn.is_some() { case.turn } else { 0 };
    let variant = ended.variant().and_then(|name| {
        model
            .notes(case.at)?
            .variants
            .iter()
            .find(|variant| variant.name == name)
            .map(|one| &one.turns)
    });
    let now = model
        .last_file(case.at.set)
        .map(|file| file.case(case.at.index));
    let problem = now.as_ref().and_then(|now| now.as_ref().err());
    let problem = problem.map(ToString::to_string);
    let now = now.and_then(Result::ok);
    // The file spells numbers as a person wrote them.
    let as_in_file = |at: usize, own: &Invocation| {
        let now = now.as_ref().and_then(|now| now.turns().get(first + at));
        let same = now.filter(|now| {
            same_calls(&now.calls(), &own.calls()) && own.trajectory != Trajectory::Unknown
        });
        same.map_or_else(|| own.trajectory.clone(), |now| now.trajectory.clone())
    };
    let turn = |at: usize| ComparedTurn {
        turn: first + at,
        // If a variant decided the result, its trajectory is shown as expected.
        expected: attempt.expected.get(at).map(|own| Invocation {
            trajectory: match variant.and_then(|turns| turns.get(first + at)) {
                Some(other) => other.clone(),
                None => as_in_file(at, own),
            },
            ..own.clone()
        }),
        actual: attempt.actual.get(at).cloned(),
        status: turn_status(&attempt.metrics, at),
        reasons: reasons(&attempt, at),
    };
    let count = attempt.expected.len().max(attempt.actual.len());
    Compared {
        turns: (0..count).map(turn).collect(),
        has_run: true,
        people,
        problem,
        states: states(
            attempt.expected_state.as_ref(),
            attempt.actual_state.as_ref(),
        ),
        tools: attempt.tool_use.clone(),
        attempt: (mode == CaseTab::Judged).then(|| attempt.clone()),
    }
}

/// What the failed metrics of an attempt found in a turn, from 0.
fn reasons(attempt: &Attempt, turn: usize) -> Vec<FailureReason> {
    let is_here = |finding: &&Finding| finding.turn.is_none_or(|at| at as usize == turn + 1);
    let mut reasons = Vec::new();
    let is_failed = |metric: &&MetricResult| metric.status == Status::Failed;
    for metric in attempt.metrics.iter().filter(is_failed) {
        let findings = metric.findings.iter().filter(is_here);
        reasons.extend(findings.map(|finding| FailureReason {
            metric: metric.metric.clone(),
            finding: finding.clone(),
        }));
    }
    reasons
}

/// Verdicts given by people on an attempt.
pub(crate) fn human_verdicts(
    model: &Model,
    case: &CaseScreen,
    attempt: &AttemptSummary,
) -> Vec<HumanVerdict> {
    let run_id = model
        .view
        .outcomes
        .get(case.at)
        .map(|outcome| outcome.run.id.as_str());
    let file = &model.view.sets[case.at.set].path.shown;
    let mine = |one: &&HumanVerdict| {
        Some(one.run_id.as_str()) == run_id
            && one.file == *file
            && one.eval_id == attempt.eval_id
            && one.attempt == attempt.key.attempt
    };
    model.verdicts.iter().filter(mine).cloned().collect()
}

/// Expected and actual state; `None` if the case expects none.
fn states(
    expected: Option<&Value>,
    actual: Option<&Value>,
) -> Option<(Option<Value>, Option<Value>)> {
    let expected = expected.filter(|state| is_declared(state))?;
    Some((Some(expected.clone()), actual.cloned()))
}
