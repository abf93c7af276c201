//! Sends the questions of a metric, as many at once as the judge allows, and scores the replies.

use super::error::{JudgeError, JudgeErrorKind};
use super::judges::Judges;
use super::sample::{SampleRequest, SampleResponse};
use evaltrail_core::domain::{
    FindingRule, JudgeUsage, JudgedQuestion, MetricResult, QuestionId, Sample,
};
use evaltrail_core::metrics::{Evidence, JudgedCase, JudgedMetric, Question};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};

/// The progress of judging a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Judging {
    /// The metric, label included.
    pub metric: String,
    /// What the last question was about.
    pub about: &'static str,
    /// The turn, from 1.
    pub turn: usize,
    /// Responses so far.
    pub answered: usize,
    /// Responses that are known to be needed.
    pub of: usize,
    /// What the last response cost.
    pub spent: JudgeUsage,
}

/// Receives the progress of judging.
pub trait JudgingObserver: Send {
    /// Called after each response.
    fn judging(&mut self, judging: Judging) -> impl Future<Output = ()> + Send;
}

/// Ignores the progress.
impl JudgingObserver for () {
    async fn judging(&mut self, _: Judging) {}
}

/// One sample of one question.
type SampleAnswer = (QuestionId, u32, SampleResponse);

/// The case that is judged, and by whom.
struct CaseToJudge<'a> {
    judges: &'a Judges,
    metric: &'a JudgedMetric,
    eval_id: &'a str,
    model: String,
}

/// The replies to all questions so far.
#[derive(Default)]
struct Replies {
    answered: Vec<JudgedQuestion>,
    spent: JudgeUsage,
    /// Why some of the samples were not requested: no question can be sent. The other requests are completed.
    stopped: Option<JudgeError>,
}

impl Judges {
    /// Scores a case by a judged metric. Any failure becomes the metric's own error.
    pub async fn score(
        &self,
        metric: &JudgedMetric,
        eval_id: &str,
        evidence: &Evidence<'_>,
        watch: &mut impl JudgingObserver,
    ) -> MetricResult {
        let to_judge = CaseToJudge {
            judges: self,
            metric,
            eval_id,
            model: self.judge_name(metric),
        };
        let mut case = metric.of_case(evidence, &self.code_key);
        let mut replies = Replies::default();
        let (rule, why) = loop {
            match case.questions(&replies.answered) {
                Ok(questions) if questions.is_empty() => {
                    return case.result(replies.answered, &to_judge.model, replies.spent);
                }
                Ok(questions) => {
                    to_judge
                        .ask_all(&case, &questions, &mut replies, watch)
                        .await
                }
                Err(why) => break (FindingRule::NotEvaluated, why),
            }
            if let Some(JudgeError { fault, message, .. }) = replies.stopped.take() {
                let rule = match fault {
                    JudgeErrorKind::Limit => FindingRule::SpendingLimitReached,
                    _ => FindingRule::NotEvaluated,
                };
                break (rule, message);
            }
        };
        case.not_judged(replies.answered, &to_judge.model, replies.spent, rule, &why)
    }
}

impl CaseToJudge<'_> {
    /// Requests all samples of these questions.
    async fn ask_all(
        &self,
        case: &JudgedCase<'_>,
        questions: &[Question],
        replies: &mut Replies,
        watch: &mut impl JudgingObserver,
    ) {
        let mut asked: Vec<JudgedQuestion> = questions.iter().map(without_replies).collect();
        let before = &replies.answered;
        let each: Vec<BoxFuture<SampleAnswer>> = questions
            .iter()
            .flat_map(|question| {
                (1..=question.samples)
                    .map(move |sample| self.ask(case, before, question, sample).boxed())
            })
            .collect();
        let of = each.len();
        let mut answers = stream::iter(each).buffer_unordered(self.requests_at_once(of));
        let mut answered = 0;
        while let Some((id, number, response)) = answers.next().await {
            answered += 1;
            let Some(at) = questions.iter().position(|question| question.id == id) else {
                continue;
            };
            replies.spent = replies.spent.and(response.spent);
            watch
                .judging(Judging {
                    metric: self.metric.criterion().metric.clone(),
                    about: questions[at].about,
                    turn: id.turn + 1,
                    answered,
                    of,
                    spent: response.spent,
                })
                .await;
            asked[at].samples[number as usize - 1] = self.sample_of(response, &mut replies.stopped);
        }
        drop(answers);
        replies.answered.extend(asked);
    }

    /// The number of requests at the same time: all, unless the metric has a limit.
    fn requests_at_once(&self, all: usize) -> usize {
        let limit = self.metric.options().parallelism;
        limit.map_or(all, |limit| limit as usize).max(1)
    }

    /// The sample of a response. If no question can be sent, the reason is put into `stopped`.
    fn sample_of(&self, response: SampleResponse, stopped: &mut Option<JudgeError>) -> Sample {
        match response.text {
            Ok(text) => Sample {
                reply: Some(text),
                cached: response.cached,
                ..Sample::default()
            },
            // No question can be sent with this configuration, which is not a failure of the judge. Responses that are
            // under way are received, because they are paid for.
            Err(error) if matches!(error.fault, JudgeErrorKind::Setup | JudgeErrorKind::Limit) => {
                stopped.get_or_insert(error);
                Sample::default()
            }
            // To ADK, a response that was cut off, blocked or empty is an unclear sample and not a failure.
            Err(error) if error.fault == JudgeErrorKind::NoAnswer && self.metric.reads_as_adk() => {
                Sample {
                    reason: error.message,
                    ..Sample::default()
                }
            }
            Err(error) => Sample {
                error: Some(error.message),
                ..Sample::default()
            },
        }
    }

    /// Requests one sample of a question.
    async fn ask(
        &self,
        case: &JudgedCase<'_>,
        before: &[JudgedQuestion],
        question: &Question,
        sample: u32,
    ) -> SampleAnswer {
        let Question {
            id, about, shape, ..
        } = *question;
        let asking = SampleRequest {
            eval_id: self.eval_id,
            metric: &self.metric.criterion().metric,
            id,
            about,
            sample,
            prompt: &question.prompt,
            identity: question.identity.as_deref(),
            shape,
            ends: &self.judges.ends().judging,
        };
        let is_usable = |reply: &str| case.is_usable(before, id, reply);
        let config = &self.metric.options().config;
        (
            id,
            sample,
            self.judges
                .ask(&self.model, config, asking, &is_usable)
                .await,
        )
    }
}

/// A question without any reply.
fn without_replies(question: &Question) -> JudgedQuestion {
    JudgedQuestion {
        id: question.id,
        about: question.about.to_string(),
        samples: vec![Sample::default(); question.samples as usize],
    }
}
