//! Cases that are derived from existing ones without a model: another value of an argument, turns in another order, an
//! irrelevant sentence, another initial state.
//!
//! ```text
//! cases ────────┐
//! declarations ─┼──mutated_cases──▶ MutatedCase: a new case, what differs, and whether its expectation is known
//! seed ─────────┘
//! ```
//!
//! What an agent is expected to do in a new case is known only where a relation between both cases says so: an irrelevant
//! sentence and the order of independent requests change nothing. In all other cases a person decides.

mod mutation;
mod order;
mod state;
mod stated;
mod unchanged;
mod value;
mod wording;

use super::coverage::Declarations;
use crate::domain::{Conversation, EvalCase, Invocation, Part};
use mutation::Mutation;
use serde_json::Value;
use stated::CaseValues;
use std::collections::HashSet;

/// How a case is derived from another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MutationKind {
    /// A value that the user states, and that is an argument of a call, is another one.
    Value,
    /// Two turns that do not depend on each other change places.
    Order,
    /// The user's words differ in what is not part of the request.
    Wording,
    /// The session begins in another state.
    State,
}

impl MutationKind {
    /// All kinds.
    pub const ALL: [MutationKind; 4] = [
        MutationKind::Value,
        MutationKind::Order,
        MutationKind::Wording,
        MutationKind::State,
    ];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            MutationKind::Value => "value",
            MutationKind::Order => "order",
            MutationKind::Wording => "wording",
            MutationKind::State => "state",
        }
    }

    /// The kind with a name.
    pub fn from_name(name: &str) -> Option<MutationKind> {
        MutationKind::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
    }

    /// Whether the expectation of the source is that of the new case as well.
    pub fn keeps_expectation(self) -> bool {
        matches!(self, MutationKind::Order | MutationKind::Wording)
    }
}

/// A case that is derived from another one.
#[derive(Clone, Debug, PartialEq)]
pub struct MutatedCase {
    /// How.
    pub kind: MutationKind,
    /// The position of the case that it is derived from.
    pub source: usize,
    /// What differs, as in `water_bed.litres 4 → 0 (zero)`. The same change of the same case is always described by the same
    /// words.
    pub change: String,
    /// Whether no case expects an argument of the class of the new value, nor does a mutation before this one.
    pub closes_gap: bool,
    /// The new case, with the id of its source.
    pub case: EvalCase,
}

/// The cases that are mutated.
#[derive(Clone, Copy, Debug)]
pub struct MutationRequest<'a> {
    /// All cases of the agent: what they expect is no gap, and the values of their arguments are used in others.
    pub cases: &'a [EvalCase],
    /// The whole_word_positions of those that are mutated.
    pub sources: &'a [usize],
    /// The tools of the agent, as far as they are known.
    pub declared: &'a Declarations,
    /// How cases are derived.
    pub kinds: &'a [MutationKind],
    /// Chooses among values and sentences that are equally good.
    pub seed: u64,
}

/// All mutations of the cases, in the order in which they are most useful: what closes a gap first, then in turn one of each
/// kind and case. Equal requests have equal results. Left out are those that `is_known`, others that close the same gap, and
/// cases that exist already, in the request or in the result; the second value is the number of these.
pub fn mutated_cases(
    request: &MutationRequest,
    mut is_known: impl FnMut(&MutatedCase) -> bool,
) -> (Vec<MutatedCase>, usize) {
    let known = CaseValues::collect(request.cases, request.declared);
    // Each with its place among those of its case and kind, and the place of the case.
    let mut all: Vec<(usize, usize, MutationKind, Mutation)> = Vec::new();
    for (place, &source) in request.sources.iter().enumerate() {
        let Some(case) = request.cases.get(source) else {
            continue;
        };
        for kind in request.kinds {
            let seed = request.seed.wrapping_add(source as u64);
            let mutated = match kind {
                MutationKind::Value => value::mutations(case, &known, seed),
                MutationKind::Order => order::mutations(case, request.declared),
                MutationKind::Wording => wording::mutations(case, seed),
                MutationKind::State => state::mutations(case),
            };
            let with_place = mutated.into_iter().enumerate();
            all.extend(with_place.map(|(nth, one)| (nth, place, *kind, one)));
        }
    }
    all.sort_by_key(|(nth, place, ..)| (*nth, *place));
    let mut contents: HashSet<String> = request.cases.iter().map(content_key).collect();
    let mut closed: HashSet<String> = HashSet::new();
    let mut duplicates = 0;
    let mut different: Vec<MutatedCase> = Vec::new();
    for (_, place, kind, one) in all {
        let mut mutated = MutatedCase {
            kind,
            source: request.sources[place],
            change: one.change,
            closes_gap: false,
            case: without_provenance(one.case),
        };
        let is_known = is_known(&mutated);
        // One case for each gap is enough.
        let is_closed = one.gap.as_ref().is_some_and(|gap| closed.contains(gap));
        if is_known || is_closed {
            closed.extend(one.gap.filter(|_| is_known));
            continue;
        }
        if !contents.insert(content_key(&mutated.case)) {
            duplicates += 1;
            continue;
        }
        mutated.closes_gap = one.gap.is_some();
        closed.extend(one.gap);
        different.push(mutated);
    }
    different.sort_by_key(|mutated| !mutated.closes_gap);
    (different, duplicates)
}

