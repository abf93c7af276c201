//! A server that evaltrail starts, waits for and stops.

use super::{AgentError, ErrorKind};
use crate::domain::ProgramSpec;
use crate::process::{Program, Tail};
use reqwest::Client;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The time limit for the start of the server. Importing the libraries of agents is slow.
const STARTS_WITHIN: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(100);

/// A server that evaltrail started.
#[derive(Debug)]
pub(super) struct Server {
    program: Program,
    port: u16,
    said: Tail,
    errors: Tail,
}

impl Server {
    /// Starts the server on a free port.
    pub(super) fn start(program: &ProgramSpec) -> Result<Server, AgentError> {
        let setup = |why: String| AgentError::new(ErrorKind::Setup, why);
        let port = free_port().map_err(|error| setup(format!("no free port: {error}")))?;
        let argv: Vec<String> =
            program.argv.iter().map(|word| word.replace("{port}", &port.to_string())).collect();
        let spec = ProgramSpec { argv, ..program.clone() };
        let mut program = Program::start(&spec)
            .map_err(|error| setup(format!("cannot start {}: {error}", spec.argv[0])))?;
        let said = program.child.stdout.take().map(Tail::follow).unwrap_or_default();
        let errors = program.child.stderr.take().map(Tail::follow).unwrap_or_default();
        Ok(Server { program, port, said, errors })
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Waits until the server answers, whatever it answers. Errors: it ended, or did not answer in time.
    pub(super) async fn wait_until_up(&mut self, client: &Client) -> Result<(), AgentError> {
        let deadline = Instant::now() + STARTS_WITHIN;
        loop {
            if client.get(self.url()).timeout(Duration::from_secs(5)).send().await.is_ok() {
                return Ok(());
            }
            if let Ok(Some(status)) = self.program.child.try_wait() {
                self.errors.whole().await;
                return Err(self.failed(&format!("the server ended with {status}")));
            }
            if Instant::now() > deadline {
                return Err(self.failed("the server did not answer within 90 s"));
            }
            sleep(LOOK).await;
        }
    }

    /// The error with the last output of the server.
    pub(super) fn explain(&self, error: AgentError) -> AgentError {
        match self.errors.lines(8) {
            last if last.is_empty() => error,
            last => AgentError {
                message: format!("{}; the server's last output:\n{last}", error.message),
                ..error
            },
        }
    }

    /// How the server ended; `None` while it runs.
    pub(super) fn died(&mut self) -> Option<String> {
        let status = self.program.child.try_wait().ok()??;
        Some(self.failed(&format!("the server ended with {status}")).message)
    }

    fn failed(&self, why: &str) -> AgentError {
        let last = [self.errors.lines(8), self.said.lines(4)].into_iter().find(|text| !text.is_empty());
        let last = last.map(|text| format!("; its last output:\n{text}")).unwrap_or_default();
        AgentError::new(ErrorKind::Setup, format!("{why}{last}"))
    }
}

fn free_port() -> std::io::Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
