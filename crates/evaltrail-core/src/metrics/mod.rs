//! (evidence, criterion) → score with an explanation. All scoring is pure.
//!
//! ```text
//! catalog (the table) ─┐
//! criterion ───────────┴▶ registry: ready ─▶ a Measure ─(evidence)─▶ Outcome ─▶ MetricResult
//!                                    │
//! all criteria ─────────▶ scorer: computed, judged, programs ─▶ variants ─▶ status of the attempt
//!                                    │
//!     ADK        trajectory, response_match, efficiency
//!     Vertex AI  vertex_trajectory, text (bleu, rouge), tool_call
//!     evaltrail  matched (matching and call_rules: rules, one-to-one pairs; replaced: turns without them), state
//!     declared   metrics that evaltrail.toml declares
//!     variants   several allowed trajectories
//!     judged     questions for a judge model, and results from its replies
//! ```

mod aggregate;
mod agreement;
mod argument_rule;
mod arguments;
mod bleu;
mod call_rules;
mod catalog;
mod completed;
mod criterion_error;
mod declared;
mod distribution;
mod edited;
mod efficiency;
mod intermediate;
mod judged;
mod matched;
mod matching;
mod measure;
mod options;
mod pattern;
mod porter;
mod registry;
mod relax;
mod replaced;
mod response_match;
mod results;
mod rouge;
mod rules;
mod scorer;
mod sentences;
mod state;
mod text;
mod tokenize;
mod tool_call;
mod trajectory;
mod variants;
mod vertex_trajectory;
mod what_if;
mod without_tool;
mod words;

pub use aggregate::{Aggregate, Aggregation, aggregates, aggregates_by_case};
pub use agreement::{Agreement, agreements};
pub use arguments::{argument_paths, is_about};
pub use bleu::{Bleu, bleu};
pub use catalog::{Direction, Family, MetricInfo, Need, OptionInfo, catalog};
pub use completed::{NotRecorded, completed_attempt, explained_attempt};
pub use criterion_error::CriterionError;
pub use distribution::{Distribution, INTERVALS};
pub use edited::reevaluated_attempt;
pub use judged::{
    AnswerShape, CodeKey, JudgeOptions, JudgedCase, JudgedMetric, PUBLISHED_PROMPT, Question,
    adk_knows_model, criterion_rubrics, fill, replies,
};
pub use matched::MatchMode;
pub use matching::wrong_rule;
pub use measure::Evidence;
pub use pattern::CallPattern;
pub use porter::stem;
pub use registry::{
    info, is_adk, needs_judge, unknown_metric, unknown_options, unreachable_threshold,
    unusable_threshold,
};
pub use relax::{common_relaxation, relaxation, relaxation_of_all};
pub use response_match::rouge1;
pub use results::{criterion_of, score, status_of, unscored, without_responses};
pub use rouge::Overlap;
pub use rules::{TRAJECTORY_MATCH, is_replaced_by, trajectory_options, with_rules};
pub use scorer::{Scorer, score_case, usable};
pub use state::is_declared;
pub use text::{rouge_l_of, rouge_l_sum_of, rouge_n_of};
pub use tokenize::{adk_tokens, rouge_tokens};
pub use trajectory::{TrajectoryOptions, trajectory_matches};
pub use variants::{candidates, decided_metric, has_criterion, with_variant};
pub use what_if::{Rescorer, WhatIf};
pub use without_tool::passes_without_tool;
