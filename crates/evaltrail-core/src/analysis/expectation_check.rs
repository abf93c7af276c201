//! Checks of what cases expect, without running anything: an agent that does exactly what is expected must pass, one that does
//! something else must not, and no other case may demand something else in the same situation. Metrics of
//! judges and programs are not computed, and other allowed trajectories are not considered.

use crate::diff::same_calls;
use crate::domain::{
    Attempt, AttemptKey, Content, Conversation, Criterion, EvalCase, Invocation, MetricResult,
    Status, ToolCall, Trajectory,
};
use crate::metrics::Scorer;
use rustc_hash::FxHashMap;
use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_64;

/// A response that has no word in common with any expected one, and the name of a tool that no agent has.
const UNEXPECTED_WORD: &str = "qxzvqj";

/// What is wrong with the expectation of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpectationFault {
    /// An agent that does exactly what is expected does not pass: the metric, and its reason.
    CannotPass(String, String),
    /// An agent that calls another tool instead of those that are expected, and answers something else, passes.
    TooWeak,
    /// An agent that does what another case with the same messages and the same initial session expects fails this one, and the
    /// other way round, and one that does both fails one of them: the position of the first such case.
    Contradicts(usize),
}

impl ExpectationFault {
    /// A word that identifies the kind, for JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            ExpectationFault::CannotPass(..) => "cannot_pass",
            ExpectationFault::TooWeak => "too_weak",
            ExpectationFault::Contradicts(_) => "contradicts",
        }
    }
}

/// The faults of the cases of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpectationFaults {
    /// Each fault with the position of its case, in the order of the cases.
    pub faults: Vec<(usize, ExpectationFault)>,
    /// The number of cases that were checked.
    pub checked: usize,
    /// The number of cases with a metric that decides and is not computed, so that it is not known whether a wrong agent fails.
    pub undecided: usize,
    /// The number of cases without expected turns (scenarios), which are not checked.
    pub without_turns: usize,
}

/// Checks the cases of a set by its criteria. `read` reads the case at a position; cases that cannot be read are left out.
pub fn check_expectations(
    count: usize,
    read: impl Fn(usize) -> Option<EvalCase>,
    criteria: &[Criterion],
) -> ExpectationFaults {
    let scorer = Scorer::new(criteria);
    let mut found = ExpectationFaults::default();
    // The positions of cases by a hash of their situation: the cases of a large set are not kept.
    let mut alike: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
    for (at, case) in (0..count).filter_map(|at| Some((at, read(at)?))) {
        if case.turns().is_empty() {
            found.without_turns += 1;
            continue;
        }
        found.checked += 1;
        let as_expected = score_as(&scorer, &case, &case);
        if let Some(failed) = failed_metric(&as_expected) {
            let (metric, why) = (failed.metric.clone(), failed.explanation.clone());
            let fault = ExpectationFault::CannotPass(metric, why);
            found.faults.push((at, fault));
            continue;
        }
        if as_expected.metrics.iter().any(is_not_computed) {
            found.undecided += 1;
        } else if score_as(&scorer, &case, &done_by_wrong_agent(&case)).status == Status::Passed {
            found.faults.push((at, ExpectationFault::TooWeak));
        }
        if let Some(other) = first_contradiction(&scorer, &case, at, &read, &mut alike) {
            let fault = ExpectationFault::Contradicts(other);
            found.faults.push((at, fault));
        }
    }
    found
}

/// The position of the first earlier case that contradicts this one. Adds this one to `alike`, the positions by situation.
fn first_contradiction(
    scorer: &Scorer,
    case: &EvalCase,
    at: usize,
    read: impl Fn(usize) -> Option<EvalCase>,
    alike: &mut FxHashMap<u64, Vec<usize>>,
) -> Option<usize> {
    if case.missing_prompt().is_some() {
        return None;
    }
    let own = situation(case);
    let others = alike.entry(xxh3_64(own.as_bytes())).or_default();
    let contradicts = |other: &&usize| {
        let other = read(**other).filter(|other| situation(other) == own);
        other.is_some_and(|other| are_contradictory(scorer, case, &other))
    };
    let found = others.iter().find(contradicts).copied();
    if others.len() < MAX_ALIKE {
        others.push(at);
    }
    found
}

