//! The screen of one case: expected and actual side by side, timeline, judges and metrics.

use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::case_screen::CaseScreen;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::model::{CommandTarget, Screen, ScreenFunctions};
use crate::explorer::shared::screen::nothing;
use crate::explorer::shown_case::{movement, title, view};

/// The functions of this screen.
static SCREEN: ScreenFunctions = ScreenFunctions {
    context: Context::Case,
    layout: view::layout,
    title: title::title,
    status: Some(title::failing_text),
    draw: view::draw,
    scroll: movement::scroll,
    mouse: movement::mouse,
    open: nothing,
    back: movement::back,
    text: None,
};

impl Screen for CaseScreen {
    fn functions(&self) -> &'static ScreenFunctions {
        &SCREEN
    }

    fn target(&self) -> CommandTarget {
        CommandTarget::Case(self.at)
    }

    fn case(&self) -> Option<&CaseScreen> {
        Some(self)
    }

    fn case_mut(&mut self) -> Option<&mut CaseScreen> {
        Some(self)
    }

    fn follow(&mut self, new: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        let now = new(self.at);
        self.at = now.unwrap_or(self.at);
        now.is_some()
    }
}
