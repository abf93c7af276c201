//! The judges of a run: the models, the cache of responses and the cost.

use super::budget::{RequestPermission, SpendingBudget};
use super::endpoint::SERVICE;
use super::error::{JudgeError, JudgeErrorKind};
use super::keys::ApiKeys;
use super::model::{FIRST_DELAY, JudgeModel, MAX_DELAY, Prompt};
use super::published::{PublishedPrompts, RETRY_AFTER_FAILURE};
use super::recording::Recording;
use super::request_limits::RequestLimits;
use super::requests_in_flight::{RequestRole, RequestsInFlight};
use super::sample::{SampleRequest, SampleResponse};
use super::wire::{ModelAnswer, Settings};
use crate::net::Backoff;
use crate::store::{CachedResponse, JudgeResponseCache, fingerprint};
use evaltrail_core::domain::{
    JudgeSpec, JudgeUsage, Provider, VerdictParsing, address_without_secrets,
};
use evaltrail_core::metrics::{AnswerShape, CodeKey, JudgeOptions, JudgedMetric, PUBLISHED_PROMPT};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use url::Url;

/// All judges of a run.
#[derive(Debug)]
pub struct Judges {
    spec: JudgeSpec,
    models: Mutex<HashMap<String, Result<Arc<JudgeModel>, JudgeError>>>,
    /// By origin: models of one server share its limits.
    limits_by_origin: Mutex<HashMap<String, Arc<RequestLimits>>>,
    answers: Option<JudgeResponseCache>,
    /// The requests in flight, so that equal ones are sent once. Without a cache they are not shared.
    flights: RequestsInFlight,
    /// Why responses are not cached although the configuration allows it.
    cache_problem: Option<String>,
    /// The secret from which the codes in prompts are computed.
    pub(super) code_key: CodeKey,
    budget: SpendingBudget,
    recording: Option<Result<Recording, String>>,
    prompts: PublishedPrompts,
    grant: JudgeGrant,
    ends: RequestCancellation,
}

/// Once one of these is cancelled, no request of its kind is sent. By default none is.
#[derive(Clone, Debug, Default)]
pub struct RequestCancellation {
    /// Requests for a metric.
    pub judging: CancellationToken,
    /// Requests for the messages of a simulated user.
    pub conversations: CancellationToken,
}

/// What the user allowed for a judge, beyond the user's own environment and flags. The default is nothing.
#[derive(Clone, Debug, Default)]
pub struct JudgeGrant {
    /// Allowed destinations that the folder names, exactly as returned by [`Judges::destination`] and
    /// [`Judges::destination_of_model`].
    pub destinations: BTreeSet<String>,
    /// Keys from a file.
    pub keys: ApiKeys,
}

impl Judges {
    /// The beginning of the text of each destination; the name of the destination follows.
    pub const SENDS: &str = "send what agents say to ";

    /// The judges of a run. Responses are cached in `answers`, if given and if the configuration allows it.
    pub fn new(spec: &JudgeSpec, answers: Option<JudgeResponseCache>) -> Judges {
        let recording = match (spec.provider, &spec.recording) {
            (Some(Provider::Replay), Some(path)) => Some(Recording::read(path)),
            _ => None,
        };
        let answers = answers.filter(|_| spec.cache);
        // Cached responses contain codes, so the key belongs to the cache, which is of no use without it.
        let (answers, key, cache_problem) =
            match answers.map(|answers| (answers.code_key(), answers)) {
                None => (None, random_key(), None),
                Some((Ok(key), answers)) => (Some(answers), key, None),
                Some((Err(error), _)) => (None, random_key(), Some(error.to_string())),
            };
        Judges {
            budget: SpendingBudget::from_spec(spec),
            answers,
            flights: RequestsInFlight::default(),
            cache_problem,
            code_key: CodeKey::new(key),
            spec: spec.clone(),
            models: Mutex::default(),
            limits_by_origin: Mutex::default(),
            recording,
            prompts: PublishedPrompts::new(RETRY_AFTER_FAILURE),
            grant: JudgeGrant::default(),
            ends: RequestCancellation::default(),
        }
    }

