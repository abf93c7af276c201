//! Text in a page.

use evaltrail_core::domain::clean;

/// Escapes a text for HTML.
pub(super) fn text(text: &str) -> String {
    clean(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}
