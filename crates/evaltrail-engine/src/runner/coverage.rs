//! The coverage of the sets of a workspace by their latest results.

use super::agents::list_agents;
use super::past::past_results;
use crate::agents::DeclaredTool;
use crate::history::{CaseResult, PastResult, case_results};
use crate::store::Trust;
use crate::workspace::{
    OpenSet, SetPath, Workspace, agent_for, app_of_first_case, open_full_set, read_notes,
};
use evaltrail_core::analysis::{CoverageCollector, CoveredAgent, CoveredCase, Declarations};
use evaltrail_core::domain::{Attempt, InMemory, Invocation, counted};
use evaltrail_core::formats::SetFile;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

/// Which cases are covered, and what their agents declare.
#[derive(Clone, Copy, Debug, Default)]
pub struct CoverageRequest<'a> {
    /// The ids of the cases; empty for all.
    pub ids: &'a [String],
    /// Only the cases of this agent.
    pub agent: Option<&'a str>,
    /// Only the cases of these files; `None` for all.
    pub files: Option<&'a [PathBuf]>,
    /// Declarations of tools from elsewhere than the results.
    pub declared: &'a [ToolSource],
}

/// Declarations of tools, and where they are from.
#[derive(Clone, Debug)]
pub struct ToolSource {
    /// The agent that declares them; `None` for all agents.
    pub agent: Option<String>,
    /// Where they are from, in words.
    pub source: String,
    /// The declarations.
    pub declarations: Declarations,
}

/// What the agents of a workspace declare that run already and may be contacted. No program is started.
pub async fn tools_of_running_agents(workspace: &Workspace, trust: &Trust) -> Vec<ToolSource> {
    let listed = list_agents(workspace, trust).await.into_iter();
    let described = listed.filter_map(|agent| Some((agent.name, agent.description?.tools)));
    let source = |(name, tools): (String, Vec<DeclaredTool>)| {
        let mut declarations = Declarations::default();
        for tool in tools {
            declarations.add_tool(&tool.name, tool.schema.as_ref());
        }
        (!declarations.tools.is_empty()).then(|| ToolSource {
            source: format!("the agent {name}, which runs"),
            agent: Some(name),
            declarations,
        })
    };
    described.filter_map(source).collect()
}

/// The coverage of a workspace.
#[derive(Debug, Default)]
pub struct CoveredWorkspace {
    /// The agents, by name.
    pub agents: Vec<CoveredAgent>,
    /// What is left out and why, as messages.
    pub notes: Vec<String>,
    /// Whether a file, a case or a result could not be read.
    pub is_unreadable: bool,
    /// Requested ids that no case has.
    pub unknown_ids: Vec<String>,
}

/// What is collected of an agent.
#[derive(Default)]
pub(super) struct CollectedAgent {
    files: usize,
    pub(super) collector: CoverageCollector,
    positions: Vec<(Arc<PathBuf>, usize)>,
    /// What users say in the cases, see [`messages_digest`].
    pub(super) messages: HashSet<u64>,
}

