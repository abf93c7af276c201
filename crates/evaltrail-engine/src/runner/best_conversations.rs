//! Which of many recorded conversations add the most to what the cases of an agent cover.

use super::capture::{RecordedConversation, with_user_message};
use super::coverage::{
    CollectedAgent, CoverageRequest, CoveredWorkspace, ToolSource, agent_name, collect_agents,
    messages_digest,
};
use crate::workspace::{SetPath, Workspace, app_of_first_case};
use evaltrail_core::analysis::{BestAdditions, CandidateCase, CoveredCase};
use evaltrail_core::domain::{Attempt, AttemptKey, Invocation, captured_case, counted};
use evaltrail_core::formats::SetFile;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The conversations that add the most coverage.
#[derive(Debug, Default)]
pub struct BestConversations {
    /// The conversations, best first: the position of each, and what it adds.
    pub best: BestAdditions,
    /// The agent whose cases they were compared with, if it is known.
    pub agent: Option<String>,
    /// The number of these cases.
    pub cases: usize,
    /// The number of conversations that were compared with them.
    pub compared: usize,
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
    /// The files that the conversations are from, which are no cases even if they are data sets.
    pub sources: &'a [PathBuf],
    /// Declarations of tools from elsewhere than the results.
    pub declared: &'a [ToolSource],
    /// If true, turns without a user message are left out; if false, conversations with such a turn are.
    pub user_turns_only: bool,
    /// Whether conversations with other applications than that of the set are taken as well.
    pub any_app: bool,
    /// The maximum number.
    pub most: usize,
}

/// Chooses the conversations that together add the most to what the cases of the agent cover. A conversation is left out if it
/// cannot be saved as a case, is with another agent, or if its user says the same as in a case or in a better one.
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
    let app_of = |one: &RecordedConversation| {
        let app = one.input.as_ref().map(|input| input.app_name.clone());
        app.filter(|app| !app.is_empty())
    };
    let app = app_of_first_case(file).filter(|app| !app.is_empty());
    let app = app.or_else(|| conversations.iter().find_map(app_of));
    let agent = agent_name(workspace, set, file).or_else(|| app.clone());
    let mut covered = CoveredWorkspace::default();
    let files: Vec<PathBuf> = workspace
        .sets
        .iter()
        .map(|set| set.path.clone())
        .filter(|path| {
            !request
                .sources
                .iter()
                .any(|source| is_same_file(source, path))
        })
        .collect();
    let of_agent = CoverageRequest {
        agent: agent.as_deref(),
        files: Some(&files),
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
    let of_cover: Vec<CandidateCase> = candidates.iter().map(|(_, one)| *one).collect();
    let coverage = known.collector.finish();
    let mut best = coverage.best_additions(&of_cover, request.most);
    for addition in &mut best.additions {
        addition.candidate = own[candidates[addition.candidate].0];
    }
    BestConversations {
        best,
        agent,
        cases,
        compared: candidates.len(),
        notes,
    }
}

/// Whether two paths lead to the same file, as far as that can be found out.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| dunce::canonicalize(path).ok();
    one == other || whole(one).is_some_and(|one| Some(one) == whole(other))
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
    if conversation.turns.is_empty() {
        return Err("it has no turns".into());
    }
    match without.first() {
        Some(why) if turns.is_empty() => Err(why.clone()),
        Some(why) if !user_turns_only => {
            Err(format!("{why}; --user-turns-only leaves such turns out"))
        }
        _ => Ok(turns),
    }
}

impl CollectedAgent {
    /// Adds the conversations that can be saved, and whose user does not say the same as in a case. Returns the position of
    /// each; those whose user says the same are a group.
    fn add_candidates<'a>(
        &mut self,
        conversations: impl Iterator<Item = &'a RecordedConversation>,
        user_turns_only: bool,
        notes: &mut Vec<String>,
    ) -> Vec<(usize, CandidateCase)> {
        let mut candidates: Vec<(usize, CandidateCase)> = Vec::new();
        let mut known = 0;
        let mut unusable: Vec<String> = Vec::new();
        for (at, conversation) in conversations.enumerate() {
            match turns_of_case(conversation, user_turns_only) {
                Err(why) => unusable.push(format!("{}: {why}", conversation.id)),
                Ok(turns) if self.messages.contains(&messages_digest(&turns)) => known += 1,
                Ok(turns) => {
                    let candidate = CandidateCase {
                        turns: turns.len(),
                        group: messages_digest(&turns),
                    };
                    candidates.push((at, candidate));
                    self.add_conversation(conversation, turns);
                }
            }
        }
        if known > 0 {
            let known = counted(known, "conversation");
            notes.push(format!(
                "{known} left out: the user says the same as in a case"
            ));
        }
        let groups: HashSet<u64> = candidates.iter().map(|(_, one)| one.group).collect();
        if groups.len() < candidates.len() {
            let repeated = counted(candidates.len() - groups.len(), "conversation");
            notes.push(format!(
                "in {repeated} the user says the same as in another one: at most one of them is saved"
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
