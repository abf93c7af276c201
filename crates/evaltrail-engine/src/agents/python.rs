//! A Python function or agent object, in processes that are kept for the attempts of a run: importing an agent's libraries
//! takes seconds. Each process runs one conversation at a time.

use super::messages::history_messages;
use super::program::ProgramLines;
use super::{
    Agent, AgentDescription, AgentError, ErrorKind, OnEvent, Session, SessionOptions, Turn,
    TurnBudget, TurnOutcome,
};
use async_trait::async_trait;
use evaltrail_core::domain::ProgramSpec;
use evaltrail_core::formats::adk::write_content;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Reads the worker from standard input and runs it: a command line has a maximum length.
const BOOT: &str = include_str!("../../assets/worker/boot.py");
/// The program that imports the agent and runs it. The table of the libraries is in `functions.py`.
const WORKER: &str = concat!(
    include_str!("../../assets/ask_evaltrail.py"),
    include_str!("../../assets/worker/output.py"),
    include_str!("../../assets/agent_tools.py"),
    include_str!("../../assets/worker/messages.py"),
    include_str!("../../assets/worker/results.py"),
    include_str!("../../assets/worker/adapter.py"),
    include_str!("../../assets/worker/libraries/openai_agents.py"),
    include_str!("../../assets/worker/libraries/pydantic_ai.py"),
    include_str!("../../assets/worker/libraries/langgraph.py"),
    include_str!("../../assets/worker/libraries/langchain.py"),
    include_str!("../../assets/worker/libraries/crewai.py"),
    include_str!("../../assets/worker/libraries/agno.py"),
    include_str!("../../assets/worker/libraries/agent_framework.py"),
    include_str!("../../assets/worker/libraries/autogen.py"),
    include_str!("../../assets/worker/libraries/llama_index.py"),
    include_str!("../../assets/worker/libraries/smolagents.py"),
    include_str!("../../assets/worker/libraries/strands.py"),
    include_str!("../../assets/worker/libraries/adk.py"),
    include_str!("../../assets/worker/functions.py"),
    include_str!("../../assets/worker/state.py"),
    include_str!("../../assets/worker/main.py")
);
/// The time limit for importing the agent. Importing some libraries takes 15 s.
const IMPORTS_WITHIN: Duration = Duration::from_secs(120);
/// The memory limit of the line that says whether the agent could be imported, in bytes.
const READY: usize = 1 << 20;

/// A Python agent.
#[derive(Debug)]
pub(super) struct PythonAgent {
    pool: Arc<Workers>,
}

/// The processes of an agent.
#[derive(Debug)]
struct Workers {
    /// How a process is started: Python, the worker, the agent's name.
    spec: ProgramSpec,
    /// The processes without a conversation.
    free: Mutex<Vec<ProgramLines>>,
    /// What the agent is: its library, how its sessions are made, what it may keep between them.
    about: Vec<(&'static str, String)>,
}

/// The keys of what the worker reports about the agent.
const ABOUT: [&str; 3] = ["library", "sessions", "state"];

/// A conversation.
#[derive(Debug)]
struct PythonSession {
    pool: Arc<Workers>,
    /// The process. `None` after it broke, or while a turn is under way: a process that is interrupted in a turn is
    /// terminated.
    worker: Option<ProgramLines>,
    opening: SessionOptions,
    history: Vec<Value>,
    state: Option<Value>,
}

impl PythonAgent {
    /// Starts a process, to learn whether the agent can be imported.
    pub(super) async fn connect(
        function: &str,
        program: &ProgramSpec,
    ) -> Result<PythonAgent, AgentError> {
        let mut spec = program.clone();
        spec.argv
            .extend(["-c".into(), BOOT.into(), function.into()]);
        let mut pool = Workers {
            spec,
            free: Mutex::default(),
            about: vec![("python", "imported".into())],
        };
        let (first, about) = pool.start().await?;
        let found = |key: &&'static str| Some((*key, about[*key].as_str()?.to_string()));
        pool.about.extend(ABOUT.iter().filter_map(found));
        pool.give_back(first);
        Ok(PythonAgent {
            pool: Arc::new(pool),
        })
    }
}

impl Workers {
    /// Starts a process. Returns it with what it reports about the agent.
    async fn start(&self) -> Result<(ProgramLines, Value), AgentError> {
        let mut worker = ProgramLines::start(&self.spec)?;
        let mut budget = TurnBudget::new(READY, &Arc::default());
        let imported = async {
            worker.send(&WORKER.into()).await;
            worker.line(&mut budget).await
        };
        let said = tokio::time::timeout(IMPORTS_WITHIN, imported)
            .await
            .map_err(|_| {
                let why = format!(
                    "the agent was not imported within {} s",
                    IMPORTS_WITHIN.as_secs()
                );
                AgentError::new(ErrorKind::Setup, why)
            })??;
        match said {
            Some(mut said) if said["ready"] == true => Ok((worker, said["about"].take())),
            Some(said) => {
                let why = said["error"].as_str().unwrap_or("the worker did not start");
                Err(AgentError::new(ErrorKind::Setup, why))
            }
            None => Err(AgentError {
                kind: ErrorKind::Setup,
                ..worker.ended().await
            }),
        }
    }

