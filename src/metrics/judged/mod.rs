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
//! carefully ([`Reading`]).

mod answer_shape;
mod case;
mod evidence_text;
mod explain;
mod findings;
mod hallucination_reply;
mod hallucinations;
mod json_verdict;
mod options;
mod planted;
mod prompt;
mod quotations;
mod response_reply;
mod reply_objects;
mod response_verdict;
mod rubric_careful;
mod rubric_reply;
mod rubrics;
mod seal;
mod service;
mod template;
mod user_quality;

pub use answer_shape::AnswerShape;
pub use case::JudgedCase;
pub use options::{JudgeOptions, adk_knows_model};
pub use prompt::fill;
use prompt::fill_sealed;
pub use rubrics::criterion_rubrics;
pub use seal::CodeKey;
pub use service::PUBLISHED_PROMPT;

/// How single replies are read, for comparisons with ADK.
pub mod replies {
    pub use super::hallucination_reply::{Labelled, labelled, sentences};
    pub use super::rubric_reply::{Block, adk_blocks};
}

use seal::Seal;

use super::catalog::Build;
use super::measure::Evidence;
use super::unusable::Unusable;
use super::{Direction, info};
use crate::domain::{
    Asked, Criterion, CustomMetric, JudgeTemplate, QuestionId, Reading, Rubric, RubricScore, Sample, Score,
};

/// A question for a judge.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Identifies the question in the case.
    pub id: QuestionId,
    /// What the question is about, in a word or two.
    pub about: &'static str,
    /// The whole prompt.
    pub prompt: String,
    /// What decides the reply, if that is not the whole prompt: the prompt without ids that change with every run.
    pub identity: Option<String>,
    /// The number of samples.
    pub samples: u32,
    /// The form of the reply, where a schema may be sent.
    pub shape: Option<AnswerShape>,
}

/// A built-in template, for each turn or for the whole conversation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::metrics) struct BuiltIn {
    pub(in crate::metrics) prompt: &'static str,
    pub(in crate::metrics) whole: bool,
}

pub(in crate::metrics) use hallucinations::Hallucinations;
pub(in crate::metrics) use response_verdict::ResponseVerdict;
pub(in crate::metrics) use rubrics::{Quality, Rubrics};
pub(in crate::metrics) use service::Served;
pub(in crate::metrics) use template::Template;
pub(in crate::metrics) use user_quality::UserQuality;

/// A judged metric with its options read.
pub(in crate::metrics) trait Judge: Send + Sync {
    /// The questions that can be sent now; empty when all are answered. The error says why the case cannot be judged.
    fn questions(
        &self,
        evidence: &Evidence,
        answered: &[Asked],
        seal: &Seal,
    ) -> Result<Vec<Question>, String>;

    /// Why a case with these rubrics cannot be judged.
    fn rubric_problem(&self, _case: &[Rubric], _turns: &[&[Rubric]]) -> Option<String> {
        None
    }

    /// Whether the prompts contain the instructions and tools of the agent.
    fn has_details(&self) -> bool {
        false
    }

    /// Reads the replies, and sets score, reason and verdicts of each sample.
    fn read(&self, evidence: &Evidence, answered: &mut [Asked], seal: &Seal);

    /// Whether the read replies to a question contain everything that it requests. `answered` also contains the
    /// questions before it.
    fn is_complete(&self, _evidence: &Evidence, answered: &[Asked], id: QuestionId) -> bool {
        let asked = answered.iter().find(|asked| asked.id == id);
        asked.is_some_and(|asked| asked.samples.iter().all(|sample| sample.score().is_some()))
    }

    /// For a choice between two responses, the answers with each order on its own; empty for other metrics.
    fn orders(&self, _answered: &[Asked]) -> Vec<Vec<Asked>> {
        Vec::new()
    }

    /// For a choice between two responses, how much the judge prefers the second position: from −1 (always the first)
    /// to 1 (always the second). `None` for other metrics.
    fn position_bias(&self, _answered: &[Asked]) -> Option<f64> {
        None
    }

    /// Scores the case from samples whose replies were read.
    fn tally(&self, evidence: &Evidence, answered: &[Asked]) -> Verdict;
}

/// The result of the replies, before it is compared with the threshold.
#[derive(Default)]
pub(in crate::metrics) struct Verdict {
    score: Option<f64>,
    turns: Vec<TurnVerdict>,
    rubrics: Vec<RubricScore>,
    /// Which requested verdict is missing, as a sentence. A pass would hide it.
    gap: Option<String>,
}

/// The result of the replies for one turn.
#[derive(Clone, Default)]
pub(in crate::metrics) struct TurnVerdict {
    score: Option<f64>,
    why: String,
    rubrics: Vec<RubricScore>,
}

/// A criterion that a judge decides, with its options read.
pub struct JudgedMetric {
    criterion: Criterion,
    direction: Direction,
    options: JudgeOptions,
    reading: Reading,
    service: bool,
    judge: Box<dyn Judge>,
}

