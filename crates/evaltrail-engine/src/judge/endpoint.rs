//! The address and the key of a model, from the configuration, the model's name and the environment. Names are
//! resolved as in ADK (`google/adk/models/registry.py`).

use super::error::{JudgeError, JudgeErrorKind};
use super::secret::Secret;
use crate::net::http::is_loopback;
use evaltrail_core::domain::{JudgeSpec, Provider};
use url::Url;

/// A model and its address.
#[derive(Clone, Debug)]
pub struct ModelEndpoint {
    /// The provider, which determines the protocol.
    pub provider: Provider,
    /// The model's name at the provider.
    pub model: String,
    /// The base URL, to which the paths of the protocol are added.
    pub base: Url,
    /// The key, if one is sent.
    pub key: Option<Secret>,
    /// Whether it is Vertex AI's evaluation service instead of a model.
    pub service: bool,
    /// The Google Cloud project, for Vertex AI.
    pub vertex: Option<VertexProject>,
}

/// A Google Cloud project and the location whose API is used.
#[derive(Clone, Debug, Default)]
pub struct VertexProject {
    /// The id of the project.
    pub project: String,
    /// The location, such as `us-central1`.
    pub location: String,
}

const GEMINI_KEYS: &[&str] = &["GOOGLE_API_KEY", "GEMINI_API_KEY"];
/// Tokens, not keys.
const VERTEX_KEYS: &[&str] = &["CLOUDSDK_AUTH_ACCESS_TOKEN", "GOOGLE_OAUTH_ACCESS_TOKEN"];
const OPENAI_KEY: &str = "OPENAI_API_KEY";
const ANTHROPIC_KEY: &str = "ANTHROPIC_API_KEY";

/// Providers with OpenAI's protocol: name, address, and the variable of the key.
const OPENAI_COMPATIBLE: &[(&str, &str, &str)] = &[
    ("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    ("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    (
        "deepseek",
        "https://api.deepseek.com/v1",
        "DEEPSEEK_API_KEY",
    ),
    (
        "together_ai",
        "https://api.together.xyz/v1",
        "TOGETHERAI_API_KEY",
    ),
    (
        "fireworks_ai",
        "https://api.fireworks.ai/inference/v1",
        "FIREWORKS_API_KEY",
    ),
    (
        "openrouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
    ),
    ("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
];

/// The variables with addresses of providers. Only the environment is read: an address in a file could redirect a
/// key.
pub(super) const ADDRESSES: [&str; 6] = [
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_VERTEX_BASE_URL",
    "OPENAI_BASE_URL",
    "ANTHROPIC_BASE_URL",
    "OLLAMA_HOST",
    "STORAGE_EMULATOR_HOST",
];

/// The variables with keys of providers.
pub(super) fn key_names() -> impl Iterator<Item = &'static str> {
    let own = [GEMINI_KEYS, VERTEX_KEYS, &[OPENAI_KEY], &[ANTHROPIC_KEY]]
        .into_iter()
        .flatten()
        .copied();
    own.chain(OPENAI_COMPATIBLE.iter().map(|(_, _, key)| *key))
}

/// Reads an environment variable; `None` for an empty one.
pub type ReadVariable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The name of the service where a model's name is expected.
pub const SERVICE: &str = "Vertex AI's evaluation service";

/// The endpoint of Vertex AI's evaluation service.
pub(super) fn service(spec: &JudgeSpec, env: ReadVariable) -> Result<ModelEndpoint, JudgeError> {
    let cloud = JudgeSpec {
        provider: Some(Provider::Vertex),
        url: spec
            .url
            .clone()
            .filter(|_| spec.provider == Some(Provider::Vertex)),
        key_env: spec
            .key_env
            .clone()
            .filter(|_| spec.provider == Some(Provider::Vertex)),
        ..spec.clone()
    };
    vertex_project(&cloud, env).map_err(|why| JudgeError::new(JudgeErrorKind::Setup, why))?;
    Ok(ModelEndpoint {
        service: true,
        ..resolve(&cloud, SERVICE, env)?
    })
}

/// The parts of an endpoint that are known before a key is looked up.
struct EndpointWithoutKey<'a> {
    provider: Provider,
    model: &'a str,
    base: String,
    keys: Vec<&'a str>,
}

