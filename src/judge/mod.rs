//! Asks whoever judges what cannot be computed here: models, and a person's own programs.
//!
//! ```text
//! JudgedMetric ─questions─▶ scoring ─▶ Judges ─ known already? ──▶ store::Answers
//!      ▲                                  │ may it cost more? ─▶ budget
//!      └────────── answers ◀──────────────┤ recorded? ─────────▶ formats::answers
//!                                         └▶ Model: gate ─▶ wire (gemini, openai, …) ─▶ HTTP
//!
//! CustomMetric::Command ── one process a case: JSON in, a score out
//! CustomMetric::Python  ── the bridge, one process a run: a line in, a line out
//! SimulatedUser        ── the next message of a scenario, asked of a model like a verdict
//! ```
//!
//! Keys come from the environment, or from a `.env` file when a person allows it (`keys`); they go into headers and
//! nowhere else (`secret`).

mod answer;
mod budget;
mod canary;
mod endpoint;
mod error;
mod gate;
mod judges;
mod keys;
mod model;
mod program;
mod recording;
mod request;
mod scoring;
mod secret;
mod template;
mod user;
mod wire;

pub use canary::{Probe, Probed};
pub use error::{Fault, JudgeError};
pub use judges::{Answered, Asking, JudgeGrant, Judges};
pub use keys::Keys;
pub use program::Programs;
pub use scoring::{Judging, JudgingObserver};
pub use user::{Playing, SimulatedUser};
