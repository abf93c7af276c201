//! The triage queue: one failure after the other, each with a decision. Files are written at the end, after a summary.
//!
//! ```text
//! failures by cause ─▶ case on the screen ─▶ decision (stored at once) ─▶ next case
//!                                     all decided ─▶ summary ─▶ files written, cases run again
//! ```

mod apply;
mod count;
pub(crate) mod decide;
mod steps;
mod update;
mod view;

pub(crate) use apply::{applied, criteria_planned, edited, summary};
pub(crate) use count::count;
pub(crate) use decide::{
    can_accept, can_decide, can_relax, decide, decide_group, has_rest_of_group,
};
pub(crate) use steps::{add_criteria, can_undo, take, undo};
pub(crate) use update::{can_open, next, open, previous, resume, skip};

use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::case_screen::{CaseScreen, TriageScreen};
use crate::explorer::shared::context::Context;
use crate::explorer::shared::model::{CommandTarget, Screen, ScreenFunctions};
use crate::explorer::shared::screen::nothing;
use crate::explorer::shown_case::{movement, title};

/// The functions of this screen: the case screen, below two lines about the queue.
static SCREEN: ScreenFunctions = ScreenFunctions {
    context: Context::Queue,
    layout: view::layout,
    title: title::title,
    status: Some(|_| String::new()),
    draw: view::draw,
    scroll: movement::scroll,
    mouse: movement::mouse,
    open: nothing,
    back: update::back,
    text: None,
};

impl Screen for TriageScreen {
    fn functions(&self) -> &'static ScreenFunctions {
        &SCREEN
    }

    fn target(&self) -> CommandTarget {
        CommandTarget::Case(self.0.at)
    }

    fn case(&self) -> Option<&CaseScreen> {
        Some(&self.0)
    }

    fn case_mut(&mut self) -> Option<&mut CaseScreen> {
        Some(&mut self.0)
    }

    fn follow(&mut self, new: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        let now = new(self.0.at);
        self.0.at = now.unwrap_or(self.0.at);
        now.is_some()
    }
}