    /// Sets what the user allowed.
    pub fn with_grant(self, grant: JudgeGrant) -> Judges {
        Judges { grant, ..self }
    }

    /// Sets what stops new requests.
    pub fn with_cancellation(self, ends: RequestCancellation) -> Judges {
        Judges { ends, ..self }
    }

    pub(super) fn ends(&self) -> &RequestCancellation {
        &self.ends
    }

    /// The configuration.
    pub fn spec(&self) -> &JudgeSpec {
        &self.spec
    }

    /// Why responses are not cached although the configuration allows it; `None` if they are.
    pub fn cache_problem(&self) -> Option<&str> {
        self.cache_problem.as_deref()
    }

    /// The requests that were cancelled after they were sent, with their estimated cost.
    pub fn cancelled(&self) -> JudgeUsage {
        self.budget.cancelled()
    }

    /// Whether a configuration replays recorded responses instead of calling a model.
    pub fn is_recorded(spec: &JudgeSpec) -> bool {
        spec.provider == Some(Provider::Replay)
    }

    /// Whether recorded responses are replayed.
    pub fn is_replay(&self) -> bool {
        self.recording.is_some()
    }

    /// The model or service that decides a metric.
    pub fn judge_name(&self, metric: &JudgedMetric) -> String {
        match metric.asks_service() && self.recording.is_none() {
            true => SERVICE.to_string(),
            false => self.model_for(metric.options()),
        }
    }

    /// The model for a criterion: the configured one, else the criterion's, else ADK's default.
    pub fn model_for(&self, options: &JudgeOptions) -> String {
        if self.recording.is_some() {
            return "recorded answers".into();
        }
        let named = self.spec.model.clone().or_else(|| options.model.clone());
        named.unwrap_or_else(|| JudgeOptions::MODEL.to_string())
    }

    /// Checks that a model can be called, as far as possible without a question. The error says what to do; it is
    /// remembered, so that later questions fail without a request.
    pub async fn probe(&self, model: &str) -> Result<(), JudgeError> {
        if let Some(recording) = &self.recording {
            return recording
                .as_ref()
                .map(|_| ())
                .map_err(|why| JudgeError::new(JudgeErrorKind::Setup, why));
        }
        let found = self.model(model)?;
        let answer = found.probe().await;
        if let Err(error) = &answer {
            let known = JudgeError {
                fault: JudgeErrorKind::Setup,
                ..error.clone()
            };
            self.models.lock().insert(model.to_string(), Err(known));
        }
        answer
    }

    /// Checks that an address and a key are configured for a model. Nothing is sent.
    pub fn is_configured(&self, model: &str) -> Result<(), JudgeError> {
        if self.is_replay() {
            Ok(())
        } else {
            self.model(model).map(|_| ())
        }
    }

