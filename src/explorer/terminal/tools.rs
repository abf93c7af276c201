//! The tools and the agents of a workspace.

use crate::explorer::shared::agent_line::AgentLine;
use crate::explorer::shared::tools::KnownTools;
use evaltrail_engine::agents::AgentDescription;
use evaltrail_engine::runner::{ListedAgent, list_agents};
use evaltrail_engine::store::{AppFolders, Trust};
use evaltrail_engine::workspace::{SetPath, Workspace, open_set};

/// Maximum number of cases of a file that are searched.
const CASES: usize = 2_000;

/// The tools that are called in the expected and saved turns of sets. `own` is the set that is being edited.
pub(crate) fn tools_of_sets<'a>(
    sets: impl Iterator<Item = &'a SetPath>,
    own: &SetPath,
) -> KnownTools {
    let mut tools = KnownTools::default();
    tools.default_app = app_of_set(own);
    for (set, open) in sets.filter_map(|set| Some((set, open_set(set).ok()?))) {
        let of_set = app_of_set(set);
        for case in (0..open.file.len().min(CASES)).filter_map(|at| open.file.case(at).ok()) {
            let named = case.session_input.as_ref().map(|input| &input.app_name);
            let app = named.filter(|app| !app.is_empty()).unwrap_or(&of_set);
            let saved = case.saved.iter().flat_map(|saved| &saved.turns);
            for turn in case.turns().iter().chain(saved) {
                let calls = turn.calls().into_iter();
                calls.for_each(|call| tools.see_in(app, call));
            }
        }
    }
    tools
}

/// The application of the cases of a set that name none: that of its folder, else one of its own.
fn app_of_set(set: &SetPath) -> String {
    let app = set.app.clone();
    app.unwrap_or_else(|| set.path.display().to_string())
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
