//! The lines of a case: expected and actual side by side, the events in order, or the judges' responses. They are
//! built once for an attempt and a size; drawing uses only the visible ones. The modules that build lines (`compare`,
//! `timeline`, `judged`) use the types of this module, and [`build_body`] calls them.

use crate::explorer::shared::case_lines::{
    BodyView, CaseLines, CaseTab, Compared, ComparedTurn, TurnLines,
};
use crate::explorer::shown_case::compare::compare;
use crate::explorer::shown_case::judged::judged_lines;
use crate::explorer::shown_case::response_text::shown_response;
use crate::explorer::shown_case::timeline::timeline;
use evaltrail_core::diff::same_calls;
use evaltrail_core::domain::{Invocation, MetricResult, Status};
use serde_json::Value;

/// Width in columns from which expected and actual are shown side by side. On narrower screens they are stacked.
const SIDE_BY_SIDE_FROM: usize = 84;

/// The status of the turn at position `at` of an attempt: the worst among its deciding metrics.
pub(crate) fn turn_status(metrics: &[MetricResult], at: usize) -> Option<Status> {
    let deciding = metrics.iter().filter(|metric| metric.threshold.is_some());
    Status::worst(
        deciding
            .filter_map(|metric| metric.per_invocation.get(at))
            .map(|turn| turn.status),
    )
}

/// Whether building the lines takes noticeable time and should be done in the background.
pub(crate) fn is_large(compared: &Compared) -> bool {
    const LARGE: usize = 48 << 10;
    let weight = |turn: &Invocation| {
        let calls = turn.calls();
        let args = calls
            .iter()
            .map(|call| call.args.as_ref().map_or(0, |args| args.len() * 64))
            .sum::<usize>();
        let texts: usize = calls.iter().map(|call| deep_len(call.args.as_ref())).sum();
        let responses: usize = turn.responses().iter().map(|r| deep(&r.response)).sum();
        shown_response(turn).len() + turn.user.shown_text().len() + args + texts + responses
    };
    let turns = compared
        .turns
        .iter()
        .flat_map(|turn| [&turn.expected, &turn.actual])
        .flatten();
    let states = compared
        .states
        .iter()
        .flat_map(|(expected, actual)| [expected, actual])
        .flatten();
    let judged = compared.attempt.iter().flat_map(|attempt| &attempt.metrics);
    let judged = judged
        .filter_map(|metric| metric.judgement.as_ref())
        .flat_map(|one| &one.questions);
    let replies = judged
        .flat_map(|asked| &asked.samples)
        .filter_map(|sample| sample.reply.as_ref());
    let weights = turns.map(weight).sum::<usize>() + states.map(deep).sum::<usize>();
    weights + replies.map(String::len).sum::<usize>() > LARGE
}

/// Whether searching for the smallest relaxation takes noticeable time. The search rescores calls a few dozen times.
pub(crate) fn is_slow_to_relax(compared: &Compared) -> bool {
    const LARGE: usize = 32 << 10;
    let weight = |turn: &Invocation| {
        let args: usize = turn
            .calls()
            .iter()
            .map(|call| deep_len(call.args.as_ref()))
            .sum();
        shown_response(turn).len() + args
    };
    let turns = compared
        .turns
        .iter()
        .flat_map(|turn| [&turn.expected, &turn.actual])
        .flatten();
    turns.map(weight).sum::<usize>() > LARGE
}

fn deep_len(args: Option<&serde_json::Map<String, Value>>) -> usize {
    args.into_iter()
        .flat_map(|args| args.values())
        .map(deep)
        .sum()
}

fn deep(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(deep).sum(),
        Value::Object(map) => map.values().map(deep).sum(),
        _ => 8,
    }
}

/// Whether [accepting](evaltrail_core::diff::accept) what the agent did in a turn would change nothing.
fn is_as_expected(turn: &ComparedTurn) -> bool {
    let (Some(expected), Some(actual)) = (&turn.expected, &turn.actual) else {
        return false;
    };
    // Unknown calls are not accepted.
    let has_same_calls = !actual.trajectory.is_known()
        || expected.trajectory.is_known() && same_calls(&expected.calls(), &actual.calls());
    let intermediate = expected.intermediate_responses();
    has_same_calls
        && expected.response_text() == actual.response_text()
        && (intermediate.is_empty() || intermediate == actual.intermediate_responses())
}

/// Builds the lines of a case.
pub fn build_body(compared: &Compared, view: BodyView) -> CaseLines {
    let other = |width: usize| match view.mode {
        CaseTab::Timeline => timeline(&compared.turns, width),
        CaseTab::Judged => {
            let lines = judged_lines(compared.attempt.as_deref(), &compared.people, width);
            CaseLines {
                lines,
                ..CaseLines::default()
            }
        }
        // The metrics tab is drawn from the summary of the attempt.
        CaseTab::Compare | CaseTab::Metrics => CaseLines::default(),
    };
    if view.compares() || (compared.problem.is_some() && compared.turns.is_empty()) {
        let side_by_side = view.width >= SIDE_BY_SIDE_FROM;
        let beside = view.beside.map(other).unwrap_or_default().lines;
        return CaseLines {
            beside,
            is_as_expected: !compared.turns.is_empty() && compared.turns.iter().all(is_as_expected),
            ..compare(compared, view, side_by_side)
        };
    }
    let body = other(view.width);
    let starts = compared.turns.iter().map(|turn| TurnLines {
        turn: turn.turn,
        line: 0,
        status: turn.status,
    });
    CaseLines {
        turns: if body.turns.is_empty() {
            starts.collect()
        } else {
            body.turns
        },
        ..body
    }
}
