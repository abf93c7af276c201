//! The calls of a turn: those of the spans of tools, in the order in which the models asked for them.

use super::facts::{SpanFacts, ToolFacts};
use super::step::TracedStep;
use crate::diff::values_equal;
use crate::domain::ToolCall;
use serde_json::{Map, Value};

/// The position of a step in a turn: the position of the span, and the position of the call among those of the span (from 1).
pub(super) type StepPosition = (usize, usize);

/// How the names of the tools begin with which pydantic-ai requests a structured output from a model: they are no tools of
/// the agent.
const STRUCTURED_OUTPUT: &str = "final_result";

/// A call that a model asked for.
struct SpanCall {
    position: StepPosition,
    call: ToolCall,
}

/// How surely a span of a tool belongs to a call that a model asked for. The surest is first.
#[derive(Clone, Copy, PartialEq)]
enum Likeness {
    SameId,
    SameArguments,
    /// The span has further arguments: defaults of the tool.
    MoreArguments,
    UnknownArguments,
    /// Models' spans lack the arguments.
    NotAskedWithArguments,
    SameName,
}

const SUREST_FIRST: [Likeness; 6] = [
    Likeness::SameId,
    Likeness::SameArguments,
    Likeness::MoreArguments,
    Likeness::UnknownArguments,
    Likeness::NotAskedWithArguments,
    Likeness::SameName,
];

/// The calls with their positions, and the number of calls without arguments. A call of a tool's span that no model's span
/// contains is at the position where the tool began.
pub(super) fn called(
    facts: &[SpanFacts],
    authors: &[String],
) -> (Vec<(StepPosition, TracedStep)>, usize) {
    let asked = calls_of_spans(facts);
    let tools: Vec<(usize, &ToolFacts)> = facts
        .iter()
        .enumerate()
        .filter_map(|(at, one)| Some((at, one.tool.as_ref()?)))
        .collect();
    let matches = matches(&tools, &asked);
    let not_run = not_run(&tools, &asked, &matches);
    let of_tools = tools.iter().zip(matches).map(|((at, tool), found)| {
        let asked = found.map(|(index, likeness)| (&asked[index], likeness));
        let position = asked.map_or((*at, 0), |(asked, _)| asked.position);
        let call = call_of(tool, asked.map(|(asked, likeness)| (&asked.call, likeness)));
        (
            position,
            TracedStep::Called {
                author: authors[*at].clone(),
                call,
                result: tool.result.clone(),
            },
        )
    });
    let of_models = not_run.into_iter().map(|asked| {
        let author = authors[asked.position.0].clone();
        (
            asked.position,
            TracedStep::Called {
                author,
                call: asked.call.clone(),
                result: None,
            },
        )
    });
    let steps: Vec<(StepPosition, TracedStep)> = of_tools.chain(of_models).collect();
    let lacks_arguments =
        |step: &TracedStep| matches!(step, TracedStep::Called { call, .. } if call.args.is_none());
    let lacking = steps
        .iter()
        .filter(|(_, step)| lacks_arguments(step))
        .count();
    (steps, lacking)
}

/// The calls that models asked for, in order.
fn calls_of_spans(facts: &[SpanFacts]) -> Vec<SpanCall> {
    let of_models = facts.iter().enumerate().filter(|(_, one)| !one.is_whole);
    let of_span = |(at, one): (usize, &SpanFacts)| {
        let calls: Vec<ToolCall> = one
            .said
            .iter()
            .flat_map(|message| message.calls.clone())
            .collect();
        calls
            .into_iter()
            .enumerate()
            .map(move |(order, call)| SpanCall {
                position: (at, order + 1),
                call,
            })
    };
    of_models.flat_map(of_span).collect()
}

/// For each span of a tool, the position of the call to which it belongs. Each call belongs to one span at most.
fn matches(tools: &[(usize, &ToolFacts)], asked: &[SpanCall]) -> Vec<Option<(usize, Likeness)>> {
    let have_ids = have_same_ids(tools, asked);
    let mut found = vec![None; tools.len()];
    let mut is_free = vec![true; asked.len()];
    for wanted in SUREST_FIRST {
        for ((at, tool), found) in tools
            .iter()
            .zip(&mut found)
            .filter(|(_, found)| found.is_none())
        {
            let is_candidate = |index: &usize| {
                is_free[*index] && likeness(tool, &asked[*index].call, have_ids) == Some(wanted)
            };
            let candidates: Vec<usize> = (0..asked.len()).filter(is_candidate).collect();
            if let Some(index) = nearest(&candidates, *at, asked) {
                is_free[index] = false;
                *found = Some((index, wanted));
            }
        }
    }
    found
}

