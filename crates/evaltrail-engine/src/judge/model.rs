//! A model that is called over HTTP.

use super::budget::RequestPermission;
use super::endpoint::ModelEndpoint;
use super::error::{JudgeError, JudgeErrorKind};
use super::request_limits::RequestLimits;
use super::secret::Secret;
use super::wire::{self, Call, FormMode, ModelAnswer, Settings};
use crate::net::Backoff;
use crate::net::http::{self, BodyError, cause, chain};
use crate::process::clock;
use evaltrail_core::domain::{
    JudgeSpec, Secrets, VerdictParsing, is_ordinary_value, secrets_in_address,
};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::Value;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Time limit of the check, before a run, whether the model exists.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest error message of a judge, in characters.
const MAX_MESSAGE: usize = 600;
/// Maximum size of a response, in bytes.
const MAX_ANSWER: usize = 4 << 20;
/// Delay before the first retry.
pub(super) const FIRST_DELAY: Duration = Duration::from_secs(1);
pub(super) const MAX_DELAY: Duration = Duration::from_secs(60);

/// A model with its client and its limits.
#[derive(Debug)]
pub(super) struct JudgeModel {
    pub(super) endpoint: ModelEndpoint,
    client: Client,
    limits: Arc<RequestLimits>,
    timeout: Duration,
    retries: u32,
    reading: VerdictParsing,
    /// The mode of the first successful question; later questions begin with it.
    pub(super) mode: OnceLock<FormMode>,
}

/// A question for a model.
#[derive(Clone, Copy)]
pub(super) struct Prompt<'a> {
    pub(super) text: &'a str,
    /// The form of the response, if a schema is sent.
    pub(super) schema: Option<&'a Value>,
}

/// What was needed for a response.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RequestCost {
    pub(super) retries: u32,
    /// What is charged for all requests, if there are prices.
    pub(super) cost: Option<f64>,
}

impl RequestCost {
    fn add(&mut self, cost: Option<f64>) {
        self.cost = match (self.cost, cost) {
            (Some(before), Some(cost)) => Some(before + cost),
            (before, cost) => before.or(cost),
        };
    }
}

impl JudgeModel {
    pub(super) fn new(
        endpoint: ModelEndpoint,
        spec: &JudgeSpec,
        limits: Arc<RequestLimits>,
    ) -> Result<JudgeModel, JudgeError> {
        let client = http::client(&endpoint.base)
            .map_err(|why| JudgeError::new(JudgeErrorKind::Setup, why))?;
        let timeout = Duration::from_millis(spec.timeout_ms);
        let mode = OnceLock::new();
        Ok(JudgeModel {
            endpoint,
            client,
            limits,
            timeout,
            retries: spec.retries,
            reading: spec.reading,
            mode,
        })
    }

    /// Sends a prompt, with retries where they may help, as long as each request is permitted. Returns the
    /// response, and what was needed for it.
    pub(super) async fn ask(
        &self,
        prompt: Prompt<'_>,
        settings: &Settings,
        permission: RequestPermission<'_>,
    ) -> (Result<ModelAnswer, JudgeError>, RequestCost) {
        let timeout = settings.timeout().unwrap_or(self.timeout);
        let mut backoff = match settings.retries() {
            Some((retries, first, longest)) => Backoff::between(retries, first, longest),
            None => Backoff::between(self.retries, FIRST_DELAY, MAX_DELAY),
        };
        let mut asking = RequestCost::default();
        let mut mode = match prompt.schema {
            Some(_) => self.mode.get().copied().unwrap_or(FormMode::Schema),
            None => FormMode::Prompt,
        };
        loop {
            let sent = self
                .send_within(permission, prompt, settings, timeout, mode)
                .await;
            let answer = match sent {
                Ok((answer, cost)) => {
                    asking.add(cost);
                    answer
                }
                Err(not_sent) => return (Err(not_sent), asking),
            };
            let error = match answer {
                // The schema may be the reason: send the question again at once in a weaker mode. This is no retry.
                Err(error) if error.fault == JudgeErrorKind::Rejected => {
                    match mode.weaker(self.endpoint.provider) {
                        Some(weaker) => {
                            mode = weaker;
                            continue;
                        }
                        None => return (Err(error), asking),
                    }
                }
                Err(error) if error.may_retry() => error,
                other => {
                    if prompt.schema.is_some()
                        && other.as_ref().is_ok_and(|answer| answer.text.is_ok())
                    {
                        let _ = self.mode.set(mode);
                    }
                    return (other, asking);
                }
            };
            // A delay that is requested once applies to all requests, so that the others are not rejected, too.
            match error.retry_after {
                Some(asked) if asked > MAX_DELAY => self.limits.fail_for(asked, error.clone()),
                Some(asked) => self.limits.delay_for(asked),
                None => {}
            }
            let Some(delay) = backoff.next(error.retry_after) else {
                return (Err(after_tries(error, asking.retries + 1)), asking);
            };
            asking.retries += 1;
            tokio::time::sleep(delay).await;
        }
    }

