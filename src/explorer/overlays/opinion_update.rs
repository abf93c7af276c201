//! A person's verdicts beside the computed ones.

use crate::domain::HumanVerdict;
use crate::explorer::commands::CommandId;
use crate::explorer::commands::key::{Key, KeyCode};
use crate::explorer::effect::Effect;
use crate::explorer::model::{CaseMode, Model, Screen};
use crate::explorer::overlays::Overlay;
use crate::explorer::overlays::opinion::{Opinions, opinions};
use crate::metrics::agreements;
use tui_input::InputRequest;

pub(crate) fn command(model: &mut Model, id: CommandId) -> Vec<Effect> {
    match id {
        CommandId::Opinion => give(model),
        CommandId::Agreement => model.overlay = Some(Overlay::Agreement(agreements(&model.verdicts), 0)),
        _ => toggle_judged(model),
    }
    Vec::new()
}

fn toggle_judged(model: &mut Model) {
    if let Screen::Case(case) = &mut model.screen {
        case.mode = if case.mode == CaseMode::Judged { CaseMode::Compare } else { CaseMode::Judged };
        case.scroll = 0;
    }
}

fn give(model: &mut Model) {
    let (Screen::Case(case), Some(attempt)) = (&model.screen, model.shown_attempt()) else { return };
    let run_id = model.outcomes.get(case.at).map(|outcome| outcome.run.id.as_str()).unwrap_or_default();
    let file = &model.sets[case.at.set].path.shown;
    let items = match attempt.read() {
        Ok(attempt) => opinions(&attempt, run_id, file, &model.verdicts),
        Err(why) => {
            return drop(crate::explorer::global::tell(
                model,
                format!("no verdict can be given: {why}"),
                true,
            ));
        }
    };
    model.overlay = Some(Overlay::Opinions(Opinions { items, cursor: 0 }));
}

/// A key while verdicts are given.
pub(crate) fn key(opinions: &mut Opinions, key: Key, request: Option<InputRequest>) {
    let last = opinions.items.len().saturating_sub(1);
    match key.code {
        KeyCode::Up => opinions.cursor = opinions.cursor.saturating_sub(1),
        KeyCode::Down => opinions.cursor = (opinions.cursor + 1).min(last),
        KeyCode::Tab => {
            if let Some(item) = opinions.items.get_mut(opinions.cursor) {
                // The first press overrules what was computed.
                item.verdict = match (item.verdict, item.about.computed) {
                    (None, computed) => Some(!computed.unwrap_or(false)),
                    (Some(verdict), computed) if verdict != computed.unwrap_or(false) => Some(!verdict),
                    _ => None,
                };
            }
        }
        _ => {
            if let Some(request) = request {
                note(opinions, request);
            }
        }
    }
}

/// Writes into the note of the verdict under the cursor.
pub(crate) fn note(opinions: &mut Opinions, request: InputRequest) {
    if let Some(item) = opinions.items.get_mut(opinions.cursor) {
        item.note.handle(request);
    }
}

/// Takes the verdicts that were given.
pub(crate) fn keep(model: &mut Model, given: &Opinions) -> Vec<Effect> {
    let changed: Vec<HumanVerdict> = given.items.iter().filter_map(|item| item.changed()).collect();
    if changed.is_empty() {
        return Vec::new();
    }
    for verdict in &changed {
        model.verdicts.retain(|known| !known.is_about(verdict));
        if verdict.verdict.is_some() {
            model.verdicts.push(verdict.clone());
        }
    }
    model.verdicts_version += 1;
    vec![Effect::KeepVerdicts(changed)]
}
