//! A program that is asked in lines of JSON: for each request, events and then one result.

use super::event_times::with_times;
use super::last_output::last_output;
use super::memory_limit::EVENT;
use super::{AgentError, ErrorKind, OnEvent, TurnBudget};
use crate::process::{Program, Tail, open_file_limit_error};
use evaltrail_core::domain::{Content, Part, ProgramSpec, ToolCall, TurnEnd};
use evaltrail_core::formats::adk::{Event, read_event, reported_error};
use evaltrail_core::formats::vertex::tool_input;
use serde::Deserialize;
use serde_json::Value;
use std::pin::pin;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};

/// The maximum length of a line of output, in bytes.
const MAX_LINE: u64 = 32 << 20;

/// A running program. It is terminated when this is dropped.
#[derive(Debug)]
pub(super) struct ProgramLines {
    program: Program,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    stderr: Tail,
}

/// What a program says at the end of a turn.
#[derive(Debug, Default)]
pub(super) struct ProgramResult {
    /// The session's state, if the result contains it.
    pub(super) state: Option<Value>,
    /// The text of the last response.
    pub(super) answer: String,
    /// Whether the program reported its calls, as events or in the result.
    pub(super) has_all_calls: bool,
    /// How the turn ended.
    pub(super) end: TurnEnd,
    /// The attributes in which a Python agent has kept something of earlier conversations; empty if there are none.
    pub(super) kept_state: String,
}

impl ProgramResult {
    /// Takes note of an event: its text if it is a response, and whether it has calls.
    fn take(&mut self, event: &Event) {
        let Some(content) = event.content.as_ref().filter(|_| !event.partial) else {
            return;
        };
        self.has_all_calls |= content.calls().next().is_some();
        let text = content.spoken_text();
        if event.is_final() && !text.is_empty() {
            self.answer = text;
        }
    }
}

/// What a line of output is.
enum OutputLine {
    Event(Box<Event>),
    /// The result, with its calls and its response as events.
    Result(Vec<Event>, ProgramResult),
    Error(String),
}

/// The error of a program that cannot be started.
pub(super) fn cannot_start(spec: &ProgramSpec, error: &std::io::Error) -> AgentError {
    let why = format!("cannot start {}: {error}", spec.argv[0]);
    AgentError::new(ErrorKind::Setup, why)
}

impl ProgramLines {
    /// Starts a program.
    pub(super) fn start(spec: &ProgramSpec) -> Result<ProgramLines, AgentError> {
        let failed = |error: std::io::Error| match open_file_limit_error(&error) {
            Some(words) => AgentError::new(ErrorKind::Unavailable, words),
            None => cannot_start(spec, &error),
        };
        let mut program = Program::start(spec).map_err(failed)?;
        let child = &mut program.child;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            let why = "the program's streams could not be opened";
            return Err(AgentError::new(ErrorKind::Setup, why));
        };
        Ok(ProgramLines {
            program,
            stdin,
            stdout: BufReader::new(stdout),
            stderr: Tail::follow(stderr),
        })
    }

    /// Whether the program still runs.
    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.program.child.try_wait(), Ok(None))
    }

    /// Writes a line that has no answer.
    pub(super) async fn send(&mut self, line: &Value) {
        let _ = self.stdin.write_all(format!("{line}\n").as_bytes()).await;
        let _ = self.stdin.flush().await;
    }

    /// Reads one line; `None` when the program has ended.
    pub(super) async fn line(
        &mut self,
        budget: &mut TurnBudget,
    ) -> Result<Option<Value>, AgentError> {
        let Some(text) = next_line(&mut self.stdout, budget).await? else {
            return Ok(None);
        };
        let value = budget
            .parse(&text, |error| {
                format!("the program wrote a line that is not JSON ({error})")
            })?
            .0;
        Ok(Some(value))
    }

    /// Sends a request and reads events until the result. Each event is passed on with its time. Returns `None` when the program ended before the result.
    pub(super) async fn exchange(
        &mut self,
        request: &str,
        mut budget: TurnBudget,
        on_event: OnEvent<'_>,
    ) -> Result<Option<ProgramResult>, AgentError> {
        let ProgramLines {
            stdin,
            stdout,
            program,
            ..
        } = self;
        let mut on_event = with_times(on_event);
        let mut heard = ProgramResult::default();
        let mut take = |event: Event| {
            heard.take(&event);
            on_event(event);
        };
        // Writing and reading are concurrent: a program may respond before it has read the whole request.
        let sending = async {
            let sent = stdin.write_all(request.as_bytes()).await;
            let _ = sent.and(stdin.flush().await);
        };
        let receiving = async {
            loop {
                let said = tokio::select! {
                    said = next_output(stdout, &mut budget) => said?,
                    () = left_its_output_open(&mut program.child) => None,
                };
                match said {
                    Some(OutputLine::Event(event)) => take(*event),
                    Some(OutputLine::Result(made, result)) => {
                        made.into_iter().for_each(&mut take);
                        return Ok(Some(result));
                    }
                    Some(OutputLine::Error(why)) => {
                        return Err(AgentError::new(ErrorKind::Agent, why));
                    }
                    None => return Ok(None),
                }
            }
        };
        let asked = {
            let (mut sending, mut receiving) = (pin!(sending), pin!(receiving));
            tokio::select! {
                outcome = &mut receiving => outcome,
                () = &mut sending => receiving.await,
            }
        };
        Ok(asked?.map(|result| ProgramResult {
            has_all_calls: result.has_all_calls || heard.has_all_calls,
            answer: heard.answer,
            ..result
        }))
    }

    /// The error for an output that ended before the result.
    pub(super) async fn ended(&mut self) -> AgentError {
        let waited = tokio::time::timeout(Duration::from_secs(3), self.program.child.wait()).await;
        let how = match waited {
            Ok(Ok(status)) => format!("the program ended with {status} before it gave a result"),
            _ => "the program closed its output before it gave a result".to_string(),
        };
        self.stderr.wait_until_read().await;
        let last = last_output(&self.stderr.text_since(0), 8);
        let last = if last.is_empty() {
            String::new()
        } else {
            format!("; its last output: {last}")
        };
        AgentError::new(ErrorKind::Protocol, format!("{how}{last}"))
    }
}

