//! Screens. Each has a folder with its state, update and view.
//!
//! A screen is registered with a variant of [`Screen`] and a line in [`entry`].

pub mod browse;
pub mod case;
pub mod chat;
pub mod comparison;
pub mod edit;
pub mod live;
pub mod queue;
pub mod run;
pub mod runs;
pub mod trends;

use super::context::Context;
use super::dialogs;
use super::effect::Effect;
use super::key::Key;
use super::layout::{Layout, base};
use super::message::Mouse;
use super::model::{Model, Screen};
use super::motion::Motion;
use super::theme::Theme;
use crate::diff::{Line, Span, wrap_line};
use crate::domain::clean_line;
use case::state::CaseOrigin;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

/// Maximum number of lines of a notice. Longer notices are cut; the message log shows them in full.
pub(crate) const NOTICE_LINES: usize = 3;

/// The functions of a screen.
pub struct ScreenEntry {
    /// Determines which commands apply.
    pub context: Context,
    /// Divides the body into the parts of the screen.
    pub layout: fn(Layout, &Model) -> Layout,
    /// Draws the title into this area of the top line.
    pub title: fn(&Model, Rect, &Theme, &mut Buffer),
    /// Draws the body. Returns the position of the text cursor, if it has one.
    pub draw: fn(&Model, &Layout, &Theme, &mut Buffer) -> Option<Position>,
    /// Moves the cursor, or scrolls.
    pub scroll: fn(&mut Model, Motion),
    /// Handles a click or the wheel.
    pub mouse: fn(&mut Model, Mouse) -> Vec<Effect>,
    /// Opens what is under the cursor.
    pub open: fn(&mut Model) -> Vec<Effect>,
    /// Goes back to the previous screen.
    pub back: fn(&mut Model) -> Vec<Effect>,
    /// The text field of the screen, if it has one.
    pub text: Option<TextEntry>,
}

/// The functions of a screen's text field.
pub struct TextEntry {
    /// Whether commands have priority: only keys that are not bound to a command are text.
    pub commands_first: bool,
    /// Whether the text field is active.
    pub takes: fn(&Model) -> bool,
    /// Handles a key in the text field.
    pub key: fn(&mut Model, Key) -> Vec<Effect>,
    /// Handles pasted text.
    pub paste: fn(&mut Model, &str),
}

/// Returns the functions of a screen.
pub fn entry(screen: &Screen) -> &'static ScreenEntry {
    match screen {
        Screen::Browse => &browse::SCREEN,
        Screen::Case(case) if case.from == CaseOrigin::Queue => &queue::SCREEN,
        Screen::Case(_) => &case::SCREEN,
        Screen::Chat(_) => &chat::SCREEN,
        Screen::Edit(_) => &edit::SCREEN,
        Screen::Live(_) => &live::SCREEN,
        Screen::Run => &run::SCREEN,
        Screen::Runs(_) => &runs::SCREEN,
        Screen::Trends(_) => &trends::SCREEN,
        Screen::Comparison(screen) if screen.case.is_some() => &comparison::CASE,
        Screen::Comparison(_) => &comparison::LIST,
    }
}

impl Model {
    /// The context that determines which key bindings apply.
    pub fn context(&self) -> Context {
        let of_dialog = self.view.open_dialog.as_ref().and_then(|dialog| dialog.context());
        of_dialog.unwrap_or_else(|| self.screen_context())
    }

    /// The context of the screen, without the open dialog.
    pub fn screen_context(&self) -> Context {
        entry(&self.view.screen).context
    }
}

/// The layout of the current screen. All parts are empty if the terminal is too small.
pub fn layout(model: &Model) -> Layout {
    let notice_lines = notice_lines(model).len() as u16;
    match base(model.size, model.view.trial.is_some(), notice_lines) {
        Some(base) => (entry(&model.view.screen).layout)(base, model),
        None => Layout::default(),
    }
}

/// The notice, wrapped to the width of the screen.
pub(crate) fn notice_lines(model: &Model) -> Vec<Line> {
    let Some(notice) = &model.notice else { return Vec::new() };
    let span = Span { text: clean_line(&notice.text).into_owned(), ..Span::default() };
    let mut lines = wrap_line(&[span], usize::from(model.size.0.saturating_sub(2)).max(1));
    lines.truncate(NOTICE_LINES);
    lines
}

/// Scrolls the open dialog or, if there is none, the screen.
pub(crate) fn scroll(model: &mut Model, motion: Motion) -> Vec<Effect> {
    match model.view.open_dialog {
        Some(_) => dialogs::scroll(model, motion),
        None => (entry(&model.view.screen).scroll)(model, motion),
    }
    Vec::new()
}

/// Hides what is identical on all sides of a case, or shows it again.
pub(crate) fn toggle_identical(model: &mut Model) -> Vec<Effect> {
    match model.view.screen {
        Screen::Comparison(_) => comparison::hide_identical(model),
        _ => case::toggle_identical(model),
    }
}

/// Opens what is under the cursor.
pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    (entry(&model.view.screen).open)(model)
}

/// Closes the open dialog or, if there is none, goes back to the previous screen.
pub(crate) fn back(model: &mut Model) -> Vec<Effect> {
    match model.view.open_dialog.take() {
        Some(_) => Vec::new(),
        None => (entry(&model.view.screen).back)(model),
    }
}

/// Does nothing. For screens on which nothing can be opened or that have no previous screen.
pub(crate) fn nothing(_: &mut Model) -> Vec<Effect> {
    Vec::new()
}