/// Whether an agent that does what one of two cases expects fails the other, both ways, and one that does both, in either order,
/// fails one of them.
fn are_contradictory(scorer: &Scorer, one: &EvalCase, other: &EvalCase) -> bool {
    let fails =
        |case: &EvalCase, done: &EvalCase| failed_metric(&score_as(scorer, case, done)).is_some();
    let fails_one = |both: EvalCase| fails(one, &both) || fails(other, &both);
    fails(one, other)
        && fails(other, one)
        && fails_one(merged(one, other))
        && fails_one(merged(other, one))
}

/// What an agent does that does what both cases expect, in each turn first that of `first`. What is equal is done once.
fn merged(first: &EvalCase, second: &EvalCase) -> EvalCase {
    let turns = first.turns().iter().zip(second.turns());
    EvalCase {
        conversation: Conversation::Turns(turns.map(merged_turn).collect()),
        final_session_state: merged_state(first, second),
        ..first.clone()
    }
}

fn merged_turn((first, second): (&Invocation, &Invocation)) -> Invocation {
    let mut both = first.clone();
    if !same_calls(&first.calls(), &second.calls()) {
        let calls = first.calls().into_iter().chain(second.calls()).cloned();
        both.trajectory = Trajectory::Listed {
            calls: calls.collect(),
            responses: Vec::new(),
            texts: Vec::new(),
        };
    }
    let (one, other) = (first.response_text(), second.response_text());
    if one != other {
        both.final_response = Some(Content::text("model", format!("{one} {other}")));
    }
    both
}

/// The entries of both final states.
fn merged_state(first: &EvalCase, second: &EvalCase) -> Option<Value> {
    let states = [second, first].map(|case| case.final_session_state.as_ref());
    let objects = states.into_iter().flatten().filter_map(Value::as_object);
    let entries: Map<String, Value> = objects
        .flatten()
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    Some(Value::Object(entries))
}

/// A case is compared with at most this number of other cases with the same messages.
const MAX_ALIKE: usize = 20;

/// An attempt at `case` whose agent does what `done` expects.
fn score_as(scorer: &Scorer, case: &EvalCase, done: &EvalCase) -> Attempt {
    let key = AttemptKey {
        case: 0,
        attempt: 1,
    };
    let mut attempt = Attempt {
        expected: case.turns().to_vec().into(),
        actual: done.turns().to_vec().into(),
        expected_state: case.final_session_state.clone(),
        actual_state: done.final_session_state.clone(),
        rubrics: case.rubrics.clone(),
        variables: case.extra.clone(),
        failed: Some(false),
        ..Attempt::blank(key, &case.eval_id)
    };
    scorer.evaluate(&mut attempt, |_| None);
    attempt
}

/// The first metric that fails the attempt.
fn failed_metric(attempt: &Attempt) -> Option<&MetricResult> {
    let is_failed = |metric: &&MetricResult| metric.status == Status::Failed;
    attempt.metrics.iter().find(is_failed)
}

/// Whether a metric decides and was not computed.
fn is_not_computed(metric: &MetricResult) -> bool {
    metric.threshold.is_some() && metric.status == Status::NotEvaluated
}

/// What an agent does that calls an unexpected tool in each turn, and gives an unexpected answer.
fn done_by_wrong_agent(case: &EvalCase) -> EvalCase {
    let turn = |turn: &Invocation| Invocation {
        final_response: Some(Content::text("model", UNEXPECTED_WORD)),
        trajectory: Trajectory::Listed {
            calls: vec![ToolCall::new(UNEXPECTED_WORD, None)],
            responses: Vec::new(),
            texts: Vec::new(),
        },
        ..turn.clone()
    };
    let turns = case.turns().iter().map(turn).collect();
    EvalCase {
        conversation: Conversation::Turns(turns),
        final_session_state: None,
        ..case.clone()
    }
}