    /// Sends one request as soon as the limits and the budget allow it, and none after the end of requests. Returns the response and what is charged. The outer
    /// error says why nothing was sent.
    async fn send_within(
        &self,
        permission: RequestPermission<'_>,
        prompt: Prompt<'_>,
        settings: &Settings,
        timeout: Duration,
        mode: FormMode,
    ) -> Result<(Result<ModelAnswer, JudgeError>, Option<f64>), JudgeError> {
        let _slot = self.limits.acquire_slot().await?;
        // Before the wait for the rate: when the limit is reached, requests fail at once.
        let mut reserved = permission.budget.reserve(prompt.text.len()).await?;
        self.limits.wait_until_allowed().await?;
        permission.wait_if_cancelled().await;
        reserved.mark_sent();
        let answer = self.once(prompt, settings, timeout, mode).await;
        Ok(match answer {
            Ok(answer) => {
                let cost = reserved.charge_response(answer.input_tokens, answer.output_tokens);
                (Ok(answer), cost)
            }
            Err(error) if error.may_be_charged => (Err(error), reserved.charge_estimate()),
            Err(error) => {
                reserved.release();
                (Err(error), None)
            }
        })
    }

    async fn once(
        &self,
        prompt: Prompt<'_>,
        settings: &Settings,
        timeout: Duration,
        mode: FormMode,
    ) -> Result<ModelAnswer, JudgeError> {
        let call = wire::call(&self.endpoint, prompt.text, settings, prompt.schema, mode);
        let body = self
            .send(call, timeout)
            .await
            .map_err(|error| self.mask_error(error))?;
        let answer = wire::read(&self.endpoint, &body, self.reading)
            .map_err(|error| self.mask_error(error))?;
        let text = match answer.text {
            Ok(text) => Ok(self.mask(&text)),
            Err(why) => Err(self.mask_text(&why)),
        };
        Ok(ModelAnswer { text, ..answer })
    }

    /// Checks that the model exists and the key is accepted, without a question. If that cannot be determined, it is
    /// no error: the first question will show it.
    pub(super) async fn probe(&self) -> Result<(), JudgeError> {
        let Some(call) = wire::probe(&self.endpoint) else {
            return Ok(());
        };
        let error = match self.send(call, self.timeout.min(PROBE_TIMEOUT)).await {
            Ok(_) => return Ok(()),
            Err(error) => self.mask_error(error),
        };
        // A server without this endpoint responds with 404 as well, without naming the model.
        let name = self.endpoint.model.rsplit('/').next().unwrap_or_default();
        match error.fault {
            JudgeErrorKind::Refused => Err(error),
            JudgeErrorKind::UnknownModel if error.message.contains(name) => Err(error),
            _ => Ok(()),
        }
    }

    async fn send(&self, call: Call, timeout: Duration) -> Result<Value, JudgeError> {
        let request = match &call.body {
            Some(body) => self.client.post(call.url).json(body),
            None => self.client.get(call.url),
        };
        let request = request.headers(headers(&call.secret, &call.headers)?);
        let answer = clock::timeout(timeout, self.answer_to(request)).await;
        answer.unwrap_or_else(|_| {
            let host = self.endpoint.base.host_str().unwrap_or_default();
            let why = format!("{host} did not answer within {} s", timeout.as_secs_f64());
            Err(JudgeError::after_sending(JudgeErrorKind::Timeout, why))
        })
    }

