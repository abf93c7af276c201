//! Loads sets and the summaries of their cases.

use crate::explorer::shared::message::{Msg, OpenedSet, SetLoaded, SetMsg};
use crate::explorer::shared::set_view::CaseSummary;
use crate::explorer::shared::ticket::Ticket;
use crate::explorer::terminal::task_context::TaskContext;
use evaltrail_core::domain::search_text;
use evaltrail_core::formats::SetFile;
use evaltrail_engine::runner::current_criteria_id;
use evaltrail_engine::workspace::{
    SetPath, Workspace, agent_for, open_set, read_notes, stubs_text,
};
use std::sync::Arc;

/// Loads a set for the model.
pub(super) fn load_set(context: &TaskContext, set: usize, ticket: Ticket) -> Msg {
    Msg::Sets(SetMsg::Loaded(loaded(
        &context.workspace,
        &context.sets[set],
        set,
        ticket,
    )))
}

/// Opens a set and finds its agent.
pub(super) fn loaded(
    workspace: &Workspace,
    path: &SetPath,
    set: usize,
    ticket: Ticket,
) -> SetLoaded {
    let result = open_set(path)
        .map_err(|error| error.to_string())
        .map(|open| {
            let first = (!open.file.is_empty())
                .then(|| open.file.case(0).ok())
                .flatten();
            let app = first
                .and_then(|case| case.session_input)
                .map(|input| input.app_name);
            let agent = agent_for(workspace, path, app.as_deref(), None);
            let agent = agent.map(|(name, _)| name).map_err(|error| error.0);
            let notes = read_notes(&path.path);
            let stubs = stubs_text(&path.path).map(Arc::from);
            OpenedSet {
                criteria: current_criteria_id(workspace, path, &open.file),
                file: Arc::new(open.file),
                digest: open.digest,
                agent,
                notes,
                stubs,
            }
        });
    SetLoaded {
        set,
        ticket,
        result,
    }
}

/// Reads the summaries of all cases of a file. Returns `None` if the file is too large.
pub(super) fn summarise(set: usize, digest: String, file: &SetFile) -> Option<Msg> {
    // A file too large to be held is too large to be looked through for every filter.
    let all = || (0..file.len()).map(|index| summary(file, index));
    let mut summaries: Vec<CaseSummary> = file.is_in_memory().then(|| all().collect())?;
    if file.syntax_problem().is_some() {
        for summary in &mut summaries {
            summary.is_syntax_error = summary.problem.is_some();
        }
    }
    Some(Msg::Sets(SetMsg::Summarised {
        set,
        digest,
        summaries: Arc::new(summaries),
    }))
}

fn summary(file: &SetFile, index: usize) -> CaseSummary {
    let case = match file.case(index) {
        Ok(case) => case,
        Err(problem) => {
            return CaseSummary {
                problem: Some(problem.to_string()),
                ..CaseSummary::default()
            };
        }
    };
    let mut summary = CaseSummary {
        turns: case.turns().len(),
        prompt: case.first_prompt(CaseSummary::MAX_PROMPT).into(),
        ..CaseSummary::default()
    };
    for turn in case.turns() {
        summary.text.push_str(&search_text(&turn.user.shown_text()));
        summary.text.push('\n');
        for call in turn.calls() {
            if !summary.tools.contains(&call.name) {
                summary.tools.push(call.name.clone());
            }
        }
    }
    summary
}
