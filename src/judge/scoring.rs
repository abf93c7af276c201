//! Sends the questions of a metric, as many at once as the judge allows, and scores the replies.

use super::error::{Fault, JudgeError};
use super::judges::Judges;
use super::sample::{SampleRequest, SampleResponse};
use crate::domain::{Asked, MetricResult, QuestionId, Sample, Spent, Status};
use crate::metrics::{Evidence, JudgedMetric, Question, unscored};
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
type Answer = (QuestionId, u32, Result<SampleResponse, JudgeError>);

impl Judges {
    /// Scores a case by a judged metric. Any failure becomes the metric's own error.
    pub async fn score(
        &self,
        metric: &JudgedMetric,
        eval_id: &str,
        evidence: &Evidence<'_>,
        watch: &mut impl JudgingObserver,
    ) -> MetricResult {
        let turns = evidence.actual.len();
        // A metric without a threshold must not keep a case from passing.
        let status = match metric.criterion().threshold {
            Some(_) => Status::NotEvaluated,
            None => Status::Informational,
        };
        let none = |why: &str| unscored(metric.criterion(), turns, status, why);
        let model = self.who(metric);
        let mut answered: Vec<Asked> = Vec::new();
        let mut spent = Spent::default();
        loop {
            let questions = match metric.questions(evidence, &answered) {
                Ok(questions) if questions.is_empty() => break,
                Ok(questions) => questions,
                Err(why) => return none(&why),
            };
            match self.ask_all(metric, eval_id, &model, &questions, watch).await {
                Ok((new, took)) => {
                    answered.extend(new);
                    spent = spent.and(took);
                }
                Err(error) => return none(&error.message),
            }
        }
        metric.result(evidence, answered, &model, spent)
    }

    /// Requests all samples of these questions. The error is one that applies to all of them: no question can be
    /// sent.
    async fn ask_all(
        &self,
        metric: &JudgedMetric,
        eval_id: &str,
        model: &str,
        questions: &[Question],
        watch: &mut impl JudgingObserver,
    ) -> Result<(Vec<Asked>, Spent), JudgeError> {
        let options = metric.options();
        let name = metric.criterion().metric.as_str();
        let mut each: Vec<BoxFuture<Answer>> = Vec::new();
        for question in questions {
            for sample in 1..=question.samples {
                let Question { id, about, ref prompt, shape, .. } = *question;
                let asking = SampleRequest { eval_id, metric: name, id, about, sample, prompt, shape };
                let answer = async move { (id, sample, self.ask(model, &options.config, asking).await) };
                each.push(answer.boxed());
            }
        }
        let of = each.len();
        let at_once = options.parallelism.map_or(of, |limit| limit as usize).max(1);
        let mut answers = stream::iter(each).buffer_unordered(at_once);
        let mut asked: Vec<Asked> = questions
            .iter()
            .map(|question| Asked {
                id: question.id,
                about: question.about.to_string(),
                samples: vec![Sample::default(); question.samples as usize],
            })
            .collect();
        let mut spent = Spent::default();
        let mut answered = 0;
        while let Some((id, number, answer)) = answers.next().await {
            answered += 1;
            let Some(at) = questions.iter().position(|question| question.id == id) else { continue };
            watch
                .judging(Judging {
                    metric: name.to_string(),
                    about: questions[at].about,
                    turn: id.turn + 1,
                    answered,
                    of,
                })
                .await;
            let sample = match answer {
                Ok(answer) => {
                    spent = spent.and(answer.spent);
                    Sample { reply: Some(answer.text), cached: answer.cached, ..Sample::default() }
                }
                // No question can be sent with this configuration, which is not a failure of the judge.
                Err(error) if matches!(error.fault, Fault::Setup | Fault::Limit) => return Err(error),
                // To ADK, a response that was cut off, blocked or empty is an unclear sample and not a failure.
                Err(error) if error.fault == Fault::NoAnswer && metric.reads_as_adk() => {
                    Sample { reason: error.message, ..Sample::default() }
                }
                Err(error) => Sample { error: Some(error.message), ..Sample::default() },
            };
            asked[at].samples[number as usize - 1] = sample;
        }
        Ok((asked, spent))
    }
}
