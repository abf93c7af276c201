//! A run as data: the plan, the events, and the result of each attempt.

use super::{
    AgentSpec, Criterion, EndedAttempt, Gate, JudgeSpec, JudgeUsage, PlannedCases, Shard,
    ToolsSpec, UserSpec,
};
use crate::domain::AttemptKey;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

/// What a run will execute, fixed before the run starts. A resumed run has the same plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPlan {
    /// The run's id, also the name of its folder.
    pub run_id: String,
    /// Start time, RFC 3339.
    pub started: String,
    /// The version-control commit of the workspace when the run was planned, in hexadecimal; `None` if it is under none.
    /// Changes that were not committed are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The sets the cases come from.
    pub sets: Vec<PlannedSet>,
    /// The cases, in the files' order.
    pub cases: PlannedCases,
    /// How to run them.
    pub options: RunOptions,
    /// The judge for metrics that need one.
    #[serde(default = "JudgeSpec::standard")]
    pub judge: JudgeSpec,
}

impl RunPlan {
    /// The number of attempts of the run.
    pub fn attempts(&self) -> usize {
        self.cases
            .len()
            .saturating_mul(self.options.repeat as usize)
    }

    /// The plan without its cases.
    pub fn without_cases(&self) -> RunPlan {
        let RunPlan {
            run_id,
            started,
            commit,
            sets,
            options,
            judge,
            ..
        } = self;
        RunPlan {
            run_id: run_id.clone(),
            started: started.clone(),
            commit: commit.clone(),
            sets: sets.clone(),
            cases: PlannedCases::default(),
            options: options.clone(),
            judge: judge.clone(),
        }
    }

    /// The set of a case.
    pub fn set_of(&self, case: usize) -> &PlannedSet {
        &self.sets[self.cases.set_of(case)]
    }

    /// Whether the sets compute a metric in different ways, so that a mean over them is one of different measures.
    pub fn has_different_scoring(&self, metric: &str) -> bool {
        let of_set = |set: &PlannedSet| {
            set.criteria
                .iter()
                .find(|criterion| criterion.metric == metric)
                .map(Criterion::scoring)
        };
        let mut all = self.sets.iter().filter_map(of_set);
        all.next()
            .is_some_and(|first| all.any(|other| other != first))
    }

    /// Where a case is, in messages: the name of its set as by [`RunPlan::set_name`], followed by the position of the case in the
    /// file, from 1, if another case of the set has the same id.
    pub fn case_location(&self, case: usize) -> Cow<'_, str> {
        let name = self.set_name(self.cases.set_of(case));
        match self.cases.is_repeated(case) {
            true => Cow::Owned(format!(
                "{name} (case {})",
                self.cases.index_in_file(case) + 1
            )),
            false => name,
        }
    }

    /// The id of a case, followed by its file if another set of the run has the same id as the case's set.
    pub fn case_name(&self, case: usize) -> Cow<'_, str> {
        let (eval_id, set) = (self.cases.eval_id(case), self.set_of(case));
        match self.sets.iter().filter(|other| other.id == set.id).count() {
            0 | 1 => Cow::Borrowed(eval_id),
            _ => Cow::Owned(format!("{eval_id} ({})", set.file)),
        }
    }

    /// The name of a set in messages: its id, followed by its file if another set of the run has the same id.
    pub fn set_name(&self, at: usize) -> Cow<'_, str> {
        let set = &self.sets[at];
        match self.sets.iter().filter(|other| other.id == set.id).count() {
            0 | 1 => Cow::Borrowed(&set.id),
            _ => Cow::Owned(format!("{} ({})", set.id, set.file)),
        }
    }

    /// The labels of the agents, joined for a headline.
    pub fn agent_label(&self) -> String {
        let mut labels: Vec<String> = Vec::new();
        for set in &self.sets {
            let label = set.agent_label();
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        labels.join(", ")
    }
}

/// A file of cases, with the agent they are run against and the criteria they are scored by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedSet {
    /// The set's id.
    pub id: String,
    /// The file as displayed: relative to the workspace if it is inside it.
    pub file: String,
    /// The path to open the file by.
    #[serde(with = "super::stored_path")]
    pub path: PathBuf,
    /// SHA-256 of the file's bytes, so that a resume detects a changed file.
    pub digest: String,
    /// The agent that the cases are run against.
    pub agent: AgentSpec,
    /// The agent's name on screen and in filters.
    pub agent_name: String,
    /// The maximum number of concurrent attempts, if the agent has a limit of its own.
    #[serde(default)]
    pub agent_jobs: Option<u32>,
    /// A hash of the agent's code, settings and prompts when the run was planned, if they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_files: Option<String>,
    /// The number of cases in the file, of which the run may have only some; `None` in older plans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_cases: Option<usize>,
    /// The folder of the agent, which contains ADK's history, if it is a local ADK agent.
    #[serde(default, with = "super::stored_path::option")]
    pub app_dir: Option<PathBuf>,
    /// The criteria that the cases are scored by.
    pub criteria: Vec<Criterion>,
    /// The simulated user of scenarios.
    #[serde(default)]
    pub user: UserSpec,
    /// SHA-256 of the file of stubs beside the set, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stubs: Option<String>,
    /// How the agent's tools are answered.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tools: ToolsSpec,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl PlannedSet {
    /// The agent for a headline, with how its tools are answered: results depend on both.
    pub fn agent_label(&self) -> String {
        match self.tools.label() {
            Some(tools) => format!("{}, {tools}", self.agent.label()),
            None => self.agent.label(),
        }
    }
}

/// Identifies a case within its file across versions of the file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CaseKey {
    /// The case's id.
    pub eval_id: String,
    /// Its content hash, which distinguishes cases with equal ids; may be empty if the id is unique.
    pub content: String,
}

