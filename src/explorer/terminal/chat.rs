//! Preparation of a conversation: the agent, and the permissions that it needs.

use crate::explorer::shared::message::ChatMsg;
use evaltrail_core::domain::{AgentSpec, SessionInput, ToolsSpec};
use evaltrail_engine::agents::SessionOptions;
use evaltrail_engine::runner::{TrustQuestion, agent_questions, tools_of_chat_about};
use evaltrail_engine::store::{AppFolders, Trust};
use evaltrail_engine::workspace::{SetPath, Workspace, agent_for};
use std::sync::Arc;

/// ADK's default user id, if a case specifies none.
const USER: &str = "user";

/// Returns the agent of a set and the session to open. The error is a message if permissions are missing or the agent
/// cannot be used.
pub(crate) fn prepare(
    workspace: &Workspace,
    set: &SetPath,
    session: &SessionInput,
    granted: &[TrustQuestion],
    app_folders: Option<&AppFolders>,
) -> Result<((AgentSpec, ToolsSpec), SessionOptions), ChatMsg> {
    let app = Some(session.app_name.as_str()).filter(|app| !app.is_empty());
    let (name, spec) =
        agent_for(workspace, set, app, None).map_err(|none| ChatMsg::Refused(none.0))?;
    let mut trust = Trust::load(app_folders);
    for question in granted {
        let kept = trust.grant(&question.fingerprint, &question.command);
        kept.map_err(|error| ChatMsg::Refused(error.to_string()))?;
    }
    let questions: Vec<TrustQuestion> = agent_questions(workspace, &spec)
        .into_iter()
        .filter(|question| !trust.allows(&question.fingerprint))
        .collect();
    if !questions.is_empty() {
        return Err(ChatMsg::AskTrust(questions));
    }
    let user = Some(session.user_id.clone()).filter(|user| !user.is_empty());
    let (tools, answers) =
        tools_of_chat_about(workspace, &name, &spec, &set.path).map_err(ChatMsg::Refused)?;
    let opening = SessionOptions {
        app: session.app_name.clone(),
        attempt: 1,
        user_id: user.unwrap_or_else(|| USER.into()),
        session_id: format!("evaltrail-{}", uuid::Uuid::new_v4()),
        state: session.state.clone(),
        tools: Arc::new(answers),
        ..SessionOptions::default()
    };
    Ok(((spec, tools), opening))
}
