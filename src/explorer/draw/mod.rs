//! The explorer's drawing: (&Model, &Theme) → cells. Pure: it cannot change state.
//!
//! Only what is in sight is built. All text passes `text::put`, which cleans it.

pub(crate) mod footer;
mod header;
pub mod svg;

use crate::explorer::overlays::{
    metrics, opinion_view as opinions, proposal_view as proposal, views as overlays,
};
use crate::explorer::screens::{self, browse, case, chat, edit, run};
use crate::explorer::theme::{Role, Theme};
use crate::explorer::{Model, Overlay, Screen, is_too_small, layout};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

/// Draws the model. Says where the text cursor is, if it is anywhere.
pub fn draw(model: &Model, theme: &Theme, buffer: &mut Buffer) -> Option<Position> {
    let area = buffer.area.intersection(Rect::new(0, 0, model.size.0, model.size.1));
    if area.is_empty() {
        return None;
    }
    buffer.set_style(area, theme.style(Role::Text));
    if is_too_small(model.size) {
        screens::too_small(area, theme, buffer);
        return None;
    }
    let areas = layout(model);
    header::draw(model, &areas, theme, buffer);
    header::banner(model, &areas, theme, buffer);
    let mut cursor = None;
    match &model.screen {
        Screen::Chat(chat) => cursor = chat::view::chat(model, chat, &areas, theme, buffer),
        Screen::Edit(edit) => cursor = edit::view::edit(edit, &areas, theme, buffer),
        Screen::Browse => browse::view::browse(model, &areas, theme, buffer),
        Screen::Case(case) => case::view::case(model, case, &areas, theme, buffer),
        Screen::Run => run::view::run(model, &areas, theme, buffer),
    }
    footer::draw(model, &areas, theme, buffer);
    match &model.overlay {
        None => cursor,
        Some(Overlay::Help(scroll)) => overlays::help(model, *scroll, &areas, theme, buffer),
        Some(Overlay::Filter(input, wrong)) => footer::filter(input, wrong.as_deref(), &areas, theme, buffer),
        Some(Overlay::Palette(picker)) => overlays::palette(model, picker, &areas, theme, buffer),
        Some(Overlay::Jump(picker)) => overlays::jump(model, picker, &areas, theme, buffer),
        Some(Overlay::Rule(input, wrong)) => footer::rule(input, wrong.as_deref(), &areas, theme, buffer),
        Some(Overlay::Flips(picker)) => overlays::flips(picker, &areas, theme, buffer),
        Some(Overlay::Metrics(picker)) => metrics::metrics(picker, &areas, theme, buffer),
        Some(Overlay::Statistics(lines, scroll)) => {
            metrics::statistics(lines, *scroll, &areas, theme, buffer)
        }
        Some(Overlay::Opinions(given)) => opinions::opinions(given, &areas, theme, buffer),
        Some(Overlay::Agreement(lines, scroll)) => opinions::agreement(lines, *scroll, &areas, theme, buffer),
        Some(Overlay::Ask(ask)) => footer::ask(ask, &areas, theme, buffer),
        Some(Overlay::Variants(_, picker)) => overlays::variants(picker, &areas, theme, buffer),
        Some(Overlay::MoveTo(picker)) => overlays::sets(picker, &areas, theme, buffer),
        Some(Overlay::Proposal(proposal)) => proposal::draw(proposal, &areas, theme, buffer),
        Some(Overlay::Confirm(confirm)) => overlays::confirm(confirm, &areas, theme, buffer),
    }
}
