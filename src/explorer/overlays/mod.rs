//! Dialogs over a screen: one file for each, with its state, its keys and its drawing.
//!
//! A dialog is registered by its variant of [`Overlay`] and a line each in [`Overlay::dialog`] and
//! [`Overlay::dialog_mut`].

pub mod agreement;
pub mod ask;
pub mod columns;
pub mod confirm;
pub mod filter;
pub mod flips;
pub mod help;
pub mod jump;
mod line;
pub mod messages;
pub mod metrics;
pub mod move_to;
pub mod palette;
pub mod proposal;
pub mod question;
pub mod rule;
pub mod run_options;
pub mod statistics;
pub mod themes;
pub mod trust;
pub mod variants;
pub mod verdicts;

use crate::explorer::case_ref::CaseRef;
use crate::explorer::commands::key::{Key, KeyCode};
use crate::explorer::commands::{Context, Motion};
use crate::explorer::effect::Effect;
use crate::explorer::layout::Layout;
use crate::explorer::model::Model;
use crate::explorer::theme::Theme;
use crate::explorer::widgets::text_field::request;
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use tui_input::InputRequest;

/// The dialog that is open.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Overlay {
    Agreement(agreement::AgreementTable),
    Ask(ask::AskLine),
    Columns(columns::ColumnPicker),
    Confirm(confirm::Confirm),
    Filter(filter::FilterLine),
    Flips(flips::ChangedCases),
    Help(help::Help),
    Jump(jump::CaseFinder),
    Messages(messages::MessageLog),
    Metrics(metrics::MetricCatalog),
    MoveTo(move_to::SetPicker),
    Palette(palette::Palette),
    Proposal(Box<proposal::Proposal>),
    Rule(rule::RuleLine),
    RunOptions(run_options::RunOptionsForm),
    Statistics(statistics::StatisticsTable),
    Themes(themes::ThemePicker),
    Trust(trust::TrustDialog),
    Variants(variants::VariantList),
    Verdicts(verdicts::VerdictForm),
}

/// What a dialog does with keys, and how it looks.
pub trait Dialog {
    /// Whose commands apply while the dialog is open. None: every key is text or moves in the dialog.
    fn context(&self) -> Option<Context> {
        None
    }

    /// A key with a meaning of its own in this dialog. Returns whether it has one.
    fn own_key(&mut self, _: Key) -> bool {
        false
    }

    /// Edits the dialog's text. The dialog is not in the model meanwhile.
    fn edit(&mut self, _: &mut Model, _: InputRequest) {}

    /// Moves the cursor, or scrolls. The dialog is not in the model meanwhile.
    fn scroll(&mut self, _: &mut Model, _: Motion) {}

    /// `esc`: the dialog closes. The dialog is not in the model meanwhile.
    fn cancel(&mut self, _: &mut Model) {}

    /// `enter`: what it does. None: the dialog stays open. The dialog is not in the model meanwhile.
    fn choose(&mut self, _: &mut Model) -> Option<Vec<Effect>> {
        Some(Vec::new())
    }

    /// Draws the dialog. Returns the position of the text cursor, if it has one.
    fn draw(&self, model: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) -> Option<Position>;

    /// Follows cases whose positions changed. False: what the dialog is about is gone, and it closes.
    fn follow(&mut self, _: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        true
    }
}

impl Overlay {
    /// The dialog itself.
    pub fn dialog(&self) -> &dyn Dialog {
        match self {
            Overlay::Agreement(dialog) => dialog,
            Overlay::Ask(dialog) => dialog,
            Overlay::Columns(dialog) => dialog,
            Overlay::Confirm(dialog) => dialog,
            Overlay::Filter(dialog) => dialog,
            Overlay::Flips(dialog) => dialog,
            Overlay::Help(dialog) => dialog,
            Overlay::Jump(dialog) => dialog,
            Overlay::Messages(dialog) => dialog,
            Overlay::Metrics(dialog) => dialog,
            Overlay::MoveTo(dialog) => dialog,
            Overlay::Palette(dialog) => dialog,
            Overlay::Proposal(dialog) => &**dialog,
            Overlay::Rule(dialog) => dialog,
            Overlay::RunOptions(dialog) => dialog,
            Overlay::Statistics(dialog) => dialog,
            Overlay::Themes(dialog) => dialog,
            Overlay::Trust(dialog) => dialog,
            Overlay::Variants(dialog) => dialog,
            Overlay::Verdicts(dialog) => dialog,
        }
    }

