//! The stubs of one attempt: which answer a call gets, and which answers were used.

use super::file::{StubFile, StubLine};
use evaltrail_core::diff::{DifferenceKind, calls_equal};
use evaltrail_core::domain::{Invocation, ToolCall, ToolResponse, value_text};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// The answers that are available to one attempt of a case. The lines of the file for the case come first, then the
/// responses that the case itself records, then the other lines of the file.
#[derive(Default)]
pub struct AttemptStubs {
    file: Arc<StubFile>,
    /// How often each line of the file answered.
    used: Vec<u32>,
    eval_id: String,
    recorded: Vec<RecordedResponse>,
}

/// A response that the case records for a call of its expected trajectory.
struct RecordedResponse {
    turn: usize,
    call: ToolCall,
    response: Value,
    is_used: bool,
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq)]
pub struct StubAnswer {
    /// The response, or the words of an error.
    pub result: Result<Value, String>,
    /// How long the tool takes.
    pub after: Duration,
}

/// Why a call has no answer: the call, and the answer that is nearest to it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("no answer is recorded for {call}{nearest}")]
pub struct UnansweredCall {
    call: String,
    nearest: String,
}

impl AttemptStubs {
    /// The stubs of a case. `expected` are its turns.
    pub fn new(file: Arc<StubFile>, eval_id: &str, expected: &[Invocation]) -> AttemptStubs {
        let recorded = expected
            .iter()
            .enumerate()
            .flat_map(|(at, turn)| recorded_in(turn, at + 1))
            .collect();
        AttemptStubs {
            used: vec![0; file.lines.len()],
            file,
            eval_id: eval_id.to_string(),
            recorded,
        }
    }

    /// The answer to a call in a turn, from 1.
    pub fn answer(&mut self, turn: usize, call: &ToolCall) -> Result<StubAnswer, UnansweredCall> {
        if let Some(at) = self.line_for(turn, call, true) {
            return Ok(self.take(at));
        }
        if let Some(response) = self.recorded_for(turn, call) {
            return Ok(StubAnswer {
                result: Ok(response),
                after: Duration::ZERO,
            });
        }
        match self.line_for(turn, call, false) {
            Some(at) => Ok(self.take(at)),
            None => Err(self.unanswered(turn, call)),
        }
    }

    /// The numbers of the lines for this case that did not answer.
    pub fn unused(&self) -> Vec<usize> {
        let of_case = |line: &&StubLine| line.case() == Some(&self.eval_id);
        let lines = self
            .file
            .lines
            .iter()
            .zip(&self.used)
            .filter(|(_, used)| **used == 0);
        lines
            .map(|(line, _)| line)
            .filter(of_case)
            .map(|line| line.number)
            .collect()
    }

    /// The first line that matches and is not used up.
    fn line_for(&self, turn: usize, call: &ToolCall, of_case: bool) -> Option<usize> {
        let mut lines = self.file.lines.iter().zip(&self.used);
        lines.position(|(line, used)| {
            line.case().is_some() == of_case
                && self.is_open(line, turn)
                && line.times().is_none_or(|times| *used < times)
                && line.pattern.is_about(&call.name)
                && line.pattern.differences(call).is_empty()
        })
    }

    /// Whether a line is for this case and turn.
    fn is_open(&self, line: &StubLine, turn: usize) -> bool {
        line.case().is_none_or(|case| case == self.eval_id)
            && line.turn().is_none_or(|only| only == turn)
    }

    fn take(&mut self, at: usize) -> StubAnswer {
        self.used[at] += 1;
        let line = &self.file.lines[at];
        StubAnswer {
            result: line.answer(),
            after: Duration::from_millis(line.after_ms()),
        }
    }

    /// The response that the case records for an equal call of the turn, else of any turn: each once, the last one again.
    fn recorded_for(&mut self, turn: usize, call: &ToolCall) -> Option<Value> {
        let is_equal = |one: &RecordedResponse| calls_equal(&one.call, call, false);
        let find = |recorded: &[RecordedResponse], in_turn: bool, unused: bool| {
            let fits = |one: &RecordedResponse| {
                (!in_turn || one.turn == turn) && (!unused || !one.is_used) && is_equal(one)
            };
            match unused {
                true => recorded.iter().position(fits),
                false => recorded.iter().rposition(fits),
            }
        };
        let recorded = &self.recorded;
        let at = find(recorded, true, true)
            .or_else(|| find(recorded, false, true))
            .or_else(|| find(recorded, false, false))?;
        self.recorded[at].is_used = true;
        Some(self.recorded[at].response.clone())
    }

    /// The answer of the line for the same tool whose arguments differ least from the call's. Lines that are used up count,
    /// too.
    pub fn nearest(&mut self, turn: usize, call: &ToolCall) -> Option<StubAnswer> {
        let lines = self.file.lines.iter().enumerate();
        let open =
            lines.filter(|(_, line)| self.is_open(line, turn) && line.pattern.is_about(&call.name));
        let at = open
            .min_by_key(|(_, line)| line.pattern.differences(call).len())?
            .0;
        Some(self.take(at))
    }

