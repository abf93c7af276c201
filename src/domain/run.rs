//! A run as data: the plan, what happens, and what came of each attempt.

use super::{
    Criterion, EndedAttempt, Invocation, JudgeSpec, MetricResult, ProgramSpec, Rubric, Status, UserSpec,
    Variant,
};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// What is to be run, decided before anything runs. A resumed run has the same plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPlan {
    /// The run's id, also the name of its folder.
    pub run_id: String,
    /// When it began, RFC 3339.
    pub started: String,
    /// The sets the cases come from.
    pub sets: Vec<PlannedSet>,
    /// The cases, in the files' order.
    pub cases: Vec<PlannedCase>,
    /// How to run them.
    pub options: RunOptions,
    /// Who judges what a judge must.
    #[serde(default = "JudgeSpec::standard")]
    pub judge: JudgeSpec,
}

impl RunPlan {
    /// How many attempts the run will make.
    pub fn attempts(&self) -> usize {
        self.cases.len().saturating_mul(self.options.repeat as usize)
    }

    /// The set of a case.
    pub fn set_of(&self, case: usize) -> &PlannedSet {
        &self.sets[self.cases[case].set]
    }

    /// What the agents are called, for a headline.
    pub fn agent_label(&self) -> String {
        let mut labels: Vec<String> = Vec::new();
        for set in &self.sets {
            let label = set.agent.label();
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        labels.join(", ")
    }
}

/// A file of cases, with what its cases are run against and scored by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedSet {
    /// The set's id.
    pub id: String,
    /// The file, as shown: relative to the workspace where it lies inside.
    pub file: String,
    /// The file, to be opened.
    #[serde(with = "super::stored_path")]
    pub path: PathBuf,
    /// SHA-256 of the file's bytes, so that a resumed run is the same experiment.
    pub digest: String,
    /// What the cases are run against.
    pub agent: AgentSpec,
    /// The agent's name on screen and in filters.
    pub agent_name: String,
    /// Attempts at once that the agent takes, when it has a limit of its own.
    #[serde(default)]
    pub agent_jobs: Option<u32>,
    /// The folder of the agent, where ADK's history lies, if it is an ADK agent here.
    #[serde(default, with = "super::stored_path::option")]
    pub app_dir: Option<PathBuf>,
    /// What the cases are scored by.
    pub criteria: Vec<Criterion>,
    /// Who plays the user of scenarios.
    #[serde(default)]
    pub user: UserSpec,
}

/// Identifies a case within its file, whichever version of the file is read.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CaseKey {
    /// The case's id.
    pub eval_id: String,
    /// Its content hash, which tells cases of equal ids apart; may be empty where the id does not repeat.
    pub content: String,
}

/// One case of the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedCase {
    /// Index into [`RunPlan::sets`].
    pub set: usize,
    /// Position in the file when the plan was made. Across versions of the file a case is known by its id and
    /// content.
    pub index: usize,
    /// The case's id.
    pub eval_id: String,
    /// The case's content hash (`SetFile::content_hash`); empty in plans of format 1.
    #[serde(default)]
    pub content: String,
}

/// How a run is carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunOptions {
    /// Attempts at once.
    pub jobs: u32,
    /// Attempts of each case.
    pub repeat: u32,
    /// Limit for one attempt, in milliseconds.
    pub timeout_ms: u64,
    /// How often a failure that may be retried is retried.
    pub retries: u32,
    /// Attempts begun a minute at most; no limit when `None`.
    #[serde(default)]
    pub rate: Option<u32>,
    /// What an agent may send in one turn, in MB of memory.
    #[serde(default = "turn_memory_mb")]
    pub turn_memory_mb: u32,
    /// Only this turn, from 1, on the history that the case expects before it; the whole case when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
}

fn turn_memory_mb() -> u32 {
    64
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            jobs: 4,
            repeat: 1,
            timeout_ms: 120_000,
            retries: 2,
            rate: None,
            turn_memory_mb: turn_memory_mb(),
            turn: None,
        }
    }
}

/// What a case is run against.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AgentSpec {
    /// An application on an ADK server.
    Adk {
        /// The server.
        server: AdkServer,
        /// The application's name there.
        app: String,
    },
    /// A program, one process an attempt.
    Command(ProgramSpec),
    /// Nothing: what the file says an agent already did is scored.
    Saved,
    /// Nothing: what an agent did in a run before is judged again.
    Kept,
    /// Recorded events, played with their timing.
    Replay {
        /// The recording.
        #[serde(with = "super::stored_path")]
        path: PathBuf,
        /// Times as fast in percent; 0 is without waiting.
        speed: u32,
        /// The answer to a message that was never recorded, if no recorded one is like it; without this, such a message
        /// is an error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fallback: Option<String>,
    },
}

