//! Plain data types that all other modules use. No I/O, no clock, no knowledge of file formats.
//!
//! ```text
//! EvalSet ─ EvalCase ─ Invocation ─ Content ─ Part ─ ToolCall | ToolResponse
//!                          │
//!                      Trajectory (unknown | listed calls | recorded events)
//!
//! RunPlan ──▶ RunEvent* ──fold──▶ RunState ─ EndedAttempt ─ Attempt ─ MetricResult ─ Status
//! ```

mod agent;
mod agent_secrets;
mod agent_server;
mod attempt;
mod attempt_summary;
mod calls;
mod capture;
mod cause;
mod clean;
mod command_secrets;
mod content;
mod counted;
mod criterion;
mod custom;
mod decision;
mod draft_check;
mod ended;
mod escaped;
mod eval_set;
mod finding;
mod finished;
mod gate;
mod header_secrets;
mod human;
mod ids;
mod intermediate;
mod invocation;
mod json_kind;
mod judge;
mod judgement;
mod matcher;
mod messages;
mod model_error;
mod notes;
mod number;
mod packed_cases;
mod packed_summaries;
mod planned_cases;
mod program;
mod protocol;
mod query;
mod repeats;
mod reported_setup;
mod rubric;
mod rubric_score;
mod run;
mod run_ref;
mod run_state;
mod score;
mod score_text;
mod score_value;
mod search_text;
mod secret_address;
mod secret_name;
mod secret_value;
mod secrets;
mod shard;
mod similar;
mod spelling;
pub mod stored_path;
mod template;
mod time;
mod tools;
mod transcript;
mod until;
mod user;
mod votes;
mod worked_time;

pub use agent::AgentSpec;
pub use agent_secrets::{agent_without_secrets, has_secret_mark};
pub use agent_server::AgentServer;
pub use attempt::{Attempt, AttemptKey};
pub use attempt_summary::{
    ALLOWED_TRAJECTORY, AttemptSummary, MetricSummary, is_allowed_trajectory,
};
pub use capture::{captured_case, turn_range};
pub use cause::Cause;
pub use clean::{
    clean, clean_exact, clean_json, clean_line, clean_output, is_hidden, without_log_commands,
};
pub use content::{Content, Part, TRANSFER_TOOL, ToolCall, ToolResponse};
pub use counted::counted;
pub use criterion::{Criterion, MatchType, criteria_by_metric};
pub use custom::{CallingConvention, CustomMetric, MetricProgram};
pub use decision::{Decision, DecisionKind, Decisions};
pub use draft_check::{DraftCheck, DraftVerdict};
pub use ended::{
    AttemptRecords, Derivation, EndedAttempt, InMemory, MAX_FULL_ATTEMPTS, RecordedAt,
    causes_of_worst_attempt, worst_attempt,
};
pub use eval_set::{Conversation, EvalCase, EvalSet, Saved, SessionInput};
pub use finding::{Finding, FindingRule};
pub use finished::{ATTEMPTS_IN_BLOCK, FinishedAttempts, packed_block};
pub use gate::{Gate, percent};
pub use human::HumanVerdict;
pub use ids::{eval_id_error, free_id, set_id_error, valid_free_id};
pub use intermediate::IntermediateResponse;
pub use invocation::{
    DetailsSource, Durations, Invocation, InvocationEvent, Trajectory, TurnEnd, Usage,
};
pub use json_kind::JsonKind;
pub use judge::{JudgeSpec, Provider, VerdictParsing};
pub use judgement::{JudgeUsage, JudgedQuestion, Judgement, QuestionId, Sample};
pub use matcher::{COMPARISONS, MatchRule, has_null};
pub use model_error::ModelError;
pub use notes::{CaseNotes, Quarantine, Variant, is_day};
pub use number::{
    finite_number, float_of, plain_json, plain_members, plausible_count, plausible_seconds,
    python_json, special_number, value_text,
};
pub use packed_cases::{CompressedCases, MAX_COMPRESSED_CASES};
pub use planned_cases::{PlannedCase, PlannedCases, TooLarge};
pub use program::ProgramSpec;
pub use protocol::{
    A2aBinding, A2aSettings, AgUiSettings, AgentEngineSettings, FormEncoding, HttpCalls,
    HttpResults, HttpSettings, HttpStream, LanggraphSettings, McpSettings, OpenaiApi,
    OpenaiSettings, Protocol, ServerSpec, with_variables,
};
pub use query::{Filterable, Query, QueryError, Subject};
pub use repeats::Repeats;
pub use reported_setup::ReportedSetup;
pub use rubric::{RESPONSE_RUBRICS, RUBRIC_KINDS, Rubric};
pub use rubric_score::RubricScore;
pub use run::{
    CancelReason, CaseKey, PlannedSet, Progress, RequestedOptions, RunEvent, RunOptions, RunPlan,
    UnavailableAgent,
};
pub use run_ref::{RunBy, RunRef};
pub use run_state::{CaseTally, GateCounts, InFlight, RunState, Totals};
pub use score::{
    InvocationScore, MetricDetails, MetricResult, SESSION_STATE_MATCH, Status, TokenUsage,
    adk_status, adk_view, case_status,
};
pub use score_text::{compared_texts, difference_text, score_text, seconds_text, statistic_text};
pub use score_value::{NotFinite, Score, mean};
pub use search_text::search_text;
pub use secret_address::{address_without_secrets, secrets_in_address};
pub use secret_name::{is_secret_name, may_be_secret_name};
pub use secret_value::is_ordinary as is_ordinary_value;
pub use secrets::{REDACTED, Secrets, SentSecrets};
pub use shard::{Shard, ShardBy};
pub use similar::{did_you_mean, most_similar};
pub use template::JudgeTemplate;
pub use time::{rfc3339, unix_seconds};
pub use tools::{
    McpSource, MissingAnswer, StubMode, ToolCounts, ToolFailure, ToolFault, ToolUse, ToolsSpec,
    TraceSource,
};
pub use transcript::Transcript;
pub use until::{
    RateVerdict, SequentialRateTest, UNTIL_LEVEL, VerdictCounts, least_attempts, rate_verdict,
    usual_attempts,
};
pub use user::UserSpec;
pub use votes::Votes;
pub use worked_time::WorkedTime;