impl JudgedMetric {
    /// Reads a criterion; `None` when no judge decides it.
    pub fn of(
        criterion: &Criterion,
        reading: Reading,
        samples: Option<u32>,
    ) -> Result<Option<JudgedMetric>, Unusable> {
        let metric = match &criterion.custom {
            Some(CustomMetric::Judged(template)) => {
                super::registry::check_threshold(criterion)?;
                return Ok(Some(JudgedMetric::of_template(criterion, template, reading, samples)));
            }
            Some(_) => return Ok(None),
            None => info(criterion.name()),
        };
        let Some(metric) = metric else { return Ok(None) };
        if !matches!(metric.build, Build::Computed(_)) {
            super::registry::check_threshold(criterion)?;
        }
        let mut options = JudgeOptions::of(criterion)?;
        options.samples = options.samples.or(samples);
        let judge: Box<dyn Judge> = match metric.build {
            Build::Computed(_) => return Ok(None),
            Build::Judged(build) => build(criterion, &options, reading)?,
            Build::Served(served) => Box::new(served),
        };
        let service = matches!(metric.build, Build::Served(_));
        let criterion = criterion.clone();
        Ok(Some(JudgedMetric { criterion, direction: metric.direction, options, reading, service, judge }))
    }

    fn of_template(
        criterion: &Criterion,
        template: &JudgeTemplate,
        reading: Reading,
        samples: Option<u32>,
    ) -> JudgedMetric {
        let mut options = JudgeOptions { model: template.model.clone(), ..JudgeOptions::default() };
        options.samples = template.samples.or(samples);
        if let Some(system) = &template.system {
            options.config.insert("system_instruction".into(), system.clone().into());
        }
        let direction = if template.lower_is_better { Direction::Lower } else { Direction::Higher };
        let judge = Box::new(template::Template::of(template, &options, reading));
        JudgedMetric { criterion: criterion.clone(), direction, options, reading, service: false, judge }
    }

    /// The model and its settings.
    pub fn options(&self) -> &JudgeOptions {
        &self.options
    }

    /// The criterion.
    pub fn criterion(&self) -> &Criterion {
        &self.criterion
    }

    /// Whether a model's replies are read as ADK reads them.
    pub fn reads_as_adk(&self) -> bool {
        self.reading == Reading::Adk && !self.service
    }

    /// Whether Vertex AI's evaluation service is used instead of a model.
    pub fn asks_service(&self) -> bool {
        self.service
    }

    /// Why a case with these rubrics, its own and its turns', cannot be judged; `None` if it can, and for other
    /// metrics.
    pub fn rubric_problem(&self, case: &[Rubric], turns: &[&[Rubric]]) -> Option<String> {
        self.judge.rubric_problem(case, turns)
    }

    /// The metric, applied to a case. `key` is the secret from which the codes of its prompts are computed.
    pub fn of_case<'a>(&'a self, evidence: &Evidence<'a>, key: &CodeKey) -> JudgedCase<'a> {
        JudgedCase::of(self, evidence, key)
    }
}

/// The error of the first sample that failed.
fn broken(answered: &[Asked]) -> Option<&str> {
    answered.iter().flat_map(|asked| &asked.samples).find_map(|sample| sample.error.as_deref())
}

/// The sample that stands for the majority of the scored ones: the first of the winning side, or the first one
/// against on a tie. If none is scored, the first sample (ADK's rule).
fn majority<T>(samples: &[T], score: impl Fn(&T) -> Option<f64>) -> Option<&T> {
    let is = |wanted: bool| {
        let score = &score;
        move |sample: &&T| score(sample).is_some_and(|score| (score > 0.0) == wanted)
    };
    let (yes, no) = (samples.iter().filter(is(true)).count(), samples.iter().filter(is(false)).count());
    match (yes, no) {
        (0, 0) => samples.first(),
        _ if yes > no => samples.iter().find(is(true)),
        _ => samples.iter().find(is(false)),
    }
}

/// Whether a turn is part of the file's history, for which nothing is expected. ADK's files have no such turns.
fn is_history(evidence: &Evidence, turn: usize) -> bool {
    evidence.expected.and_then(|turns| turns.get(turn)).is_some_and(|turn| turn.history)
}

/// Whether every sample of a question has a reply. ADK drops a turn in which one has none.
fn all_answered(samples: &[Sample]) -> bool {
    samples.iter().all(|sample| sample.error.is_none())
}

fn is_answered(answered: &[Asked], id: QuestionId) -> bool {
    answered.iter().any(|asked| asked.id == id)
}

/// Sets score, reason and verdicts of each sample from its reply.
fn read_samples(asked: &mut Asked, read: impl Fn(&str) -> (Option<f64>, String, Vec<RubricScore>)) {
    for sample in &mut asked.samples {
        if let (Some(reply), None) = (&sample.reply, &sample.error) {
            let (score, reason, verdicts) = read(reply);
            (sample.score, sample.reason, sample.verdicts) = (score.and_then(Score::new), reason, verdicts);
        }
    }
}

/// Whether the agent's intermediate texts are part of its response.
fn with_intermediate(criterion: &Criterion) -> Result<bool, Unusable> {
    let (snake, camel) = ("include_intermediate_responses_in_final", "includeIntermediateResponsesInFinal");
    super::options::flag_option(criterion, snake, camel)
}