impl AgentSpec {
    /// A short name for a headline.
    pub fn label(&self) -> String {
        match self {
            AgentSpec::Adk { server: AdkServer::Url(url), app } => {
                format!("adk {app} at {}", without_secrets(url))
            }
            AgentSpec::Adk { server: AdkServer::Start(_), app } => format!("adk {app}"),
            AgentSpec::Command(program) => format!("command {}", command_without_secrets(&program.argv)),
            AgentSpec::Saved => "saved responses".into(),
            AgentSpec::Kept => "judged again".into(),
            AgentSpec::Replay { path, .. } => {
                format!("replay {}", path.file_name().unwrap_or_default().to_string_lossy())
            }
        }
    }

    /// The program that is started, where one is.
    pub fn program(&self) -> Option<&ProgramSpec> {
        match self {
            AgentSpec::Command(program) | AgentSpec::Adk { server: AdkServer::Start(program), .. } => {
                Some(program)
            }
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn program_mut(&mut self) -> Option<&mut ProgramSpec> {
        match self {
            AgentSpec::Command(program) | AgentSpec::Adk { server: AdkServer::Start(program), .. } => {
                Some(program)
            }
            _ => None,
        }
    }

    /// The application's name, where there is one.
    pub fn app(&self) -> Option<&str> {
        match self {
            AgentSpec::Adk { app, .. } => Some(app),
            _ => None,
        }
    }
}

/// An address without the name and password, the query and the fragment that may stand in it: tokens are found there.
fn without_secrets(url: &str) -> String {
    let url = match url.find(['?', '#']) {
        Some(at) => format!("{}{}…", &url[..at], &url[at..=at]),
        None => url.to_string(),
    };
    let Some((scheme, rest)) = url.split_once("://") else { return url };
    let host_end = rest.find('/').unwrap_or(rest.len());
    match rest[..host_end].rfind('@') {
        Some(at) => format!("{scheme}://…@{}", &rest[at + 1..]),
        None => url,
    }
}

/// A command without the values of options that are named like secrets.
fn command_without_secrets(argv: &[String]) -> String {
    let is_secret = |option: &str| {
        let option = option.to_lowercase();
        option.starts_with('-')
            && ["key", "token", "secret", "password"].iter().any(|word| option.contains(word))
    };
    let mut shown: Vec<String> = Vec::new();
    let mut hides_next = false;
    for word in argv {
        let hides = std::mem::take(&mut hides_next);
        shown.push(match word.split_once('=') {
            _ if hides => "…".into(),
            Some((option, _)) if is_secret(option) => format!("{option}=…"),
            _ => {
                hides_next = is_secret(word);
                without_secrets_in(word)
            }
        });
    }
    shown.join(" ")
}

fn without_secrets_in(word: &str) -> String {
    if word.contains("://") { without_secrets(word) } else { word.to_string() }
}

/// Where an ADK server is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdkServer {
    /// Running already.
    Url(String),
    /// To be started by us; `{port}` is replaced by a free port.
    Start(ProgramSpec),
}

/// One repetition of a case: its position in the plan, and which attempt from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AttemptKey {
    /// Index into [`RunPlan::cases`].
    pub case: usize,
    /// From 1.
    pub attempt: u32,
}

/// What came of one attempt. The journal holds one a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Which attempt this is.
    pub key: AttemptKey,
    /// The case's id, so that a line tells its own story.
    pub eval_id: String,
    /// What came of it.
    pub status: Status,
    /// What ADK would have said.
    pub adk_status: Status,
    /// When it began, RFC 3339.
    pub started: String,
    /// Seconds from the first word to the last, without waiting for retries.
    #[serde(deserialize_with = "super::number::null_as_zero")]
    pub latency_s: f64,
    /// Why it errored.
    pub error: Option<String>,
    /// The scores.
    pub metrics: Vec<MetricResult>,
    /// The metrics that it was to be scored by, where it errored before it was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<String>,
    /// What was expected, as the file said it then. Shared: the same turns are scored many times over.
    pub expected: Arc<[Invocation]>,
    /// What the agent did.
    pub actual: Arc<[Invocation]>,
    /// The session's state that the file expects afterwards, where it names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_state: Option<serde_json::Value>,
    /// The session's state afterwards, where the agent told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual_state: Option<serde_json::Value>,
    /// The case's rubrics, which hold for every turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rubrics: Vec<Rubric>,
    /// What else the case's file has, where a template of a metric may name it.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub variables: serde_json::Map<String, serde_json::Value>,
    /// The other trajectories that are allowed, as they were when it was scored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<Variant>,
    /// The scenario that a simulated user played, as the file says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<serde_json::Value>,
    /// The agent's session.
    pub session_id: String,
    /// The user it ran as.
    pub user_id: String,
    /// How often it was tried, 1 when the first went through.
    pub tries: u32,
    /// The only turn that was run, from 1, on the history that the case expects before it. What is expected
    /// and what was done are of this turn alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
}

