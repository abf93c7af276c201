//! A request for one sample of a judge, and its response.

use super::error::JudgeError;
use evaltrail_core::domain::{JudgeUsage, QuestionId};
use evaltrail_core::metrics::AnswerShape;
use tokio_util::sync::CancellationToken;

/// A request for one sample.
#[derive(Clone, Copy, Debug)]
pub struct SampleRequest<'a> {
    /// The case.
    pub eval_id: &'a str,
    /// The metric, label included; `user` for a simulated user.
    pub metric: &'a str,
    /// Identifies the question in the case.
    pub id: QuestionId,
    /// What the question is about, in a word or two.
    pub about: &'a str,
    /// The sample, from 1.
    pub sample: u32,
    /// The prompt.
    pub prompt: &'a str,
    /// What decides the response instead of the prompt, if the prompt contains ids that change with every run.
    pub identity: Option<&'a str>,
    /// The form of the response, where a schema may be sent.
    pub shape: Option<AnswerShape>,
    /// The request does not begin after its cancellation.
    pub ends: &'a CancellationToken,
}

/// A response, or why there is none, and the cost.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleResponse {
    /// The text of the response, with keys masked.
    pub text: Result<String, JudgeError>,
    /// Whether it comes from the cache.
    pub cached: bool,
    /// Requests, tokens and cost.
    pub spent: JudgeUsage,
}

impl SampleResponse {
    /// No response, at no cost.
    pub(super) fn none(error: JudgeError) -> SampleResponse {
        SampleResponse {
            text: Err(error),
            cached: false,
            spent: JudgeUsage::default(),
        }
    }
}
