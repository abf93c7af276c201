//! Executes a run: turns a plan into a stream of run events. The explorer and the command line share this runner.
//!
//! ```text
//! prepare ─▶ RunPlan ─▶ start ─▶ executor ── ask, progress, done ───▶ dispatcher ─▶ journal
//!                                  │  ▲                                   │
//!                                  ▼  └── may it start? ◀────────────────┤
//!                               attempt: connect, turns, score            └─▶ RunEvent ─▶ listener
//! ```
//!
//! The executor runs each attempt in a task of its own; those that only have to be computed are scored in batches. The
//! dispatcher puts their events in order, has them written to the journal before they are shown, and decides which
//! attempts may still start. It never waits for the disk (`journal`) or for the listener (`outbox`).

mod agents;
mod attempt;
mod baseline;
mod batches;
mod best_conversations;
mod capture;
mod case_apps;
mod changed;
mod chat;
mod chosen_cases;
mod connections;
mod conversation;
mod coverage;
mod current_criteria;
mod decided_cases;
mod derived_drafts;
mod dispatcher;
mod draft_checks;
mod draft_writer;
mod drafts;
mod executor;
mod executor_message;
mod export;
mod journal;
mod lost_agents;
mod opened_sets;
mod outbox;
mod past;
mod plan;
mod plan_set;
mod preflight;
mod queue_cases;
mod record_tools;
mod redaction;
mod removed;
mod request;
mod results;
mod resumed_request;
mod run_resources;
mod scoring;
mod shards;
mod start;
mod trust;
mod written_drafts;

pub use agents::{ListedAgent, list_agents};
pub use baseline::{BaselineChange, PinError, compared_with, name_run, pin_run, unpin_run};
pub use best_conversations::{BestConversations, BestRequest, best_conversations};
pub use capture::{RecordedConversation, recorded_conversations, with_user_message};
pub use changed::{
    AttemptCost, CaseVersion, ChangedCase, FoundChanges, RunEstimate, SeenCases, changed_cases,
};
pub use chat::{ChatEvent, chat, tools_of_chat, tools_of_chat_about};
pub use chosen_cases::Selection;
pub use coverage::{
    CoverageRequest, CoveredWorkspace, ToolSource, coverage_of_workspace, tools_of_running_agents,
};
pub use current_criteria::current_criteria_id;
pub use derived_drafts::{DerivedDraftRequest, DerivedDrafts, derive_drafts};
pub use draft_checks::{DraftCheckRequest, DraftCheckRun, checked_drafts, prepare_draft_checks};
pub use drafts::SetDrafts;
pub use export::{export, redacted, redacted_text};
pub use past::{
    app_dirs, case_trends, case_trends_up_to, history_of, load_past_run, past_results, past_run,
    remove_old, result_folders, trends_of_run, unreadable_text,
};
pub use plan::{PlanError, PreparedRun, RunIdentity, prepare};
pub use record_tools::{ToolRecording, add_missing_answers, record_tools};
pub use removed::removed_cases;
pub use request::Request;
pub use resumed_request::resumed_request;
pub use start::{Run, RunHandle, start};
pub use trust::{
    DotenvKeyQuestion, TrustAction, TrustQuestion, agent_questions, allowed_destinations,
    judge_questions, missing_keys, offered_keys, trust_questions, writer_questions,
};
pub use written_drafts::{
    DraftPlan, DraftPlanRequest, WritingOptions, WrittenDrafts, plan_drafts, write_planned_drafts,
};
