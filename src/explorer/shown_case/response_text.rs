//! The response of a turn as text.

use evaltrail_core::domain::{Content, Invocation};

/// The response as displayed, with labels for parts that are not text.
pub(crate) fn shown_response(turn: &Invocation) -> String {
    turn.final_response
        .as_ref()
        .map(Content::shown_text)
        .unwrap_or_default()
}
