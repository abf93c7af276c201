//! Which of many recorded conversations are worth a case: those that add the most coverage.

use super::capture::{RecordedConversation, with_user_message};
use super::coverage::{
    CollectedAgent, CoverageRequest, CoveredWorkspace, ToolSource, agent_name, collect_agents,
    messages_digest,
};
use crate::analysis::{Addition, CoveredCase};
use crate::domain::{Attempt, AttemptKey, Invocation, captured_case, counted};
use crate::formats::SetFile;
use crate::workspace::{SetPath, Workspace, app_of_first_case};
use std::sync::Arc;

/// Conversations that are worth a case.
#[derive(Debug, Default)]
pub struct BestConversations {
    /// The conversations, best first: the position of each, and what it adds.
    pub additions: Vec<Addition>,
    /// The number of cases that they were compared with.
    pub cases: usize,
    /// What is left out or cannot be read, as messages.
    pub notes: Vec<String>,
}

/// For what conversations are chosen.
#[derive(Clone, Copy, Debug)]
pub struct BestRequest<'a> {
    /// The workspace, whose cases of the same agent they are compared with.
    pub workspace: &'a Workspace,
    /// The set that cases are added to.
    pub set: (&'a SetPath, &'a SetFile),
    /// Declarations of tools from elsewhere than the results.
    pub declared: &'a [ToolSource],
    /// Whether turns without a user message are left out. Otherwise conversations with such turns are.
    pub user_turns_only: bool,
    /// Whether conversations with other applications than that of the set are taken as well.
    pub any_app: bool,
    /// The maximum number.
    pub most: usize,
}

/// Chooses the conversations that together add the most to what the cases of the agent cover. A conversation is left out if it
/// cannot be saved as a case, is with another agent, or if its user says the same as in a case or in a conversation
/// before it.
pub fn best_conversations(
    request: &BestRequest<'_>,
    conversations: &[RecordedConversation],
) -> BestConversations {
    let BestRequest {
        workspace,
        set: (set, file),
        declared,
        ..
    } = *request;
    let app_of =
        |one: &RecordedConversation| one.input.as_ref().map(|input| input.app_name.clone());
    let app = app_of_first_case(file).filter(|app| !app.is_empty());
    let app = app.or_else(|| conversations.iter().find_map(app_of));
    let agent = agent_name(workspace, set, file).or_else(|| app.clone());
    let mut covered = CoveredWorkspace::default();
    let of_agent = CoverageRequest {
        agent: agent.as_deref(),
        declared,
        ..CoverageRequest::default()
    };
    let mut known = collect_agents(workspace, &of_agent, &mut covered)
        .remove(&agent)
        .unwrap_or_else(|| CollectedAgent::declaring(agent.as_deref(), declared));
    let cases = known.cases();
    let is_other = |of: Option<&String>, own: &Option<String>| {
        of.is_some() && own.is_some() && of != own.as_ref()
    };
    let is_foreign = |one: &RecordedConversation| {
        let of_app = is_other(app_of(one).as_ref(), &app);
        !request.any_app && (of_app || is_other(one.agent.as_ref(), &agent))
    };
    let (own, foreign): (Vec<usize>, Vec<usize>) =
        (0..conversations.len()).partition(|at| !is_foreign(&conversations[*at]));
    let mut notes = covered.notes;
    if !foreign.is_empty() {
        let foreign = counted(foreign.len(), "conversation");
        let agent = agent.as_deref().unwrap_or_default();
        notes.push(format!("{foreign} left out: not with the agent {agent}"));
    }
    let all = own.iter().map(|at| &conversations[*at]);
    let candidates = known.add_candidates(all, request.user_turns_only, &mut notes);
    let turns: Vec<usize> = candidates.iter().map(|(_, turns)| *turns).collect();
    let additions = known
        .collector
        .finish()
        .best_additions(&turns, request.most);
    let at_source = |addition: Addition| Addition {
        candidate: own[candidates[addition.candidate].0],
        ..addition
    };
    BestConversations {
        additions: additions.into_iter().map(at_source).collect(),
        cases,
        notes,
    }
}

/// The turns that a case of a conversation has, or why it cannot be saved.
fn turns_of_case(
    conversation: &RecordedConversation,
    user_turns_only: bool,
) -> Result<Vec<Invocation>, String> {
    if let Some(why) = &conversation.problem {
        return Err(why.clone());
    }
    let all = 0..conversation.turns.len();
    let (turns, without) = with_user_message(&conversation.turns, all);
    match without.first() {
        _ if conversation.turns.is_empty() => Err("it has no turns".into()),
        Some(why) if turns.is_empty() || !user_turns_only => Err(why.clone()),
        _ => Ok(turns),
    }
}

impl CollectedAgent {
    /// Adds the conversations that can be saved and are not known yet. Returns the position and the number of turns of each.
    fn add_candidates<'a>(
        &mut self,
        conversations: impl Iterator<Item = &'a RecordedConversation>,
        user_turns_only: bool,
        notes: &mut Vec<String>,
    ) -> Vec<(usize, usize)> {
        let mut candidates: Vec<(usize, usize)> = Vec::new();
        let mut repeated = 0;
        let mut unusable: Vec<String> = Vec::new();
        for (at, conversation) in conversations.enumerate() {
            match turns_of_case(conversation, user_turns_only) {
                Err(why) => unusable.push(format!("{}: {why}", conversation.id)),
                Ok(turns) if !self.messages.insert(messages_digest(&turns)) => repeated += 1,
                Ok(turns) => {
                    candidates.push((at, turns.len()));
                    self.add_conversation(conversation, turns);
                }
            }
        }
        if repeated > 0 {
            let repeated = counted(repeated, "conversation");
            notes.push(format!(
                "{repeated} left out: the user says the same as in a case, or in a conversation before"
            ));
        }
        if let Some(first) = unusable.first() {
            let unusable = counted(unusable.len(), "conversation");
            notes.push(format!("{unusable} cannot be saved: {first}"));
        }
        candidates
    }

    /// Adds a conversation as the case that would be saved of it.
    fn add_conversation(&mut self, conversation: &RecordedConversation, turns: Vec<Invocation>) {
        let (input, _) = conversation.session_from(0);
        let case = captured_case(&conversation.id, &turns, input, 0.0);
        let key = AttemptKey {
            case: 0,
            attempt: 1,
        };
        let attempt = Attempt {
            actual: turns.into(),
            ..Attempt::blank(key, &conversation.id)
        };
        self.collector.add_case(CoveredCase {
            name: &conversation.id,
            case: &case,
            attempts: &[Arc::new(attempt)],
        });
    }
}
