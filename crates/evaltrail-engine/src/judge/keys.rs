//! Keys from a `.env` file, for judges without a key in the environment.

use super::endpoint::{self, ADDRESSES, ModelEndpoint, SERVICE, key_names, resolve};
use super::error::JudgeError;
use super::secret::Secret;
use evaltrail_core::domain::JudgeSpec;
use evaltrail_core::formats::read_dotenv;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

/// Variables that select a project on Google Cloud. They are not secret.
const PROJECT_VARIABLES: [&str; 3] = [
    "GOOGLE_GENAI_USE_VERTEXAI",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_LOCATION",
];

/// Maximum length of a name on Google Cloud, in bytes.
const MAX_NAME: usize = 100;

/// Variables from a `.env` file that a judge may use. Keys among them are never shown.
#[derive(Clone, Default)]
pub struct ApiKeys {
    file: PathBuf,
    values: BTreeMap<String, Secret>,
}

impl ApiKeys {
    /// Reads the variables of a file that contain keys of models or select a project on Google Cloud.
    pub fn of_file(file: &Path, text: &str, spec: &JudgeSpec) -> ApiKeys {
        let own = spec.key_env.as_deref();
        let is_wanted = |name: &String| {
            let is_key = own == Some(name) || key_names().any(|key| key == name);
            (is_key || PROJECT_VARIABLES.contains(&name.as_str()))
                && !ADDRESSES.contains(&name.as_str())
        };
        // These values are shown in a confirmation: only names, so that none can pose as part of the text.
        let is_name = |value: &str| {
            value.len() <= MAX_NAME
                && value
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c))
        };
        let is_usable = |name: &str, value: &str| {
            !value.is_empty() && (!PROJECT_VARIABLES.contains(&name) || is_name(value))
        };
        let wanted = read_dotenv(text)
            .into_iter()
            .filter(|(name, value)| is_wanted(name) && is_usable(name, value));
        let values = wanted
            .map(|(name, value)| (name, Secret::new(value)))
            .collect();
        ApiKeys {
            file: file.to_path_buf(),
            values,
        }
    }

    /// The variables that are needed for some of these models, and those models. `None` when no model needs the file,
    /// or the file helps none.
    pub fn needed_for(
        &self,
        spec: &JudgeSpec,
        models: &[String],
    ) -> Option<(ApiKeys, Vec<String>)> {
        let mut helping: BTreeSet<String> = BTreeSet::new();
        let mut helped = Vec::new();
        for model in models
            .iter()
            .filter(|model| ApiKeys::default().endpoint(spec, model).is_err())
        {
            let used = RefCell::new(BTreeSet::new());
            let with_file = |name: &str| {
                let value = self.variable(name)?;
                if std::env::var_os(name).is_none() {
                    used.borrow_mut().insert(name.to_string());
                }
                Some(value)
            };
            if found(spec, model, &with_file).is_ok() {
                helping.extend(used.into_inner());
                helped.push(model.clone());
            }
        }
        let values = self
            .values
            .clone()
            .into_iter()
            .filter(|(name, _)| helping.contains(name))
            .collect();
        (!helping.is_empty()).then(|| {
            (
                ApiKeys {
                    file: self.file.clone(),
                    values,
                },
                helped,
            )
        })
    }

    /// The endpoint of a model. The file is used only for models that need it.
    pub(super) fn endpoint(
        &self,
        spec: &JudgeSpec,
        model: &str,
    ) -> Result<ModelEndpoint, JudgeError> {
        let nothing = ApiKeys::default();
        found(spec, model, &|name| nothing.variable(name)).or_else(|error| {
            match self.values.is_empty() {
                true => Err(error),
                false => found(spec, model, &|name| self.variable(name)),
            }
        })
    }

    /// A variable of the environment, else of the file. An empty one counts as unset and hides the file's, as in ADK.
    fn variable(&self, name: &str) -> Option<String> {
        let of_file = || self.values.get(name).filter(|_| !ADDRESSES.contains(&name));
        let value = match std::env::var_os(name) {
            Some(value) => value.into_string().ok()?,
            None => of_file()?.expose().to_string(),
        };
        Some(value).filter(|value| !value.trim().is_empty())
    }

    /// The path of the file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The names of the variables, with their values (`NAME=value`) where they are not secret.
    pub fn describe(&self) -> Vec<String> {
        let word =
            |(name, value): (&String, &Secret)| match PROJECT_VARIABLES.contains(&name.as_str()) {
                true => format!("{name}={}", value.expose()),
                false => name.clone(),
            };
        self.values.iter().map(word).collect()
    }
}

fn found(
    spec: &JudgeSpec,
    model: &str,
    env: endpoint::ReadVariable,
) -> Result<ModelEndpoint, JudgeError> {
    match model {
        SERVICE => endpoint::service(spec, env),
        model => resolve(spec, model, env),
    }
}

impl fmt::Debug for ApiKeys {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Keys")
            .field("file", &self.file)
            .field("names", &self.describe())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_model_keys_are_read_and_not_shown() {
        let text = "GEMINI_API_KEY=canary-1\nJUDGE_KEY=canary-2\nAWS_SECRET_ACCESS_KEY=canary-3\n\
                    OPENAI_BASE_URL=https://example.org\nOLLAMA_HOST=example.org\nGOOGLE_CLOUD_PROJECT=p\n\
                    GROQ_API_KEY=${AWS_SECRET_ACCESS_KEY}\nOPENAI_API_KEY=\n";
        let keys = ApiKeys::of_file(Path::new("/w/.env"), text, &JudgeSpec::standard());
        assert_eq!(
            keys.describe(),
            ["GEMINI_API_KEY", "GOOGLE_CLOUD_PROJECT=p"]
        );
        let own = JudgeSpec {
            key_env: Some("JUDGE_KEY".into()),
            ..JudgeSpec::standard()
        };
        let keys = ApiKeys::of_file(Path::new("/w/.env"), text, &own);
        assert!(keys.describe().contains(&"JUDGE_KEY".to_string()));
        let shown = format!("{keys:?}");
        assert!(
            shown.contains("GEMINI_API_KEY")
                && shown.contains("/w/.env")
                && !shown.contains("canary")
        );
        let sentence = "GOOGLE_CLOUD_PROJECT='p of /w/.env to ask nothing at all'\nGOOGLE_CLOUD_LOCATION=us-central1";
        let keys = ApiKeys::of_file(Path::new("/w/.env"), sentence, &own);
        assert_eq!(keys.describe(), ["GOOGLE_CLOUD_LOCATION=us-central1"]);
        // An address is not read, even when the folder names it as its key.
        let address = JudgeSpec {
            key_env: Some("OPENAI_BASE_URL".into()),
            ..JudgeSpec::standard()
        };
        let keys = ApiKeys::of_file(Path::new("/w/.env"), text, &address);
        assert_eq!(
            keys.describe(),
            ["GEMINI_API_KEY", "GOOGLE_CLOUD_PROJECT=p"]
        );
    }
}
