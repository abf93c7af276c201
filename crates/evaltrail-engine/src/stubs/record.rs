//! New lines for a file of stubs, from what tools answered in a run.

use super::attempt::AttemptStubs;
use super::file::StubFile;
use super::tools::is_control_tool;
use evaltrail_core::diff::calls_equal;
use evaltrail_core::domain::{Attempt, Invocation, ToolCall};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The answers that a file of stubs lacks.
#[derive(Debug, Default, PartialEq)]
pub struct NewStubs {
    /// The lines to add.
    pub lines: Vec<Value>,
    /// The number of calls that the file answers already in the same way.
    pub known: usize,
    /// The number of calls that the file answers in another way. Its lines stay.
    pub differing: usize,
    /// The number of attempts that were left out because something else stood in for answers of their tools.
    pub left_out: usize,
    /// The number of calls to which the tool gave no answer: it raised an error, for example.
    pub unanswered: usize,
}

/// A call and its answer.
struct AnsweredCall {
    call: ToolCall,
    response: Value,
}

impl NewStubs {
    /// Adds what tools answered in an attempt. Calls without an answer, calls of ADK's own tools, and calls for which only
    /// an error stood in are left out. `redact` replaces secrets.
    pub fn add(&mut self, file: &Arc<StubFile>, attempt: &Attempt, redact: impl Fn(&mut Value)) {
        if has_other_answers(attempt) {
            self.left_out += 1;
            return;
        }
        let mut stubs = AttemptStubs::new(file.clone(), &attempt.eval_id, &[]);
        let mut lacking: Vec<AnsweredCall> = Vec::new();
        for (turn, invocation) in attempt.actual.iter().enumerate() {
            let others = invocation
                .calls()
                .into_iter()
                .filter(|call| !is_control_tool(&call.name))
                .count();
            let answered = answered_calls(invocation);
            let answers = answered
                .iter()
                .filter(|one| !is_control_tool(&one.call.name))
                .count();
            self.unanswered += others.saturating_sub(answers);
            for AnsweredCall { call, mut response } in answered {
                if is_control_tool(&call.name) || is_missing(attempt, &call) {
                    continue;
                }
                redact(&mut response);
                match stubs.answer(turn + 1, &call).map(|answer| answer.result) {
                    Ok(Ok(known)) if known == response => self.known += 1,
                    Ok(Err(words)) if response == json!({"error": words}) => self.known += 1,
                    Ok(_) => self.differing += 1,
                    Err(_) => lacking.push(AnsweredCall { call, response }),
                }
            }
        }
        self.lines
            .extend(lines_of(lacking, &attempt.eval_id, &redact));
    }

    /// The lines as text, each with its line feed.
    pub fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// What a tool answered to an equal call in an attempt; `None` if there is none, or only an error stood in for it.
pub fn tool_answer_to(attempt: &Attempt, call: &ToolCall) -> Option<Value> {
    if has_other_answers(attempt) || is_missing(attempt, call) {
        return None;
    }
    let mut answered = attempt.actual.iter().flat_map(answered_calls);
    answered
        .find(|one| calls_equal(&one.call, call, false))
        .map(|one| one.response)
}

/// Whether answers of the attempt's tools are those of stubs for other calls, or failures that were requested.
fn has_other_answers(attempt: &Attempt) -> bool {
    attempt
        .tool_use
        .as_ref()
        .is_some_and(|tool_use| tool_use.nearest + tool_use.faults > 0)
}

/// The line of a call and its answer, for a case. An argument that contains a secret is not compared. `redact` replaces
/// secrets.
pub fn stub_line(
    call: &ToolCall,
    response: &Value,
    eval_id: &str,
    times: Option<u32>,
    redact: impl Fn(&mut Value),
) -> Value {
    let argument = |(name, value): (&String, &Value)| {
        let mut redacted = value.clone();
        redact(&mut redacted);
        (
            name.clone(),
            if redacted == *value {
                literal(value)
            } else {
                "ignore".into()
            },
        )
    };
    let args: Map<String, Value> = call.args.iter().flatten().map(argument).collect();
    let mut line = json!({"tool": call.name, "args": args, "response": response, "case": eval_id});
    if let Some(times) = times {
        line["times"] = times.into();
    }
    line
}

/// A value as a pattern that only this value matches, also if it looks like a rule.
fn literal(value: &Value) -> Value {
    let rule_keys = ["regex", "contains", "any_of", "value"];
    match value {
        Value::String(text) if text == "ignore" => json!({"any_of": [text]}),
        Value::Object(members) if rule_keys.iter().any(|key| members.contains_key(*key)) => {
            json!({"any_of": [value]})
        }
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), literal(value)))
            .collect::<Map<_, _>>()
            .into(),
        _ => value.clone(),
    }
}

fn answered_calls(turn: &Invocation) -> Vec<AnsweredCall> {
    let answered = |(at, call): (usize, &ToolCall)| {
        let response = turn.trajectory.response_to(at)?.response.clone();
        Some(AnsweredCall {
            call: call.clone(),
            response,
        })
    };
    turn.calls()
        .into_iter()
        .enumerate()
        .filter_map(answered)
        .collect()
}

