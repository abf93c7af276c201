//! `[judge]`: the judge model and how it is called.

use super::duration::parse_duration;
use evaltrail_core::domain::{JudgeSpec, Provider, VerdictParsing};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use url::Url;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawJudge {
    kind: Option<Provider>,
    model: Option<String>,
    base_url: Option<String>,
    api_key_env: Option<String>,
    project: Option<String>,
    location: Option<String>,
    recording: Option<PathBuf>,
    compat: Option<VerdictParsing>,
    jobs: Option<u32>,
    rate: Option<u32>,
    timeout: Option<String>,
    retries: Option<u32>,
    samples: Option<u32>,
    prices: Option<RawPrices>,
    spending_limit: Option<f64>,
    cache: Option<bool>,
    /// Accepted only to report where an API key belongs.
    api_key: Option<toml::Value>,
}

/// Maximum of jobs and of requests per minute. A larger number is a mistake.
const MAX_JOBS_AND_RATE: u32 = 100_000;
/// Maximum number of samples of a question.
const MAX_SAMPLES: u32 = 1000;

/// Prices per million tokens.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPrices {
    input: f64,
    output: f64,
}

impl RawJudge {
    pub(super) fn spec(self, root: &Path) -> Result<JudgeSpec, String> {
        self.check_provider()?;
        self.check_costs()?;
        self.check_counts()?;
        let standard = JudgeSpec::standard();
        let timeout = self.timeout.as_deref().map(parse_duration).transpose();
        let timeout = timeout.map_err(|why| format!("timeout: {why}"))?;
        Ok(JudgeSpec {
            provider: self.kind,
            model: self.model,
            from_folder: self.base_url.is_some()
                || self.api_key_env.is_some()
                || self.project.is_some(),
            url: self.base_url,
            key_env: self.api_key_env,
            project: self.project,
            location: self.location,
            recording: self.recording.map(|path| root.join(path)),
            reading: self.compat.unwrap_or_default(),
            jobs: self.jobs.unwrap_or(standard.jobs),
            rate: self.rate,
            timeout_ms: timeout.map_or(standard.timeout_ms, |time| time.as_millis() as u64),
            retries: self.retries.unwrap_or(standard.retries),
            samples: self.samples,
            prices: self.prices.map(|prices| (prices.input, prices.output)),
            spending_limit: self.spending_limit,
            cache: self.cache.unwrap_or(standard.cache),
        })
    }

    /// Which model is asked, where, and with which key.
    fn check_provider(&self) -> Result<(), String> {
        if self.api_key.is_some() {
            return Err("a key does not belong in a file: put it into the environment, and name that variable as api_key_env".into());
        }
        match (self.kind, &self.recording) {
            (Some(Provider::Replay), None) => {
                return Err("kind = \"replay\" needs a recording".into());
            }
            (kind, Some(_)) if kind != Some(Provider::Replay) => {
                return Err("a recording needs kind = \"replay\"".into());
            }
            _ => {}
        }
        if self.base_url.is_some() && self.kind.is_none() {
            return Err(
                "with a base_url, kind must name its API: gemini, openai, anthropic or ollama"
                    .into(),
            );
        }
        let url = self
            .base_url
            .as_deref()
            .and_then(|url| Url::parse(url).ok());
        if url.is_some_and(|url| !url.username().is_empty() || url.password().is_some()) {
            return Err(
                "a base_url must not contain a user name: the text before the @ hides the actual host".into(),
            );
        }
        Ok(())
    }

    fn check_costs(&self) -> Result<(), String> {
        if self.spending_limit.is_some() && self.prices.is_none() {
            return Err(
                "a spending_limit needs prices = { input = …, output = … } per million tokens"
                    .into(),
            );
        }
        let prices = self.prices.as_ref();
        for (name, cost) in [
            ("spending_limit", self.spending_limit),
            ("prices.input", prices.map(|prices| prices.input)),
            ("prices.output", prices.map(|prices| prices.output)),
        ] {
            if cost.is_some_and(|cost| !(cost.is_finite() && cost >= 0.0)) {
                return Err(format!("{name} must be a number of at least 0"));
            }
        }
        Ok(())
    }

    fn check_counts(&self) -> Result<(), String> {
        for (name, count, most) in [
            ("jobs", self.jobs, MAX_JOBS_AND_RATE),
            ("rate", self.rate, MAX_JOBS_AND_RATE),
            ("samples", self.samples, MAX_SAMPLES),
        ] {
            if count.is_some_and(|count| !(1..=most).contains(&count)) {
                return Err(format!("{name} must be from 1 to {most}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_numbers_of_at_least_0() {
        let read = |text: &str| {
            toml::from_str::<RawJudge>(text)
                .unwrap()
                .spec(Path::new("."))
        };
        assert!(read("spending_limit = 0.0\nprices = { input = 0.0, output = 1.5 }").is_ok());
        for (text, name) in [
            (
                "spending_limit = nan\nprices = { input = 1.0, output = 1.0 }",
                "spending_limit",
            ),
            (
                "spending_limit = -1.0\nprices = { input = 1.0, output = 1.0 }",
                "spending_limit",
            ),
            ("prices = { input = inf, output = 1.0 }", "prices.input"),
            ("prices = { input = 1.0, output = nan }", "prices.output"),
        ] {
            assert_eq!(
                read(text).unwrap_err(),
                format!("{name} must be a number of at least 0")
            );
        }
    }
}
