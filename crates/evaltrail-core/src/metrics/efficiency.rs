//! ADK's informational metrics (`_efficiency_evaluators.py`, 2.10 and later): what a turn cost.

use super::measure::{Evidence, Measure, Outcome, TurnScore, mean};
use crate::domain::{Invocation, MetricDetails, TokenUsage, Usage};

/// The quantity that is counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum EfficiencyMeasure {
    ToolCalls,
    ModelCalls,
    Tokens,
    Seconds,
}

impl Measure for EfficiencyMeasure {
    fn measure(&self, evidence: &Evidence, _: Option<f64>) -> Outcome {
        let actual = evidence.actual;
        match self {
            EfficiencyMeasure::ToolCalls => counted(
                actual,
                tool_calls,
                "tool calls",
                "it is not known which calls were made",
            ),
            EfficiencyMeasure::ModelCalls => model_calls(actual),
            EfficiencyMeasure::Tokens => tokens(actual),
            EfficiencyMeasure::Seconds => durations(actual),
        }
    }
}

fn outcome(score: Option<f64>, per_turn: Vec<Option<f64>>, explanation: String) -> Outcome {
    Outcome {
        score,
        explanation,
        per_invocation: per_turn
            .into_iter()
            .map(|score| TurnScore {
                score,
                ..TurnScore::default()
            })
            .collect(),
        informational: true,
        ..Outcome::default()
    }
}

fn counted(
    actual: &[Invocation],
    count: impl Fn(&Invocation) -> Option<f64>,
    what: &str,
    unknown: &str,
) -> Outcome {
    let per_turn: Vec<Option<f64>> = actual.iter().map(count).collect();
    let score = mean(per_turn.iter().flatten().copied());
    let explanation = match score {
        Some(score) => format!("{what} per turn: {score}"),
        None => format!("{what} cannot be counted: {unknown}"),
    };
    outcome(score, per_turn, explanation)
}

/// The number of calls in a turn; `None`, not zero, when it is unknown which calls were made.
fn tool_calls(turn: &Invocation) -> Option<f64> {
    turn.trajectory
        .is_known()
        .then(|| turn.calls().len() as f64)
}

/// The model calls of each turn. Unknown if no event of any turn shows a model call: many agents call models without
/// reporting it. ADK counts 0 then.
fn model_calls(actual: &[Invocation]) -> Outcome {
    let reports_models = actual
        .iter()
        .any(|turn| model_calls_of(turn).is_some_and(|calls| calls > 0.0));
    let count = |turn: &Invocation| model_calls_of(turn).filter(|_| reports_models);
    counted(
        actual,
        count,
        "model calls",
        "no event has token counts or a model version",
    )
}

/// The number of events with token counts or a model version; `None` unless events were recorded.
fn model_calls_of(turn: &Invocation) -> Option<f64> {
    let events = turn
        .trajectory
        .is_known()
        .then(|| turn.trajectory.events())??;
    let calls = events
        .iter()
        .filter(|event| event.usage.is_some() || event.model_version.is_some());
    Some(calls.count() as f64)
}

fn tokens(actual: &[Invocation]) -> Outcome {
    let per_turn: Vec<Option<TokenUsage>> = actual.iter().map(turn_tokens).collect();
    let overall = average(&per_turn);
    let score = overall.as_ref().and_then(|usage| usage.total);
    let explanation = match score {
        Some(total) => format!("tokens per turn: {total}"),
        None => "the agent reported no tokens".into(),
    };
    let totals = per_turn
        .iter()
        .map(|usage| usage.as_ref().and_then(|usage| usage.total))
        .collect();
    Outcome {
        details: per_turn
            .into_iter()
            .map(|usage| usage.map(MetricDetails::Tokens))
            .collect(),
        overall: overall.map(MetricDetails::Tokens),
        ..outcome(score, totals, explanation)
    }
}

