//! Reading `evaltrail.toml`.

use super::agents::AgentTable;
use super::comparison::RawComparison;
use super::coverage::RawCoverage;
use super::duration::parse_duration;
use super::judge::RawJudge;
use super::metric::{DefinedMetric, RawMetric};
use evaltrail_core::analysis::{ComparisonRule, CoverageGates};
use evaltrail_core::domain::{AgentSpec, Gate, JudgeSpec, MatchRule, RunOptions, ToolsSpec};
use evaltrail_core::formats::ColumnMap;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use toml::Spanned;

/// The file's name.
pub const FILE_NAME: &str = "evaltrail.toml";
/// The name of the file of criteria beside eval sets.
pub const CRITERIA_FILE: &str = "test_config.json";

/// The contents of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigFile {
    /// Agents by name.
    pub agents: BTreeMap<String, AgentSpec>,
    /// Maximum number of concurrent attempts, for agents with a limit of their own.
    pub agent_jobs: BTreeMap<String, u32>,
    /// How tools are answered, for agents that specify it.
    pub agent_tools: BTreeMap<String, ToolsSpec>,
    /// The name of the agent of all sets, unless a command names another.
    pub agent: Option<String>,
    /// Maximum number of concurrent attempts.
    pub jobs: Option<u32>,
    /// Time limit for one attempt.
    pub timeout: Option<Duration>,
    /// Number of attempts of each case.
    pub repeat: Option<u32>,
    /// When a case with several attempts passes.
    pub gate: Option<Gate>,
    /// Maximum number of retries after a failure that may be retried.
    pub retries: Option<u32>,
    /// Maximum number of attempts started per minute.
    pub rate: Option<u32>,
    /// Memory limit for what an agent sends in one turn, in MB.
    pub turn_memory_mb: Option<u32>,
    /// How calls are compared, where the metric allows it.
    pub rules: Vec<MatchRule>,
    /// Metrics that are scored in every set.
    pub metrics: Vec<DefinedMetric>,
    /// The judge model and how it is called.
    pub judge: Option<JudgeSpec>,
    /// How many runs are stored; [`DEFAULT_RUNS_KEPT`] when `None`.
    pub keep: Option<usize>,
    /// The size of all runs, in MB, from which on old ones are removed; no limit when `None`.
    pub max_runs_mb: Option<u64>,
    /// How runs are compared.
    pub comparison: ComparisonRule,
    /// What is demanded of the coverage of tools.
    pub coverage: CoverageGates,
    /// Which columns of data sets are read as those that evaltrail knows.
    pub columns: ColumnMap,
}

/// How many runs are stored unless the file specifies another number.
pub const DEFAULT_RUNS_KEPT: usize = 50;
/// The size of all runs of a workspace, in MB, from which on it is reported unless a limit is configured.
pub const LARGE_RUNS_MB: u64 = 10_000;

