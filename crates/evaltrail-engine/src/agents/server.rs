//! A server that evaltrail starts, waits for and stops, and whose output explains the errors of its agent.

use super::connection_status::ConnectionStatus;
use super::last_output::{error_line, last_output};
use super::printed_address::printed_address;
use super::program::cannot_start;
use super::{AgentError, ErrorKind, OnEvent, Session, Turn, TurnOutcome};
use crate::process::{Program, Tail};
use async_trait::async_trait;
use evaltrail_core::domain::ProgramSpec;
use reqwest::Client;
use serde_json::Value;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

/// The time limit for the start of the server, if its agent has no setting. Importing the libraries of agents is slow.
const STARTS_WITHIN: Duration = Duration::from_secs(90);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long to wait, after an error, for the server to end or to print a reason; and for the server to end after it has
/// printed one. A server prints the traceback after it has sent the response.
const EXPLAINS_WITHIN: Duration = Duration::from_secs(1);
const ENDS_WITHIN: Duration = Duration::from_millis(300);
/// The maximum number of lines of the output in an error.
const LINES: usize = 8;

/// A server that evaltrail started.
#[derive(Debug)]
pub(super) struct Server {
    /// `None` after it was stopped.
    program: Mutex<Option<Program>>,
    /// The first words of its command, such as `adk api_server`.
    label: String,
    port: u16,
    starts_within: Duration,
    said: Tail,
    errors: Tail,
}

/// A position in the output of a server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OutputMark {
    said: u64,
    errors: u64,
}