/// The endpoint for a model's name. The error says what to set.
pub fn resolve(
    spec: &JudgeSpec,
    model: &str,
    env: ReadVariable,
) -> Result<ModelEndpoint, JudgeError> {
    let setup = |why: String| JudgeError::new(JudgeErrorKind::Setup, why);
    let known = known(spec, model, env).map_err(setup)?;
    let base = spec.url.clone().unwrap_or(known.base);
    let base =
        Url::parse(&base).map_err(|error| setup(format!("[judge] base_url {base}: {error}")))?;
    if !matches!(base.scheme(), "http" | "https") {
        return Err(setup(format!(
            "[judge] base_url {base}: it must begin with http:// or https://"
        )));
    }
    let names: Vec<&str> = match &spec.key_env {
        Some(name) => vec![name],
        // The user's own server receives only a key that was configured for it.
        None if spec.url.is_some() => Vec::new(),
        None => known.keys,
    };
    let key = names.iter().find_map(|name| env(name)).map(Secret::new);
    if key.is_none() && !names.is_empty() {
        let hint = match known.provider {
            Provider::Vertex => " (a token: gcloud auth print-access-token shows one)",
            _ => "",
        };
        return Err(setup(format!(
            "{model} needs a key: set {}{hint}",
            names.join(" or ")
        )));
    }
    if key.is_some() && base.scheme() == "http" && !is_loopback(&base) {
        let host = base.host_str().unwrap_or_default();
        return Err(setup(format!(
            "a key is not sent to {host} without encryption; use https://"
        )));
    }
    let vertex = match known.provider {
        Provider::Vertex => Some(vertex_project(spec, env).map_err(setup)?),
        _ => None,
    };
    Ok(ModelEndpoint {
        provider: known.provider,
        model: known.model.to_string(),
        base,
        key,
        service: false,
        vertex,
    })
}

fn known<'a>(
    spec: &JudgeSpec,
    model: &'a str,
    env: ReadVariable,
) -> Result<EndpointWithoutKey<'a>, String> {
    let (prefix, rest) = match model.split_once('/') {
        Some((prefix, rest)) if !model.starts_with("projects/") => (Some(prefix), rest),
        _ => (None, model),
    };
    let is_on_vertex = || {
        let word = env("GOOGLE_GENAI_USE_VERTEXAI")
            .unwrap_or_default()
            .to_lowercase();
        matches!(word.as_str(), "1" | "true")
    };
    let named = |names: &[&str]| names.iter().any(|name| model.starts_with(name));
    let is_o = model.starts_with('o') && model[1..].starts_with(|c: char| c.is_ascii_digit());
    let provider = match (spec.provider, prefix) {
        (Some(provider), _) => provider,
        (None, Some("openai")) => Provider::Openai,
        (None, Some("anthropic")) => Provider::Anthropic,
        (None, Some("ollama" | "ollama_chat")) => Provider::Ollama,
        (None, Some("vertex_ai")) => Provider::Vertex,
        (None, Some("gemini")) => Provider::Gemini,
        (None, Some(prefix)) if OPENAI_COMPATIBLE.iter().any(|(name, ..)| *name == prefix) => {
            Provider::Openai
        }
        (None, Some(prefix)) => {
            return Err(format!(
                "{prefix}/ is not a known provider; set base_url under [judge] to a server with OpenAI's API"
            ));
        }
        (None, None) if named(&["projects/"]) => Provider::Vertex,
        (None, None) if named(&["gemini-", "gemma-", "model-optimizer-"]) => match is_on_vertex() {
            true => Provider::Vertex,
            false => Provider::Gemini,
        },
        (None, None) if named(&["claude-"]) => Provider::Anthropic,
        (None, None) if named(&["gpt-"]) || is_o => Provider::Openai,
        (None, None) => {
            return Err(format!(
                "{model:?} names no provider; write provider/model, such as openai/{model}, or set kind under [judge]"
            ));
        }
    };
    // A prefix that names the provider is no part of the model's own name.
    let own = match prefix {
        Some("openai" | "anthropic" | "ollama" | "ollama_chat" | "vertex_ai" | "gemini") => rest,
        Some(_) if spec.provider.is_none() => rest,
        _ => model,
    };
    let (base, keys) = address(
        provider,
        prefix.filter(|_| spec.provider.is_none()),
        spec,
        env,
    );
    Ok(EndpointWithoutKey {
        provider,
        model: own,
        base,
        keys,
    })
}