/// A digest of the user's messages in a conversation. It ignores case and the number of spaces.
pub(super) fn messages_digest(turns: &[Invocation]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    for turn in turns.iter().filter(|turn| !turn.history) {
        let said = turn.user.scored_text().to_lowercase();
        let words: Vec<&str> = said.split_whitespace().collect();
        words.hash(&mut hasher);
        // Pictures, for example.
        for part in turn.user.parts.iter().filter(|part| part.text.is_none()) {
            serde_json::to_string(part).ok().hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// Reads the sets of a workspace and their latest results. No agent is started.
pub fn coverage_of_workspace(
    workspace: &Workspace,
    request: &CoverageRequest<'_>,
) -> CoveredWorkspace {
    let mut covered = CoveredWorkspace::default();
    let agents = collect_agents(workspace, request, &mut covered);
    let agents = agents.into_iter().map(|(name, collected)| CoveredAgent {
        name,
        files: collected.files,
        coverage: collected.collector.finish(),
        positions: collected.positions,
    });
    covered.agents = agents.collect();
    covered
}

/// Reads the cases of each agent with their latest results. What cannot be read is noted in `covered`.
pub(super) fn collect_agents(
    workspace: &Workspace,
    request: &CoverageRequest<'_>,
    covered: &mut CoveredWorkspace,
) -> BTreeMap<Option<String>, CollectedAgent> {
    let mut opened: Vec<(&SetPath, OpenSet)> = Vec::new();
    let is_requested = |set: &&SetPath| request.files.is_none_or(|files| files.contains(&set.path));
    for set in workspace.sets.iter().filter(is_requested) {
        match open_full_set(set) {
            Ok(open) => opened.push((set, open)),
            Err(_) if set.is_unknown_data => {}
            Err(error) => {
                covered.notes.push(format!("{}: {error}", set.shown));
                covered.is_unreadable = true;
            }
        }
    }
    let files: Vec<(&SetPath, &SetFile)> = opened
        .iter()
        .map(|(set, open)| (*set, &open.file))
        .collect();
    let past = past_results(workspace, &files, InMemory::Summary);
    covered.is_unreadable |= !past.unreadable.is_empty();
    covered
        .notes
        .extend(past.unreadable.iter().map(super::unreadable_text));
    let mut unknown: BTreeSet<&String> = request.ids.iter().collect();
    let mut agents: BTreeMap<Option<String>, CollectedAgent> = BTreeMap::new();
    for (set, file) in files {
        let name = agent_name(workspace, set, file);
        if request.agent.is_some() && request.agent != name.as_deref() {
            continue;
        }
        let ids: HashSet<String> = file.eval_ids().map(|id| id.into_owned()).collect();
        unknown.retain(|id| !ids.contains(*id));
        if !request.ids.is_empty() && !request.ids.iter().any(|id| ids.contains(id)) {
            continue;
        }
        let agent = agents
            .entry(name.clone())
            .or_insert_with(|| CollectedAgent::declaring(name.as_deref(), request.declared));
        agent.files += 1;
        covered.is_unreadable |=
            agent.add_set(set, file, &past.results, request.ids, &mut covered.notes);
    }
    covered.unknown_ids = unknown.into_iter().cloned().collect();
    agents
}

/// The agent whose cases a set has; `None` if it has none here.
pub(super) fn agent_name(workspace: &Workspace, set: &SetPath, file: &SetFile) -> Option<String> {
    let app = app_of_first_case(file);
    let found = agent_for(workspace, set, app.as_deref(), None);
    found.ok().map(|(name, _)| name).or(app)
}

impl CollectedAgent {
    /// An agent without cases, with what is declared for it or for all agents.
    pub(super) fn declaring(name: Option<&str>, declared: &[ToolSource]) -> CollectedAgent {
        let mut collected = CollectedAgent::default();
        let is_own = |tools: &&ToolSource| tools.agent.is_none() || tools.agent.as_deref() == name;
        for tools in declared.iter().filter(is_own) {
            let collector = &mut collected.collector;
            collector.declare(&tools.declarations, &tools.source);
        }
        collected
    }

    /// The number of its cases.
    pub(super) fn cases(&self) -> usize {
        self.positions.len()
    }

    /// Adds the cases of a file with their latest results. Results of other users, and records that cannot be read, are left
    /// out with a note. Returns whether something cannot be read.
    fn add_set(
        &mut self,
        set: &SetPath,
        file: &SetFile,
        past: &[PastResult],
        ids: &[String],
        left_out: &mut Vec<String>,
    ) -> bool {
        let notes = read_notes(&set.path).unwrap_or_default();
        let mut results: BTreeMap<usize, CaseResult> =
            case_results((file, None), &set.path, &notes, past)
                .into_iter()
                .map(|result| (result.index, result))
                .collect();
        let path = Arc::new(set.path.clone());
        let (mut unreadable, mut foreign, mut lost) = (0, 0, 0);
        for index in 0..file.len() {
            let Ok(case) = file.case(index) else {
                unreadable += 1;
                continue;
            };
            if !ids.is_empty() && !ids.contains(&case.eval_id) {
                continue;
            }
            let result = results.remove(&index);
            let is_foreign = result.as_ref().is_some_and(CaseResult::is_foreign);
            foreign += usize::from(is_foreign);
            let result = result.filter(|_| !is_foreign);
            let ended = result.iter().flat_map(|result| &result.attempts);
            let read: Vec<Result<Arc<Attempt>, String>> =
                ended.map(|attempt| attempt.read()).collect();
            lost += read.iter().filter(|attempt| attempt.is_err()).count();
            let attempts: Vec<Arc<Attempt>> = read.into_iter().flatten().collect();
            self.positions.push((path.clone(), index));
            self.messages.insert(messages_digest(case.turns()));
            self.collector.add_case(CoveredCase {
                name: &format!("{}:{}", set.shown, case.eval_id),
                case: &case,
                attempts: &attempts,
            });
        }
        for (count, what, why) in [
            (unreadable, "case", "cannot be read"),
            (foreign, "result", "of other users left out"),
            (lost, "attempt", "cannot be read"),
        ] {
            if count > 0 {
                left_out.push(format!("{}: {} {why}", set.shown, counted(count, what)));
            }
        }
        unreadable + lost > 0
    }
}
