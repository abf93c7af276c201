//! The tools and the agents of a workspace.

use crate::explorer::shared::agent_line::AgentLine;
use crate::explorer::shared::tools::KnownTools;
use evaltrail_engine::agents::AgentDescription;
use evaltrail_engine::runner::{ListedAgent, list_agents};
use evaltrail_engine::store::{AppFolders, Trust};
use evaltrail_engine::workspace::{SetPath, Workspace, open_set};

/// Maximum number of cases of a file that are searched.
const CASES: usize = 2_000;

/// The tools that the cases of sets call, in expected and saved turns.
pub(crate) fn tools_of_sets<'a>(sets: impl Iterator<Item = &'a SetPath>) -> KnownTools {
    let mut tools = KnownTools::default();
    for open in sets.filter_map(|set| open_set(set).ok()) {
        for case in (0..open.file.len().min(CASES)).filter_map(|at| open.file.case(at).ok()) {
            let saved = case.saved.iter().flat_map(|saved| &saved.turns);
            for turn in case.turns().iter().chain(saved) {
                turn.calls().into_iter().for_each(|call| tools.see(call));
            }
        }
    }
    tools
}

/// The agents of a workspace, with what each says about itself.
pub(crate) async fn agent_lines(workspace: &Workspace) -> Vec<AgentLine> {
    let trust = Trust::load(AppFolders::find().as_ref());
    let line = |agent: ListedAgent| {
        let tools = agent
            .description
            .as_ref()
            .and_then(AgentDescription::tool_text);
        let state: Vec<String> = [agent.state.clone()].into_iter().chain(tools).collect();
        AgentLine {
            label: agent.label(),
            state: state.join(" · "),
            name: agent.name,
        }
    };
    list_agents(workspace, &trust)
        .await
        .into_iter()
        .map(line)
        .collect()
}
