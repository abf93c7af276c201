//! Asks what a metric wants to know, as much at once as the judge takes, and scores the answers.

use super::error::{Fault, JudgeError};
use super::judges::{Answered, Asking, Judges};
use crate::domain::{Asked, MetricResult, QuestionId, Sample, Spent, Status};
use crate::metrics::{Evidence, JudgedMetric, Question, unscored};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};

/// How far a metric's judging is.
#[derive(Clone, Debug, PartialEq)]
pub struct Judging {
    /// The metric, label included.
    pub metric: String,
    /// What was asked for last.
    pub about: &'static str,
    /// The turn, from 1.
    pub turn: usize,
    /// Answers so far.
    pub answered: usize,
    /// Of how many that are known to be needed.
    pub of: usize,
}

/// Who is told how far it is.
pub trait JudgingObserver: Send {
    /// An answer came.
    fn judging(&mut self, judging: Judging) -> impl Future<Output = ()> + Send;
}

/// Nobody.
impl JudgingObserver for () {
    async fn judging(&mut self, _: Judging) {}
}

/// One sample of one question.
type Answer = (QuestionId, u32, Result<Answered, JudgeError>);

impl Judges {
    /// Scores a case by a judged metric. Whatever goes wrong is the metric's own error.
    pub async fn score(
        &self,
        metric: &JudgedMetric,
        eval_id: &str,
        evidence: &Evidence<'_>,
        watch: &mut impl JudgingObserver,
    ) -> MetricResult {
        let turns = evidence.actual.len();
        // What decides nothing keeps nothing from being green.
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

    /// All samples of these questions. The error is one that holds for all: nothing could be asked.
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
                let asking = Asking { eval_id, metric: name, id, about, sample, prompt, shape };
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
                // Nothing can be asked as things are: that is no failure of the judge.
                Err(error) if matches!(error.fault, Fault::Setup | Fault::Limit) => return Err(error),
                // An answer that was cut, blocked or empty is an unclear sample to ADK, and no failure.
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