/// The key of a case under which its source is, if it is derived.
pub const PROVENANCE_KEY: &str = "evaltrail_generated";

/// Removes where the source is from, and when it was created: a derived case gets both when it is stored.
fn without_provenance(mut case: EvalCase) -> EvalCase {
    case.extra.remove(PROVENANCE_KEY);
    case.created = 0.0;
    case
}

/// What the user says, without the number of spaces, and what the session begins with: cases that are equal in it are duplicates.
fn content_key(case: &EvalCase) -> String {
    let part = |part: &Part| match &part.text {
        Some(text) => Value::from(text.split_whitespace().collect::<Vec<_>>().join(" ")),
        None => serde_json::to_value(part).unwrap_or_default(),
    };
    let said = |turn: &Invocation| turn.user.parts.iter().map(part).collect::<Vec<Value>>();
    let turns: Vec<Vec<Value>> = case.turns().iter().map(said).collect();
    let state = case.session_input.as_ref().map(|input| &input.state);
    let scenario = match &case.conversation {
        Conversation::Scenario(scenario) => scenario.clone(),
        Conversation::Turns(_) => Value::Null,
    };
    serde_json::json!([turns, state, scenario]).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Content, SessionInput, ToolCall, Trajectory};
    use serde_json::json;

    /// A turn with a user text and calls, and the response "done".
    pub(super) fn turn(user: &str, calls: &[(&str, Value)]) -> Invocation {
        let calls = calls
            .iter()
            .map(|(name, args)| ToolCall::new(*name, args.as_object().cloned()));
        Invocation {
            user: Content::text("user", user),
            final_response: Some(Content::text("model", "done")),
            trajectory: Trajectory::Listed {
                calls: calls.collect(),
                responses: Vec::new(),
                texts: Vec::new(),
            },
            ..Invocation::default()
        }
    }

    pub(super) fn case(id: &str, turns: Vec<Invocation>) -> EvalCase {
        EvalCase {
            eval_id: id.into(),
            conversation: Conversation::Turns(turns),
            ..EvalCase::default()
        }
    }

    /// The tool `water` with a bed and 1 to 20 litres, by default 4.
    pub(super) fn declared() -> Declarations {
        let mut declared = Declarations::default();
        assert!(declared.add(
            &json!({"tools": [{"name": "water", "parameters": {"type": "object", "properties": {
            "bed": {"type": "string"},
            "litres": {"type": "integer", "minimum": 1, "maximum": 20, "default": 4},
        }, "required": ["bed"]}}]})
        ));
        declared
    }

    fn watering() -> Vec<EvalCase> {
        let args = json!({"bed": "tomatoes", "litres": 6});
        let mut one = case(
            "one",
            vec![turn(
                "Water the tomatoes with 6 litres.",
                &[("water", args)],
            )],
        );
        one.session_input = Some(SessionInput {
            state: json!({"season": "summer"}).as_object().cloned().unwrap(),
            ..SessionInput::default()
        });
        let other = turn("Water the beans.", &[("water", json!({"bed": "beans"}))]);
        vec![one, case("two", vec![other])]
    }

    fn mutate(cases: &[EvalCase], seed: u64) -> (Vec<MutatedCase>, usize) {
        let request = MutationRequest {
            cases,
            sources: &[0, 1],
            declared: &declared(),
            kinds: &MutationKind::ALL,
            seed,
        };
        mutated_cases(&request, |_| false)
    }

    #[test]
    fn gaps_come_first_and_results_repeat() {
        let cases = watering();
        let (mutated, _) = mutate(&cases, 1);
        let changes: Vec<&str> = mutated.iter().map(|one| one.change.as_str()).collect();
        assert_eq!(
            changes[0],
            "water.bed \"tomatoes\" → \"tómatoes\" (not ASCII)"
        );
        assert!(
            changes.contains(&"water.bed \"beans\" → \"tomatoes\""),
            "{changes:?}"
        );
        for other in ["state without season", "in lower case"] {
            assert!(changes.contains(&other), "{changes:?}");
        }
        let accents = mutated
            .iter()
            .filter(|one| one.change.ends_with("(not ASCII)"));
        let closing: Vec<bool> = accents.map(|one| one.closes_gap).collect();
        assert_eq!(closing, [true], "one case is enough");
        let first_without = mutated.iter().position(|one| !one.closes_gap).unwrap();
        assert!(mutated[first_without..].iter().all(|one| !one.closes_gap));
        assert_eq!(mutate(&cases, 1).0, mutated);
    }

    #[test]
    fn existing_cases_are_not_made_again() {
        let mut cases = watering();
        let (mutated, _) = mutate(&cases, 1);
        let before = mutated.len();
        cases.push(mutated[0].case.clone());
        let (again, left_out) = mutate(&cases, 1);
        assert!(
            again
                .iter()
                .all(|one| one.case.conversation != mutated[0].case.conversation)
        );
        assert!(left_out > 0 && again.len() < before);
    }
}
