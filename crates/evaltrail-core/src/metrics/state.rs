//! `session_state_match`, evaltrail's own: compares the final session state with `final_session_state`, which ADK
//! declares and never compares. It decides every case that declares a state, whether or not a criterion requests it.

use super::criterion_error::CriterionError;
use super::measure::{Evidence, Measure, Outcome};
use super::options::word_option;
use super::trajectory::difference_found;
use crate::diff::{Difference, DifferenceKind, differences, values_equal};
use crate::domain::{Criterion, Finding, FindingRule, SESSION_STATE_MATCH};
use serde_json::Value;

/// Whether the actual state may contain more than the expected one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Mode {
    Exact,
    #[default]
    Subset,
}

/// The comparison for cases whose criteria do not request one.
pub(super) fn standard_comparison() -> Criterion {
    Criterion::new(SESSION_STATE_MATCH, Some(NEEDED))
}

/// A criterion with the threshold of the comparison if it compares states and has none: it then only sets options.
pub(super) fn with_state_threshold(criterion: &Criterion) -> Criterion {
    let compares_state = criterion.name() == SESSION_STATE_MATCH;
    let threshold = criterion.threshold.or(compares_state.then_some(NEEDED));
    Criterion {
        threshold,
        ..criterion.clone()
    }
}

/// The score is 1 or 0.
const NEEDED: f64 = 1.0;

pub(super) struct SessionState {
    mode: Mode,
}

impl SessionState {
    pub(super) fn new(criterion: &Criterion) -> Result<Self, CriterionError> {
        let modes = [("exact", Mode::Exact), ("subset", Mode::Subset)];
        Ok(SessionState {
            mode: word_option(criterion, "mode", &modes, "exact or subset")?.unwrap_or_default(),
        })
    }
}

impl Measure for SessionState {
    fn measure(&self, evidence: &Evidence, threshold: Option<f64>) -> Outcome {
        let turns = evidence.actual.len();
        let Some(expected) = evidence.expected_state.filter(|state| is_declared(state)) else {
            let none = Outcome::none("the case has no final_session_state", turns);
            return Outcome {
                informational: true,
                ..none
            };
        };
        let Some(actual) = evidence.actual_state else {
            let none = Outcome::none("the agent did not report its session state", turns);
            return Outcome {
                informational: threshold.is_some_and(|needed| needed <= 0.0),
                ..none
            };
        };
        let found: Vec<Difference> = differences(expected.as_object(), actual.as_object())
            .into_iter()
            .filter(|found| {
                self.mode == Mode::Exact || !matches!(found.kind, DifferenceKind::Extra(_))
            })
            .collect();
        let are_objects = expected.is_object() && actual.is_object();
        let is_same = if are_objects {
            found.is_empty()
        } else {
            values_equal(expected, actual)
        };
        if is_same {
            return Outcome::whole(Some(1.0), "the state is as expected".into(), turns);
        }
        let rules = [
            FindingRule::StateDiffers,
            FindingRule::StateMissing,
            FindingRule::StateExtra,
        ];
        let mut found: Vec<Finding> = found
            .into_iter()
            .map(|difference| difference_found(rules, difference))
            .collect();
        if found.is_empty() {
            let argument = Some("the state".to_string());
            let (expected, actual) = (Some(expected.clone()), Some(actual.clone()));
            found.push(Finding {
                argument,
                expected,
                actual,
                ..Finding::new(FindingRule::StateDiffers)
            });
        }
        Outcome::because(0.0, found, turns)
    }
}

/// Whether a case declares a final session state. ADK writes `{}` where there is none.
pub fn is_declared(state: &Value) -> bool {
    match state {
        Value::Null => false,
        Value::Object(map) => !map.is_empty(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn score(mode: &str, expected: Value, actual: Option<Value>) -> (Option<f64>, String) {
        let options = json!({"mode": mode}).as_object().cloned().unwrap();
        let metric = SessionState::new(&Criterion {
            options,
            ..Criterion::default()
        })
        .unwrap();
        let evidence = Evidence {
            expected_state: Some(&expected),
            actual_state: actual.as_ref(),
            ..Evidence::default()
        };
        let outcome = metric.measure(&evidence, None);
        (outcome.score, outcome.explanation)
    }

    #[test]
    fn exact_state_allows_no_other_entry() {
        let (expected, more) = (
            json!({"a": {"b": 1}}),
            json!({"a": {"b": 1, "c": 2}, "d": 3}),
        );
        assert_eq!(
            score("exact", expected.clone(), Some(expected.clone())).0,
            Some(1.0)
        );
        assert_eq!(
            score("exact", expected.clone(), Some(more.clone())).0,
            Some(0.0)
        );
        assert_eq!(score("subset", expected.clone(), Some(more)).0, Some(1.0));
        let (found, why) = score("subset", expected.clone(), Some(json!({"a": {"b": 2}})));
        assert_eq!((found, why.as_str()), (Some(0.0), "a.b: expected 1, got 2"));
        let list = score(
            "subset",
            json!({"beds": [1]}),
            Some(json!({"beds": [1, 2]})),
        );
        assert_eq!(list.0, Some(0.0), "a longer list is another value");
        assert_eq!(score("exact", json!({}), Some(json!({}))).0, None);
        assert_eq!(score("exact", expected, None).0, None);
    }
}
