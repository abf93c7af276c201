//! A plan → a stream of run events. One runner for the explorer and the command line.
//!
//! ```text
//! prepare ─▶ RunPlan ─▶ start ─▶ executor ── asks, progress, done ──▶ dispatcher ─▶ journal
//!                                  │  ▲                                   │
//!                                  ▼  └── may it start? ◀────────────────┤
//!                               attempt: connect, turns, score            └─▶ RunEvent ─▶ listener
//! ```
//!
//! The executor runs attempts, each on its own; the dispatcher alone orders their events, has them in the
//! journal before anything is shown, and decides what may still start. It waits neither for the disk
//! (`journal`) nor for the listener (`outbox`).

mod attempt;
mod chat;
mod conversation;
mod dispatcher;
mod executor;
mod journal;
mod outbox;
mod past;
mod plan;
mod preflight;
mod results;
mod scoring;
mod start;
mod trust;

pub use chat::{ChatEvent, chat};
pub use past::{history_of, past_results, remove_old};
pub use plan::{PlanError, Prepared, Request, Selection, Stamp, prepare};
pub use start::{Run, RunHandle, start};
pub use trust::{
    KeyOffer, TrustAction, TrustQuestion, agent_question, allowed_destinations, judge_questions,
    keys_that_help, offered_keys, trust_questions,
};