/// How long output is read after the program has ended. A process that it left running may keep the output open
/// indefinitely.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(1);

/// Returns when the program has ended and its output is still open a moment later.
async fn left_its_output_open(child: &mut Child) {
    let _ = child.wait().await;
    tokio::time::sleep(LAST_WORDS_WITHIN).await;
}

async fn next_output(
    stdout: &mut BufReader<ChildStdout>,
    budget: &mut TurnBudget,
) -> Result<Option<OutputLine>, AgentError> {
    let Some(line) = next_line(stdout, budget).await? else {
        return Ok(None);
    };
    let (said, taken) = read_output(&line, budget)?;
    if !matches!(&said, OutputLine::Event(event) if event.partial) {
        budget.charge(taken + EVENT)?;
    }
    Ok(Some(said))
}

/// The next line that is not blank; `None` at the end of the output.
async fn next_line(
    stdout: &mut BufReader<ChildStdout>,
    budget: &TurnBudget,
) -> Result<Option<String>, AgentError> {
    let protocol = |why: String| AgentError::new(ErrorKind::Protocol, why);
    loop {
        let mut line = Vec::new();
        let longest = MAX_LINE.min(budget.left() as u64 + 1);
        let read = stdout.take(longest).read_until(b'\n', &mut line).await;
        let count =
            read.map_err(|error| protocol(format!("cannot read the program's output: {error}")))?;
        match count as u64 {
            0 => return Ok(None),
            MAX_LINE => {
                return Err(protocol(
                    "a line of the program's output is longer than 32 MB".into(),
                ));
            }
            count if count > budget.left() as u64 => return Err(budget.exceeded()),
            _ => {}
        }
        let text = String::from_utf8_lossy(&line);
        if !text.trim().is_empty() {
            return Ok(Some(text.trim().to_string()));
        }
    }
}

/// Reads a line, and returns the memory that its values take, in bytes.
fn read_output(line: &str, budget: &TurnBudget) -> Result<(OutputLine, usize), AgentError> {
    let short: String = line.chars().take(120).collect();
    let no_json = |error| format!("the program wrote a line that is not JSON ({error}): {short}");
    let (value, taken) = budget.parse(line, no_json)?;
    let said =
        parse_line(&value, &short).map_err(|why| AgentError::new(ErrorKind::Protocol, why))?;
    Ok((said, taken))
}

