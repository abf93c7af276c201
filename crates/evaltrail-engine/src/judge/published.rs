//! The prompts that Google publishes and a run has fetched, each on first use.

use super::error::JudgeError;
use super::template;
use crate::net::Backoff;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// How long an error is returned again before the prompt is fetched again.
pub(super) const RETRY_AFTER_FAILURE: Duration = Duration::from_secs(30);

/// The prompts of a run. While one is fetched, other requests for it wait.
#[derive(Debug)]
pub(super) struct PublishedPrompts {
    retry_after_failure: Duration,
    by_name: Mutex<HashMap<String, Arc<Mutex<Fetched>>>>,
}

#[derive(Debug, Default)]
enum Fetched {
    #[default]
    NotYet,
    Prompt(Value),
    Failed {
        at: Instant,
        error: JudgeError,
    },
}

impl PublishedPrompts {
    pub(super) fn new(retry_after_failure: Duration) -> PublishedPrompts {
        PublishedPrompts {
            retry_after_failure,
            by_name: Mutex::default(),
        }
    }

    /// A metric's prompt in the form that the service accepts. `host` replaces the bucket's host, if given. Failures
    /// that may pass are retried with the delays of `backoff`.
    pub(super) async fn get(
        &self,
        name: &str,
        host: Option<String>,
        mut backoff: Backoff,
    ) -> Result<Value, JudgeError> {
        let of_name = self
            .by_name
            .lock()
            .await
            .entry(name.to_string())
            .or_default()
            .clone();
        let mut fetched = of_name.lock().await;
        match &*fetched {
            Fetched::Prompt(prompt) => return Ok(prompt.clone()),
            Fetched::Failed { at, error } if at.elapsed() < self.retry_after_failure => {
                return Err(error.clone());
            }
            Fetched::NotYet | Fetched::Failed { .. } => {}
        }
        loop {
            let error = match template::fetch(name, host.as_deref()).await {
                Ok(prompt) => {
                    *fetched = Fetched::Prompt(prompt.clone());
                    return Ok(prompt);
                }
                Err(error) => error,
            };
            let delay = error
                .may_retry()
                .then(|| backoff.next(error.retry_after))
                .flatten();
            let Some(delay) = delay else {
                *fetched = Fetched::Failed {
                    at: Instant::now(),
                    error: error.clone(),
                };
                return Err(error);
            };
            tokio::time::sleep(delay).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::error::JudgeErrorKind;
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    /// A server that sends these statuses, one for each request; the body is a prompt. It panics at a further request.
    fn server(statuses: &'static [u16]) -> (String, std::thread::JoinHandle<()>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let host = format!("http://{}", listener.local_addr().unwrap());
        let serve = move || {
            for status in statuses {
                let (mut stream, _) = listener.accept().unwrap();
                let lines = BufReader::new(stream.try_clone().unwrap()).lines();
                assert!(lines.map(Result::unwrap).any(|line| line.is_empty()));
                let body = "prompt_template: Rate it";
                let headers = format!(
                    "HTTP/1.1 {status} x\r\nConnection: close\r\nContent-Length: {}",
                    body.len()
                );
                write!(stream, "{headers}\r\n\r\n{body}").unwrap();
            }
        };
        (host, std::thread::spawn(serve))
    }

    fn without_delay(retries: u32) -> Backoff {
        Backoff::between(retries, Duration::ZERO, Duration::ZERO)
    }

    #[tokio::test]
    async fn transient_error_is_retried_and_prompt_cached() {
        let (host, served) = server(&[503, 429, 200]);
        let prompts = PublishedPrompts::new(Duration::from_secs(3600));
        for _ in 0..3 {
            prompts
                .get("coherence", Some(host.clone()), without_delay(2))
                .await
                .unwrap();
        }
        served.join().unwrap();
    }

    #[tokio::test]
    async fn failed_fetch_is_repeated_later() {
        let (host, served) = server(&[404, 200]);
        let later = PublishedPrompts::new(Duration::ZERO);
        let error = later
            .get("coherence", Some(host.clone()), without_delay(2))
            .await
            .unwrap_err();
        assert_eq!(
            error.fault,
            JudgeErrorKind::Setup,
            "a missing file is not retried at once"
        );
        later
            .get("coherence", Some(host), without_delay(2))
            .await
            .unwrap();
        served.join().unwrap();
    }

    #[tokio::test]
    async fn recent_failure_is_reused_without_a_request() {
        let (host, served) = server(&[500, 500]);
        let prompts = PublishedPrompts::new(Duration::from_secs(3600));
        for _ in 0..3 {
            let error = prompts
                .get("coherence", Some(host.clone()), without_delay(1))
                .await
                .unwrap_err();
            assert_eq!(error.fault, JudgeErrorKind::Unavailable, "{error}");
            assert!(
                error
                    .message
                    .ends_with("the response status is 500 Internal Server Error"),
                "{error}"
            );
        }
        served.join().unwrap();
    }
}