    /// The dialog itself.
    pub fn dialog_mut(&mut self) -> &mut dyn Dialog {
        match self {
            Overlay::Agreement(dialog) => dialog,
            Overlay::Ask(dialog) => dialog,
            Overlay::Columns(dialog) => dialog,
            Overlay::Confirm(dialog) => dialog,
            Overlay::Filter(dialog) => dialog,
            Overlay::Flips(dialog) => dialog,
            Overlay::Help(dialog) => dialog,
            Overlay::Jump(dialog) => dialog,
            Overlay::Messages(dialog) => dialog,
            Overlay::Metrics(dialog) => dialog,
            Overlay::MoveTo(dialog) => dialog,
            Overlay::Palette(dialog) => dialog,
            Overlay::Proposal(dialog) => &mut **dialog,
            Overlay::Rule(dialog) => dialog,
            Overlay::RunOptions(dialog) => dialog,
            Overlay::Statistics(dialog) => dialog,
            Overlay::Themes(dialog) => dialog,
            Overlay::Trust(dialog) => dialog,
            Overlay::Variants(dialog) => dialog,
            Overlay::Verdicts(dialog) => dialog,
        }
    }
}

/// Opens a dialog.
pub(crate) fn open(model: &mut Model, overlay: Overlay) -> Vec<Effect> {
    model.overlay = Some(overlay);
    Vec::new()
}

/// Whether plain characters are text in the open dialog.
pub(crate) fn takes_text(model: &Model) -> bool {
    model.overlay.as_ref().is_some_and(|overlay| overlay.dialog().context().is_none())
}

/// A key while plain characters are text.
pub(crate) fn key(model: &mut Model, key: Key) -> Vec<Effect> {
    let Some(mut overlay) = model.overlay.take() else { return Vec::new() };
    let dialog = overlay.dialog_mut();
    if !dialog.own_key(key) {
        match (key.code, key.ctrl) {
            (KeyCode::Esc, _) | (KeyCode::Char('c'), true) => {
                dialog.cancel(model);
                return Vec::new();
            }
            (KeyCode::Enter, _) => {
                if let Some(effects) = dialog.choose(model) {
                    return effects;
                }
            }
            (KeyCode::Up, _) | (KeyCode::Char('p'), true) => dialog.scroll(model, Motion::Up),
            (KeyCode::Down, _) | (KeyCode::Char('n'), true) => dialog.scroll(model, Motion::Down),
            (KeyCode::PageUp, _) => dialog.scroll(model, Motion::PageUp),
            (KeyCode::PageDown, _) => dialog.scroll(model, Motion::PageDown),
            _ => request(key).into_iter().for_each(|request| dialog.edit(model, request)),
        }
    }
    model.overlay = Some(overlay);
    Vec::new()
}

/// Pasted text; control characters are left out.
pub(crate) fn paste(model: &mut Model, text: &str) {
    if !takes_text(model) {
        return;
    }
    if let Some(mut overlay) = model.overlay.take() {
        for c in text.chars().filter(|c| !c.is_control()) {
            overlay.dialog_mut().edit(model, InputRequest::InsertChar(c));
        }
        model.overlay = Some(overlay);
    }
}

/// Scrolls the open dialog.
pub(crate) fn scroll(model: &mut Model, motion: Motion) {
    if let Some(mut overlay) = model.overlay.take() {
        overlay.dialog_mut().scroll(model, motion);
        model.overlay = Some(overlay);
    }
}

/// Follows cases whose positions changed. False when none of them is left.
fn follow_all(cases: &mut Vec<CaseRef>, new: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
    *cases = cases.iter().filter_map(|case| new(*case)).collect();
    !cases.is_empty()
}