impl Server {
    /// Starts the server on a free port.
    pub(super) fn start(program: &ProgramSpec) -> Result<Server, AgentError> {
        let setup = |why: String| AgentError::new(ErrorKind::Setup, why);
        let port = free_port().map_err(|error| setup(format!("no free port: {error}")))?;
        let argv: Vec<String> = program
            .argv
            .iter()
            .map(|word| word.replace("{port}", &port.to_string()))
            .collect();
        let spec = ProgramSpec {
            argv,
            ..program.clone()
        };
        let mut program = Program::start(&spec).map_err(|error| cannot_start(&spec, &error))?;
        let said = program
            .child
            .stdout
            .take()
            .map(Tail::follow)
            .unwrap_or_default();
        let errors = program
            .child
            .stderr
            .take()
            .map(Tail::follow)
            .unwrap_or_default();
        let starts_within = spec
            .starts_within_ms
            .map_or(STARTS_WITHIN, Duration::from_millis);
        Ok(Server {
            program: Mutex::new(Some(program)),
            label: label_of(&spec.argv),
            port,
            starts_within,
            said,
            errors,
        })
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Waits until the server answers, whatever it answers, and reports what it printed last. Errors: it ended, or did not
    /// answer in time.
    pub(super) async fn wait_until_up(
        &self,
        client: &Client,
        status: &ConnectionStatus,
    ) -> Result<(), AgentError> {
        let deadline = Instant::now() + self.starts_within;
        loop {
            status.report(
                &format!("starting {}", self.label),
                &self.output_since(OutputMark::default()),
            );
            if client
                .get(self.url())
                .timeout(Duration::from_secs(5))
                .send()
                .await
                .is_ok()
            {
                return Ok(());
            }
            if let Some(status) = self.exit_status().await {
                self.errors.wait_until_read().await;
                return Err(self.failed(&format!("the server ended with {status}")));
            }
            if Instant::now() > deadline {
                return Err(self.failed(&self.silence()));
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// That the server did not answer in time, and where it listens instead, if it printed that.
    fn silence(&self) -> String {
        let (limit, url) = (self.starts_within.as_secs_f64(), self.url());
        let words = format!("the server did not answer at {url} within {limit} s (start_timeout)");
        let printed =
            [&self.said, &self.errors].map(|tail| printed_address(&tail.text_since(0), self.port));
        match printed.into_iter().flatten().next() {
            Some(other) => {
                format!(
                    "{words}; it printed {other}, which is another port: its start command must listen on {{port}}"
                )
            }
            None => words,
        }
    }

    /// The current end of the output.
    pub(super) fn mark(&self) -> OutputMark {
        OutputMark {
            said: self.said.position(),
            errors: self.errors.position(),
        }
    }

    /// An error with the last output of the server, whatever it is.
    pub(super) async fn explain(&self, error: AgentError) -> AgentError {
        self.explained(error, OutputMark::default(), true).await
    }

    /// An error with what the server printed after a mark: how it ended, or why it failed.
    pub(super) async fn explain_since(&self, error: AgentError, mark: OutputMark) -> AgentError {
        self.explained(error, mark, false).await
    }

    async fn explained(&self, error: AgentError, mark: OutputMark, always: bool) -> AgentError {
        // What the agent reports in its own words needs no explanation.
        if !matches!(
            error.kind,
            ErrorKind::Protocol
                | ErrorKind::Unavailable
                | ErrorKind::Unreachable
                | ErrorKind::Setup
        ) {
            return error;
        }
        let status = self.ended_or_explained(mark).await;
        let output = self.output_since(mark);
        let how = status.map(|status| format!("the server ended with {status}"));
        let has_reason = how.is_some() || always || error_line(&output).is_some();
        let last = Some(last_output(&output, LINES)).filter(|last| has_reason && !last.is_empty());
        let last = last.map(|last| format!("the server's last output: {last}"));
        let parts = [Some(error.message.clone()), how, last];
        AgentError {
            message: parts.into_iter().flatten().collect::<Vec<_>>().join("; "),
            ..error
        }
    }

    /// Waits until the server has ended, or has printed a reason after the mark and still runs, or for [`EXPLAINS_WITHIN`].
    async fn ended_or_explained(&self, mark: OutputMark) -> Option<ExitStatus> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.exit_status().await {
                self.errors.wait_until_read().await;
                return Some(status);
            }
            let has_reason =
                began.elapsed() >= ENDS_WITHIN && error_line(&self.output_since(mark)).is_some();
            if has_reason || began.elapsed() >= EXPLAINS_WITHIN {
                return None;
            }
            sleep(POLL_INTERVAL / 5).await;
        }
    }

    /// The standard error after a mark; the standard output if that is empty.
    fn output_since(&self, mark: OutputMark) -> String {
        let errors = self.errors.text_since(mark.errors);
        match errors.trim().is_empty() {
            true => self.said.text_since(mark.said),
            false => errors,
        }
    }

    async fn exit_status(&self) -> Option<ExitStatus> {
        self.program
            .lock()
            .await
            .as_mut()?
            .child
            .try_wait()
            .ok()
            .flatten()
    }

    /// Terminates the server and all processes that it started.
    pub(super) async fn stop(&self) {
        self.program.lock().await.take();
    }

    /// How the server ended; `None` while it runs.
    pub(super) async fn exit_error(&self) -> Option<String> {
        let status = self.exit_status().await?;
        Some(
            self.failed(&format!("the server ended with {status}"))
                .message,
        )
    }

    fn failed(&self, why: &str) -> AgentError {
        let last = last_output(&self.output_since(OutputMark::default()), LINES);
        let last = if last.is_empty() {
            String::new()
        } else {
            format!("; its last output: {last}")
        };
        AgentError::new(ErrorKind::Setup, format!("{why}{last}"))
    }
}

/// A session of an agent whose server evaltrail started: the output of the server is part of its errors.
#[derive(Debug)]
pub(super) struct StartedServerSession {
    pub(super) session: Box<dyn Session>,
    pub(super) server: Arc<Server>,
}

#[async_trait]
impl Session for StartedServerSession {
    fn id(&self) -> &str {
        self.session.id()
    }

    async fn turn(
        &mut self,
        turn: Turn<'_>,
        on_event: OnEvent<'_>,
    ) -> Result<TurnOutcome, AgentError> {
        let mark = self.server.mark();
        match self.session.turn(turn, on_event).await {
            Err(error) => Err(self.server.explain_since(error, mark).await),
            outcome => outcome,
        }
    }

    async fn state(&self) -> Option<Value> {
        self.session.state().await
    }

    async fn close(self: Box<Self>) {
        self.session.close().await;
    }
}

/// The program's name, followed by its first argument unless that is an option or a path.
fn label_of(argv: &[String]) -> String {
    let mut words = argv.iter();
    let program = words.next().map_or("", String::as_str);
    let name = std::path::Path::new(program)
        .file_stem()
        .map_or(program.into(), |name| name.to_string_lossy());
    match words.next() {
        Some(word) if !word.starts_with('-') && !word.contains(['/', '\\']) => {
            format!("{name} {word}")
        }
        _ => name.into_owned(),
    }
}

fn free_port() -> std::io::Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?
        .local_addr()?
        .port())
}
