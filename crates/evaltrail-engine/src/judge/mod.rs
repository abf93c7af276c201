//! Evaluates what cannot be computed in `metrics`: with judge models, and with the user's own programs.
//!
//! ```text
//! JudgedMetric ─questions─▶ scoring ─▶ Judges ─ cached? ─────────▶ store::Answers
//!      ▲                                  │ below the limit? ──▶ budget
//!      └────────── replies ◀──────────────┤ recorded? ─────────▶ formats::answers
//!                                         └▶ Model: limits ─▶ wire (gemini, openai, …) ─▶ HTTP
//!
//! CustomMetric::Command ── one process for each case: JSON in, a score out
//! CustomMetric::Python  ── the bridge, one process for each run: a line in, a line out
//! SimulatedUser         ── the next message of a scenario, requested from a model
//! ```
//!
//! Keys come from the environment, or from a `.env` file if the user allows it (`keys`); they are sent in headers and
//! nowhere else (`secret`).

mod answer;
mod budget;
mod check;
mod endpoint;
mod error;
mod judges;
mod keys;
mod model;
mod program;
mod published;
mod recording;
mod request;
mod request_limits;
mod requests_in_flight;
mod sample;
mod scoring;
mod secret;
mod template;
mod user;
mod wire;

pub use check::{JudgeCheck, JudgeCheckResult};
pub use error::{JudgeError, JudgeErrorKind};
pub use judges::{JudgeGrant, Judges, RequestCancellation};
pub use keys::ApiKeys;
pub use program::Programs;
pub use sample::{SampleRequest, SampleResponse};
pub use scoring::{Judging, JudgingObserver};
pub use user::{SimulatedUser, SimulationKey, UserMessage};
