//! Updates of the screen of an attempt in flight.

use crate::explorer::screens::live::view::lines;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::layout::inside;
use crate::explorer::shared::message::Mouse;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::run_screen::{LiveScreen, RunScreen};
use crate::explorer::shared::screen::layout;

pub(crate) fn scroll(model: &mut Model, motion: Motion) {
    let area = inside(layout(model).main);
    let page = usize::from(area.height);
    let Some(live) = model.screen::<LiveScreen>() else {
        return;
    };
    let last = lines(model, live, usize::from(area.width))
        .len()
        .saturating_sub(page);
    if let Some(live) = model.screen_mut::<LiveScreen>() {
        let first = motion.target(live.first.unwrap_or(last).min(last), last + 1, page);
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
    model.show(RunScreen);
    Vec::new()
}
