//! Programs that compute metrics: started on first use, terminated with the run or at their time limit. A failure of
//! one does not affect other metrics.

use super::{answer, request};
use crate::process::clock::timeout;
use crate::process::{Program, Tail, secrets_of_environment};
use evaltrail_core::domain::{
    Criterion, CustomMetric, MetricProgram, MetricResult, ProgramSpec, Secrets, Status,
};
use evaltrail_core::formats::json;
use evaltrail_core::metrics::{Evidence, unscored, unusable_threshold};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;

const BRIDGE: &str = include_str!("../../assets/bridge.py");
/// Maximum size of an output, in bytes.
const MAX_BYTES: u64 = 4 << 20;
/// Maximum length of the part of an output that an error contains, in characters.
const MAX_EXCERPT: usize = 120;

/// The programs of a run.
#[derive(Debug, Default)]
pub struct Programs {
    bridges: Mutex<HashMap<String, Arc<Mutex<Option<Running>>>>>,
}

/// A program that has been started.
#[derive(Debug)]
struct Running {
    /// Terminated when this is dropped.
    program: Program,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    stderr: Tail,
}

impl Programs {
    /// Scores a case with a metric's program. Any failure becomes the metric's own error.
    pub async fn score(
        &self,
        criterion: &Criterion,
        eval_id: &str,
        evidence: &Evidence<'_>,
    ) -> MetricResult {
        let turns = evidence.actual.len();
        if let Some(why) = unusable_threshold(criterion) {
            return unscored(criterion, turns, Status::NotEvaluated, &why.to_string());
        }
        let mut request = request::request(criterion, eval_id, evidence);
        // A program may repeat the keys that it was given.
        let given = criterion.custom.as_ref().and_then(CustomMetric::program);
        let given = given.map(|program| {
            secrets_of_environment(|variable| program.program.secret_values(variable))
        });
        let secrets = Secrets::new(given.into_iter().flatten());
        let said = match &criterion.custom {
            Some(CustomMetric::Command(program)) => ask_once(program, &request, &secrets).await,
            Some(CustomMetric::Python {
                function,
                convention,
                program,
            }) => {
                request["function"] = function.clone().into();
                request["convention"] = serde_json::to_value(convention).unwrap_or_default();
                self.ask_bridge(program, &request, &secrets).await
            }
            _ => Err("this metric has no program".into()),
        };
        match said {
            Ok(mut said) => {
                secrets.mask_foreign(&mut said);
                answer::result(criterion, turns, &said)
            }
            Err(why) => unscored(criterion, turns, Status::Errored, &secrets.mask(&why)),
        }
    }

    /// Sends a request to the bridge; there is one for each Python. Requests are sent one after the other, and the
    /// bridge is started again after a failure.
    async fn ask_bridge(
        &self,
        program: &MetricProgram,
        request: &Value,
        secrets: &Secrets,
    ) -> Result<Value, String> {
        let key = format!(
            "{}\0{}",
            program.program.argv.join("\0"),
            program.program.cwd.display()
        );
        let slot = self.bridges.lock().await.entry(key).or_default().clone();
        let mut slot = slot.lock().await;
        let mut running = match slot.take() {
            Some(running) => running,
            None => {
                let mut argv = program.program.argv.clone();
                argv.extend(["-c".to_string(), BRIDGE.to_string()]);
                Running::start(&argv, program)?
            }
        };
        let said = within(program, running.ask(request, secrets)).await?;
        *slot = Some(running);
        Ok(said)
    }
}

async fn within<T>(
    program: &MetricProgram,
    asking: impl Future<Output = Result<T, String>>,
) -> Result<T, String> {
    let limit = Duration::from_millis(program.timeout_ms);
    match timeout(limit, asking).await {
        Ok(said) => said,
        Err(_) => Err(format!(
            "the metric took longer than its limit of {} s",
            limit.as_secs_f64()
        )),
    }
}