/// Whether an error stood in for the answer.
fn is_missing(attempt: &Attempt, call: &ToolCall) -> bool {
    let missing = attempt
        .tool_use
        .iter()
        .flat_map(|tool_use| &tool_use.missing);
    missing
        .into_iter()
        .any(|missing| calls_equal(&missing.call, call, false))
}

/// The lines for the calls of a case. Equal calls with unequal answers become lines that are used up in order.
fn lines_of(
    mut calls: Vec<AnsweredCall>,
    eval_id: &str,
    redact: &impl Fn(&mut Value),
) -> Vec<Value> {
    let mut lines = Vec::new();
    while !calls.is_empty() {
        let first = calls[0].call.clone();
        let (equal, others): (Vec<_>, Vec<_>) = calls
            .into_iter()
            .partition(|one| calls_equal(&one.call, &first, false));
        calls = others;
        let mut answers: Vec<Value> = equal.into_iter().map(|one| one.response).collect();
        if answers.iter().all(|answer| *answer == answers[0]) {
            answers.truncate(1);
        }
        let last = answers.len() - 1;
        let line = |(at, answer): (usize, &Value)| {
            stub_line(&first, answer, eval_id, (at < last).then_some(1), redact)
        };
        lines.extend(answers.iter().enumerate().map(line));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::{AttemptKey, ToolResponse, ToolUse, Trajectory};

    fn attempt(calls: &[(&str, Value, Value)]) -> Attempt {
        let mut trajectory = (Vec::new(), Vec::new());
        for (at, (name, args, response)) in calls.iter().enumerate() {
            let id = Some(at.to_string());
            trajectory.0.push(ToolCall {
                id: id.clone(),
                ..ToolCall::new(*name, args.as_object().cloned())
            });
            trajectory.1.push(ToolResponse {
                id,
                name: (*name).into(),
                response: response.clone(),
            });
        }
        let trajectory = Trajectory::Listed {
            calls: trajectory.0,
            responses: trajectory.1,
            texts: Vec::new(),
        };
        let turn = Invocation {
            trajectory,
            ..Invocation::default()
        };
        Attempt {
            actual: [turn].into(),
            ..Attempt::blank(
                AttemptKey {
                    case: 0,
                    attempt: 1,
                },
                "c",
            )
        }
    }

    #[test]
    fn recorded_stubs_answer_the_same_calls() {
        let strange = json!({"q": "ignore", "rule": {"regex": "a+"}, "n": {"value": 1, "x": {"y": "ignore"}}});
        let calls = [
            ("get", json!({"city": "Oslo"}), json!({"temp": 4})),
            ("get", json!({"city": "Rome"}), json!({"temp": 20})),
            ("get", json!({"city": "Oslo"}), json!({"temp": 5})),
            ("find", strange.clone(), json!("found")),
            ("transfer_to_agent", json!({"agent_name": "x"}), json!(null)),
            ("get", json!({"city": "Rome"}), json!({"temp": 20})),
        ];
        let attempt = attempt(&calls);
        let mut new = NewStubs::default();
        new.add(&Arc::default(), &attempt, |_| {});
        assert_eq!((new.lines.len(), new.known, new.differing), (4, 0, 0));
        assert_eq!(new.lines[0]["times"], 1);
        let file = Arc::new(StubFile::parse(&new.text()).unwrap());
        let mut stubs = AttemptStubs::new(file.clone(), "c", &[]);
        for (name, args, response) in &calls {
            if *name != "transfer_to_agent" {
                let call = ToolCall::new(*name, args.as_object().cloned());
                assert_eq!(
                    stubs.answer(1, &call).unwrap().result.as_ref(),
                    Ok(response),
                    "{name} {args}"
                );
            }
        }
        let mut other = ToolCall::new("find", strange.as_object().cloned());
        other
            .args
            .as_mut()
            .unwrap()
            .insert("q".into(), "else".into());
        assert!(stubs.answer(1, &other).is_err());

        let mut again = NewStubs::default();
        again.add(&file, &attempt, |_| {});
        assert_eq!((again.lines.len(), again.known, again.differing), (0, 5, 0));
    }

    #[test]
    fn differing_answers_counted_secrets_masked() {
        let file = Arc::new(StubFile::parse(r#"{"tool": "get", "response": 1}"#).unwrap());
        let mut new = NewStubs::default();
        let login = ("login", json!({"as": "me", "key": "key"}), json!("key"));
        new.add(
            &file,
            &attempt(&[("get", json!({}), json!(2)), login]),
            |value| {
                if *value == "key" {
                    *value = "[redacted]".into();
                }
            },
        );
        assert_eq!(
            (new.differing, new.lines[0]["response"].as_str()),
            (1, Some("[redacted]"))
        );
        assert_eq!(new.lines[0]["args"], json!({"as": "me", "key": "ignore"}));

        let tool_use = Some(ToolUse {
            nearest: 1,
            ..ToolUse::default()
        });
        let stood_in = Attempt {
            tool_use,
            ..attempt(&[("get", json!({}), json!(3))])
        };
        new.add(&Arc::default(), &stood_in, |_| {});
        assert_eq!((new.lines.len(), new.left_out), (1, 1));
        assert_eq!(
            tool_answer_to(&stood_in, &ToolCall::new("get", Some(Map::new()))),
            None
        );
    }
}
