//! Carries out what screens and dialogs request from each other.

use super::{help, palette};
use crate::explorer::commands::COMMANDS;
use crate::explorer::running::{rescore, start};
use crate::explorer::screens::{chat, edit, queue, runs};
use crate::explorer::shared::command_names::CommandName;
use crate::explorer::shared::effect::{Effect, ScreenRequest};
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

fn carry_out_one(model: &mut Model, request: ScreenRequest) -> Vec<Effect> {
    match request {
        ScreenRequest::Command(name) => run_command(model, name),
        ScreenRequest::ToggleHelp => help::toggle(model),
        ScreenRequest::OpenPalette => palette::open(model),
        ScreenRequest::RunCases(cases) => {
            let against = start::against_of(model, &cases);
            start::start(model, cases, against)
        }
        ScreenRequest::ScoreAgain {
            cases,
            recorded,
            left,
        } => rescore::score_again(model, cases, recorded, left),
        ScreenRequest::EditNewCase(at, case) => edit::open_new(model, at, *case),
        ScreenRequest::CloseEditor => edit::close(model),
        ScreenRequest::LeaveChat => chat::close(model),
        ScreenRequest::RestartChat(session) => chat::restart(model, *session),
        ScreenRequest::ShowRuns => runs::show(model),
        ScreenRequest::RemoveRun(path) => runs::remove_confirmed(path),
        ScreenRequest::ContinueTriage => queue::resume(model),
        ScreenRequest::DecideGroup {
            kind,
            cases,
            note,
            until,
        } => queue::take(model, kind, &cases, &note, &until),
        ScreenRequest::ChangeCriteria(change) => queue::add_criteria(model, change),
        ScreenRequest::FinishTriage => queue::applied(model),
    }
}

/// Runs the command with this name if it is enabled, otherwise shows why it is not.
fn run_command(model: &mut Model, name: &'static CommandName) -> Vec<Effect> {
    let command = COMMANDS
        .iter()
        .find(|command| std::ptr::eq(command.id, name));
    command.map_or_else(Vec::new, |command| command.start(model))
}
