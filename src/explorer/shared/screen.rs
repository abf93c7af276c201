//! The current screen: its parts, and what is done with it or with the dialog over it.

use crate::explorer::shared::case_screen::CaseScreen;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::dialog;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::layout::{Layout, base};
use crate::explorer::shared::model::{Model, Screen};
use crate::explorer::shared::motion::Motion;
use evaltrail_core::diff::{Line, Span, wrap_line};
use evaltrail_core::domain::clean_line;
use std::any::Any;

/// Maximum number of lines of a notice. Longer notices are cut; the message log shows them in full.
pub(crate) const NOTICE_LINES: usize = 3;

impl Model {
    /// Shows a screen in place of the current one.
    pub fn show(&mut self, screen: impl Screen) {
        self.view.screen = Box::new(screen);
    }

    /// Whether the screen of this context is shown.
    pub fn is_on(&self, context: Context) -> bool {
        self.screen_context() == context
    }

    /// The current screen, if it is of this type.
    pub fn screen<T: Screen>(&self) -> Option<&T> {
        let any: &dyn Any = &*self.view.screen;
        any.downcast_ref()
    }

    /// Mutable version of [`Model::screen`].
    pub fn screen_mut<T: Screen>(&mut self) -> Option<&mut T> {
        let any: &mut dyn Any = &mut *self.view.screen;
        any.downcast_mut()
    }

    /// The case that is open on a screen of its own.
    pub fn open_case(&self) -> Option<&CaseScreen> {
        self.view.screen.case()
    }

    /// Mutable version of [`Model::open_case`].
    pub(crate) fn open_case_mut(&mut self) -> Option<&mut CaseScreen> {
        self.view.screen.case_mut()
    }

    /// The context that determines which key bindings apply.
    pub fn context(&self) -> Context {
        let of_dialog = self
            .view
            .open_dialog
            .as_ref()
            .and_then(|dialog| dialog.context());
        of_dialog.unwrap_or_else(|| self.screen_context())
    }

    /// The context of the screen, without the open dialog.
    pub fn screen_context(&self) -> Context {
        self.view.screen.functions().context
    }
}

/// The layout of the current screen. All parts are empty if the terminal is too small.
pub fn layout(model: &Model) -> Layout {
    let notice_lines = notice_lines(model).len() as u16;
    // The run screen shows what the run recorded, without the what-if.
    let has_banner = model.view.what_if.is_some() && model.screen_context() != Context::Run;
    match base(model.size, has_banner, notice_lines) {
        Some(base) => (model.view.screen.functions().layout)(base, model),
        None => Layout::default(),
    }
}

/// The notice, wrapped to the width of the screen.
pub(crate) fn notice_lines(model: &Model) -> Vec<Line> {
    let Some(notice) = &model.notice else {
        return Vec::new();
    };
    let width = usize::from(model.size.0.saturating_sub(2)).max(1);
    // More than fits, although some characters have no width and words are not broken.
    let most = 4 * NOTICE_LINES * width;
    let start: String = notice.text.chars().take(most).collect();
    let span = Span {
        text: clean_line(&start).into_owned(),
        ..Span::default()
    };
    let mut lines = wrap_line(&[span], width);
    lines.truncate(NOTICE_LINES);
    lines
}

/// Scrolls the open dialog or, if there is none, the screen.
pub(crate) fn scroll(model: &mut Model, motion: Motion) -> Vec<Effect> {
    match model.view.open_dialog {
        Some(_) => dialog::scroll(model, motion),
        None => (model.view.screen.functions().scroll)(model, motion),
    }
    Vec::new()
}

/// Opens what is under the cursor.
pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    (model.view.screen.functions().open)(model)
}

/// Closes the open dialog or, if there is none, goes back to the previous screen.
pub(crate) fn back(model: &mut Model) -> Vec<Effect> {
    match model.view.open_dialog.take() {
        Some(_) => Vec::new(),
        None => (model.view.screen.functions().back)(model),
    }
}

/// Does nothing. For screens on which nothing can be opened or that have no previous screen.
pub(crate) fn nothing(_: &mut Model) -> Vec<Effect> {
    Vec::new()
}
