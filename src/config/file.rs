//! Reading `evaltrail.toml`.

use super::agent::split_command;
use super::duration::parse_duration;
use super::judge::RawJudge;
use super::metric::{DefinedMetric, RawMetric};
use crate::domain::{AdkServer, AgentSpec, JudgeSpec, MatchRule, ProgramSpec, RunOptions};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file's name.
pub const FILE_NAME: &str = "evaltrail.toml";

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigFile {
    /// Agents by name.
    pub agents: BTreeMap<String, AgentSpec>,
    /// Attempts at once of agents that have a limit of their own.
    pub agent_jobs: BTreeMap<String, u32>,
    /// Attempts at once.
    pub jobs: Option<u32>,
    /// Limit for one attempt.
    pub timeout: Option<Duration>,
    /// Attempts of each case.
    pub repeat: Option<u32>,
    /// How often a failure that may be retried is retried.
    pub retries: Option<u32>,
    /// Attempts begun a minute at most.
    pub rate: Option<u32>,
    /// What an agent may send in one turn, in MB of memory.
    pub turn_memory_mb: Option<u32>,
    /// How calls are compared, where the metric allows it.
    pub rules: Vec<MatchRule>,
    /// Metrics that are scored in every set.
    pub metrics: Vec<DefinedMetric>,
    /// Which model judges, and how it is asked.
    pub judge: Option<JudgeSpec>,
    /// How many runs are kept; [`KEPT_RUNS`] when `None`.
    pub keep: Option<usize>,
}

/// So many runs are kept unless the file says otherwise.
pub const KEPT_RUNS: usize = 50;