    /// How the form of the responses is requested from a model, as text; `None` until it has responded.
    pub fn form_text(&self, model: &str) -> Option<&'static str> {
        self.model(model)
            .ok()?
            .mode
            .get()
            .map(|mode| mode.describe())
    }

    fn model(&self, name: &str) -> Result<Arc<JudgeModel>, JudgeError> {
        let mut models = self.models.lock();
        let found = models.entry(name.to_string()).or_insert_with(|| {
            self.is_allowed(name)?;
            let endpoint = self.grant.keys.endpoint(&self.spec, name)?;
            let origin = endpoint.base.origin().ascii_serialization();
            let new_limits = || Arc::new(RequestLimits::new(self.spec.jobs, self.spec.rate));
            let limits = self
                .limits_by_origin
                .lock()
                .entry(origin)
                .or_insert_with(new_limits)
                .clone();
            JudgeModel::new(endpoint, &self.spec, limits).map(Arc::new)
        });
        found.clone()
    }

    /// Every client is created after this check, so nothing is sent to a destination that the folder names unless the
    /// user allowed exactly that.
    fn is_allowed(&self, model: &str) -> Result<(), JudgeError> {
        let mut wanted = Judges::destination(&self.spec)
            .into_iter()
            .chain(Judges::destination_of_model(model));
        match wanted.find(|line| !self.grant.destinations.contains(line)) {
            Some(line) => Err(JudgeError::new(
                JudgeErrorKind::Setup,
                format!("permission is missing to {line}"),
            )),
            None => Ok(()),
        }
    }

    /// Sends a question to a model, unless a usable response is cached. Only usable responses are cached.
    pub async fn ask(
        &self,
        model: &str,
        config: &Map<String, Value>,
        asking: SampleRequest<'_>,
        is_usable: &(dyn Fn(&str) -> bool + Sync),
    ) -> SampleResponse {
        match &self.recording {
            Some(Ok(recording)) => recording.answer(asking),
            Some(Err(why)) => SampleResponse::none(JudgeError::new(JudgeErrorKind::Setup, why)),
            None => match self.ask_model(model, config, asking, is_usable).await {
                Ok(response) => response,
                Err(error) => SampleResponse::none(error),
            },
        }
    }

    /// The error says why no question can be sent to the model.
    async fn ask_model(
        &self,
        model: &str,
        config: &Map<String, Value>,
        asking: SampleRequest<'_>,
        is_usable: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<SampleResponse, JudgeError> {
        let found = self.model(model)?;
        let whole = if found.endpoint.service {
            self.with_prompt(asking.prompt).await?
        } else {
            None
        };
        let asking = match &whole {
            Some(whole) => SampleRequest {
                prompt: whole,
                identity: None,
                ..asking
            },
            None => asking,
        };
        let settings = Settings::new(config);
        // The user's own schema takes precedence, for providers that receive it.
        let is_gemini = matches!(found.endpoint.provider, Provider::Gemini | Provider::Vertex);
        let has_own = is_gemini && settings.has_form();
        let schema = asking.shape.filter(|_| !has_own).map(AnswerShape::schema);
        let digest = self.digest(&found, &settings, asking, schema.as_ref());
        if let Some(cached) = self.cached(&digest, is_usable).await {
            return Ok(cached);
        }
        let prompt = Prompt {
            text: asking.prompt,
            schema: schema.as_ref(),
        };
        let permission = RequestPermission {
            budget: &self.budget,
            ends: asking.ends,
        };
        if self.answers.is_none() {
            return Ok(
                request_response(&found, prompt, &settings, permission, is_usable)
                    .await
                    .0,
            );
        }
        let flight = self.flights.flight(&digest);
        let leader = match flight.role().await {
            RequestRole::Shared(response) if is_usable(&response.text) => {
                return Ok(from_cache(response));
            }
            RequestRole::Shared(_) | RequestRole::SendAlone => None,
            RequestRole::Send(leader) => Some(leader),
        };
        // An equal request may have ended between the first look and the turn.
        if let Some(cached) = self.cached(&digest, is_usable).await {
            return Ok(cached);
        }
        let (response, usable) =
            request_response(&found, prompt, &settings, permission, is_usable).await;
        if let Some(usable) = usable.clone() {
            self.keep(digest, usable).await;
        }
        if let Some(leader) = leader {
            leader.ends(usable);
        }
        Ok(response)
    }

    /// The cached response with this digest, if it can be used.
    async fn cached(
        &self,
        digest: &str,
        is_usable: &(dyn Fn(&str) -> bool + Sync),
    ) -> Option<SampleResponse> {
        self.cached_response(digest)
            .await
            .filter(|kept| is_usable(&kept.text))
            .map(from_cache)
    }

    /// Reads a cached response, on a thread where a slow disk blocks nothing else.
    async fn cached_response(&self, digest: &str) -> Option<CachedResponse> {
        let (answers, digest) = (self.answers.clone()?, digest.to_string());
        tokio::task::spawn_blocking(move || answers.get(&digest))
            .await
            .ok()
            .flatten()
    }

    /// Caches a response. A failure to cache it is ignored.
    async fn keep(&self, digest: String, answer: CachedResponse) {
        if let Some(answers) = self.answers.clone() {
            let _ = tokio::task::spawn_blocking(move || answers.put(&digest, &answer)).await;
        }
    }

    /// The question for the service with the published prompt that it names, filled in; `None` if it names none.
    async fn with_prompt(&self, question: &str) -> Result<Option<String>, JudgeError> {
        let mut body: Value = serde_json::from_str(question).unwrap_or_default();
        let name = body
            .pointer(&format!("/metrics/0/{PUBLISHED_PROMPT}"))
            .and_then(Value::as_str)
            .map(str::to_string);
        let Some(name) = name else { return Ok(None) };
        let backoff = Backoff::between(self.spec.retries, FIRST_DELAY, MAX_DELAY);
        body["metrics"][0] = self.prompts.get(&name, emulator(), backoff).await?;
        Ok(Some(body.to_string()))
    }

    /// The cache key of a response: a digest of everything that decides it.
    fn digest(
        &self,
        model: &JudgeModel,
        settings: &Settings,
        asking: SampleRequest,
        schema: Option<&Value>,
    ) -> String {
        let endpoint = &model.endpoint;
        fingerprint(&[
            endpoint.provider.name().as_bytes(),
            endpoint.base.as_str().as_bytes(),
            endpoint.model.as_bytes(),
            settings.deciding().as_bytes(),
            asking.identity.unwrap_or(asking.prompt).as_bytes(),
            &asking.sample.to_le_bytes(),
            // In ADK's reading, thoughts are part of the response.
            if self.spec.reading == VerdictParsing::Adk {
                b"with thoughts"
            } else {
                b""
            },
            // The requested schema, even if the model had to be called without it.
            schema.map(Value::to_string).unwrap_or_default().as_bytes(),
        ])
    }

    /// The text of the confirmation before the use of a model that names a project of its own, whose owner may store
    /// what is sent.
    pub fn destination_of_model(model: &str) -> Option<String> {
        let own = model.strip_prefix("vertex_ai/").unwrap_or(model);
        own.starts_with("projects/")
            .then(|| format!("{}the model {own}", Judges::SENDS))
    }

    /// The text of the confirmation before anything is sent to a destination that the folder names: the address, the
    /// project that is charged and may store what is sent, and the name of the key. Secrets in the address are left out.
    pub fn destination(spec: &JudgeSpec) -> Option<String> {
        if !spec.from_folder || Judges::is_recorded(spec) {
            return None;
        }
        // As it is used, not as it is written, so that an address cannot look like another host.
        let used =
            |url: &String| Url::parse(url).map_or_else(|_| url.clone(), |url| url.to_string());
        let to = match (&spec.url, spec.provider) {
            (Some(url), _) => address_without_secrets(&used(url)),
            (None, Some(provider)) => format!("{}'s own address", provider.name()),
            (None, None) => "the default address of the provider of the model".into(),
        };
        let key = spec
            .key_env
            .as_ref()
            .map(|name| format!(" with the key in {name}"))
            .unwrap_or_default();
        let project = spec
            .project
            .as_ref()
            .map(|name| format!(" in the project {name}"))
            .unwrap_or_default();
        Some(format!("{}{to}{project}{key}", Judges::SENDS))
    }
}

