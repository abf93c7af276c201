//! The attempts of a case as signs.

use evaltrail_core::analysis::PassCount;
use evaltrail_core::domain::Status;
use unicode_width::UnicodeWidthStr;

/// The sign of a case that could come out either way.
pub(crate) const UNSTEADY: &str = "≈";

/// The sign of a case that passed in some of its attempts.
pub(crate) const FLAKY: &str = "±";

/// Of more attempts than this, only the count is listed.
const MAX_SIGNS: usize = 8;

/// The width of the longest text of up to `most` attempts, in columns.
pub(crate) fn longest_attempt_text(most: usize) -> u16 {
    let width = |count| attempt_text(&vec![Status::Passed; count]).width() as u16;
    width(most).max(width(most.min(MAX_SIGNS)))
}

/// A sign for each attempt, and how many of them passed: `✓✗✓ 2/3`. With more than [`MAX_SIGNS`], only how many.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_fewer_attempts_fits() {
        for most in [1, 5, 8, 9, 10, 100] {
            for count in 1..=most {
                let text = attempt_text(&vec![Status::Failed; count]);
                assert!(
                    text.width() <= usize::from(longest_attempt_text(most)),
                    "{text}"
                );
            }
        }
    }
}
