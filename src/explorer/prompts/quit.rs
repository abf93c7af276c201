//! Quitting, after a question if something would be lost.

use crate::explorer::prompts::confirm;
use crate::explorer::prompts::confirm::Confirm;
use crate::explorer::shared::effect::{Effect, TerminalEffect};
use crate::explorer::shared::model::Model;

/// Quits. Asks for confirmation first if a run would be interrupted or unsaved work lost.
pub(crate) fn quit(model: &mut Model) -> Vec<Effect> {
    let quit = Effect::Terminal(TerminalEffect::Quit);
    let asked = model
        .dialog::<Confirm>()
        .is_some_and(|confirm| confirm.then == quit);
    match quit_warning(model).filter(|_| !asked) {
        Some((title, line)) => confirm::open(model, title, vec![line.into()], quit),
        None => vec![quit],
    }
}

/// What quitting would interrupt or lose: the question, and an explanation.
fn quit_warning(model: &Model) -> Option<(&'static str, &'static str)> {
    if let Some(unsaved) = model.view.screen.unsaved() {
        return Some(unsaved);
    }
    if model
        .queue
        .as_ref()
        .is_some_and(|queue| !queue.change.is_empty())
    {
        return Some((
            "The changed criteria of the triage are not saved. Quit?",
            "All other decisions are stored. The queue can still write the criteria.",
        ));
    }
    let running = model.run.as_ref().is_some_and(|run| run.is_live());
    let line = "Finished attempts are saved; `evaltrail run --resume` runs the rest.";
    running.then_some(("A run is live. Quit?", line))
}
