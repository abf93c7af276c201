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
mod evidence_text;
mod findings;
mod hallucination_reply;
mod hallucinations;
mod json_verdict;
mod options;
mod planted;
mod prompt;
mod quotations;
mod response_reply;
mod response_verdict;
mod rubric_careful;
mod rubric_reply;
mod rubrics;
mod seal;
mod service;
mod template;
mod user_quality;

pub use answer_shape::AnswerShape;
pub use options::{JudgeOptions, adk_knows_model};
pub use prompt::fill;
use prompt::fill_sealed;
pub use rubrics::{criterion_rubrics, is_rubric_kind};
pub use service::PUBLISHED_PROMPT;

/// How single replies are read, for comparisons with ADK.
pub mod replies {
    pub use super::hallucination_reply::{Labelled, labelled, sentences};
    pub use super::rubric_reply::{Block, adk_blocks};
}

use seal::Seal;

use super::catalog::Build;
use super::measure::{Evidence, turn_count_mismatch};
use super::registry;
use super::unusable::Unusable;
use super::{Direction, info};
use crate::domain::{
    Asked, Criterion, CustomMetric, Finding, InvocationScore, JudgeTemplate, Judgement, MetricResult,
    QuestionId, Reading, Rubric, RubricScore, Sample, Spent, Status,
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

    /// Reads the replies, and sets score, reason and verdicts of each sample.
    fn read(&self, evidence: &Evidence, answered: &mut [Asked], seal: &Seal);

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
                return Ok(Some(JudgedMetric::of_template(criterion, template, reading, samples)));
            }
            Some(_) => return Ok(None),
            None => info(criterion.name()),
        };
        let Some(metric) = metric else { return Ok(None) };
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

    /// The questions that can be sent now, given those that are answered; empty when all are. The error says why
    /// there can be no question about this case.
    pub fn questions(&self, evidence: &Evidence, answered: &[Asked]) -> Result<Vec<Question>, String> {
        let unlike =
            evidence.expected.and_then(|expected| turn_count_mismatch(expected.len(), evidence.actual.len()));
        if let Some(unlike) = unlike {
            return Err(unlike);
        }
        if evidence.actual.is_empty() {
            return Err("there are no turns to judge".into());
        }
        let mut questions = self.judge.questions(evidence, answered, &Seal::of(evidence))?;
        if self.reading == Reading::Adk {
            // ADK sends no model a schema.
            questions.iter_mut().for_each(|question| question.shape = None);
        }
        Ok(questions)
    }

    /// The result, from all replies.
    pub fn result(
        &self,
        evidence: &Evidence,
        mut answered: Vec<Asked>,
        model: &str,
        spent: Spent,
    ) -> MetricResult {
        answered.sort_by_key(|asked| asked.id);
        self.judge.read(evidence, &mut answered, &Seal::of(evidence));
        let verdict = self.judge.tally(evidence, &answered);
        let alone = self.alone(evidence, &answered);
        let Reach { scores: reach, fragile } = self.reach(evidence, &answered);
        let status = self.status(&verdict, &answered);
        let statuses: Vec<Status> = verdict
            .turns
            .iter()
            .map(|turn| registry::status_of(self.direction, turn.score, self.criterion.threshold))
            .collect();
        let per_invocation = verdict.turns.iter().zip(&statuses).map(|(turn, status)| InvocationScore {
            score: turn.score,
            status: *status,
            explanation: turn.why.clone(),
            details: None,
            rubrics: turn.rubrics.clone(),
        });
        let judgement = Judgement {
            model: model.to_string(),
            alone,
            reach,
            fragile,
            lower_is_better: self.direction == Direction::Lower,
            position_bias: self.judge.position_bias(&answered),
            spent,
            warnings: planted::warnings(evidence),
            questions: answered,
        };
        MetricResult {
            score: verdict.score,
            status,
            explanation: explain(&verdict, &judgement, status, self.criterion.threshold),
            findings: findings::of_verdict(&verdict, &judgement.questions, &statuses, status)
                .unwrap_or_else(|| vec![Finding::threshold_missed(verdict.score, self.criterion.threshold)]),
            per_invocation: per_invocation.collect(),
            rubrics: verdict.rubrics,
            judgement: Some(Box::new(judgement)),
            ..registry::unscored(&self.criterion, 0, status, "")
        }
    }

    /// ADK lets a case pass although a turn or a rubric has no verdict, or the judge failed. Here such a case does
    /// not pass, unless ADK's reading is configured.
    fn status(&self, verdict: &Verdict, answered: &[Asked]) -> Status {
        let careful = self.reading == Reading::Careful;
        match registry::status_of(self.direction, verdict.score, self.criterion.threshold) {
            _ if careful && broken(answered).is_some() => Status::Errored,
            Status::Passed if careful && verdict.gap.is_some() => Status::NotEvaluated,
            Status::NotEvaluated if self.criterion.threshold.is_none() => Status::Informational,
            status => status,
        }
    }

    /// The scores that are possible if one sample is replaced by another one of the same question. For a choice
    /// between two responses, also the scores of each order on its own.
    fn reach(&self, evidence: &Evidence, answered: &[Asked]) -> Reach {
        let orders = self.judge.orders(answered);
        let is_alone = answered.iter().all(|asked| asked.samples.len() < 2) && orders.is_empty();
        let own = self.judge.tally(evidence, answered);
        let Some(score) = own.score.filter(|_| broken(answered).is_none() && !is_alone) else {
            return Reach { scores: None, fragile: false };
        };
        let (mut low, mut high, mut fragile) = (score, score, false);
        let mut take = |verdict: Verdict| {
            match verdict.score {
                Some(score) => (low, high) = (low.min(score), high.max(score)),
                None => fragile = true,
            }
            fragile |= verdict.gap.is_some() && own.gap.is_none() && self.reading == Reading::Careful;
        };
        self.swapped(answered, |tried| take(self.judge.tally(evidence, tried)));
        orders.iter().for_each(|order| take(self.judge.tally(evidence, order)));
        Reach { scores: Some((low, high)), fragile }
    }

    /// Calls `look` with each variation of the answers in which one sample is replaced by a different one of its
    /// question.
    fn swapped(&self, answered: &[Asked], mut look: impl FnMut(&[Asked])) {
        let mut tried = answered.to_vec();
        for (at, asked) in answered.iter().enumerate() {
            let mut seen: Vec<(usize, usize)> = Vec::new();
            let kinds: Vec<usize> = asked
                .samples
                .iter()
                .map(|one| asked.samples.iter().position(|other| gist(one) == gist(other)).unwrap_or(0))
                .collect();
            for (one, &of) in kinds.iter().enumerate() {
                for &like in &kinds {
                    if of != like && !seen.contains(&(of, like)) {
                        seen.push((of, like));
                        tried[at].samples[one] = asked.samples[like].clone();
                        look(&tried);
                        tried[at].samples[one] = asked.samples[one].clone();
                    }
                }
            }
        }
    }

    /// For each sample, the score if it were the only one.
    fn alone(&self, evidence: &Evidence, answered: &[Asked]) -> Vec<Option<f64>> {
        let most = answered.iter().map(|asked| asked.samples.len()).max().unwrap_or(0);
        if most < 2 {
            return Vec::new();
        }
        let only = |at: usize| {
            let pick = |asked: &Asked| Asked {
                samples: asked.samples.get(at).cloned().into_iter().collect(),
                ..asked.clone()
            };
            let picked: Vec<Asked> = answered.iter().map(pick).collect();
            self.judge.tally(evidence, &picked).score
        };
        (0..most).map(only).collect()
    }
}