    async fn answer_to(&self, request: RequestBuilder) -> Result<Value, JudgeError> {
        let response = request.send().await.map_err(|error| self.broken(error))?;
        let status = response.status();
        if status.is_redirection() {
            return Err(JudgeError::new(
                JudgeErrorKind::Protocol,
                redirected(&response),
            ));
        }
        let retry_after = http::retry_after(&response);
        let body = http::text(response, MAX_ANSWER)
            .await
            .map_err(|error| match error {
                BodyError::Broken(error) => {
                    format!("the judge's answer broke off: {}", chain(cause(&error)))
                }
                BodyError::TooLong => "the judge's answer is longer than 4 MB".to_string(),
            });
        if !status.is_success() {
            // Also if its body cannot be read: the status decides.
            let text = body.unwrap_or_else(|why| why);
            return Err(wire::refusal(status.as_u16(), &text, retry_after));
        }
        let text = body.map_err(|why| JudgeError::after_sending(JudgeErrorKind::Protocol, why))?;
        serde_json::from_str(&text).map_err(|error| {
            JudgeError::after_sending(
                JudgeErrorKind::Protocol,
                format!("the judge's answer is not JSON ({error})"),
            )
        })
    }

    fn broken(&self, error: reqwest::Error) -> JudgeError {
        let host = self.endpoint.base.host_str().unwrap_or_default();
        let why = chain(cause(&error));
        if error.is_connect() || error.is_builder() {
            let why = format!("the judge at {host} cannot be reached: {why}");
            return JudgeError::new(JudgeErrorKind::Unavailable, why);
        }
        let why = format!("the judge at {host} did not answer: {why}");
        JudgeError::after_sending(JudgeErrorKind::Unavailable, why)
    }

    fn mask_error(&self, error: JudgeError) -> JudgeError {
        JudgeError {
            message: self.mask_text(&error.message),
            ..error
        }
    }

    fn mask_text(&self, words: &str) -> String {
        // Masked before it is cut: half a key must not be shown, either.
        self.mask(words).chars().take(MAX_MESSAGE).collect()
    }

    /// A text with the key, and the secrets of the address, masked.
    pub(super) fn mask(&self, text: &str) -> String {
        let secrets = secrets_in_address(self.endpoint.base.as_str()).into_iter();
        let address = Secrets::new(secrets.filter(|value| !is_ordinary_value(value)));
        let text = address.mask(text);
        self.endpoint
            .key
            .as_ref()
            .map_or_else(|| text.to_string(), |key| key.mask(&text))
    }
}

