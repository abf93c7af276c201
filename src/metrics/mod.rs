//! (expected, actual, criterion) → score with an explanation. Pure.
//!
//! ```text
//! criterion ─ registry ─▶ trajectory │ response match │ efficiency
//!                  └─▶ not evaluated, with the reason
//! ```

mod efficiency;
mod porter;
mod registry;
mod rouge;
mod tokenize;
mod trajectory;

pub use porter::stem;
pub use registry::{METRICS, MetricInfo, Unusable, info, score, score_case, usable};
pub use rouge::{Overlap, rouge1};
pub use tokenize::adk_tokens;
pub use trajectory::{TrajectoryOptions, trajectory_matches};
