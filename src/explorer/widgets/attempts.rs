//! The attempts of a case as signs.

use evaltrail_core::analysis::PassCount;
use evaltrail_core::domain::Status;

/// The sign of a case that could come out either way.
pub(crate) const UNSTEADY: &str = "≈";

/// The sign of a case that passed in some of its attempts.
pub(crate) const FLAKY: &str = "±";

/// Of more attempts than this, only the count is listed.
const MAX_SIGNS: usize = 8;

/// `✓✗✓ 2/3`: a sign for each attempt, unless there are many, and how many passed.
pub(crate) fn attempt_text(attempts: &[Status]) -> String {
    let rate = PassCount::of_statuses(attempts.iter().copied()).describe();
    let signs: String = match attempts.len() {
        0..=MAX_SIGNS => {
            attempts
                .iter()
                .map(|status| status.glyph())
                .collect::<String>()
                + " "
        }
        _ => String::new(),
    };
    format!("{signs}{rate}")
}
