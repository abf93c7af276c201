//! Why a text is not JSON.

/// Why a text is not JSON, and where.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("expected {expected}, found {found}")]
pub struct SyntaxError {
    /// Byte offset into the text.
    pub offset: usize,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
}
