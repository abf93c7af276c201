//! A program as an agent: one process per attempt. For each turn it reads one line of JSON, and writes events and then
//! one result (see `docs/agents.md`).

use super::budget::EVENT;
use super::{Agent, AgentError, ErrorKind, OnEvent, Opening, Session, Turn, TurnBudget, TurnOutcome};
use crate::domain::{Content, Invocation, Part, ProgramSpec, ToolCall};
use crate::formats::adk::{Event, read_event, write_content};
use crate::formats::vertex::tool_input;
use crate::process::clock::Stopwatch;
use crate::process::{Program, Tail};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::pin::pin;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};

/// The maximum length of a line of output, in bytes.
const LONGEST_LINE: u64 = 32 << 20;

/// A program to start.
#[derive(Debug)]
pub(super) struct CommandAgent {
    spec: ProgramSpec,
}

/// A running program.
#[derive(Debug)]
struct CommandSession {
    program: Program,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    stderr: Tail,
    opening: Opening,
    history: Vec<Value>,
    /// The session's state as the last result reported it.
    state: Option<Value>,
}

/// What a line of output is.
enum Said {
    Event(Box<Event>),
    /// The result as events, and the session's state if it is part of the result.
    Result(Vec<Event>, Option<Value>),
    Error(String),
}

impl CommandAgent {
    pub(super) fn new(spec: ProgramSpec) -> CommandAgent {
        CommandAgent { spec }
    }

    fn start(&self, opening: Opening) -> Result<CommandSession, AgentError> {
        let setup = |why: String| AgentError::new(ErrorKind::Setup, why);
        let mut program = Program::start(&self.spec)
            .map_err(|error| setup(format!("cannot start {}: {error}", self.spec.argv[0])))?;
        let child = &mut program.child;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            return Err(setup("the program's streams could not be opened".into()));
        };
        Ok(CommandSession {
            program,
            stdin,
            stdout: BufReader::new(stdout),
            stderr: Tail::follow(stderr),
            history: said_before(&opening),
            opening,
            state: None,
        })
    }
}

#[async_trait]
impl Agent for CommandAgent {
    async fn open(&self, opening: Opening) -> Result<Box<dyn Session>, AgentError> {
        Ok(Box::new(self.start(opening)?))
    }
}

#[async_trait]
impl Session for CommandSession {
    fn id(&self) -> &str {
        &self.opening.session_id
    }

    /// The state that the last result reported, if any.
    async fn state(&self) -> Option<Value> {
        self.state.clone()
    }

    async fn turn(&mut self, turn: Turn<'_>, on_event: OnEvent<'_>) -> Result<TurnOutcome, AgentError> {
        let began = Stopwatch::start();
        let prompt = turn.user.scored_text();
        let request = self.request(&turn, &prompt);
        let mut answer = String::new();
        let mut take = |mut event: Event| {
            event.at = Some(began.elapsed().as_secs_f64());
            let content = event.content.as_ref().filter(|_| !event.partial && event.is_final());
            if let Some(text) = content.map(Content::spoken_text).filter(|text| !text.is_empty()) {
                answer = text;
            }
            on_event(event);
        };
        match self.exchange(&request, turn.budget, &mut take).await? {
            true => {
                self.history.push(json!({"role": "user", "text": prompt}));
                self.history.push(json!({"role": "model", "text": answer}));
                Ok(TurnOutcome::ANSWERED)
            }
            false => Err(self.ended().await),
        }
    }
}

impl CommandSession {
    /// The line of JSON that the program receives for a turn.
    fn request(&self, turn: &Turn<'_>, prompt: &str) -> String {
        let request = json!({
            "prompt": prompt,
            "turn": turn.number,
            "eval_id": self.opening.eval_id,
            "session_id": self.opening.session_id,
            "user_content": write_content(turn.user),
            "state": self.opening.state,
            "history": self.history,
        });
        format!("{request}\n")
    }

    /// Sends a request and reads events until the result. Returns `false` when the program ended before the result.
    async fn exchange(
        &mut self,
        request: &str,
        mut budget: TurnBudget,
        take: &mut (dyn FnMut(Event) + Send),
    ) -> Result<bool, AgentError> {
        let CommandSession { stdin, stdout, state, program, .. } = self;
        // Writing and reading are concurrent: a program may respond before it has read the whole request.
        let sending = async {
            let sent = stdin.write_all(request.as_bytes()).await;
            let _ = sent.and(stdin.flush().await);
        };
        let receiving = async {
            loop {
                let said = tokio::select! {
                    said = next_said(stdout, &mut budget) => said?,
                    () = left_its_output_open(&mut program.child) => None,
                };
                match said {
                    Some(Said::Event(event)) => take(*event),
                    Some(Said::Result(made, told)) => {
                        made.into_iter().for_each(&mut *take);
                        *state = told.or(state.take());
                        return Ok(true);
                    }
                    Some(Said::Error(why)) => return Err(AgentError::new(ErrorKind::Agent, why)),
                    None => return Ok(false),
                }
            }
        };
        let (mut sending, mut receiving) = (pin!(sending), pin!(receiving));
        tokio::select! {
            outcome = &mut receiving => outcome,
            () = &mut sending => receiving.await,
        }
    }