    /// A process without a conversation: one that is free, or another one.
    async fn take(&self) -> Result<ProgramLines, AgentError> {
        let free = || self.free.lock().pop();
        while let Some(mut worker) = free() {
            if worker.is_alive() {
                return Ok(worker);
            }
        }
        self.start().await.map(|(worker, _)| worker)
    }

    fn give_back(&self, worker: ProgramLines) {
        self.free.lock().push(worker);
    }
}

#[async_trait]
impl Agent for PythonAgent {
    async fn describe(&self) -> AgentDescription {
        AgentDescription {
            was_asked: true,
            about: self.pool.about.clone(),
            tools: Vec::new(),
            app_info: Value::Null,
        }
    }

    async fn open(&self, opening: SessionOptions) -> Result<Box<dyn Session>, AgentError> {
        let pool = self.pool.clone();
        let (worker, history) = (Some(pool.take().await?), history_messages(&opening.history));
        Ok(Box::new(PythonSession {
            pool,
            worker,
            opening,
            history,
            state: None,
        }))
    }

    async fn finish(&self) {
        self.pool.free.lock().clear();
    }
}

#[async_trait]
impl Session for PythonSession {
    fn id(&self) -> &str {
        &self.opening.session_id
    }

    async fn turn(
        &mut self,
        turn: Turn<'_>,
        on_event: OnEvent<'_>,
    ) -> Result<TurnOutcome, AgentError> {
        let prompt = turn.user.spoken_text();
        let request = json!({
            "prompt": prompt,
            "user_content": write_content(turn.user),
            "turn": turn.number,
            "eval_id": self.opening.eval_id,
            "user_id": self.opening.user_id,
            "session_id": self.opening.session_id,
            "state": self.opening.state,
            "history": self.history,
        });
        let Some(mut worker) = self.worker.take() else {
            return Err(AgentError::new(
                ErrorKind::Protocol,
                "the process of the conversation has ended",
            ));
        };
        let asked = worker
            .exchange(&format!("{request}\n"), turn.budget, on_event)
            .await;
        match asked {
            Ok(Some(result)) => {
                self.worker = Some(worker);
                self.history
                    .push(json!({"role": "user", "content": prompt}));
                self.history
                    .push(json!({"role": "assistant", "content": result.answer}));
                self.state = result.state.or(self.state.take());
                if !result.kept_state.is_empty() {
                    self.opening.tools.note_saved_state(&result.kept_state);
                }
                let (end, has_all_calls) = (result.end, result.has_all_calls);
                Ok(TurnOutcome {
                    end,
                    has_all_calls,
                    ..TurnOutcome::ANSWERED
                })
            }
            Ok(None) => Err(worker.ended().await),
            Err(error) => {
                // An exception of the agent leaves the process as it was; after anything else it is not used again.
                self.worker = (error.kind == ErrorKind::Agent).then_some(worker);
                Err(error)
            }
        }
    }

    /// The state that the last result reported, if any.
    async fn state(&self) -> Option<Value> {
        self.state.clone()
    }

    async fn close(mut self: Box<Self>) {
        if let Some(mut worker) = self.worker.take() {
            worker.send(&json!({"end": self.opening.session_id})).await;
            self.pool.give_back(worker);
        }
    }
}
