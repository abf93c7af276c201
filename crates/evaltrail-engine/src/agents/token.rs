//! Access tokens that a command prints.

use super::{AgentError, ErrorKind};
use crate::process::{Program, Tail};
use evaltrail_core::domain::{ProgramSpec, SentSecrets};
use parking_lot::Mutex as Lock;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;
use tokio::sync::Mutex;

/// How long a token is used. Google's are valid for an hour.
const VALID_FOR: Duration = Duration::from_secs(50 * 60);
/// The time limit of the command.
const PRINTS_WITHIN: Duration = Duration::from_secs(60);
/// The maximum length of a token, in bytes.
const MAX_BYTES: u64 = 64 << 10;

/// The tokens that a command prints, one after the other.
#[derive(Debug)]
pub(super) struct Tokens {
    command: ProgramSpec,
    /// Held while the command runs, so that it runs once for all who wait.
    printing: Mutex<()>,
    last: Lock<Option<(String, Instant)>>,
    /// Where tokens are added before they are sent.
    sent: Arc<SentSecrets>,
}

impl Tokens {
    pub(super) fn new(command: ProgramSpec, sent: Arc<SentSecrets>) -> Tokens {
        Tokens {
            command,
            printing: Mutex::default(),
            last: Lock::default(),
            sent,
        }
    }

    /// The token in use, if the command has printed one.
    fn known(&self) -> Option<String> {
        self.last.lock().as_ref().map(|(token, _)| token.clone())
    }

    /// A token that is still valid by its age.
    pub(super) async fn current(&self) -> Result<String, AgentError> {
        let _alone = self.printing.lock().await;
        let last = self.last.lock().clone();
        match last.filter(|(_, since)| since.elapsed() < VALID_FOR) {
            Some((token, _)) => Ok(token),
            None => self.print().await,
        }
    }

    /// Another token than the one that was refused.
    pub(super) async fn renewed(&self, refused: &str) -> Result<String, AgentError> {
        let _alone = self.printing.lock().await;
        match self.known().filter(|token| token != refused) {
            Some(token) => Ok(token),
            None => self.print().await,
        }
    }

    async fn print(&self) -> Result<String, AgentError> {
        let failed = |why: String| {
            AgentError::new(
                ErrorKind::Setup,
                format!("the token command {} {why}", self.command.argv[0]),
            )
        };
        let mut program = Program::start(&self.command)
            .map_err(|error| failed(format!("cannot be started: {error}")))?;
        let Some(stdout) = program.child.stdout.take() else {
            return Err(failed("has no output".into()));
        };
        let errors = program
            .child
            .stderr
            .take()
            .map(Tail::follow)
            .unwrap_or_default();
        let mut printed = Vec::new();
        let printing = async {
            stdout.take(MAX_BYTES).read_to_end(&mut printed).await?;
            program.child.wait().await
        };
        let status = tokio::time::timeout(PRINTS_WITHIN, printing)
            .await
            .map_err(|_| failed(format!("took longer than {} s", PRINTS_WITHIN.as_secs())))?
            .map_err(|error| failed(format!("failed: {error}")))?;
        let token = String::from_utf8_lossy(&printed).trim().to_string();
        if !status.success() || token.is_empty() || token.contains(char::is_whitespace) {
            let last = errors.lines(4);
            return Err(failed(format!(
                "ended with {status} and did not print one token; its last output:\n{last}"
            )));
        }
        self.sent.add([token.clone()]);
        *self.last.lock() = Some((token.clone(), Instant::now()));
        Ok(token)
    }
}