    fn unanswered(&self, turn: usize, call: &ToolCall) -> UnansweredCall {
        let open = self
            .file
            .lines
            .iter()
            .filter(|line| self.is_open(line, turn) && line.pattern.is_about(&call.name));
        let of_lines = open.map(|line| {
            (
                line.pattern.differences(call),
                format!("line {} of the stubs", line.number),
            )
        });
        let nearest = of_lines.min_by_key(|(differences, _)| differences.len());
        let nearest = nearest.map(|(differences, line)| {
            let names: Vec<String> = differences
                .iter()
                .map(|one| match &one.kind {
                    DifferenceKind::Missing(_) => format!("{} is missing", one.path),
                    DifferenceKind::Extra(_) => format!("{} is additional", one.path),
                    DifferenceKind::Changed(..) => format!("{} differs", one.path),
                })
                .collect();
            match names.is_empty() {
                true => format!("; {line} matches, but is used up"),
                false => format!("; nearest: {line}, {}", names.join(", ")),
            }
        });
        let args = call
            .args
            .clone()
            .map(|args| value_text(&args.into()))
            .unwrap_or_default();
        let none = self.elsewhere(call);
        let call = format!("{} {args}", call.name);
        UnansweredCall {
            call,
            nearest: nearest.unwrap_or(none),
        }
    }

    /// What is recorded for a tool for other cases or turns, if nothing is for this one.
    fn elsewhere(&self, call: &ToolCall) -> String {
        let mut lines = self
            .file
            .lines
            .iter()
            .filter(|line| line.pattern.is_about(&call.name))
            .peekable();
        if self.file.lines.is_empty() && self.recorded.is_empty() {
            return "; no stubs are beside the set: evaltrail run --record-tools records them"
                .into();
        }
        if lines.peek().is_none() {
            return "; none is recorded for this tool".into();
        }
        let count = lines.clone().count();
        match lines.find(|line| line.pattern.differences(call).is_empty()) {
            Some(line) => {
                let of = line.case().filter(|case| *case != self.eval_id);
                let other = of.map_or("another turn".to_string(), |case| {
                    format!("the case {case}")
                });
                format!(
                    "; line {} of the stubs answers it, but only for {other}",
                    line.number
                )
            }
            None if count == 1 => {
                "; the one recorded for this tool is for another case or turn".into()
            }
            None => format!("; {count} recorded for this tool are for other cases or turns"),
        }
    }
}

fn recorded_in(turn: &Invocation, number: usize) -> Vec<RecordedResponse> {
    let recorded = |(at, call): (usize, &ToolCall)| {
        let response: &ToolResponse = turn.trajectory.response_to(at)?;
        let response = response.response.clone();
        Some(RecordedResponse {
            turn: number,
            call: call.clone(),
            response,
            is_used: false,
        })
    };
    turn.calls()
        .into_iter()
        .enumerate()
        .filter_map(recorded)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::Trajectory;
    use serde_json::json;

    fn call(name: &str, args: Value) -> ToolCall {
        ToolCall::new(name, args.as_object().cloned())
    }

    fn stubs(lines: &[Value], expected: &[Invocation]) -> AttemptStubs {
        let text: Vec<String> = lines.iter().map(Value::to_string).collect();
        AttemptStubs::new(
            Arc::new(StubFile::parse(&text.join("\n")).unwrap()),
            "c",
            expected,
        )
    }

    #[test]
    fn case_specific_stubs_are_used_first_in_order() {
        let mut stubs = stubs(
            &[
                json!({"tool": "t", "response": "any"}),
                json!({"tool": "t", "case": "c", "times": 1, "error": "busy", "after_ms": 5}),
                json!({"tool": "t", "case": "c", "turn": 2, "response": "second"}),
                json!({"tool": "t", "case": "other", "response": "wrong"}),
            ],
            &[],
        );
        let first = stubs.answer(1, &call("t", json!({}))).unwrap();
        assert_eq!(
            first,
            StubAnswer {
                result: Err("busy".into()),
                after: Duration::from_millis(5)
            }
        );
        assert_eq!(
            stubs.answer(1, &call("t", json!({}))).unwrap().result,
            Ok(json!("any"))
        );
        assert_eq!(stubs.unused(), [3]);
        assert_eq!(
            stubs.answer(2, &call("t", json!({}))).unwrap().result,
            Ok(json!("second"))
        );
        assert!(stubs.unused().is_empty());
    }

    #[test]
    fn stubs_include_responses_of_the_case() {
        let (mut calls, mut responses) = (Vec::new(), Vec::new());
        for (id, temp) in [("1", 4), ("2", 5)] {
            calls.push(ToolCall {
                id: Some(id.into()),
                ..call("get", json!({"city": "Oslo"}))
            });
            responses.push(ToolResponse {
                id: Some(id.into()),
                name: "get".into(),
                response: json!(temp),
            });
        }
        let trajectory = Trajectory::Listed {
            calls,
            responses,
            texts: Vec::new(),
        };
        let turn = Invocation {
            trajectory,
            ..Invocation::default()
        };
        let mut stubs = stubs(&[], &[turn]);
        let mut answer = || {
            stubs
                .answer(1, &call("get", json!({"city": "Oslo"})))
                .unwrap()
                .result
                .unwrap()
        };
        assert_eq!(
            [answer(), answer(), answer()],
            [json!(4), json!(5), json!(5)]
        );
        let none = stubs
            .answer(1, &call("get", json!({"city": "Rome"})))
            .unwrap_err()
            .to_string();
        assert_eq!(
            none,
            "no answer is recorded for get {\"city\":\"Rome\"}; none is recorded for this tool"
        );
    }

    #[test]
    fn without_an_answer_the_nearest_one_is_named() {
        let line = |args: Value| json!({"tool": "get", "args": args, "response": 1});
        let mut stubs = stubs(
            &[line(json!({"a": 1, "b": 2})), line(json!({"a": 1, "b": 3}))],
            &[],
        );
        let words = stubs
            .answer(1, &call("get", json!({"a": 1, "b": 4, "c": 5})))
            .unwrap_err()
            .to_string();
        assert!(
            words.ends_with("nearest: line 1 of the stubs, b differs, c is additional"),
            "{words}"
        );
    }
}
