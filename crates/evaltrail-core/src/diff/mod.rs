//! Alignment and differences of values, calls and texts, and the rows that show them side by side.
//!
//! ```text
//! calls ──align──▶ pairs (same, changed, moved, missing, extra)
//! args ──json───▶ differences by path            ┐
//! text ──words──▶ segments                        ├─▶ rows: pairs of lines ──wrap──▶ lines of a screen
//! turns ─accept─▶ the expected turn with parts of the actual one
//! ```

mod accept;
mod align;
mod call_rows;
mod equal;
mod folded;
mod json;
mod json_rows;
mod rows;
mod sequence;
mod text_rows;
mod words;
mod wrap;

pub use accept::{AcceptError, AcceptablePart, accept, accept_in_case};
pub use align::{AlignedPair, Alignment, PairKind, align};
pub use call_rows::call_rows;
pub use equal::{calls_equal, compared_args, json_equal, same_calls, values_equal};
pub use folded::{fold_identical_rows, fold_nested_rows, nested_levels};
pub use json::{Difference, DifferenceKind, differences};
pub use json_rows::json_rows;
pub use rows::{DiffRow, Line, Span, Tone};
pub use sequence::{Hunk, diff_sequences};
pub use text_rows::text_rows;
pub use words::{TextDiff, TextPart, diff_words};
pub use wrap::{VisualRow, wrap_line, wrap_rows};