/// The address of a provider, and the variables that may contain its key.
fn address(
    provider: Provider,
    prefix: Option<&str>,
    spec: &JudgeSpec,
    env: ReadVariable,
) -> (String, Vec<&'static str>) {
    let from = |name: &str, usual: &str| env(name).unwrap_or_else(|| usual.to_string());
    if let Some((_, base, key)) = OPENAI_COMPATIBLE
        .iter()
        .find(|(name, ..)| Some(*name) == prefix)
    {
        return ((*base).to_string(), vec![key]);
    }
    match provider {
        Provider::Gemini => (
            from(
                "GOOGLE_GEMINI_BASE_URL",
                "https://generativelanguage.googleapis.com",
            ),
            GEMINI_KEYS.to_vec(),
        ),
        Provider::Vertex => {
            let location = vertex_project(spec, env)
                .map(|project| project.location)
                .unwrap_or_default();
            (
                from("GOOGLE_VERTEX_BASE_URL", &vertex_host(&location)),
                VERTEX_KEYS.to_vec(),
            )
        }
        Provider::Openai => (
            from("OPENAI_BASE_URL", "https://api.openai.com/v1"),
            vec![OPENAI_KEY],
        ),
        Provider::Anthropic => (
            from("ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
            vec![ANTHROPIC_KEY],
        ),
        Provider::Ollama => {
            let host = from("OLLAMA_HOST", "http://localhost:11434");
            (
                if host.contains("://") {
                    host
                } else {
                    format!("http://{host}")
                },
                Vec::new(),
            )
        }
        Provider::Replay => ("http://localhost".into(), Vec::new()),
    }
}

/// The host of a location, as the client google-genai computes it.
pub(super) fn vertex_host(location: &str) -> String {
    match location {
        "global" | "" => "https://aiplatform.googleapis.com".into(),
        "us" | "eu" => format!("https://aiplatform.{location}.rep.googleapis.com"),
        other => format!("https://{other}-aiplatform.googleapis.com"),
    }
}

/// The Google Cloud project and location.
pub(super) fn vertex_project(spec: &JudgeSpec, env: ReadVariable) -> Result<VertexProject, String> {
    let project = spec.project.clone().or_else(|| env("GOOGLE_CLOUD_PROJECT"));
    let location = spec
        .location
        .clone()
        .or_else(|| env("GOOGLE_CLOUD_LOCATION"));
    // The location becomes part of the host name to which a token is sent.
    let is_name = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    match (project, location) {
        (_, Some(location)) if !is_name(&location) => {
            Err(format!("{location:?} is not a Google Cloud location"))
        }
        (Some(project), Some(location)) => Ok(VertexProject { project, location }),
        (None, _) => Err(
            "Vertex AI needs a project: set GOOGLE_CLOUD_PROJECT, or project under [judge]".into(),
        ),
        _ => Err(
            "Vertex AI needs a location: set GOOGLE_CLOUD_LOCATION, or location under [judge]"
                .into(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<'a>(vars: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        move |name| {
            vars.iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_string())
        }
    }

    fn at(model: &str, vars: &[(&str, &str)]) -> Result<(Provider, String, String), String> {
        let found =
            resolve(&JudgeSpec::standard(), model, &with(vars)).map_err(|error| error.message)?;
        Ok((found.provider, found.model, found.base.to_string()))
    }

    #[test]
    fn names_are_resolved_as_adk_resolves_them() {
        let google = [("GOOGLE_API_KEY", "k")];
        let gemini = "https://generativelanguage.googleapis.com/";
        let found = at("gemini-2.5-flash", &google).unwrap();
        assert_eq!(
            found,
            (Provider::Gemini, "gemini-2.5-flash".into(), gemini.into())
        );
        let found = at(
            "openai/gpt-5",
            &[
                ("OPENAI_API_KEY", "k"),
                ("OPENAI_BASE_URL", "http://[::1]:1/v1"),
            ],
        );
        assert_eq!(
            found.unwrap(),
            (Provider::Openai, "gpt-5".into(), "http://[::1]:1/v1".into())
        );
        assert_eq!(
            at("o3-mini", &[("OPENAI_API_KEY", "k")]).unwrap().0,
            Provider::Openai
        );
        let groq = at("groq/llama-3/x", &[("GROQ_API_KEY", "k")]).unwrap();
        assert_eq!(
            (groq.1.as_str(), groq.2.as_str()),
            ("llama-3/x", "https://api.groq.com/openai/v1")
        );
        assert_eq!(
            at("claude-x", &[("ANTHROPIC_API_KEY", "k")]).unwrap().0,
            Provider::Anthropic
        );
        assert_eq!(
            at("ollama_chat/q", &[("OLLAMA_HOST", "h:1")]).unwrap().2,
            "http://h:1/"
        );
        let cloud = [
            ("GOOGLE_GENAI_USE_VERTEXAI", "true"),
            ("GOOGLE_CLOUD_PROJECT", "p"),
            ("GOOGLE_CLOUD_LOCATION", "us-central1"),
            ("CLOUDSDK_AUTH_ACCESS_TOKEN", "t"),
        ];
        assert_eq!(
            at("gemini-2.5-flash", &cloud).unwrap().2,
            "https://us-central1-aiplatform.googleapis.com/"
        );
    }

    #[test]
    fn prefixes_of_names_are_providers() {
        let vars = [
            ("GOOGLE_API_KEY", "k"),
            ("ANTHROPIC_API_KEY", "k"),
            ("XAI_API_KEY", "k"),
            ("GOOGLE_CLOUD_PROJECT", "p"),
            ("GOOGLE_CLOUD_LOCATION", "global"),
            ("GOOGLE_OAUTH_ACCESS_TOKEN", "t"),
        ];
        let whole = "projects/p/locations/global/publishers/google/models/m";
        for (name, provider, model) in [
            ("gemini/m", Provider::Gemini, "m"),
            ("anthropic/m", Provider::Anthropic, "m"),
            ("ollama/m", Provider::Ollama, "m"),
            ("xai/m", Provider::Openai, "m"),
            ("vertex_ai/m", Provider::Vertex, "m"),
            (whole, Provider::Vertex, whole),
        ] {
            let found = at(name, &vars).unwrap();
            assert_eq!((found.0, found.1.as_str()), (provider, model), "{name}");
        }
        let own = JudgeSpec {
            provider: Some(Provider::Openai),
            url: Some("https://own.example/v1".into()),
            ..JudgeSpec::standard()
        };
        let model = |name: &str| resolve(&own, name, &with(&vars)).unwrap().model;
        assert_eq!(
            (model("xai/m"), model("openai/m")),
            ("xai/m".to_string(), "m".to_string())
        );
    }

    #[test]
    fn hosts_of_locations() {
        let hosts = ["", "global", "us", "europe-west1"].map(vertex_host);
        assert_eq!(
            hosts,
            [
                "https://aiplatform.googleapis.com",
                "https://aiplatform.googleapis.com",
                "https://aiplatform.us.rep.googleapis.com",
                "https://europe-west1-aiplatform.googleapis.com"
            ]
        );
    }

    #[test]
    fn missing_settings_are_named() {
        assert!(
            at("gemini-2.5-flash", &[])
                .unwrap_err()
                .contains("set GOOGLE_API_KEY or GEMINI_API_KEY")
        );
        assert!(
            at("bedrock/x", &[])
                .unwrap_err()
                .contains("bedrock/ is not a known provider")
        );
        for name in ["mystery", "omni", "m3-x"] {
            assert!(
                at(name, &[])
                    .unwrap_err()
                    .contains(&format!("write provider/model, such as openai/{name}"))
            );
        }
        let far = [
            ("OPENAI_API_KEY", "k"),
            ("OPENAI_BASE_URL", "http://far.example/v1"),
        ];
        assert!(
            at("gpt-5", &far)
                .unwrap_err()
                .contains("without encryption")
        );
        let cloud = [
            ("GOOGLE_GENAI_USE_VERTEXAI", "1"),
            ("CLOUDSDK_AUTH_ACCESS_TOKEN", "t"),
        ];
        assert!(
            at("gemini-2.5-flash", &cloud)
                .unwrap_err()
                .contains("GOOGLE_CLOUD_PROJECT")
        );
        let project = [
            ("GOOGLE_CLOUD_PROJECT", "p"),
            ("GOOGLE_CLOUD_LOCATION", "us-central1"),
        ];
        assert!(
            at("vertex_ai/m", &project)
                .unwrap_err()
                .contains("gcloud auth print-access-token")
        );
        assert!(
            at("vertex_ai/m", &project[..1])
                .unwrap_err()
                .contains("needs a key")
        );
        let elsewhere = JudgeSpec {
            provider: Some(Provider::Vertex),
            project: Some("p".into()),
            location: Some("evil.example/#".into()),
            ..JudgeSpec::standard()
        };
        let error = resolve(&elsewhere, "gemini-2.5-flash", &with(&cloud)).unwrap_err();
        assert!(
            error.message.contains("not a Google Cloud location"),
            "{error}"
        );
    }

    /// The address and the key of another provider are not those of the service.
    #[test]
    fn the_evaluation_service_is_on_google_cloud() {
        let vars = [
            ("GOOGLE_CLOUD_PROJECT", "p"),
            ("GOOGLE_CLOUD_LOCATION", "eu"),
            ("CLOUDSDK_AUTH_ACCESS_TOKEN", "usual"),
            ("MINE", "own"),
        ];
        let of = |provider: Provider| {
            let (url, key_env) = (
                Some("https://own.example/".to_string()),
                Some("MINE".to_string()),
            );
            let spec = JudgeSpec {
                provider: Some(provider),
                url,
                key_env,
                ..JudgeSpec::standard()
            };
            let found = service(&spec, &with(&vars)).unwrap();
            assert!(found.service && found.provider == Provider::Vertex);
            (
                found.base.to_string(),
                found.key.unwrap().expose().to_string(),
            )
        };
        assert_eq!(
            of(Provider::Vertex),
            ("https://own.example/".into(), "own".into())
        );
        assert_eq!(
            of(Provider::Openai),
            (
                "https://aiplatform.eu.rep.googleapis.com/".into(),
                "usual".into()
            )
        );
        let nowhere = service(&JudgeSpec::standard(), &with(&vars[2..])).unwrap_err();
        assert!(
            nowhere.message.contains("GOOGLE_CLOUD_PROJECT"),
            "{nowhere}"
        );
    }

    #[test]
    fn own_server_gets_only_configured_key() {
        let own = JudgeSpec {
            provider: Some(Provider::Openai),
            url: Some("https://judge.example/v1".into()),
            ..JudgeSpec::standard()
        };
        let vars = [("OPENAI_API_KEY", "k"), ("MINE", "m")];
        assert!(
            resolve(&own, "some/model", &with(&vars))
                .unwrap()
                .key
                .is_none()
        );
        assert_eq!(
            resolve(&own, "some/model", &with(&vars)).unwrap().model,
            "some/model"
        );
        let named = JudgeSpec {
            key_env: Some("MINE".into()),
            ..own
        };
        assert_eq!(
            resolve(&named, "m", &with(&vars))
                .unwrap()
                .key
                .unwrap()
                .expose(),
            "m"
        );
    }
}
