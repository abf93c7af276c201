//! Carries out what screens and dialogs request from each other.

use super::{help, palette};
use crate::explorer::commands::COMMANDS;
use crate::explorer::running::start;
use crate::explorer::screens::{chat, edit, queue, runs};
use crate::explorer::shared::command_names::CommandName;
use crate::explorer::shared::effect::{Effect, Request};
use crate::explorer::shared::model::Model;

/// Carries out the requests among these effects, and those that follow from them. Returns the other effects.
pub(super) fn carry_out(model: &mut Model, effects: Vec<Effect>) -> Vec<Effect> {
    let mut others = Vec::with_capacity(effects.len());
    for effect in effects {
        match effect {
            Effect::Request(request) => {
                let effects = carry_out_one(model, request);
                others.extend(carry_out(model, effects));
            }
            other => others.push(other),
        }
    }
    others
}

fn carry_out_one(model: &mut Model, request: Request) -> Vec<Effect> {
    match request {
        Request::Command(name) => run_command(model, name),
        Request::ToggleHelp => help::toggle(model),
        Request::OpenPalette => palette::open(model),
        Request::RunCases(cases) => {
            let against = start::against_of(model, &cases);
            start::start(model, cases, against)
        }
        Request::EditNewCase(at, case) => edit::open_new(model, at, *case),
        Request::CloseEditor => edit::close(model),
        Request::LeaveChat => chat::close(model),
        Request::RestartChat(session) => chat::restart(model, *session),
        Request::ShowRuns => runs::show(model),
        Request::RemoveRun(path) => runs::remove_confirmed(model, path),
        Request::ContinueTriage => queue::resume(model),
        Request::DecideGroup {
            kind,
            cases,
            note,
            until,
        } => queue::take(model, kind, &cases, &note, &until),
        Request::ChangeCriteria(change) => queue::add_criteria(model, change),
        Request::FinishTriage => queue::applied(model),
    }
}

/// Runs the command with this name if it is enabled, otherwise shows why it is not.
fn run_command(model: &mut Model, name: &'static CommandName) -> Vec<Effect> {
    let command = COMMANDS
        .iter()
        .find(|command| std::ptr::eq(command.id, name));
    command.map_or_else(Vec::new, |command| command.start(model))
}
