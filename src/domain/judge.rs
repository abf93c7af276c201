//! Which judge answers, and how its answers are read.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A judge as it is configured. Keys are named, never held.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JudgeSpec {
    /// How the model is reached; by its name, as ADK does it, when `None`.
    pub provider: Option<Provider>,
    /// The model that is asked, whatever a criterion names.
    pub model: Option<String>,
    /// Where it is reached, instead of the provider's own address.
    pub url: Option<String>,
    /// The environment variable with the key, instead of the provider's own.
    pub key_env: Option<String>,
    /// Google Cloud's project, for Vertex AI.
    pub project: Option<String>,
    /// Google Cloud's location, for Vertex AI.
    pub location: Option<String>,
    /// Recorded answers, for the replay.
    pub recording: Option<PathBuf>,
    /// How answers are read.
    #[serde(default)]
    pub reading: Reading,
    /// Requests at once.
    pub jobs: u32,
    /// Requests a minute at most.
    pub rate: Option<u32>,
    /// Limit for one request, in milliseconds.
    pub timeout_ms: u64,
    /// How often a failure that may be retried is retried.
    pub retries: u32,
    /// Samples for criteria that do not say how many.
    pub samples: Option<u32>,
    /// Prices for a million tokens, in and out.
    pub prices: Option<(f64, f64)>,
    /// No new request is made once so much is spent.
    pub spending_limit: Option<f64>,
    /// Whether answers are kept and used again.
    pub cache: bool,
    /// Whether the folder's own file says where things go or with which key, so that a person is asked first.
    #[serde(default)]
    pub from_folder: bool,
}

impl JudgeSpec {
    /// What holds where nothing is configured.
    pub fn standard() -> JudgeSpec {
        JudgeSpec { jobs: 8, timeout_ms: 60_000, retries: 4, cache: true, ..JudgeSpec::default() }
    }
}

impl JudgeSpec {
    /// What it is called on the screen; nothing where each criterion's own model answers.
    pub fn label(&self) -> Option<String> {
        match (self.provider, &self.model) {
            (Some(Provider::Replay), _) => Some("recorded".into()),
            (_, Some(model)) => Some(model.clone()),
            (Some(provider), None) => Some(provider.name().into()),
            (None, None) => None,
        }
    }
}

/// Whose protocol a judge speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// Google's Gemini API, with a key.
    Gemini,
    /// Gemini on Vertex AI, with a token.
    Vertex,
    /// OpenAI's chat completions, and whatever speaks like them.
    Openai,
    /// Anthropic's messages.
    Anthropic,
    /// Ollama's chat.
    Ollama,
    /// Recorded answers.
    Replay,
}

impl Provider {
    /// The name in a config file.
    pub fn name(self) -> &'static str {
        match self {
            Provider::Gemini => "gemini",
            Provider::Vertex => "vertex",
            Provider::Openai => "openai",
            Provider::Anthropic => "anthropic",
            Provider::Ollama => "ollama",
            Provider::Replay => "replay",
        }
    }
}

/// How a judge's answers are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reading {
    /// The structured verdict counts; where an answer contradicts itself there is none.
    #[default]
    Careful,
    /// As ADK reads them: the first match counts.
    Adk,
}
