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

pub use chat::{ChatEvent, chat};
pub use past::{history_of, past_results, remove_old};
pub use plan::{
    Deed, PlanError, Prepared, Request, Selection, Stamp, TrustQuestion, judge_questions, prepare,
    trust_questions,
};
pub use start::{Run, RunHandle, start};