/// Sends a question. Returns the response, and a copy for the cache if it can be used.
async fn request_response(
    model: &JudgeModel,
    prompt: Prompt<'_>,
    settings: &Settings,
    permission: RequestPermission<'_>,
    is_usable: &(dyn Fn(&str) -> bool + Sync),
) -> (SampleResponse, Option<CachedResponse>) {
    let (answer, asking) = model.ask(prompt, settings, permission).await;
    let spent = JudgeUsage {
        retries: asking.retries,
        cost: asking.cost,
        ..JudgeUsage::default()
    };
    match answer {
        Ok(ModelAnswer {
            text,
            input_tokens,
            output_tokens,
        }) => {
            let usable = text.as_ref().ok().filter(|text| is_usable(text));
            let usable = usable.map(|text| CachedResponse {
                text: text.clone(),
                input_tokens,
                output_tokens,
            });
            let spent = JudgeUsage {
                asked: 1,
                input_tokens,
                output_tokens,
                ..spent
            };
            let text = text.map_err(|why| JudgeError::new(JudgeErrorKind::NoAnswer, why));
            (
                SampleResponse {
                    text,
                    cached: false,
                    spent,
                },
                usable,
            )
        }
        Err(error) => {
            let spent = JudgeUsage {
                missing: u32::from(error.fault == JudgeErrorKind::Limit),
                ..spent
            };
            (
                SampleResponse {
                    text: Err(error),
                    cached: false,
                    spent,
                },
                None,
            )
        }
    }
}

