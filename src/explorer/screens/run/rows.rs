//! What the rows of attempts have in common.

use crate::explorer::widgets::text::fit;
use evaltrail_core::domain::{AttemptKey, RunState};
use unicode_width::UnicodeWidthStr;

/// Width of the time, in columns.
pub(super) const TIME: u16 = 7;

/// The name of the case, cut to a width in columns so that the number of a repeated attempt is always behind it.
pub(super) fn attempt_name(run: &RunState, key: AttemptKey, width: u16) -> String {
    let number = match run.plan.options.repeat {
        0 | 1 => String::new(),
        _ => format!(" #{}", key.attempt),
    };
    let room = usize::from(width).saturating_sub(number.width());
    format!("{}{number}", fit(&run.plan.case_name(key.case), room))
}
