//! Prompts of prebuilt metrics that Google publishes in a public bucket, fetched as its client library fetches them
//! (google-cloud-aiplatform 2.7.0, `LazyLoadedPrebuiltMetric`). No key is sent there.

use super::error::{JudgeError, JudgeErrorKind};
use crate::net::http::{self, BodyError, cause, chain};
use serde_json::{Map, Value, json};
use std::time::Duration;
use url::Url;

const HOST: &str = "https://storage.googleapis.com";
const FOLDER: &str = "vertex-ai-generative-ai-eval-sdk-resources/metrics";
const TIMEOUT: Duration = Duration::from_secs(30);

/// Fetches a metric's prompt in the form that the service accepts. `host` replaces the bucket's host, if given.
pub(super) async fn fetch(name: &str, host: Option<&str>) -> Result<Value, JudgeError> {
    let address = format!(
        "{}/{FOLDER}/{name}/v1.yaml",
        host.unwrap_or(HOST).trim_end_matches('/')
    );
    let error_of = |fault: JudgeErrorKind, why: String| {
        JudgeError::new(
            fault,
            format!("Google's prompt for {name} cannot be fetched from {address}: {why}"),
        )
    };
    let failed = |why: String| error_of(JudgeErrorKind::Setup, why);
    let interrupted =
        |error: &reqwest::Error| error_of(JudgeErrorKind::Unavailable, chain(cause(error)));
    let url = Url::parse(&address).map_err(|error| failed(error.to_string()))?;
    let client = http::client(&url).map_err(failed)?;
    let response = client
        .get(url)
        .timeout(TIMEOUT)
        .send()
        .await
        .map_err(|error| interrupted(&error))?;
    let status = response.status();
    if !status.is_success() {
        let fault = match status.as_u16() {
            408 | 429 | 500.. => JudgeErrorKind::Unavailable,
            _ => JudgeErrorKind::Setup,
        };
        let retry_after = http::retry_after(&response);
        let error = error_of(fault, format!("the response status is {status}"));
        return Err(JudgeError {
            retry_after,
            ..error
        });
    }
    let text = http::text(response, 4 << 20)
        .await
        .map_err(|error| match error {
            BodyError::Broken(error) => interrupted(&error),
            BodyError::TooLong => failed("it is longer than 4 MB".into()),
        })?;
    spec(&text).map_err(failed)
}

/// Converts a metric's file to the form that the service accepts.
fn spec(text: &str) -> Result<Value, String> {
    let file: Value = serde_yaml_ng::from_str(text).map_err(|error| error.to_string())?;
    let prompt = file
        .get("prompt_template")
        .and_then(Value::as_str)
        .ok_or("it has no prompt_template")?;
    let mut spec = Map::new();
    spec.insert("metric_prompt_template".into(), prompt.into());
    if let Some(system) = file
        .get("judge_model_system_instruction")
        .and_then(Value::as_str)
    {
        spec.insert("system_instruction".into(), system.into());
    }
    Ok(json!({"llm_based_metric_spec": spec}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// What the answer of a server with this status line means. Headers may follow it.
    async fn failure(status_line: &'static str) -> JudgeError {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let host = format!("http://{}/", listener.local_addr().unwrap());
        let served = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
            while !request.ends_with(b"\r\n\r\n") {
                let read = stream.read(&mut buffer).unwrap();
                request.extend_from_slice(&buffer[..read]);
            }
            write!(
                stream,
                "HTTP/1.1 {status_line}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            )
            .unwrap();
            String::from_utf8(request).unwrap()
        });
        let error = fetch("tone", Some(&host)).await.unwrap_err();
        assert!(
            served
                .join()
                .unwrap()
                .starts_with(&format!("GET /{FOLDER}/tone/v1.yaml HTTP/1.1"))
        );
        error
    }

    #[tokio::test]
    async fn transient_and_permanent_failures_differ() {
        for (status_line, may_retry) in [
            ("408 x", true),
            ("429 x", true),
            ("500 x", true),
            ("503 x", true),
            ("403 x", false),
            ("404 x", false),
        ] {
            assert_eq!(
                failure(status_line).await.may_retry(),
                may_retry,
                "{status_line}"
            );
        }
        let error = failure("503 x\r\nRetry-After: 7").await;
        assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
    }

    #[test]
    fn metrics_file_becomes_service_metric_spec() {
        let text = "name: coherence\nprompt_template: |\n  Rate {response}\n  of {prompt}\n";
        assert_eq!(
            spec(text).unwrap()["llm_based_metric_spec"]["metric_prompt_template"],
            "Rate {response}\nof {prompt}\n"
        );
        assert!(spec("name: x").unwrap_err().contains("prompt_template"));
        assert!(spec("a: [").is_err());
    }
}