/// The scores that are possible if one sample is replaced.
struct Reach {
    /// The lowest and the highest score.
    scores: Option<(f64, f64)>,
    /// Whether a replacement could leave something without a verdict.
    fragile: bool,
}

/// The verdicts of a sample, without its texts.
fn gist(sample: &Sample) -> (Option<u64>, Vec<(&str, Option<u64>)>) {
    let bits = |score: Option<f64>| score.map(f64::to_bits);
    let verdicts = sample.verdicts.iter().map(|one| (one.rubric_id.as_str(), bits(one.score)));
    (bits(sample.score), verdicts.collect())
}

/// The error of the first sample that failed.
fn broken(answered: &[Asked]) -> Option<&str> {
    answered.iter().flat_map(|asked| &asked.samples).find_map(|sample| sample.error.as_deref())
}

fn explain(verdict: &Verdict, judgement: &Judgement, status: Status, threshold: Option<f64>) -> String {
    let mut words: Vec<String> = judgement.warnings.clone();
    if let Some(error) = broken(&judgement.questions) {
        words.push(format!("the judge failed: {error}"));
    }
    if let (Some(gap), Status::NotEvaluated) = (&verdict.gap, status) {
        words.push(gap.clone());
    }
    if let Some(bias) = judgement.position_bias.filter(|bias| bias.abs() >= 0.005) {
        let place = if bias > 0.0 { "second" } else { "first" };
        words.push(format!(
            "position bias {bias:+.2}: the judge prefers the {place} response, whichever it is"
        ));
    }
    if judgement.is_unsteady(threshold) {
        words.push(match judgement.reach {
            Some((low, high)) if low < high => {
                format!("unsteady: one vote changed could give {low:.2} to {high:.2}")
            }
            _ => "unsteady: one vote changed could leave no verdict".into(),
        });
    }
    let of_rubrics = verdict.rubrics.iter().map(|rubric| {
        let sign = match rubric.score {
            Some(score) if score >= 1.0 => "✓",
            Some(_) => "✗",
            None => "?",
        };
        let votes = rubric.votes.filter(|votes| votes.is_split() || votes.none > 0);
        let votes = votes.map(|votes| format!(" {}", votes.words())).unwrap_or_default();
        format!("{sign} {}{votes}", rubric.rubric_id)
    });
    match verdict.rubrics.is_empty() {
        false => words.push(of_rubrics.collect::<Vec<_>>().join("  ")),
        true => words.extend(lowest(&verdict.turns)),
    }
    words.join("; ")
}