fn from_cache(response: CachedResponse) -> SampleResponse {
    let spent = JudgeUsage {
        cached: 1,
        ..JudgeUsage::default()
    };
    SampleResponse {
        text: Ok(response.text),
        cached: true,
        spent,
    }
}

fn random_key() -> [u8; 32] {
    let mut key = [0; 32];
    let (first, second) = key.split_at_mut(16);
    first.copy_from_slice(uuid::Uuid::new_v4().as_bytes());
    second.copy_from_slice(uuid::Uuid::new_v4().as_bytes());
    key
}

/// The address of a storage emulator that replaces Google's, from the environment.
fn emulator() -> Option<String> {
    std::env::var("STORAGE_EMULATOR_HOST")
        .ok()
        .filter(|host| !host.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::{Judging, JudgingObserver};

    fn folder_spec() -> JudgeSpec {
        JudgeSpec {
            from_folder: true,
            ..JudgeSpec::standard()
        }
    }

    #[test]
    fn destination_of_agent_texts_is_reported() {
        let told = |spec: JudgeSpec| Judges::destination(&spec);
        assert_eq!(told(JudgeSpec::standard()), None);
        assert_eq!(
            told(JudgeSpec {
                provider: Some(Provider::Replay),
                ..folder_spec()
            }),
            None
        );
        let url = Some("https://own.example/v1".to_string());
        let (project, key_env) = (Some("p".to_string()), Some("KEY".to_string()));
        assert_eq!(
            told(JudgeSpec {
                url,
                project,
                key_env,
                ..folder_spec()
            })
            .unwrap(),
            "send what agents say to https://own.example/v1 in the project p with the key in KEY"
        );
        assert_eq!(
            told(JudgeSpec {
                provider: Some(Provider::Openai),
                ..folder_spec()
            })
            .unwrap(),
            "send what agents say to openai's own address"
        );
        assert!(
            told(folder_spec())
                .unwrap()
                .ends_with("the default address of the provider of the model")
        );
    }

    /// Codes of another run are not those of this one.
    #[test]
    fn keys_of_codes_are_random() {
        let (one, other) = (random_key(), random_key());
        assert!(one != other && one[..16] != one[16..]);
    }

    #[tokio::test]
    async fn judging_progress_is_reported() {
        struct ObservedProgress(Vec<Judging>);
        impl JudgingObserver for ObservedProgress {
            async fn judging(&mut self, judging: Judging) {
                self.0.push(judging);
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("recorded.jsonl");
        let valid = r#"{"reasoning": "equal", "is_the_agent_response_valid": "valid"}"#;
        let answer = serde_json::json!({
            "eval_id": "a right answer in other words", "metric": "final_response_match_v2", "replies": [valid],
        });
        std::fs::write(&path, answer.to_string()).unwrap();
        let spec = JudgeSpec {
            provider: Some(Provider::Replay),
            recording: Some(path),
            ..JudgeSpec::standard()
        };
        let mut told = ObservedProgress(Vec::new());
        let probed = Judges::new(&spec, None).canary(&mut told).await;
        assert_eq!((probed[0].found, probed[1].found), (Some(true), None));
        let first = &told.0[0];
        assert_eq!(
            (first.turn, first.answered, first.of, first.spent.asked),
            (1, 1, 1, 1)
        );
    }

    #[test]
    fn model_with_own_project_is_reported() {
        let whole = "projects/p/locations/eu/models/m";
        let told = Some(format!("send what agents say to the model {whole}"));
        assert_eq!(Judges::destination_of_model(whole), told);
        assert_eq!(
            Judges::destination_of_model(&format!("vertex_ai/{whole}")),
            told
        );
        assert_eq!(Judges::destination_of_model("gemini-2.5-flash"), None);
    }

    #[test]
    fn disallowed_destination_has_no_model() {
        let spec = JudgeSpec {
            url: Some("http://127.0.0.1:1/".into()),
            ..folder_spec()
        };
        let spec = JudgeSpec {
            provider: Some(Provider::Ollama),
            ..spec
        };
        let error = Judges::new(&spec, None).is_configured("m").unwrap_err();
        assert_eq!(
            error.message,
            "permission is missing to send what agents say to http://127.0.0.1:1/"
        );
        let destinations = Judges::destination(&spec).into_iter().collect();
        let allowed = Judges::new(&spec, None).with_grant(JudgeGrant {
            destinations,
            ..JudgeGrant::default()
        });
        assert_eq!(allowed.is_configured("m"), Ok(()));
    }

    #[tokio::test]
    async fn recorded_judge_needs_no_model() {
        let folder = tempfile::tempdir().unwrap();
        let recording = Some(folder.path().join("none.jsonl"));
        let spec = JudgeSpec {
            provider: Some(Provider::Replay),
            recording,
            ..JudgeSpec::standard()
        };
        let recorded = Judges::new(&spec, None);
        assert!(recorded.is_replay() && Judges::is_recorded(&spec));
        assert_eq!(recorded.is_configured("no/such"), Ok(()));
        assert_eq!(
            recorded.model_for(&JudgeOptions::default()),
            "recorded answers"
        );
        assert!(
            recorded
                .probe("m")
                .await
                .unwrap_err()
                .message
                .contains("none.jsonl")
        );
        let asked = Judges::new(&JudgeSpec::standard(), None);
        assert!(!asked.is_replay() && !Judges::is_recorded(asked.spec()));
        assert!(asked.is_configured("no/such").is_err());
    }

    #[test]
    fn configured_model_overrides_criterion() {
        let model = |of_spec: Option<&str>, of_criterion: Option<&str>| {
            let spec = JudgeSpec {
                model: of_spec.map(str::to_string),
                ..JudgeSpec::standard()
            };
            let options = JudgeOptions {
                model: of_criterion.map(str::to_string),
                ..JudgeOptions::default()
            };
            Judges::new(&spec, None).model_for(&options)
        };
        assert_eq!(
            (model(Some("a"), Some("b")), model(None, Some("b"))),
            ("a".to_string(), "b".to_string())
        );
        assert_eq!(model(None, None), JudgeOptions::MODEL);
    }

    /// Without the secret of its codes, the cache is of no use.
    #[test]
    fn unusable_cache_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let usable = Judges::new(
            &JudgeSpec::standard(),
            Some(JudgeResponseCache::below(folder.path().join("judge"))),
        );
        assert!(usable.cache_problem().is_none() && usable.answers.is_some());
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let unusable = Judges::new(
            &JudgeSpec::standard(),
            Some(JudgeResponseCache::below(file.clone())),
        );
        assert!(
            unusable
                .cache_problem()
                .is_some_and(|why| why.contains(&*file.to_string_lossy()))
        );
        assert!(unusable.answers.is_none());
        let without = JudgeSpec {
            cache: false,
            ..JudgeSpec::standard()
        };
        assert!(
            Judges::new(&without, Some(JudgeResponseCache::below(file)))
                .cache_problem()
                .is_none()
        );
    }
}