/// Options of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunOptions {
    /// Maximum number of concurrent attempts.
    pub jobs: u32,
    /// Attempts of each case.
    pub repeat: u32,
    /// Limit for one attempt, in milliseconds.
    pub timeout_ms: u64,
    /// Maximum number of retries after a failure that may be retried.
    pub retries: u32,
    /// Maximum number of attempts started per minute; no limit when `None`.
    #[serde(default)]
    pub rate: Option<u32>,
    /// Limit for the data that an agent sends in one turn, in MB of memory.
    #[serde(default = "turn_memory_mb")]
    pub turn_memory_mb: u32,
    /// Runs only this turn, from 1, with the expected turns before it as history; the whole case when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// When a case passes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub gate: Gate,
    /// The part of a larger run that this one is; the whole run when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The job of a scheduler that runs the shards, as the environment tells it. Shards of different jobs are not of one
    /// run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The ids of the runs from which this one was merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<String>,
    /// When the run was resumed, each time, in RFC 3339.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<String>,
    /// What was requested for the run that its plan does not show otherwise, so that it can be requested again.
    #[serde(default, skip_serializing_if = "is_default")]
    pub requested: RequestedOptions,
}

/// The options of a request that override the configuration. Without secrets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestedOptions {
    /// The agent, as a name or address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Whether a secret of the agent was left out, so that it cannot be requested again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub agent_has_secret: bool,
    /// The names of further environment variables that are passed to agents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// The path of a file of criteria, relative to the workspace if it is inside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// Further metrics, with their default options.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<String>,
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
            gate: Gate::All,
            shard: None,
            job: None,
            merged: Vec::new(),
            resumed: Vec::new(),
            requested: RequestedOptions::default(),
        }
    }
}

/// How a run is cancelled, mildest first. A cancellation can become more severe, never milder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelReason {
    /// Start no new attempts, finish those in flight.
    Finish,
    /// Start no new attempts and finish the conversations in flight, but request no judge: attempts whose conversation has
    /// ended, and which need a judge, are cancelled.
    FinishConversations,
    /// Stop now.
    Stop,
}

/// An event of a run, in order. Live, resumed and replayed runs consist of the same events.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEvent {
    /// An agent is being connected, before the first attempt starts.
    Connecting {
        /// The name of the agent.
        agent: String,
        /// What is waited for.
        status: String,
    },
    /// An agent is connected.
    Connected {
        /// The name of the agent.
        agent: String,
    },
    /// An agent cannot be used.
    AgentUnavailable(UnavailableAgent),
    /// An attempt started in a slot.
    Started {
        /// Which attempt.
        key: AttemptKey,
        /// Its slot, from 0.
        slot: usize,
    },
    /// An attempt made progress.
    Progress {
        /// Which attempt.
        key: AttemptKey,
        /// The step that it reached.
        progress: Progress,
    },
    /// An attempt ended and was written to the journal.
    Finished(Arc<EndedAttempt>),
    /// An attempt was cancelled before it ended; a resume runs it again.
    Dropped(AttemptKey),
    /// What judges spent on attempts that were cancelled. Their responses are cached.
    SpentOnCancelled(JudgeUsage),
    /// The run was paused (`true`: no new attempts start) or continued (`false`).
    Paused(bool),
    /// The run is being cancelled.
    Cancelling(CancelReason),
    /// A problem that is not part of a case; the run continues.
    Warning(String),
    /// The run ended; no more events follow.
    Ended {
        /// Seconds that the run worked, in all its parts if it was resumed.
        duration_s: f64,
    },
}

/// An agent that could not be connected before the first attempt, so that none of its attempts is started, or that could not be
/// connected any more, so that no further ones are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnavailableAgent {
    /// The name of the agent.
    pub agent: String,
    /// Why.
    pub error: String,
    /// The number of attempts that are not run.
    pub attempts: usize,
    /// Whether more attempts may not be run: those that were started and cannot connect either.
    pub may_be_more: bool,
}

impl UnavailableAgent {
    /// The agent, why it is not available, and what is not run.
    pub fn text(&self) -> String {
        let attempts = match self.attempts {
            1 => "1 attempt is".to_string(),
            count => format!("{count} attempts are"),
        };
        let at_least = if self.may_be_more { "at least " } else { "" };
        format!(
            "{} cannot be used, {at_least}{attempts} not run: {}",
            self.agent, self.error
        )
    }
}

/// A step of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// Connecting to the agent.
    Connecting,
    /// A turn started.
    Turn {
        /// The turn, from 1.
        turn: usize,
        /// The number of turns.
        of: usize,
        /// The beginning of the user's message.
        user: String,
    },
    /// The beginning of a message of the agent.
    Says(String),
    /// A chunk of a message that is still streamed; the message follows as [`Progress::Says`].
    SaysMore(String),
    /// The agent calls a tool.
    Calls(String),
    /// A tool responded.
    Answered {
        /// The tool's name.
        tool: String,
        /// The beginning of its response.
        response: String,
    },
    /// Waiting before a retry.
    Retrying {
        /// The delay in milliseconds.
        delay_ms: u64,
        /// The error that caused the retry.
        error: String,
    },
    /// Waiting for another attempt of the same agent to end: why.
    Waiting(String),
    /// Scores are being computed.
    Scoring,
    /// Requests to a judge are in progress.
    Judging {
        /// The metric, label included.
        metric: String,
        /// What the last request was about.
        about: String,
        /// The turn, from 1.
        turn: usize,
        /// Responses so far.
        answered: usize,
        /// The number of responses needed.
        of: usize,
    },
}