/// Whether the spans of tools and of models name calls by the same ids.
fn have_same_ids(tools: &[(usize, &ToolFacts)], asked: &[SpanCall]) -> bool {
    let ids: std::collections::HashSet<&str> = asked
        .iter()
        .filter_map(|one| one.call.id.as_deref())
        .collect();
    tools
        .iter()
        .any(|(_, tool)| tool.id.as_deref().is_some_and(|id| ids.contains(id)))
}

/// The first of these calls in the latest span of a model that began before the tool; else the first of all.
fn nearest(candidates: &[usize], tool: usize, asked: &[SpanCall]) -> Option<usize> {
    let span_of = |index: &usize| asked[*index].position.0;
    let latest = candidates.iter().map(span_of).filter(|at| *at < tool).max();
    candidates
        .iter()
        .find(|index| Some(span_of(index)) == latest)
        .or(candidates.first())
        .copied()
}

fn likeness(tool: &ToolFacts, call: &ToolCall, have_ids: bool) -> Option<Likeness> {
    if let (true, Some(id), Some(asked)) = (have_ids, &tool.id, &call.id) {
        return (id == asked).then_some(Likeness::SameId);
    }
    if tool.name != call.name {
        return None;
    }
    Some(match (&tool.args, &call.args) {
        (Some(given), Some(asked)) if is_part(asked, given) => match asked.len() == given.len() {
            true => Likeness::SameArguments,
            false => Likeness::MoreArguments,
        },
        (Some(_), Some(_)) => Likeness::SameName,
        (None, Some(_)) => Likeness::UnknownArguments,
        (_, None) => Likeness::NotAskedWithArguments,
    })
}

fn is_part(part: &Map<String, Value>, whole: &Map<String, Value>) -> bool {
    part.iter().all(|(name, value)| {
        whole
            .get(name)
            .is_some_and(|other| values_equal(value, other))
    })
}

/// A call as the model asked for it. What the model's span lacks is taken from that of the tool.
fn call_of(tool: &ToolFacts, asked: Option<(&ToolCall, Likeness)>) -> ToolCall {
    let own = || ToolCall {
        id: tool.id.clone(),
        ..ToolCall::new(&tool.name, tool.args.clone())
    };
    match asked {
        None | Some((_, Likeness::SameName)) => own(),
        Some((asked, _)) => {
            let name = if asked.name.is_empty() {
                &tool.name
            } else {
                &asked.name
            };
            let args = asked.args.clone().or_else(|| tool.args.clone());
            let id = tool.id.clone().or_else(|| asked.id.clone());
            ToolCall {
                id,
                ..ToolCall::new(name, args)
            }
        }
    }
}