fn headers(
    secret: &[(&'static str, Secret)],
    plain: &[(&'static str, &'static str)],
) -> Result<HeaderMap, JudgeError> {
    let wrong = || {
        JudgeError::new(
            JudgeErrorKind::Setup,
            "the key contains characters that are not allowed in a header",
        )
    };
    let mut headers = HeaderMap::new();
    for (name, key) in secret {
        let text = match *name {
            "authorization" => format!("Bearer {}", key.expose()),
            _ => key.expose().to_string(),
        };
        let mut value = HeaderValue::from_str(&text).map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(name), value);
    }
    for (name, value) in plain {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    Ok(headers)
}

/// An error that says how often the request was sent, if more than once.
fn after_tries(error: JudgeError, tries: u32) -> JudgeError {
    if tries == 1 {
        return error;
    }
    JudgeError {
        message: format!("{} ({tries} requests)", error.message),
        ..error
    }
}

/// The error for a redirect. It contains only the host, since the rest of the URL may be secret.
fn redirected(response: &Response) -> String {
    let target = response
        .headers()
        .get("location")
        .and_then(|target| target.to_str().ok())
        .unwrap_or_default();
    let target = response.url().join(target).ok();
    let host = target
        .as_ref()
        .and_then(|url| url.host_str())
        .unwrap_or("another host");
    format!(
        "the judge redirects to {host}; keys are not sent there, so set its address as base_url under [judge]"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::budget::SpendingBudget;
    use evaltrail_core::domain::{JudgeUsage, Provider};
    use futures_util::FutureExt;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use url::Url;

    /// Cost of a request by the estimate, which a response without token counts is charged with.
    const ESTIMATE: f64 = 0.002;

    struct Server {
        base: Url,
        requests: Arc<AtomicUsize>,
    }

    /// A server that sends the same bytes to each request and closes the connection; without bytes, only that.
    fn server(reply: &'static str) -> Server {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let base = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let requests = Arc::new(AtomicUsize::new(0));
        let count = requests.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                read_request(&mut stream);
                count.fetch_add(1, Ordering::SeqCst);
                stream.write_all(reply.as_bytes()).unwrap();
            }
        });
        Server { base, requests }
    }

    /// Reads until the end of the body, which is a JSON object.
    fn read_request(stream: &mut TcpStream) {
        let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
        while !request.ends_with(b"}") {
            let read = stream.read(&mut buffer).unwrap();
            assert!(read > 0, "a request without an object");
            request.extend_from_slice(&buffer[..read]);
        }
    }

    fn spec(limit: f64) -> JudgeSpec {
        JudgeSpec {
            prices: Some((1.0, 10.0)),
            spending_limit: Some(limit),
            ..JudgeSpec::standard()
        }
    }

    fn model_at(base: &Url, limits: Arc<RequestLimits>) -> JudgeModel {
        let endpoint = ModelEndpoint {
            provider: Provider::Ollama,
            model: "m".into(),
            base: base.clone(),
            key: None,
            service: false,
            vertex: None,
        };
        JudgeModel::new(endpoint, &spec(0.0), limits).unwrap()
    }

    /// Settings with which a question is sent at most `attempts` times.
    fn attempts(attempts: u32) -> Settings {
        let retries = serde_json::json!({"attempts": attempts, "initial_delay": 0, "max_delay": 0});
        let config =
            serde_json::json!({"http_options": {"timeout": 2000, "retry_options": retries}});
        Settings::new(config.as_object().unwrap())
    }

    /// Permission by a budget alone.
    fn permission_by_budget(budget: &SpendingBudget) -> RequestPermission<'_> {
        static ENDS: std::sync::LazyLock<tokio_util::sync::CancellationToken> =
            std::sync::LazyLock::new(Default::default);
        RequestPermission {
            budget,
            ends: &ENDS,
        }
    }

    /// Sends a question at most `count` times.
    async fn ask(base: &Url, budget: &SpendingBudget, count: u32) -> JudgeError {
        let model = model_at(base, Arc::new(RequestLimits::new(1, None)));
        model
            .ask(
                Prompt {
                    text: "?",
                    schema: None,
                },
                &attempts(count),
                permission_by_budget(budget),
            )
            .await
            .0
            .unwrap_err()
    }

    /// The answer of a server, with a header and a body.
    fn reply(status: &str, header: &str, body: &str) -> &'static str {
        format!(
            "HTTP/1.1 {status}\r\nConnection: close\r\n{header}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .leak()
    }

    #[tokio::test]
    async fn long_requested_delay_ends_all_requests() {
        let budget = SpendingBudget::from_spec(&JudgeSpec::standard());
        for (seconds, check_failing) in [
            (MAX_DELAY.as_secs(), true),
            (MAX_DELAY.as_secs() + 1, false),
        ] {
            let server = server(reply("429 x", &format!("Retry-After: {seconds}\r\n"), "{}"));
            let limits = Arc::new(RequestLimits::new(1, None));
            let model = model_at(&server.base, limits.clone());
            let prompt = Prompt {
                text: "?",
                schema: None,
            };
            let error = model
                .ask(prompt, &attempts(1), permission_by_budget(&budget))
                .await
                .0
                .unwrap_err();
            assert_eq!(error.retry_after, Some(Duration::from_secs(seconds)));
            assert_eq!(
                limits.acquire_slot().await.is_ok(),
                check_failing,
                "{seconds}"
            );
        }
    }

    #[tokio::test]
    async fn no_request_begins_after_the_end() {
        let answering = server(reply("200 x", "", r#"{"message": {"content": "yes"}}"#));
        let (model, schema) = (
            model_at(&answering.base, Arc::new(RequestLimits::new(1, None))),
            None,
        );
        let budget = SpendingBudget::from_spec(&JudgeSpec::standard());
        let ends = tokio_util::sync::CancellationToken::new();
        ends.cancel();
        let permission = RequestPermission {
            budget: &budget,
            ends: &ends,
        };
        let (prompt, settings) = (Prompt { text: "?", schema }, attempts(1));
        let asking = std::pin::pin!(model.ask(prompt, &settings, permission));
        assert!(asking.now_or_never().is_none(), "it waits to be cancelled");
        assert_eq!(answering.requests.load(Ordering::SeqCst), 0);
        assert_eq!(budget.cancelled(), JudgeUsage::default());
    }

    #[tokio::test]
    async fn rejected_schema_is_omitted_on_retry() {
        let rejecting = server(reply("400 x", "", "{}"));
        let budget = SpendingBudget::from_spec(&JudgeSpec::standard());
        let (model, schema) = (
            model_at(&rejecting.base, Arc::new(RequestLimits::new(1, None))),
            serde_json::json!({"type": "object"}),
        );
        let prompt = Prompt {
            text: "?",
            schema: Some(&schema),
        };
        let (answer, asking) = model
            .ask(prompt, &attempts(1), permission_by_budget(&budget))
            .await;
        assert_eq!(
            (answer.unwrap_err().fault, asking.retries),
            (JudgeErrorKind::Rejected, 0)
        );
        assert_eq!(rejecting.requests.load(Ordering::SeqCst), 2);
        assert_eq!(model.mode.get(), None);
    }

    #[tokio::test]
    async fn answer_form_is_known_after_schema_answer() {
        let answering = server(reply("200 x", "", r#"{"message": {"content": "yes"}}"#));
        let budget = SpendingBudget::from_spec(&JudgeSpec::standard());
        let (model, schema) = (
            model_at(&answering.base, Arc::new(RequestLimits::new(1, None))),
            serde_json::json!({"type": "object"}),
        );
        for (schema, mode) in [(None, None), (Some(&schema), Some(FormMode::Schema))] {
            let answer = model
                .ask(
                    Prompt { text: "?", schema },
                    &attempts(1),
                    permission_by_budget(&budget),
                )
                .await
                .0
                .unwrap();
            assert_eq!(
                (answer.text, model.mode.get()),
                (Ok("yes".to_string()), mode.as_ref())
            );
        }
    }

    #[tokio::test]
    async fn only_chargeable_requests_count_as_spent() {
        let unused = {
            let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
            Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap()
        };
        let closed = |status_line: &str| -> &'static str {
            format!("HTTP/1.1 {status_line}\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{{}}")
                .leak()
        };
        let silent = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let silent = (
            Url::parse(&format!("http://{}", silent.local_addr().unwrap())).unwrap(),
            silent,
        );
        let mut table: Vec<(Url, JudgeErrorKind, bool)> = vec![
            (unused, JudgeErrorKind::Unavailable, false),
            (
                server(closed("302 x\r\nLocation: /b")).base,
                JudgeErrorKind::Protocol,
                false,
            ),
            (server("").base, JudgeErrorKind::Unavailable, true),
            (
                server("HTTP/1.1 200 x\r\nContent-Length: 9\r\n\r\n{").base,
                JudgeErrorKind::Protocol,
                true,
            ),
            (
                server("HTTP/1.1 200 x\r\nContent-Length: 1\r\nConnection: close\r\n\r\n{").base,
                JudgeErrorKind::Protocol,
                true,
            ),
            (
                server("HTTP/1.1 500 x\r\nContent-Length: 9\r\n\r\n{").base,
                JudgeErrorKind::Unavailable,
                false,
            ),
            (silent.0.clone(), JudgeErrorKind::Timeout, true),
        ];
        for status in ["402 x", "405 x", "413 x", "451 x", "418 x"] {
            table.push((server(closed(status)).base, JudgeErrorKind::Protocol, false));
        }
        for (base, fault, is_charged) in table {
            let budget = SpendingBudget::from_spec(&spec(ESTIMATE / 2.0));
            let error = ask(&base, &budget, 1).await;
            assert_eq!(error.fault, fault, "{error}");
            // The limit is reached if the request was charged.
            assert_eq!(budget.reserve(1).await.is_err(), is_charged, "{error}");
        }
    }

    #[test]
    fn secret_in_address_is_masked() {
        let masked = |address: &str, text: &str| {
            model_at(
                &Url::parse(address).unwrap(),
                Arc::new(RequestLimits::new(1, None)),
            )
            .mask(text)
        };
        let secret = "http://me:canary-pass-17@127.0.0.1:1/";
        assert_eq!(
            masked(secret, "not with canary-pass-17"),
            "not with [redacted]"
        );
        assert_eq!(
            masked("http://127.0.0.1:1/", "not with canary-pass-17"),
            "not with canary-pass-17"
        );
    }

    #[test]
    fn the_costs_of_all_requests_are_added() {
        let mut asking = RequestCost::default();
        let mut after = |cost: Option<f64>| {
            asking.add(cost);
            asking.cost
        };
        assert_eq!(
            [
                after(None),
                after(Some(0.5)),
                after(None),
                after(Some(0.25))
            ],
            [None, Some(0.5), Some(0.5), Some(0.75)]
        );
    }

    #[tokio::test]
    async fn number_of_requests_is_reported() {
        let failing = server(reply("503 x", "", "{}"));
        let budget = SpendingBudget::from_spec(&JudgeSpec::standard());
        let message = |error: JudgeError| error.message;
        let once = message(ask(&failing.base, &budget, 1).await);
        assert_eq!(once, "the judge answered 503: {}");
        assert_eq!(
            message(ask(&failing.base, &budget, 3).await),
            format!("{once} (3 requests)")
        );
        assert_eq!(failing.requests.load(Ordering::SeqCst), 4);
    }

    #[tokio::test]
    async fn refused_request_is_not_repeated() {
        let refusing = server(reply("401 x", "", "{}"));
        let budget = SpendingBudget::from_spec(&JudgeSpec::standard());
        let error = ask(&refusing.base, &budget, 3).await;
        assert_eq!(error.fault, JudgeErrorKind::Refused);
        assert_eq!(refusing.requests.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn probe_reports_refused_key() {
        let probed = async |answer| {
            let limits = Arc::new(RequestLimits::new(1, None));
            let probed = model_at(&server(answer).base, limits).probe().await;
            probed.map_err(|error| error.fault)
        };
        assert_eq!(
            probed(reply("401 x", "", "{}")).await,
            Err(JudgeErrorKind::Refused)
        );
        assert_eq!(probed(reply("503 x", "", "{}")).await, Ok(()));
    }

    #[tokio::test]
    async fn redirect_error_names_the_other_host() {
        let elsewhere = server(reply("302 x", "Location: https://other.example/x\r\n", "")).base;
        let budget = SpendingBudget::from_spec(&JudgeSpec::standard());
        let error = ask(&elsewhere, &budget, 1).await.message;
        assert!(
            error.starts_with("the judge redirects to other.example; keys are not sent there"),
            "{error}"
        );
    }

    #[test]
    fn keys_are_sent_as_protocols_require() {
        let key = |name: &'static str| (name, Secret::new("k".into()));
        let sent = headers(
            &[key("authorization"), key("x-api-key")],
            &[("x-version", "1")],
        )
        .unwrap();
        assert_eq!(sent["authorization"], "Bearer k");
        assert_eq!(sent["x-api-key"], "k");
        assert!(sent["authorization"].is_sensitive() && sent["x-api-key"].is_sensitive());
        assert_eq!(sent["x-version"], "1");
        assert_eq!(sent.len(), 3);
        let wrong = headers(&[("x-api-key", Secret::new("a\nb".into()))], &[]).unwrap_err();
        assert!(wrong.message.contains("not allowed in a header"), "{wrong}");
    }

    #[tokio::test]
    async fn chargeable_retries_stop_at_spending_limit() {
        let resetting = server("");
        let budget = SpendingBudget::from_spec(&spec(ESTIMATE * 1.5));
        assert_eq!(
            ask(&resetting.base, &budget, 9).await.fault,
            JudgeErrorKind::Limit
        );
        assert_eq!(resetting.requests.load(Ordering::SeqCst), 2);
    }
}
