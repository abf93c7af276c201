//! Dialogs over a screen. Each file contains the state, keys and drawing of one dialog.
//!
//! A dialog is registered with a variant of [`Overlay`] and a line each in [`Overlay::dialog`] and
//! [`Overlay::dialog_mut`].

pub mod agreement;
pub mod ask;
pub mod causes;
pub mod columns;
pub mod confirm;
pub mod conversations;
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

/// The dialogs.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Overlay {
    Agreement(agreement::AgreementTable),
    Ask(ask::AskLine),
    Causes(causes::CauseList),
    Columns(columns::ColumnPicker),
    Confirm(confirm::Confirm),
    Conversations(conversations::ConversationPicker),
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

/// The keys and the drawing of a dialog. In the methods that get `&mut Model`, `model.overlay` is empty.
pub trait Dialog {
    /// The context of the commands that apply while the dialog is open. `None`: keys are text or move the cursor.
    fn context(&self) -> Option<Context> {
        None
    }

    /// Handles keys that are specific to this dialog. Returns whether the key was one.
    fn own_key(&mut self, _: Key) -> bool {
        false
    }

    /// Edits the text of the dialog.
    fn edit(&mut self, _: &mut Model, _: InputRequest) {}

    /// Moves the cursor, or scrolls.
    fn scroll(&mut self, _: &mut Model, _: Motion) {}

    /// Handles `esc`. The dialog closes afterwards.
    fn cancel(&mut self, _: &mut Model) {}

    /// Handles `enter`. `None`: the dialog stays open.
    fn choose(&mut self, _: &mut Model) -> Option<Vec<Effect>> {
        Some(Vec::new())
    }

    /// Draws the dialog. Returns the position of the text cursor, if it has one.
    fn draw(&self, model: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) -> Option<Position>;

    /// Updates cases whose positions changed. Returns false if the case of the dialog no longer exists and the dialog
    /// should close.
    fn follow(&mut self, _: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        true
    }
}

impl Overlay {
    /// The dialog as a trait object.
    pub fn dialog(&self) -> &dyn Dialog {
        match self {
            Overlay::Agreement(dialog) => dialog,
            Overlay::Ask(dialog) => dialog,
            Overlay::Causes(dialog) => dialog,
            Overlay::Columns(dialog) => dialog,
            Overlay::Confirm(dialog) => dialog,
            Overlay::Conversations(dialog) => dialog,
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

    /// The dialog as a mutable trait object.
    pub fn dialog_mut(&mut self) -> &mut dyn Dialog {
        match self {
            Overlay::Agreement(dialog) => dialog,
            Overlay::Ask(dialog) => dialog,
            Overlay::Causes(dialog) => dialog,
            Overlay::Columns(dialog) => dialog,
            Overlay::Confirm(dialog) => dialog,
            Overlay::Conversations(dialog) => dialog,
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

/// Whether the open dialog takes text.
pub(crate) fn takes_text(model: &Model) -> bool {
    model.overlay.as_ref().is_some_and(|overlay| overlay.dialog().context().is_none())
}

/// Handles a key while a dialog that takes text is open.
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

/// Inserts pasted text without control characters.
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

/// Updates cases whose positions changed. Returns false if none of them exists any more.
pub(super) fn follow_all(cases: &mut Vec<CaseRef>, new: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
    *cases = cases.iter().filter_map(|case| new(*case)).collect();
    !cases.is_empty()
}