/// The calls that models asked for and that no span of a tool is about. Where spans cannot be matched by id, those are only
/// known if there is no span of a tool at all: nested spans may describe the same call of a model.
fn not_run<'a>(
    tools: &[(usize, &ToolFacts)],
    asked: &'a [SpanCall],
    matches: &[Option<(usize, Likeness)>],
) -> Vec<&'a SpanCall> {
    let is_matched = |index: usize| {
        matches
            .iter()
            .flatten()
            .any(|(matched, _)| *matched == index)
    };
    let is_only = |call: &ToolCall| {
        let same = |other: &&SpanCall| other.call.id == call.id;
        call.id.is_some() && asked.iter().filter(same).count() == 1
    };
    let may_be_of_tool = |call: &ToolCall| {
        let mut unmatched = tools
            .iter()
            .zip(matches)
            .filter(|(_, found)| found.is_none());
        unmatched.any(|((_, tool), _)| tool.name == call.name)
    };
    let have_ids = have_same_ids(tools, asked);
    let is_missing = |(index, one): &(usize, &SpanCall)| {
        !one.call.name.starts_with(STRUCTURED_OUTPUT)
            && (tools.is_empty()
                || (have_ids
                    && !is_matched(*index)
                    && is_only(&one.call)
                    && !may_be_of_tool(&one.call)))
    };
    asked
        .iter()
        .enumerate()
        .filter(is_missing)
        .map(|(_, one)| one)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::spans::message::SpanMessage;
    use serde_json::json;

    fn call(id: &str, name: &str, args: Value) -> ToolCall {
        let id = (!id.is_empty()).then(|| id.to_string());
        ToolCall {
            id,
            ..ToolCall::new(name, args.as_object().cloned())
        }
    }

    fn model(calls: Vec<ToolCall>) -> SpanFacts {
        SpanFacts {
            said: vec![SpanMessage {
                calls,
                ..SpanMessage::default()
            }],
            ..SpanFacts::default()
        }
    }

    fn tool(id: &str, name: &str, args: Value) -> SpanFacts {
        let ToolCall { id, name, args, .. } = call(id, name, args);
        SpanFacts {
            tool: Some(ToolFacts {
                id,
                name,
                args,
                result: None,
            }),
            ..SpanFacts::default()
        }
    }

    /// The calls in the order of their positions.
    fn shown(facts: &[SpanFacts]) -> (Value, usize) {
        let (mut steps, lacking) = called(facts, &vec![String::new(); facts.len()]);
        steps.sort_by_key(|(position, _)| *position);
        let shown = steps.iter().filter_map(|(_, step)| match step {
            TracedStep::Called { call, .. } => Some(json!([call.id, call.name, call.args])),
            TracedStep::Said { .. } => None,
        });
        (shown.collect(), lacking)
    }

    #[test]
    fn parallel_calls_are_in_model_order() {
        let (a, b) = (json!({"city": "A"}), json!({"city": "B"}));
        let expected = json!([["1", "get", a], ["2", "get", b]]);
        let asked = || {
            model(vec![
                call("1", "get", a.clone()),
                call("2", "get", b.clone()),
            ])
        };
        for tools in [
            [tool("2", "get", b.clone()), tool("1", "get", a.clone())],
            // Without ids, arguments decide, also if defaults were added.
            [
                tool("", "get", json!({"city": "B", "days": 1})),
                tool("", "get", a.clone()),
            ],
            // The arguments of the model are preferred to a wrapper.
            [
                tool("2", "get", Value::Null),
                tool("1", "get", json!({"input": "x"})),
            ],
        ] {
            let [first, second] = tools;
            assert_eq!(shown(&[asked(), first, second]), (expected.clone(), 0));
        }
        let unordered = [tool("2", "get", b.clone()), tool("1", "get", a.clone())];
        assert_eq!(
            shown(&unordered),
            (json!([["2", "get", b], ["1", "get", a]]), 0)
        );
    }

    #[test]
    fn equal_calls_of_two_steps_match_their_step() {
        let args = json!({"n": 1});
        let step = |id: &str| {
            model(vec![
                call(id, "get", args.clone()),
                call("", "other", json!({})),
            ])
        };
        let facts = [
            step("1"),
            tool("", "other", json!({})),
            tool("", "get", args.clone()),
            step("2"),
            tool("", "get", args.clone()),
            tool("", "other", json!({})),
        ];
        let expected = json!([
            ["1", "get", args],
            [null, "other", {}],
            ["2", "get", args],
            [null, "other", {}]
        ]);
        assert_eq!(shown(&facts), (expected, 0));
    }

    #[test]
    fn a_call_without_a_span_of_its_tool_is_a_call() {
        let asked = model(vec![
            call("1", "get", json!({})),
            call("2", "not_instrumented", json!({"n": 1})),
            call("3", "final_result", json!({})),
        ]);
        let expected = json!([["1", "get", {}], ["2", "not_instrumented", {"n": 1}]]);
        assert_eq!(shown(&[asked, tool("1", "get", json!({}))]), (expected, 0));
    }

    #[test]
    fn unknown_arguments_are_counted() {
        let facts = [
            model(vec![call("", "get", Value::Null)]),
            tool("", "get", Value::Null),
        ];
        assert_eq!(shown(&facts), (json!([[null, "get", null]]), 1));
    }
}
