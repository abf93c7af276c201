//! Updates of the screen of an attempt in flight.

use crate::domain::{AttemptKey, RunState};
use crate::explorer::effect::Effect;
use crate::explorer::global;
use crate::explorer::layout::inside;
use crate::explorer::message::Mouse;
use crate::explorer::model::{Model, Screen};
use crate::explorer::motion::Motion;
use crate::explorer::screens::case::state::CaseOrigin;
use crate::explorer::screens::live::state::LiveScreen;
use crate::explorer::screens::live::view::lines;
use crate::explorer::screens::{case, layout, run};

/// Opens the screen of an attempt in flight.
pub(crate) fn open(model: &mut Model, key: AttemptKey) {
    model.view.screen = Screen::Live(LiveScreen { key, first: None });
}

/// Handles the end of an attempt: if its transcript is open, shows the result instead, or the run if it was
/// cancelled.
pub(crate) fn ended(model: &mut Model, run: &RunState, key: AttemptKey, was_cancelled: bool) -> Vec<Effect> {
    if !matches!(&model.view.screen, Screen::Live(live) if live.key == key) {
        return Vec::new();
    }
    model.view.screen = Screen::Run;
    if was_cancelled {
        return Vec::new();
    }
    match model.case_of(run, key) {
        Some(at) => {
            run::list_with(model, at);
            case::open_at(model, at, key.attempt, CaseOrigin::Run);
            global::notify(model, "the attempt has ended; this is its result".into(), false)
        }
        None => Vec::new(),
    }
}

pub(crate) fn scroll(model: &mut Model, motion: Motion) {
    let area = inside(layout(model).main);
    let page = usize::from(area.height);
    let Screen::Live(live) = &model.view.screen else { return };
    let last = lines(model, live, usize::from(area.width)).len().saturating_sub(page);
    if let Screen::Live(live) = &mut model.view.screen {
        let first = motion.of(live.first.unwrap_or(last).min(last), last + 1, page);
        live.first = Some(first).filter(|first| *first < last);
    }
}

pub(crate) fn mouse(model: &mut Model, mouse: Mouse) -> Vec<Effect> {
    if let Some(motion) = mouse.kind.wheel() {
        (0..3).for_each(|_| scroll(model, motion));
    }
    Vec::new()
}

pub(crate) fn back(model: &mut Model) -> Vec<Effect> {
    model.view.screen = Screen::Run;
    Vec::new()
}