/// Runs one process: the whole request in, the whole output out.
async fn ask_once(
    program: &MetricProgram,
    request: &Value,
    secrets: &Secrets,
) -> Result<Value, String> {
    let Running {
        program: process,
        mut stdin,
        stdout,
        stderr,
    } = Running::start(&program.program.argv, program)?;
    let text = request.to_string();
    let sending = async move {
        // A program may be correct without reading its input.
        let _ = stdin.write_all(text.as_bytes()).await;
        drop(stdin);
    };
    let receiving = async {
        let mut out = Vec::new();
        let read = stdout.take(MAX_BYTES).read_to_end(&mut out).await;
        read.map(|_| out).map_err(|error| error.to_string())
    };
    let both = async { tokio::join!(sending, receiving).1 };
    let out = within(program, both).await?;
    let text = String::from_utf8_lossy(&out);
    let said = match parsed(text.trim(), secrets) {
        Ok(said) => Ok(said),
        Err(why) => Err(format!("{why}{}", stderr_tail(&stderr).await)),
    };
    drop(process);
    said
}

/// The output as JSON. An error contains its beginning, without these secrets.
fn parsed(text: &str, secrets: &Secrets) -> Result<Value, String> {
    if text.is_empty() {
        return Err("the metric's program ended without an answer".into());
    }
    json::parse(text).map(|parsed| parsed.value).map_err(|_| {
        // Masked before it is cut, here and in the parser's message: half a key must not be shown, either.
        let masked = secrets.mask(text);
        let why = json::parse(&masked)
            .err()
            .map(|error| format!(" ({error})"))
            .unwrap_or_default();
        let beginning: String = masked.chars().take(MAX_EXCERPT).collect();
        format!("the metric's answer is not JSON{why}: {beginning}")
    })
}

/// The last lines of standard error, once all of it was read.
async fn stderr_tail(stderr: &Tail) -> String {
    stderr.wait_until_read().await;
    match stderr.lines(20) {
        said if said.is_empty() => String::new(),
        said => format!("\n{said}"),
    }
}

impl Running {
    fn start(argv: &[String], program: &MetricProgram) -> Result<Running, String> {
        let name = argv.first().map_or("", String::as_str);
        let mut started = Program::start(&ProgramSpec {
            argv: argv.to_vec(),
            ..program.program.clone()
        })
        .map_err(|error| format!("{name} cannot be started: {error}"))?;
        let child = &mut started.child;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(format!("{name} was started without its streams"));
        };
        let stdout = BufReader::new(stdout);
        Ok(Running {
            program: started,
            stdin,
            stdout,
            stderr: Tail::follow(stderr),
        })
    }

    async fn ask(&mut self, request: &Value, secrets: &Secrets) -> Result<Value, String> {
        let mut line = request.to_string();
        line.push('\n');
        let sent = self.stdin.write_all(line.as_bytes()).await;
        let sent = sent.and(self.stdin.flush().await);
        let mut said = Vec::new();
        let read = (&mut self.stdout)
            .take(MAX_BYTES)
            .read_until(b'\n', &mut said)
            .await;
        match (sent, read) {
            (Ok(()), Ok(1..)) => parsed(String::from_utf8_lossy(&said).trim(), secrets),
            _ => Err(format!(
                "the metric's Python ended{}",
                stderr_tail(&self.stderr).await
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn non_finite_threshold_is_not_evaluated() {
        for threshold in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let criterion = Criterion::new("own", Some(threshold));
            let result = Programs::default()
                .score(&criterion, "a", &Evidence::default())
                .await;
            assert_eq!(result.status, Status::NotEvaluated, "{threshold}");
            assert!(
                result.explanation.contains("not a finite number"),
                "{}",
                result.explanation
            );
        }
    }

    #[tokio::test]
    async fn silent_program_adds_no_message() {
        assert_eq!(stderr_tail(&Tail::default()).await, "");
    }

    #[test]
    fn truncated_output_shows_no_part_of_a_key() {
        let key = "sk-canary-0123456789-abcdefghijklmnop";
        let secrets = Secrets::new([key.to_string()]);
        for before in 0..=MAX_EXCERPT {
            let error = parsed(&format!("{}{key}", ".".repeat(before)), &secrets).unwrap_err();
            assert!(!error.contains("sk-"), "{before}: {error}");
        }
    }
}
