//! The agents of a workspace, with what each says about itself.

use super::trust::agent_questions;
use crate::agents::{AgentDescription, probe_server};
use crate::store::Trust;
use crate::workspace::{Workspace, named_agents};
use evaltrail_core::domain::AgentSpec;
use std::time::Duration;

/// The time limit for an agent to say something about itself.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// An agent of a workspace.
#[derive(Clone, Debug)]
pub struct ListedAgent {
    /// The name under which it can be run.
    pub name: String,
    /// How it is reached, or why it cannot be.
    pub spec: Result<AgentSpec, String>,
    /// Whether it runs, in words.
    pub state: String,
    /// Whether it answers; `None` if it was not asked.
    pub answers: Option<bool>,
    /// What it says about itself, if it was asked.
    pub description: Option<AgentDescription>,
}

impl ListedAgent {
    /// How it is reached, or why it cannot be, in a line.
    pub fn label(&self) -> String {
        self.spec
            .as_ref()
            .map_or_else(String::clone, AgentSpec::label)
    }
}

/// The agents of the configuration, then those in folders. Only servers that run already and that may be contacted are.
pub async fn list_agents(workspace: &Workspace, trust: &Trust) -> Vec<ListedAgent> {
    let asking = named_agents(workspace)
        .into_iter()
        .map(|(name, spec)| listed(workspace, trust, name, spec));
    futures_util::future::join_all(asking).await
}

async fn listed(
    workspace: &Workspace,
    trust: &Trust,
    name: String,
    spec: Result<AgentSpec, String>,
) -> ListedAgent {
    let (state, answers, description) = match &spec {
        Err(_) => ("cannot be used".to_string(), None, None),
        Ok(spec) if spec.address().is_none() => (started_text(spec).to_string(), None, None),
        Ok(spec) => {
            let questions = agent_questions(workspace, spec);
            match questions
                .iter()
                .all(|question| trust.allows(&question.fingerprint))
            {
                false => {
                    let words = "not contacted: it needs your permission; evaltrail agents check asks for it";
                    (words.to_string(), None, None)
                }
                true => match probe_server(spec, ANSWERS_WITHIN).await {
                    Ok(description) if !description.was_asked => (
                        "asked only with a message".to_string(),
                        None,
                        Some(description),
                    ),
                    Ok(description) => ("answers".to_string(), Some(true), Some(description)),
                    Err(error) => (error.message, Some(false), None),
                },
            }
        }
    };
    ListedAgent {
        name,
        spec,
        state,
        answers,
        description,
    }
}

fn started_text(spec: &AgentSpec) -> &'static str {
    match spec {
        AgentSpec::Replay { .. } => "a recording",
        AgentSpec::Command(_) => "started for each attempt",
        AgentSpec::Adk { .. }
        | AgentSpec::Server(_)
        | AgentSpec::Python { .. }
        | AgentSpec::Saved
        | AgentSpec::PriorAttempts => "started for a run",
    }
}