    /// The error for an output that ended before the result.
    async fn ended(&mut self) -> AgentError {
        let waited = tokio::time::timeout(Duration::from_secs(3), self.program.child.wait()).await;
        let how = match waited {
            Ok(Ok(status)) => format!("the program ended with {status} before it gave a result"),
            _ => "the program closed its output before it gave a result".to_string(),
        };
        self.stderr.whole().await;
        let last = self.stderr.lines(8);
        let last = if last.is_empty() { String::new() } else { format!("; its last output:\n{last}") };
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

/// The initial history of a conversation, in the form in which it is sent with each turn.
fn said_before(opening: &Opening) -> Vec<Value> {
    let said = |turn: &Invocation| {
        let prompt = json!({"role": "user", "text": turn.user.scored_text()});
        [prompt, json!({"role": "model", "text": turn.response_text()})]
    };
    opening.history.iter().flat_map(said).collect()
}

async fn next_said(
    stdout: &mut BufReader<ChildStdout>,
    budget: &mut TurnBudget,
) -> Result<Option<Said>, AgentError> {
    let protocol = |why: String| AgentError::new(ErrorKind::Protocol, why);
    loop {
        let mut line = Vec::new();
        let longest = LONGEST_LINE.min(budget.left() as u64 + 1);
        let read = stdout.take(longest).read_until(b'\n', &mut line).await;
        let count = read.map_err(|error| protocol(format!("cannot read the program's output: {error}")))?;
        match count as u64 {
            0 => return Ok(None),
            LONGEST_LINE => {
                return Err(protocol("a line of the program's output is longer than 32 MB".into()));
            }
            count if count > budget.left() as u64 => return Err(budget.exceeded()),
            _ => {}
        }
        let text = String::from_utf8_lossy(&line);
        if !text.trim().is_empty() {
            let (said, taken) = read_said(text.trim(), budget)?;
            if !matches!(&said, Said::Event(event) if event.partial) {
                budget.keep(taken + EVENT)?;
            }
            return Ok(Some(said));
        }
    }
}

/// Reads a line, and returns the memory that its values take, in bytes.
fn read_said(line: &str, budget: &TurnBudget) -> Result<(Said, usize), AgentError> {
    let short: String = line.chars().take(120).collect();
    let no_json = |error| format!("the program wrote a line that is not JSON ({error}): {short}");
    let (value, taken) = budget.parse(line, no_json)?;
    let said = said_by(&value, &short).map_err(|why| AgentError::new(ErrorKind::Protocol, why))?;
    Ok((said, taken))
}

fn said_by(value: &Value, short: &str) -> Result<Said, String> {
    if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
        let words = error.as_str().map_or_else(|| error.to_string(), str::to_string);
        return Ok(Said::Error(words));
    }
    if value.get("response").is_some() || value.get("predicted_trajectory").is_some() {
        let state = value.get("state").filter(|state| state.is_object()).cloned();
        return result(value).map(|events| Said::Result(events, state));
    }
    if value.get("author").is_some() || value.get("content").is_some() {
        let event = read_event(value).map_err(|error| format!("an event cannot be read: {error}"))?;
        return Ok(Said::Event(Box::new(event)));
    }
    Err(format!("the program wrote a line that is neither an event nor a result: {short}"))
}

/// Converts a result to events: its calls, then its response.
fn result(value: &Value) -> Result<Vec<Event>, String> {
    let event = |parts| Event {
        author: "agent".into(),
        content: Some(Content { role: Some("model".into()), parts }),
        ..Event::default()
    };
    let mut events = Vec::new();
    if let Some(trajectory) = value.get("predicted_trajectory").filter(|t| !t.is_null()) {
        let calls = trajectory.as_array().ok_or("\"predicted_trajectory\" is not a list")?;
        let parts: Vec<Part> = calls.iter().map(call_part).collect::<Result<_, _>>()?;
        if !parts.is_empty() {
            events.push(event(parts));
        }
    }
    if let Some(response) = value.get("response").filter(|r| !r.is_null()) {
        let text = response.as_str().ok_or("\"response\" is not a string")?;
        events.push(event(vec![Part::text(text)]));
    }
    Ok(events)
}

fn call_part(call: &Value) -> Result<Part, String> {
    let name = call["tool_name"].as_str().ok_or("a call in \"predicted_trajectory\" has no \"tool_name\"")?;
    let args = match &call["tool_input"] {
        Value::Null => None,
        input => Some(tool_input(input).map_err(|why| format!("\"tool_input\" of {name}: {why}"))?),
    };
    let call = ToolCall::new(name, args);
    Ok(Part { call: Some(call), ..Part::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_events() {
        let line =
            r#"{"response": "ok", "predicted_trajectory": [{"tool_name": "t", "tool_input": {"n": 1}}]}"#;
        let budget = TurnBudget::new(1 << 20, &Default::default());
        let read_said = |line: &str| read_said(line, &budget).map(|(said, _)| said);
        let Ok(Said::Result(events, None)) = read_said(line) else { panic!("a result") };
        assert_eq!(events.len(), 2);
        assert!(!events[0].is_final() && events[1].is_final());
        assert!(matches!(read_said(r#"{"error": "no"}"#), Ok(Said::Error(why)) if why == "no"));
        assert!(read_said("garbage").is_err_and(|why| why.message.contains("not JSON")));
        assert!(read_said("{}").is_err_and(|why| why.message.contains("neither")));
    }
}