fn parse_line(value: &Value, short: &str) -> Result<OutputLine, String> {
    if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
        let words = error
            .as_str()
            .map_or_else(|| error.to_string(), str::to_string);
        return Ok(OutputLine::Error(words));
    }
    if value.get("response").is_some() || value.get("predicted_trajectory").is_some() {
        let state = value
            .get("state")
            .filter(|state| state.is_object())
            .cloned();
        let known = value.get("known").and_then(Value::as_bool);
        let has_all_calls = known.unwrap_or_else(|| {
            value
                .get("predicted_trajectory")
                .is_some_and(Value::is_array)
        });
        let end =
            value
                .get("end")
                .filter(|end| !end.is_null())
                .map_or(Ok(TurnEnd::Answered), |end| {
                    TurnEnd::deserialize(end)
                        .map_err(|error| format!("\"end\" of the result: {error}"))
                })?;
        let kept_state = value["kept_state"].as_str().unwrap_or_default().to_string();
        let end = ProgramResult {
            state,
            has_all_calls,
            end,
            kept_state,
            ..ProgramResult::default()
        };
        return result(value).map(|events| OutputLine::Result(events, end));
    }
    let is_event = ["author", "content", "errorCode", "error_code"]
        .iter()
        .any(|key| value.get(key).is_some());
    if is_event {
        let event =
            read_event(value).map_err(|error| format!("an event cannot be read: {error}"))?;
        return Ok(OutputLine::Event(Box::new(event)));
    }
    Err(format!(
        "the program wrote a line that is neither an event nor a result: {short}"
    ))
}

/// Converts a result to events: its calls, then its response.
fn result(value: &Value) -> Result<Vec<Event>, String> {
    let event = |parts| Event {
        author: "agent".into(),
        content: Some(Content {
            role: Some("model".into()),
            parts,
        }),
        ..Event::default()
    };
    let mut events = Vec::new();
    if let Some(trajectory) = value.get("predicted_trajectory").filter(|t| !t.is_null()) {
        let calls = trajectory
            .as_array()
            .ok_or("\"predicted_trajectory\" is not a list")?;
        let parts: Vec<Part> = calls.iter().map(call_part).collect::<Result<_, _>>()?;
        if !parts.is_empty() {
            events.push(event(parts));
        }
    }
    if let Some(response) = value.get("response").filter(|r| !r.is_null()) {
        let text = response.as_str().ok_or("\"response\" is not a string")?;
        events.push(event(vec![Part::text(text)]));
    }
    if let Some(error) = reported_error(value) {
        let author = "agent".to_string();
        events.push(Event {
            author,
            error: Some(error),
            ..Event::default()
        });
    }
    Ok(events)
}

fn call_part(call: &Value) -> Result<Part, String> {
    let name = call["tool_name"]
        .as_str()
        .ok_or("a call in \"predicted_trajectory\" has no \"tool_name\"")?;
    let args = match &call["tool_input"] {
        Value::Null => None,
        input => Some(tool_input(input).map_err(|why| format!("\"tool_input\" of {name}: {why}"))?),
    };
    let call = ToolCall::new(name, args);
    Ok(Part {
        call: Some(call),
        ..Part::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_events() {
        let line = r#"{"response": "ok", "predicted_trajectory": [{"tool_name": "t", "tool_input": {"n": 1}}]}"#;
        let budget = TurnBudget::new(1 << 20, &Default::default());
        let parsed = |line: &str| read_output(line, &budget).map(|(parsed, _)| parsed);
        let Ok(OutputLine::Result(events, end)) = parsed(line) else {
            panic!("a result")
        };
        assert!(end.has_all_calls && end.state.is_none());
        assert_eq!(events.len(), 2);
        assert!(!events[0].is_final() && events[1].is_final());
        let asks = r#"{"response": "Which one?", "end": "interrupted"}"#;
        assert!(
            matches!(parsed(asks), Ok(OutputLine::Result(_, end)) if end.end == TurnEnd::Interrupted)
        );
        assert!(
            parsed(r#"{"response": "", "end": "so"}"#)
                .is_err_and(|why| why.message.contains("\"end\""))
        );
        let blocked = r#"{"response": null, "errorCode": "SAFETY", "errorMessage": "blocked"}"#;
        let Ok(OutputLine::Result(events, _)) = parsed(blocked) else {
            panic!("a result")
        };
        assert_eq!(events[0].error.as_ref().unwrap().text(), "SAFETY: blocked");
        assert!(matches!(parsed(r#"{"error": "no"}"#), Ok(OutputLine::Error(why)) if why == "no"));
        assert!(parsed("garbage").is_err_and(|why| why.message.contains("not JSON")));
        assert!(parsed("{}").is_err_and(|why| why.message.contains("neither")));
    }
}