impl Attempt {
    /// An attempt of which nothing is known yet but what it is of.
    pub fn blank(key: AttemptKey, eval_id: &str) -> Attempt {
        Attempt {
            key,
            eval_id: eval_id.to_string(),
            status: Status::NotEvaluated,
            adk_status: Status::NotEvaluated,
            started: String::new(),
            latency_s: 0.0,
            error: None,
            metrics: Vec::new(),
            asked: Vec::new(),
            expected: Arc::default(),
            actual: Arc::default(),
            expected_state: None,
            actual_state: None,
            rubrics: Vec::new(),
            variants: Vec::new(),
            scenario: None,
            variables: serde_json::Map::new(),
            session_id: String::new(),
            user_id: String::new(),
            tries: 1,
            turn: None,
        }
    }

    /// Ends it with an error. ADK has no such status: it records a failure.
    pub fn fail(&mut self, why: String) {
        self.status = Status::Errored;
        self.adk_status = Status::Failed;
        self.error = Some(why);
    }
}

/// Why a run ends early, mildest first; it only ever gets more severe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelReason {
    /// Start nothing new, finish what is in flight.
    Finish,
    /// Stop now.
    Stop,
}

/// What happens in a run, in order. The same events make a live, a resumed and a replayed run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEvent {
    /// An attempt began, in one of the slots.
    Started {
        /// Which attempt.
        key: AttemptKey,
        /// Its lane, from 0.
        slot: usize,
    },
    /// An attempt got further.
    Progress {
        /// Which attempt.
        key: AttemptKey,
        /// How far.
        progress: Progress,
    },
    /// An attempt ended; it is in the journal.
    Finished(Arc<EndedAttempt>),
    /// An attempt was given up before it could end; a resume runs it again.
    Dropped(AttemptKey),
    /// Nothing new begins for now, or things go on.
    Paused(bool),
    /// The run is being cancelled.
    Cancelling(CancelReason),
    /// Something went wrong beside the cases; the run goes on.
    Warning(String),
    /// Nothing more will happen.
    Ended {
        /// Seconds since the run began (or was resumed).
        duration_s: f64,
    },
}

/// Where an attempt stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// Reaching the agent.
    Connecting,
    /// A turn began.
    Turn {
        /// From 1.
        turn: usize,
        /// Of how many.
        of: usize,
        /// The beginning of what the user says.
        user: String,
    },
    /// The agent speaks.
    Says(String),
    /// A piece of a message that is still being written; the whole follows as [`Progress::Says`].
    SaysMore(String),
    /// The agent calls a tool.
    Calls(String),
    /// A tool answered.
    Answered {
        /// The tool's name.
        tool: String,
        /// The beginning of its response.
        response: String,
    },
    /// Waiting to try again.
    Retrying {
        /// How long.
        delay_ms: u64,
        /// Why.
        error: String,
    },
    /// Scores are being computed.
    Scoring,
    /// A judge is being asked.
    Judging {
        /// The metric, label included.
        metric: String,
        /// What was asked for last.
        about: String,
        /// The turn, from 1.
        turn: usize,
        /// Answers so far.
        answered: usize,
        /// Of how many.
        of: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        assert_eq!(without_secrets("http://me:secret@host:1/x"), "http://…@host:1/x");
        assert_eq!(without_secrets("http://host/a@b"), "http://host/a@b");
        assert_eq!(without_secrets("http://host/a?key=abc&x=y@z"), "http://host/a?…");
        let argv = ["a", "--api-key", "abc", "--token=abc", "-n", "http://u:abc@h/x"].map(String::from);
        assert_eq!(command_without_secrets(&argv), "a --api-key … --token=… -n http://…@h/x");
    }
}