/// Why the file cannot be used; toml's own words with line and column, or ours with the key.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigProblem(pub String);

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Raw {
    #[serde(default)]
    agents: BTreeMap<String, RawAgent>,
    #[serde(default)]
    run: RawRun,
    judge: Option<RawJudge>,
    #[serde(default)]
    history: RawHistory,
    #[serde(default)]
    r#match: Vec<MatchRule>,
    #[serde(default)]
    metrics: BTreeMap<String, RawMetric>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RawRun {
    jobs: Option<u32>,
    timeout: Option<String>,
    repeat: Option<u32>,
    retries: Option<u32>,
    rate: Option<u32>,
    turn_memory_mb: Option<u32>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RawHistory {
    keep: Option<usize>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum RawAgent {
    Adk {
        url: Option<String>,
        start: Option<String>,
        app: Option<String>,
        #[serde(default)]
        env: Vec<String>,
        jobs: Option<u32>,
    },
    Command {
        command: String,
        #[serde(default)]
        env: Vec<String>,
        jobs: Option<u32>,
    },
    Replay {
        recording: PathBuf,
        speed: Option<u32>,
        fallback: Option<String>,
        jobs: Option<u32>,
    },
}

impl ConfigFile {
    /// How runs are carried out: the defaults, with what the file says over them.
    pub fn run_options(&self) -> RunOptions {
        let defaults = RunOptions::default();
        RunOptions {
            jobs: self.jobs.unwrap_or(defaults.jobs),
            repeat: self.repeat.unwrap_or(defaults.repeat),
            timeout_ms: self.timeout.map_or(defaults.timeout_ms, |time| time.as_millis() as u64),
            retries: self.retries.unwrap_or(defaults.retries),
            rate: self.rate,
            turn_memory_mb: self.turn_memory_mb.unwrap_or(defaults.turn_memory_mb),
            turn: None,
        }
    }

    /// Reads the file's text; `root` is the folder it lies in.
    pub fn parse(text: &str, root: &Path) -> Result<ConfigFile, ConfigProblem> {
        let raw: Raw = toml::from_str(text).map_err(|error| ConfigProblem(error.to_string()))?;
        let mut agents = BTreeMap::new();
        let mut agent_jobs = BTreeMap::new();
        for (name, agent) in raw.agents {
            agent_jobs.extend(agent.jobs().map(|jobs| (name.clone(), jobs)));
            let spec =
                agent.spec(&name, root).map_err(|why| ConfigProblem(format!("[agents.{name}]: {why}")))?;
            agents.insert(name, spec);
        }
        raw.run.check().map_err(|why| ConfigProblem(format!("[run] {why}")))?;
        let timeout = raw.run.timeout.as_deref().map(parse_duration).transpose();
        let metrics = raw.metrics.into_iter().map(|(name, metric)| {
            metric.define(&name).map_err(|why| ConfigProblem(format!("[metrics.{name}]: {why}")))
        });
        let judge = raw.judge.map(|judge| judge.spec(root)).transpose();
        Ok(ConfigFile {
            agents,
            agent_jobs,
            jobs: raw.run.jobs,
            timeout: timeout.map_err(|why| ConfigProblem(format!("[run] timeout: {why}")))?,
            repeat: raw.run.repeat,
            retries: raw.run.retries,
            rate: raw.run.rate,
            turn_memory_mb: raw.run.turn_memory_mb,
            rules: raw.r#match,
            metrics: metrics.collect::<Result<_, _>>()?,
            judge: judge.map_err(|why| ConfigProblem(format!("[judge]: {why}")))?,
            keep: raw.history.keep,
        })
    }
}

impl RawRun {
    fn check(&self) -> Result<(), String> {
        let within = |name: &str, value: Option<u32>, least: u32, most: u32| match value {
            Some(value) if !(least..=most).contains(&value) => {
                Err(format!("{name}: {value} is not from {least} to {most}"))
            }
            _ => Ok(()),
        };
        within("jobs", self.jobs, 1, 1024)?;
        within("repeat", self.repeat, 1, 10_000)?;
        within("retries", self.retries, 0, 100)?;
        within("rate", self.rate, 1, 1_000_000)?;
        within("turn_memory_mb", self.turn_memory_mb, 1, 4096)
    }
}

impl RawAgent {
    fn jobs(&self) -> Option<u32> {
        match self {
            RawAgent::Adk { jobs, .. } | RawAgent::Command { jobs, .. } | RawAgent::Replay { jobs, .. } => {
                *jobs
            }
        }
    }

    fn spec(self, name: &str, root: &Path) -> Result<AgentSpec, String> {
        match self {
            RawAgent::Adk { url: Some(_), env, .. } if !env.is_empty() => {
                Err("env is for a server that is started, and this one has a url".into())
            }
            RawAgent::Adk { url, start, app, env, .. } => {
                let server = match (url, start) {
                    (Some(url), None) => AdkServer::Url(url.trim_end_matches('/').to_string()),
                    (None, Some(start)) => {
                        let argv = split_command(&start).map_err(|error| error.0)?;
                        if !argv.iter().any(|word| word.contains("{port}")) {
                            return Err("start needs {port}, which becomes a free port".into());
                        }
                        AdkServer::Start(ProgramSpec { argv, cwd: root.to_path_buf(), env })
                    }
                    _ => return Err("an adk agent has either a url or a start command".into()),
                };
                Ok(AgentSpec::Adk { server, app: app.unwrap_or_else(|| name.to_string()) })
            }
            RawAgent::Command { command, env, .. } => {
                let argv = split_command(&command).map_err(|error| error.0)?;
                Ok(AgentSpec::Command(ProgramSpec { argv, cwd: root.to_path_buf(), env }))
            }
            RawAgent::Replay { recording, speed, fallback, .. } => {
                let (path, speed) = (root.join(recording), speed.unwrap_or(100));
                Ok(AgentSpec::Replay { path, speed, fallback })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::DefinedKind;
    use super::*;
    use crate::domain::{Provider, Reading};

    #[test]
    fn the_file_names_agents() {
        let text = "[agents.home]\nkind = \"adk\"\nstart = \"adk api_server agents --port {port}\"\n\
                    [agents.old]\nkind = \"replay\"\nrecording = \"r.jsonl\"\n[run]\njobs = 8\ntimeout = \"2m\"\n\
                    [judge]\nkind = \"ollama\"\nbase_url = \"http://x:1\"\ncompat = \"adk\"\n";
        let file = ConfigFile::parse(text, Path::new("/w")).unwrap();
        assert_eq!(
            file.agents["old"],
            AgentSpec::Replay { path: "/w/r.jsonl".into(), speed: 100, fallback: None }
        );
        assert_eq!((file.jobs, file.timeout), (Some(8), Some(Duration::from_secs(120))));
        let judge = file.judge.unwrap();
        assert_eq!((judge.provider, judge.reading), (Some(Provider::Ollama), Reading::Adk));
        assert!(judge.from_folder && judge.cache);
    }

    #[test]
    fn rules_and_metrics_are_read() {
        let text = "[[match]]\ntool = \"search_*\"\nargs = { query = \"ignore\", limit = { tolerance = 5 } }\n\
                    [metrics.essential]\nkind = \"tools\"\ntools = [\"book\"]\nthreshold = 1.0\n\
                    [metrics.tone]\nkind = \"python\"\nfunction = \"my.tone\"\ntimeout = \"5s\"\n";
        let file = ConfigFile::parse(text, Path::new("/w")).unwrap();
        assert_eq!(file.rules[0].args["limit"]["tolerance"], 5);
        assert_eq!(file.metrics[0].threshold, Some(1.0));
        assert!(matches!(&file.metrics[1].kind, DefinedKind::Python { timeout_ms: 5000, .. }));
        let said = |text: &str| ConfigFile::parse(text, Path::new("/w")).unwrap_err().0;
        assert!(said("[[match]]\ntools = \"x\"").contains("unknown field `tools`"));
        assert!(said("[metrics.x]\nkind = \"tools\"\ntools = []").contains("[metrics.x]: tools is empty"));
        assert!(
            said("[metrics.x]\nkind = \"argument\"\ntool = \"a\"\npath = \"$\"")
                .contains("equals or pattern")
        );
    }

    #[test]
    fn mistakes_name_the_place() {
        let said = |text: &str| ConfigFile::parse(text, Path::new("/w")).unwrap_err().0;
        assert!(said("[run]\njob = 8").contains("unknown field `job`"));
        assert!(said("[agents.x]\nkind = \"adk\"").contains("[agents.x]: an adk agent has either"));
        assert!(said("[agents.x]\nkind = \"adk\"\nstart = \"adk\"").contains("{port}"));
        assert!(said("[run]\ntimeout = \"2 weeks\"").contains("unit of time"));
        assert!(said("[judge]\nkind = \"replay\"").contains("[judge]: kind = \"replay\" needs a recording"));
        assert!(said("[judge]\nspending_limit = 1").contains("needs prices"));
        assert!(said("[judge]\nbase_url = \"http://x\"").contains("kind says what is spoken there"));
        let key = said("[judge]\napi_key = \"sk-1234\"");
        assert!(key.contains("name that variable as api_key_env") && !key.contains("sk-1234"), "{key}");
    }
}