fn turn_tokens(turn: &Invocation) -> Option<TokenUsage> {
    let events = turn.trajectory.events()?;
    let usages: Vec<&Usage> = events
        .iter()
        .filter_map(|event| event.usage.as_ref())
        .collect();
    if usages.is_empty() {
        return None;
    }
    let sum = |field: fn(&Usage) -> Option<f64>| add(usages.iter().map(|usage| field(usage)));
    let prompt = sum(|u| u.prompt);
    let tool_use = sum(|u| u.tool_use);
    let candidates = sum(|u| u.candidates);
    let reasoning = sum(|u| u.thoughts);
    let input = add([prompt, tool_use].into_iter());
    let output = add([candidates, reasoning].into_iter());
    let total = add([input, output].into_iter());
    Some(TokenUsage {
        total,
        input,
        prompt,
        cached: sum(|u| u.cached),
        tool_use,
        output,
        candidates,
        reasoning,
    })
}

/// The sum of the known values; `None` if there are none.
fn add(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    values
        .flatten()
        .fold(None, |sum, value| Some(sum.unwrap_or(0.0) + value))
}

/// Each field summed and divided by the number of all turns, as ADK does.
fn average(per_turn: &[Option<TokenUsage>]) -> Option<TokenUsage> {
    if per_turn.iter().all(Option::is_none) {
        return None;
    }
    let count = per_turn.len() as f64;
    let field = |get: fn(&TokenUsage) -> Option<f64>| {
        add(per_turn.iter().map(|usage| usage.as_ref().and_then(get))).map(|sum| sum / count)
    };
    Some(TokenUsage {
        total: field(|u| u.total),
        input: field(|u| u.input),
        prompt: field(|u| u.prompt),
        cached: field(|u| u.cached),
        tool_use: field(|u| u.tool_use),
        output: field(|u| u.output),
        candidates: field(|u| u.candidates),
        reasoning: field(|u| u.reasoning),
    })
}

fn durations(actual: &[Invocation]) -> Outcome {
    let per_turn: Vec<Option<f64>> = actual.iter().map(|turn| turn.durations.total).collect();
    let score =
        mean(per_turn.iter().flatten().copied()).map(|seconds| (seconds * 1000.0).round() / 1000.0);
    let explanation = match score {
        Some(seconds) => format!("seconds per turn: {seconds}"),
        None => "no turn was timed".into(),
    };
    let details = per_turn
        .iter()
        .map(|total| total.map(|total| MetricDetails::Seconds { total: Some(total) }))
        .collect();
    let overall = score.map(|total| MetricDetails::Seconds { total: Some(total) });
    Outcome {
        details,
        overall,
        ..outcome(score, per_turn, explanation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Trajectory;

    #[test]
    fn unknown_calls_are_not_counted_as_none() {
        let of = |trajectory| {
            tool_calls(&Invocation {
                trajectory,
                ..Invocation::default()
            })
        };
        let listed = Trajectory::Listed {
            calls: vec![],
            responses: vec![],
            texts: vec![],
        };
        assert_eq!((of(Trajectory::Unknown), of(listed)), (None, Some(0.0)));
    }

    #[test]
    fn model_calls_that_no_event_shows_are_unknown() {
        use crate::domain::InvocationEvent;
        let turn = |version: Option<&str>| {
            let event = InvocationEvent {
                model_version: version.map(Into::into),
                ..InvocationEvent::default()
            };
            Invocation {
                trajectory: Trajectory::Events(vec![event]),
                ..Invocation::default()
            }
        };
        let score = |turns: &[Invocation]| {
            let evidence = Evidence {
                actual: turns,
                ..Evidence::default()
            };
            EfficiencyMeasure::ModelCalls.measure(&evidence, None).score
        };
        assert_eq!(score(&[turn(None), turn(None)]), None);
        assert_eq!(
            score(&[turn(Some("m")), turn(None)]),
            Some(0.5),
            "this agent reports its model calls"
        );
    }

    #[test]
    fn tokens_are_averaged_over_turns() {
        use crate::domain::InvocationEvent;
        let turn = |prompt: f64| {
            let usage = Usage {
                prompt: Some(prompt),
                candidates: Some(0.0),
                ..Usage::default()
            };
            let event = InvocationEvent {
                usage: Some(usage),
                ..InvocationEvent::default()
            };
            Invocation {
                trajectory: Trajectory::Events(vec![event]),
                ..Invocation::default()
            }
        };
        let outcome = tokens(&[turn(10.0), turn(20.0)]);
        let Some(MetricDetails::Tokens(overall)) = outcome.overall else {
            panic!("no average")
        };
        assert_eq!((outcome.score, overall.total), (Some(15.0), Some(15.0)));
        assert_eq!(outcome.details.len(), 2);
    }
}
