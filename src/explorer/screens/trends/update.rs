//! Updates of the screen of trends.

use crate::explorer::opened_run;
use crate::explorer::screens::trends::state::TrendsScreen;
use crate::explorer::shared::case_list::BrowseScreen;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::effect::{Effect, HistoryEffect, ScreenRequest};
use crate::explorer::shared::enabled::Enabled;
use crate::explorer::shared::layout::case_rows;
use crate::explorer::shared::message::Mouse;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::screen::layout;
use crate::explorer::shared::ticket::Ticket;
use evaltrail_engine::history::History;
use std::sync::Arc;

fn screen(model: &Model) -> Option<&TrendsScreen> {
    model.screen()
}

fn screen_mut(model: &mut Model) -> Option<&mut TrendsScreen> {
    model.screen_mut()
}

/// Shows the trends of the folder.
pub(crate) fn show(model: &mut Model) -> Vec<Effect> {
    // A past run may be open in place of the folder.
    opened_run::close(model);
    let from_runs = model.is_on(Context::Runs);
    model.show(TrendsScreen {
        from_runs,
        ..TrendsScreen::default()
    });
    vec![Effect::History(HistoryEffect::List(model.ticket()))]
}

/// The runs of the folder arrived.
pub(crate) fn listed(model: &mut Model, ticket: Ticket, history: Arc<History>) {
    let (sets, folder) = (std::mem::take(&mut model.view.sets), model.folder.clone());
    if let Some(trends) = screen_mut(model)
        && ticket > trends.read
    {
        trends.read = ticket;
        trends.put(history, &sets, &folder);
    }
    model.view.sets = sets;
}

pub(crate) fn back(model: &mut Model) -> Vec<Effect> {
    let from_runs = screen(model).is_some_and(|trends| trends.from_runs);
    model.show(BrowseScreen);
    if from_runs {
        vec![ScreenRequest::ShowRuns.into()]
    } else {
        Vec::new()
    }
}

pub(crate) fn has_points(model: &Model) -> Enabled {
    let has = screen(model).and_then(TrendsScreen::point).is_some();
    has.then_some(()).ok_or("there is no run here")
}

/// Opens the chosen run: its cases as they were.
pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let run = screen(model).and_then(TrendsScreen::selected_run).cloned();
    run.into_iter()
        .map(|run| Effect::History(HistoryEffect::Open(Box::new(run))))
        .collect()
}

pub(crate) fn previous_run(model: &mut Model) -> Vec<Effect> {
    step(model, |at, _| at.saturating_sub(1))
}

pub(crate) fn next_run(model: &mut Model) -> Vec<Effect> {
    step(model, |at, last| (at + 1).min(last))
}

/// Chooses another run of the row under the cursor; `to` gets the position of the current one, and the last.
fn step(model: &mut Model, to: impl Fn(usize, usize) -> usize) -> Vec<Effect> {
    if let Some(trends) = screen_mut(model)
        && let Some(at) = trends.point()
    {
        let points = trends
            .current()
            .map(|series| series.points.clone())
            .unwrap_or_default();
        trends.run = points.get(to(at, points.len() - 1)).map(|point| point.run);
    }
    Vec::new()
}

pub(crate) fn scroll(model: &mut Model, motion: Motion) {
    let page = usize::from(case_rows(&layout(model)).height).max(1);
    if let Some(trends) = screen_mut(model) {
        trends.cursor = motion.target(trends.cursor, trends.series.len(), page);
        trends.offset = trends
            .offset
            .clamp(trends.cursor.saturating_sub(page - 1), trends.cursor);
    }
}

pub(crate) fn mouse(model: &mut Model, mouse: Mouse) -> Vec<Effect> {
    if let Some(motion) = mouse.kind.wheel() {
        scroll(model, motion);
        return Vec::new();
    }
    let rows = case_rows(&layout(model));
    if !rows.contains(ratatui::layout::Position {
        x: mouse.x,
        y: mouse.y,
    }) {
        return Vec::new();
    }
    let Some(trends) = screen_mut(model) else {
        return Vec::new();
    };
    let row = trends.offset + usize::from(mouse.y - rows.y);
    if row < trends.series.len() {
        trends.cursor = row;
    }
    Vec::new()
}