/// What an agent gets to know of a case, as text: the messages of the user, what was done in turns of the history, the session,
/// and the other columns of a data set.
fn situation(case: &EvalCase) -> String {
    let known = |turn: &Invocation| {
        let history = turn
            .history
            .then(|| json!([turn.final_response, turn.trajectory]));
        json!([turn.user, history])
    };
    let turns: Vec<Value> = case.turns().iter().map(known).collect();
    let is_row = case.turns().iter().any(|turn| turn.is_data);
    json!([turns, case.session_input, is_row.then_some(&case.extra)]).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(prompt: &str, tools: &[&str], response: Option<&str>) -> EvalCase {
        let turn = Invocation {
            user: Content::text("user", prompt),
            final_response: response.map(|text| Content::text("model", text)),
            trajectory: Trajectory::Listed {
                calls: tools
                    .iter()
                    .map(|name| ToolCall::new(*name, None))
                    .collect(),
                responses: Vec::new(),
                texts: Vec::new(),
            },
            ..Invocation::default()
        };
        EvalCase {
            eval_id: prompt.into(),
            conversation: Conversation::Turns(vec![turn]),
            session_input: None,
            rubrics: Vec::new(),
            final_session_state: None,
            created: 0.0,
            saved: None,
            recorded: Vec::new(),
            extra: Map::new(),
        }
    }

    fn criterion(metric: &str, threshold: f64, options: Value) -> Criterion {
        Criterion {
            options: options.as_object().cloned().unwrap_or_default(),
            ..Criterion::new(metric, Some(threshold))
        }
    }

    fn check(cases: &[EvalCase], criteria: &[Criterion]) -> Vec<(usize, &'static str)> {
        let found = check_expectations(cases.len(), |at| cases.get(at).cloned(), criteria);
        let kinds = found.faults.iter().map(|(at, fault)| (*at, fault.kind()));
        kinds.collect()
    }

    #[test]
    fn sound_cases_have_no_fault() {
        let criteria = [
            criterion("tool_trajectory_avg_score", 1.0, json!({})),
            criterion("response_match_score", 0.8, json!({})),
        ];
        let cases = [
            case("water", &["water_bed"], Some("The bed got water.")),
            case("rain", &[], Some("It will rain.")),
            case("water", &["water_bed"], Some("The bed got its water.")),
        ];
        assert_eq!(check(&cases, &criteria), []);
    }

    #[test]
    fn case_without_reference_cannot_pass() {
        let criteria = [criterion("response_match_score", 0.8, json!({}))];
        // ROUGE of two empty texts is 0.
        let cases = [case("hello", &[], Some(""))];
        assert_eq!(check(&cases, &criteria), [(0, "cannot_pass")]);
    }

    #[test]
    fn case_that_a_wrong_agent_passes_is_too_weak() {
        let in_order = json!({"match_type": "IN_ORDER"});
        let criteria = [criterion("tool_trajectory_avg_score", 1.0, in_order)];
        let cases = [case("a", &[], None), case("b", &["look"], None)];
        assert_eq!(check(&cases, &criteria), [(0, "too_weak")]);
    }

    #[test]
    fn cases_that_demand_different_calls_contradict() {
        let criteria = [criterion("tool_trajectory_avg_score", 1.0, json!({}))];
        let cases = [
            case("a", &["look"], None),
            case("b", &["water"], None),
            case("a", &["water"], None),
        ];
        assert_eq!(check(&cases, &criteria), [(2, "contradicts")]);
    }

    #[test]
    fn cases_that_one_agent_passes_are_compatible() {
        let in_order = json!({"match_type": "IN_ORDER"});
        let criteria = [criterion("tool_trajectory_avg_score", 1.0, in_order)];
        let cases = [case("a", &["look"], None), case("a", &["water"], None)];
        assert_eq!(check(&cases, &criteria), []);
        let state = |key: &str, value: &str| EvalCase {
            final_session_state: Some(json!({key: value})),
            ..case("a", &["look"], None)
        };
        let exact = [criterion("tool_trajectory_avg_score", 1.0, json!({}))];
        assert_eq!(
            check(&[state("lamp", "on"), state("door", "open")], &exact),
            []
        );
        let contradictory = [state("lamp", "on"), state("lamp", "off")];
        assert_eq!(check(&contradictory, &exact), [(1, "contradicts")]);
    }

    #[test]
    fn judged_case_is_undecided() {
        let criteria = [criterion("safety_v1", 0.8, json!({}))];
        let cases = [case("a", &[], None)];
        let found = check_expectations(cases.len(), |at| cases.get(at).cloned(), &criteria);
        assert_eq!(
            (found.faults.len(), found.checked, found.undecided),
            (0, 1, 1)
        );
    }
}
