//! The assistants of a server, and the keys of their inputs.

use super::message::MESSAGES;
use crate::agents::AgentError;
use crate::agents::remote::{Remote, setup};
use evaltrail_core::domain::LanggraphSettings;
use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio_util::task::TaskTracker;

/// The maximum number of assistants that the server is asked for. It lists ten by default.
const MAX_ASSISTANTS: u32 = 1000;

#[derive(Debug)]
pub(super) struct LanggraphServer {
    pub(super) remote: Arc<Remote>,
    pub(super) settings: LanggraphSettings,
    /// The ids of the assistants and the names of their graphs.
    assistants: Vec<(String, String)>,
    /// The key of the input that receives the user's message, by assistant.
    inputs: Mutex<HashMap<String, String>>,
    pub(super) tidying: TaskTracker,
}

impl LanggraphServer {
    /// Asks the server for its assistants.
    pub(super) async fn connect(
        remote: Arc<Remote>,
        settings: &LanggraphSettings,
    ) -> Result<LanggraphServer, AgentError> {
        let url = remote.url(&["assistants", "search"]);
        let found = remote
            .ask(Method::POST, url, Some(&json!({"limit": MAX_ASSISTANTS})))
            .await?;
        let assistants = assistants_in(&found).ok_or_else(|| {
            let (server, init) = (remote.shown(), remote.init_command());
            setup(format!(
                "{server} answered with no list of assistants, so it is no LangGraph server; {init}"
            ))
        })?;
        Ok(LanggraphServer {
            remote,
            settings: settings.clone(),
            assistants,
            inputs: Mutex::default(),
            tidying: TaskTracker::new(),
        })
    }

    pub(super) fn assistant(&self, asked: &str) -> Result<String, AgentError> {
        match self
            .assistants
            .iter()
            .any(|(id, graph)| id == asked || graph == asked)
        {
            true => Ok(asked.to_string()),
            false => Err(setup(format!(
                "{} has no assistant {asked:?}; its graphs are {}",
                self.remote.shown(),
                self.graphs()
            ))),
        }
    }

    pub(super) fn graphs(&self) -> String {
        let names: Vec<&str> = self
            .assistants
            .iter()
            .map(|(_, graph)| graph.as_str())
            .collect();
        names.join(", ")
    }

    /// The assistant of the settings; else the one that the case names as its application; else the only one.
    pub(super) fn assistant_for(&self, app: &str) -> Result<String, AgentError> {
        if !self.settings.assistant.is_empty() {
            return Ok(self.settings.assistant.clone());
        }
        let named = self.assistants.iter().find(|(_, graph)| graph == app);
        match (named, self.assistants.as_slice()) {
            (Some((_, graph)), _) => Ok(graph.clone()),
            (None, [(id, _)]) => Ok(id.clone()),
            _ => Err(setup(format!(
                "{} serves several graphs ({}): name one with the setting `assistant` (#assistant=NAME in an address), or as the case's app_name",
                self.remote.shown(),
                self.graphs()
            ))),
        }
    }

    /// The key of the input: that of the settings; else the messages; else the only text.
    pub(super) async fn input_of(&self, assistant: &str) -> Result<String, AgentError> {
        if !self.settings.input.is_empty() {
            return Ok(self.settings.input.clone());
        }
        let mut inputs = self.inputs.lock().await;
        if let Some(input) = inputs.get(assistant) {
            return Ok(input.clone());
        }
        // Assistants are named by their id or by their graph; schemas are found by id.
        let id = self
            .assistants
            .iter()
            .find(|(id, graph)| id == assistant || graph == assistant);
        let id = id.map_or(assistant, |(id, _)| id.as_str());
        let schemas = self
            .remote
            .ask(
                Method::GET,
                self.remote.url(&["assistants", id, "schemas"]),
                None,
            )
            .await;
        let properties = |found: Value| {
            let of = |key: &str| found[key]["properties"].as_object().cloned();
            of("input_schema").or_else(|| of("state_schema"))
        };
        let properties = schemas.ok().and_then(properties);
        let input = match properties {
            Some(found) if !found.contains_key(MESSAGES) => text_key(&found).ok_or_else(|| {
                let keys: Vec<&str> = found.keys().map(String::as_str).collect();
                let keys = keys.join(", ");
                setup(format!("the input of {assistant} has no messages but {keys}: name the key of the prompt with `input`"))
            })?,
            _ => MESSAGES.to_string(),
        };
        inputs.insert(assistant.to_string(), input.clone());
        Ok(input)
    }

    pub(super) async fn delete(&self, thread: &str) {
        // A thread that is not deleted does not affect any result.
        let url = self.remote.url(&["threads", thread]);
        let _ = self
            .remote
            .call(Method::DELETE, url, None, &HeaderMap::new())
            .await;
    }
}

/// The ids and the graphs of a list of assistants; `None` if it is no such list.
fn assistants_in(found: &Value) -> Option<Vec<(String, String)>> {
    let text = |one: &Value, key: &str| one[key].as_str().map(str::to_string);
    found
        .as_array()?
        .iter()
        .map(|one| Some((text(one, "assistant_id")?, text(one, "graph_id")?)))
        .collect()
}

/// The only property that is a text.
fn text_key(properties: &Map<String, Value>) -> Option<String> {
    let mut texts = properties
        .iter()
        .filter(|(_, schema)| schema["type"] == "string");
    match (texts.next(), texts.next(), properties.len()) {
        (Some((key, _)), None, _) => Some(key.clone()),
        (None, None, 1) => properties.keys().next().cloned(),
        _ => None,
    }
}