/// Why the file cannot be used: the message of the TOML parser with line and column, or a message that names the key.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigProblem(pub String);

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Raw {
    #[serde(default)]
    agents: BTreeMap<String, BTreeMap<String, Spanned<toml::Value>>>,
    #[serde(default)]
    run: RawRun,
    judge: Option<RawJudge>,
    #[serde(default)]
    history: RawHistory,
    #[serde(default)]
    compare: RawComparison,
    #[serde(default)]
    coverage: RawCoverage,
    #[serde(default)]
    r#match: Vec<MatchRule>,
    #[serde(default)]
    metrics: BTreeMap<String, RawMetric>,
    #[serde(default)]
    columns: BTreeMap<String, String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RawRun {
    agent: Option<String>,
    jobs: Option<u32>,
    timeout: Option<String>,
    repeat: Option<u32>,
    gate: Option<RawGate>,
    retries: Option<u32>,
    rate: Option<u32>,
    turn_memory_mb: Option<u32>,
}

/// A gate as it is written: its name, or a share.
#[derive(Deserialize)]
#[serde(untagged)]
enum RawGate {
    Name(String),
    Rate(f64),
}

impl RawGate {
    fn parse(&self) -> Result<Gate, String> {
        match self {
            RawGate::Name(name) => Gate::parse(name),
            RawGate::Rate(rate) => Gate::parse(&rate.to_string()),
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RawHistory {
    keep: Option<usize>,
    max_mb: Option<u64>,
}

impl ConfigFile {
    /// The options of a run: the file's values, and the defaults for all others.
    pub fn run_options(&self) -> RunOptions {
        let defaults = RunOptions::default();
        let gate = self.gate.unwrap_or(defaults.gate);
        RunOptions {
            jobs: self.jobs.unwrap_or(defaults.jobs),
            repeat: Gate::attempts((self.repeat, gate), (None, None)),
            gate,
            timeout_ms: self
                .timeout
                .map_or(defaults.timeout_ms, |time| time.as_millis() as u64),
            retries: self.retries.unwrap_or(defaults.retries),
            rate: self.rate,
            turn_memory_mb: self.turn_memory_mb.unwrap_or(defaults.turn_memory_mb),
            ..defaults
        }
    }

    /// Parses the file's text; `root` is the folder that contains the file.
    pub fn parse(text: &str, root: &Path) -> Result<ConfigFile, ConfigProblem> {
        let raw: Raw = toml::from_str(text).map_err(|error| ConfigProblem(error.to_string()))?;
        let mut agents = BTreeMap::new();
        let mut agent_jobs = BTreeMap::new();
        let mut agent_tools = BTreeMap::new();
        for (name, table) in raw.agents {
            let problem = |why: String| ConfigProblem(format!("[agents.{name}]: {why}"));
            let mut agent = agent_table(text, &name, table)?;
            agent_jobs.extend(agent.jobs().map(|jobs| (name.clone(), jobs)));
            agent_tools.extend(
                agent
                    .tools(root)
                    .map_err(problem)?
                    .map(|tools| (name.clone(), tools)),
            );
            let spec = agent.spec(&name, root).map_err(problem)?;
            agents.insert(name, spec);
        }
        raw.run
            .check()
            .map_err(|why| ConfigProblem(format!("[run] {why}")))?;
        let gate = raw.run.gate.as_ref().map(RawGate::parse).transpose();
        let timeout = raw.run.timeout.as_deref().map(parse_duration).transpose();
        let metrics = raw.metrics.into_iter().map(|(name, metric)| {
            metric
                .define(&name)
                .map_err(|why| ConfigProblem(format!("[metrics.{name}]: {why}")))
        });
        let judge = raw.judge.map(|judge| judge.spec(root)).transpose();
        Ok(ConfigFile {
            agents,
            agent_jobs,
            agent_tools,
            agent: raw.run.agent,
            jobs: raw.run.jobs,
            timeout: timeout.map_err(|why| ConfigProblem(format!("[run] timeout: {why}")))?,
            repeat: raw.run.repeat,
            gate: gate.map_err(|why| ConfigProblem(format!("[run] gate: {why}")))?,
            retries: raw.run.retries,
            rate: raw.run.rate,
            turn_memory_mb: raw.run.turn_memory_mb,
            rules: raw.r#match,
            metrics: metrics.collect::<Result<_, _>>()?,
            judge: judge.map_err(|why| ConfigProblem(format!("[judge]: {why}")))?,
            keep: raw.history.keep,
            max_runs_mb: raw.history.max_mb,
            comparison: raw
                .compare
                .rule()
                .map_err(|why| ConfigProblem(format!("[compare] {why}")))?,
            coverage: raw
                .coverage
                .gates()
                .map_err(|why| ConfigProblem(format!("[coverage] {why}")))?,
            columns: ColumnMap::from_pairs(raw.columns)
                .map_err(|why| ConfigProblem(format!("[columns] {why}")))?,
        })
    }
}

/// Reads the table of an agent. The error names the line of the key that is wrong.
fn agent_table(
    text: &str,
    name: &str,
    table: BTreeMap<String, Spanned<toml::Value>>,
) -> Result<AgentTable, ConfigProblem> {
    let read = |without: Option<&str>| {
        let members = table
            .iter()
            .filter(|(key, _)| Some(key.as_str()) != without);
        let members = members.map(|(key, value)| (key.clone(), value.get_ref().clone()));
        AgentTable::try_from(members.collect::<toml::Table>())
    };
    read(None).map_err(|why| {
        // The key without which the error would be another one.
        let is_wrong = |key: &&String| read(Some(key)).err().as_ref() != Some(&why);
        let wrong = table.keys().find(is_wrong).and_then(|key| table.get(key));
        let line = wrong.map(|value| {
            text[..value.span().start.min(text.len())]
                .matches('\n')
                .count()
                + 1
        });
        let position = line.map_or(String::new(), |line| format!("line {line}: "));
        ConfigProblem(format!("{position}[agents.{name}]: {why}"))
    })
}

impl RawRun {
    fn check(&self) -> Result<(), String> {
        let within = |name: &str, value: Option<u32>, least: u32, most: u32| match value {
            Some(value) if !(least..=most).contains(&value) => Err(format!(
                "{name}: {value} is not in the range {least} to {most}"
            )),
            _ => Ok(()),
        };
        within("jobs", self.jobs, 1, 1024)?;
        within("repeat", self.repeat, 1, 10_000)?;
        within("retries", self.retries, 0, 100)?;
        within("rate", self.rate, 1, 1_000_000)?;
        within("turn_memory_mb", self.turn_memory_mb, 1, 4096)
    }
}

#[cfg(test)]
mod tests {
    use super::super::DefinedKind;
    use super::*;
    use evaltrail_core::domain::{Provider, VerdictParsing};

    #[test]
    fn the_file_names_agents() {
        let text = "[agents.home]\nkind = \"adk\"\nstart = \"adk api_server agents --port {port}\"\n\
                    [agents.old]\nkind = \"replay\"\nrecording = \"r.jsonl\"\n[run]\njobs = 8\ntimeout = \"2m\"\n\
                    [judge]\nkind = \"ollama\"\nbase_url = \"http://x:1\"\ncompat = \"adk\"\n";
        let file = ConfigFile::parse(text, Path::new("/w")).unwrap();
        assert_eq!(
            file.agents["old"],
            AgentSpec::Replay {
                path: "/w/r.jsonl".into(),
                speed: 100,
                fallback: None
            }
        );
        assert_eq!(
            (file.jobs, file.timeout),
            (Some(8), Some(Duration::from_secs(120)))
        );
        let judge = file.judge.unwrap();
        assert_eq!(
            (judge.provider, judge.reading),
            (Some(Provider::Ollama), VerdictParsing::Adk)
        );
        assert!(judge.from_folder && judge.cache);
    }

    #[test]
    fn the_gate_is_a_name_or_a_share() {
        let gate = |value: &str| {
            ConfigFile::parse(&format!("[run]\ngate = {value}"), Path::new("/w"))
                .unwrap()
                .run_options()
                .gate
        };
        assert_eq!(
            (gate("\"mean\""), gate("0.8"), gate("\"80%\"")),
            (Gate::Mean, Gate::Rate(0.8), Gate::Rate(0.8))
        );
        assert_eq!(ConfigFile::default().run_options().gate, Gate::All);
    }

    #[test]
    fn rules_and_metrics_are_read() {
        let text = "[[match]]\ntool = \"search_*\"\nargs = { query = \"ignore\", limit = { tolerance = 5 } }\n\
                    [metrics.essential]\nkind = \"tools\"\ntools = [\"book\"]\nthreshold = 1.0\n\
                    [metrics.tone]\nkind = \"python\"\nfunction = \"my.tone\"\ntimeout = \"5s\"\n";
        let file = ConfigFile::parse(text, Path::new("/w")).unwrap();
        assert_eq!(file.rules[0].args["limit"]["tolerance"], 5);
        assert_eq!(file.metrics[0].threshold, Some(1.0));
        assert!(matches!(
            &file.metrics[1].kind,
            DefinedKind::Python {
                timeout_ms: 5000,
                ..
            }
        ));
        let said = |text: &str| ConfigFile::parse(text, Path::new("/w")).unwrap_err().0;
        assert!(said("[[match]]\ntools = \"x\"").contains("unknown field `tools`"));
        assert!(
            said("[metrics.x]\nkind = \"tools\"\ntools = []")
                .contains("[metrics.x]: tools is empty")
        );
        assert!(
            said("[metrics.x]\nkind = \"argument\"\ntool = \"a\"\npath = \"$\"")
                .contains("equals or pattern")
        );
    }

    #[test]
    fn mistakes_name_the_line() {
        let said = |text: &str| ConfigFile::parse(text, Path::new("/w")).unwrap_err().0;
        assert!(
            said("[columns]\nquestion = \"prompt\"")
                .contains("[columns] question: columns can be mapped")
        );
        assert!(said("[run]\njob = 8").contains("unknown field `job`"));
        let unknown = "[run]\njobs = 2\n\n[agents.f]\nkind = \"http\"\nurl = \"http://x/\"\nfrom = { a = \"b\" }\n";
        assert!(
            said(unknown).starts_with("line 7: [agents.f]: unknown field `from`"),
            "{}",
            said(unknown)
        );
        assert_eq!(
            ConfigFile::parse("[run]\nagent = \"home\"", Path::new("/w"))
                .unwrap()
                .agent
                .as_deref(),
            Some("home")
        );
        assert!(said("[agents.x]\nkind = \"adk\"").contains("[agents.x]: an adk agent has either"));
        assert!(said("[agents.x]\nkind = \"adk\"\nstart = \"adk\"").contains("{port}"));
        assert!(
            said("[run]\ngate = 1.5")
                .contains("[run] gate: \"1.5\" is not all, mean, until=RATE, or a share")
        );
        assert!(said("[run]\ntimeout = \"2 weeks\"").contains("unit of time"));
        assert!(
            said("[judge]\nkind = \"replay\"")
                .contains("[judge]: kind = \"replay\" needs a recording")
        );
        assert!(said("[judge]\nspending_limit = 1").contains("needs prices"));
        assert!(said("[judge]\nbase_url = \"http://x\"").contains("kind must name its API"));
        let key = said("[judge]\napi_key = \"sk-1234\"");
        assert!(
            key.contains("name that variable as api_key_env") && !key.contains("sk-1234"),
            "{key}"
        );
    }
}