/// The reason of the turn with the lowest score.
fn lowest(turns: &[TurnVerdict]) -> Option<String> {
    let rank = |turn: &TurnVerdict| turn.score.unwrap_or(f64::MAX);
    let told = turns.iter().enumerate().filter(|(_, turn)| !turn.why.is_empty());
    let (at, turn) = told.min_by(|(_, a), (_, b)| rank(a).total_cmp(&rank(b)))?;
    Some(if turns.len() > 1 { format!("turn {}: {}", at + 1, turn.why) } else { turn.why.clone() })
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
            (sample.score, sample.reason, sample.verdicts) = read(reply);
        }
    }
}

/// Whether the agent's intermediate texts are part of its response.
fn with_intermediate(criterion: &Criterion) -> Result<bool, Unusable> {
    let (snake, camel) = ("include_intermediate_responses_in_final", "includeIntermediateResponsesInFinal");
    super::options::flag_option(criterion, snake, camel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unsteady_judgement_says_what_one_vote_could_change() {
        let words = |reach, fragile| {
            let judgement = Judgement { reach, fragile, ..Judgement::default() };
            explain(&Verdict::default(), &judgement, Status::Passed, Some(0.5))
        };
        let could = words(Some((0.25, 0.75)), false);
        assert_eq!(could, "unsteady: one vote changed could give 0.25 to 0.75");
        let fragile = words(Some((1.0, 1.0)), true);
        assert_eq!(fragile, "unsteady: one vote changed could leave no verdict");
    }
}
