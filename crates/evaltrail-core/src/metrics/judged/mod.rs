//! Metrics that a judge decides. These are pure, too: evidence gives questions, and replies give a score. The module
//! `judge` sends the questions to a model.
//!
//! ```text
//! evidence ──questions──▶ prompts ──(sent by `judge`)──▶ replies ──read──▶ samples ──vote──▶ score
//!                 ▲                                         │
//!                 └───────────── next step ◀────────────────┘   (hallucinations: two steps)
//! ```
//!
//! The prompts are evaltrail's own (`prompts/`), except for the names by which replies are read, which are ADK's:
//! `is_the_agent_response_valid`, `Property`, `Rationale`, `Verdict`, `<sentence>`, `label` and the excerpts,
//! `is_valid`. Votes, ties and the scores of cases from turns follow ADK; replies are read as ADK reads them, or more
//! carefully ([`crate::domain::VerdictParsing`]).

mod answer_shape;
mod case;
mod evidence_text;
mod explain;
mod findings;
mod hallucination_reply;
mod hallucinations;
mod json_verdict;
mod judge;
mod judged_metric;
mod options;
mod prompt;
mod prompt_injection;
mod quotations;
mod reply_objects;
mod response_reply;
mod response_verdict;
mod rubric_careful;
mod rubric_reply;
mod rubrics;
mod service;
mod template;
mod user_quality;
mod verdict_codes;

pub use answer_shape::AnswerShape;
pub use case::JudgedCase;
pub use judge::Question;
pub use judged_metric::JudgedMetric;
pub use options::{JudgeOptions, adk_knows_model};
pub use prompt::fill;
pub use rubrics::criterion_rubrics;
pub use service::PUBLISHED_PROMPT;
pub use verdict_codes::CodeKey;

/// How single replies are read, for comparisons with ADK.
pub mod replies {
    pub use super::hallucination_reply::{Labelled, labelled, sentences};
    pub use super::rubric_reply::{RubricBlock, adk_blocks};
}

pub(in crate::metrics) use hallucinations::Hallucinations;
pub(in crate::metrics) use judge::{BuiltIn, Judge};
pub(in crate::metrics) use response_verdict::ResponseVerdict;
pub(in crate::metrics) use rubrics::{RubricMetricKind, Rubrics};
pub(in crate::metrics) use service::VertexServiceMetric;
pub(in crate::metrics) use template::Template;
pub(in crate::metrics) use user_quality::UserQuality;
