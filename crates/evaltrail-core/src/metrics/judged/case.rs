//! A judged metric, applied to one case: its questions, and the result from the replies.

use super::explain::explain;
use super::judge::{Question, TurnVerdict, Verdict, broken};
use super::judged_metric::JudgedMetric;
use super::verdict_codes::{CodeKey, VerdictCodes};
use super::{evidence_text, findings, prompt_injection};
use crate::domain::{
    Finding, FindingRule, InvocationScore, JudgeUsage, JudgedQuestion, Judgement, MetricResult,
    NotFinite, QuestionId, Sample, Score, Status, VerdictParsing,
};
use crate::metrics::measure::{Evidence, turn_count_mismatch};
use crate::metrics::{Direction, results};

/// A case that a metric judges.
pub struct JudgedCase<'a> {
    metric: &'a JudgedMetric,
    evidence: Evidence<'a>,
    /// For prompts without codes, from which the codes are computed.
    plain: VerdictCodes,
    codes: VerdictCodes,
}

impl JudgedMetric {
    /// The metric, applied to a case. `key` is the secret from which the codes of its prompts are computed.
    pub fn of_case<'a>(&'a self, evidence: &Evidence<'a>, key: &CodeKey) -> JudgedCase<'a> {
        JudgedCase::new(self, evidence, key)
    }
}

impl<'a> JudgedCase<'a> {
    pub(super) fn new(
        metric: &'a JudgedMetric,
        evidence: &Evidence<'a>,
        key: &CodeKey,
    ) -> JudgedCase<'a> {
        let plain = VerdictCodes::without_codes(evidence);
        JudgedCase {
            metric,
            evidence: *evidence,
            codes: plain.with_codes(key),
            plain,
        }
    }

    /// The questions that can be sent now, given those that are answered; empty when all are. The error says why
    /// there can be no question about this case.
    pub fn questions(&mut self, answered: &[JudgedQuestion]) -> Result<Vec<Question>, String> {
        let (evidence, judge) = (&self.evidence, &self.metric.judge);
        let unlike = evidence
            .expected
            .and_then(|expected| turn_count_mismatch(expected.len(), evidence.actual.len()));
        if let Some(unlike) = unlike {
            return Err(unlike);
        }
        if evidence.actual.is_empty() {
            return Err("there are no turns to judge".into());
        }
        for question in judge.questions(evidence, answered, &self.plain)? {
            self.codes.add(question.id, &question.prompt);
        }
        let mut questions = judge.questions(evidence, answered, &self.codes)?;
        if self.metric.reading == VerdictParsing::Adk {
            // ADK sends no model a schema.
            questions
                .iter_mut()
                .for_each(|question| question.shape = None);
        }
        Ok(questions)
    }

    /// Whether a reply contains everything that its question requests. `answered` are the questions before it.
    pub fn is_usable(&self, answered: &[JudgedQuestion], id: QuestionId, reply: &str) -> bool {
        let is_of_text =
            |asked: &&JudgedQuestion| (asked.id.turn, asked.id.text) == (id.turn, id.text);
        let mut known: Vec<JudgedQuestion> = answered.iter().filter(is_of_text).cloned().collect();
        let sample = Sample {
            reply: Some(reply.to_string()),
            ..Sample::default()
        };
        known.push(JudgedQuestion {
            id,
            about: String::new(),
            samples: vec![sample],
        });
        self.metric
            .judge
            .read(&self.evidence, &mut known, &self.codes);
        self.metric.judge.is_complete(&self.evidence, &known, id)
    }

    /// The result, from all replies.
    pub fn result(
        mut self,
        mut answered: Vec<JudgedQuestion>,
        model: &str,
        spent: JudgeUsage,
    ) -> MetricResult {
        self.read(&mut answered);
        let verdict = self.metric.judge.tally(&self.evidence, &answered);
        let scores =
            Score::check(verdict.score).and_then(|score| Ok((score, scores_of(&verdict.turns)?)));
        match scores {
            Ok(scores) => {
                let judgement = self.detailed_judgement(answered, model, spent);
                self.scored(verdict, scores, judgement)
            }
            Err(why) => {
                let judgement = self.judgement(answered, model, spent);
                MetricResult {
                    judgement: Some(Box::new(judgement)),
                    ..results::without_finite_score(
                        &self.metric.criterion,
                        self.evidence.actual.len(),
                        &why.to_string(),
                    )
                }
            }
        }
    }

    /// The result with these scores: of the case, and of its turns.
    fn scored(
        &self,
        verdict: Verdict,
        (score, of_turns): (Option<Score>, Vec<Option<Score>>),
        judgement: Judgement,
    ) -> MetricResult {
        let (metric, threshold) = (self.metric, self.metric.criterion.threshold);
        let status = self.status(&verdict, &judgement.questions);
        let statuses: Vec<Status> = verdict
            .turns
            .iter()
            .map(|turn| results::status_of(metric.direction, turn.score, threshold))
            .collect();
        let per_invocation =
            verdict
                .turns
                .iter()
                .zip(of_turns)
                .zip(&statuses)
                .map(|((turn, score), status)| InvocationScore {
                    score,
                    status: *status,
                    explanation: turn.why.clone(),
                    details: None,
                    rubrics: turn.rubrics.clone(),
                });
        MetricResult {
            score,
            status,
            explanation: explain(&verdict, &judgement, status, threshold),
            findings: findings::of_verdict(&verdict, &judgement.questions, &statuses, status)
                .unwrap_or_else(|| vec![Finding::threshold_missed(verdict.score, threshold)]),
            per_invocation: per_invocation.collect(),
            rubrics: verdict.rubrics,
            judgement: Some(Box::new(judgement)),
            ..results::unscored(&metric.criterion, 0, status, "")
        }
    }

    /// What the judge replied, and how far the score depends on single samples.
    fn detailed_judgement(
        &self,
        answered: Vec<JudgedQuestion>,
        model: &str,
        spent: JudgeUsage,
    ) -> Judgement {
        let (judge, evidence) = (&self.metric.judge, &self.evidence);
        let alone = self.score_per_sample(&answered);
        let ScoreSensitivity {
            scores: reach,
            fragile,
        } = self.sensitivity(&answered);
        Judgement {
            alone,
            reach,
            fragile,
            position_bias: judge.position_bias(&answered).and_then(Score::new),
            warnings: prompt_injection::warnings(evidence),
            notes: match judge.has_details() {
                true => evidence_text::unknown_details(evidence.actual)
                    .into_iter()
                    .collect(),
                false => Vec::new(),
            },
            ..self.judgement(answered, model, spent)
        }
    }

    /// The result of a case that is not judged, because some of its requests were not sent. Contains the replies that
    /// were received.
    pub fn not_judged(
        mut self,
        mut answered: Vec<JudgedQuestion>,
        model: &str,
        spent: JudgeUsage,
        rule: FindingRule,
        why: &str,
    ) -> MetricResult {
        self.read(&mut answered);
        for asked in &mut answered {
            asked
                .samples
                .retain(|sample| sample.reply.is_some() || sample.error.is_some());
        }
        answered.retain(|asked| !asked.samples.is_empty());
        let judgement = self.judgement(answered, model, spent);
        MetricResult {
            judgement: (spent != JudgeUsage::default()).then(|| Box::new(judgement)),
            ..results::without_responses(
                &self.metric.criterion,
                self.evidence.actual.len(),
                rule,
                why,
            )
        }
    }

    fn judgement(
        &self,
        questions: Vec<JudgedQuestion>,
        model: &str,
        spent: JudgeUsage,
    ) -> Judgement {
        Judgement {
            model: model.to_string(),
            questions,
            spent,
            lower_is_better: self.metric.direction == Direction::Lower,
            ..Judgement::default()
        }
    }

    /// Reads the replies, in the order of the questions.
    fn read(&mut self, answered: &mut [JudgedQuestion]) {
        answered.sort_by_key(|asked| asked.id);
        self.add_prompts_of(answered);
        self.metric
            .judge
            .read(&self.evidence, answered, &self.codes);
    }

    /// Adds the prompts of answered questions that were not sent by this value.
    fn add_prompts_of(&mut self, answered: &[JudgedQuestion]) {
        let mut known: Vec<JudgedQuestion> = Vec::new();
        while !answered.iter().all(|asked| self.codes.has(asked.id)) {
            let Ok(open) = self
                .metric
                .judge
                .questions(&self.evidence, &known, &self.plain)
            else {
                return;
            };
            let before = known.len();
            for question in open {
                self.codes.add(question.id, &question.prompt);
                known.extend(
                    answered
                        .iter()
                        .filter(|asked| asked.id == question.id)
                        .cloned(),
                );
            }
            if known.len() == before {
                return;
            }
        }
    }

    /// ADK lets a case pass although a turn or a rubric has no verdict, or the judge failed. Here such a case does
    /// not pass, unless ADK's reading is configured.
    fn status(&self, verdict: &Verdict, answered: &[JudgedQuestion]) -> Status {
        let threshold = self.metric.criterion.threshold;
        let careful = self.metric.reading == VerdictParsing::Careful;
        match results::status_of(self.metric.direction, verdict.score, threshold) {
            _ if careful && broken(answered).is_some() => Status::Errored,
            Status::Passed if careful && verdict.gap.is_some() => Status::NotEvaluated,
            Status::NotEvaluated if threshold.is_none() => Status::Informational,
            status => status,
        }
    }

    /// The scores that are possible if one sample is replaced by another one of the same question. For a choice
    /// between two responses, also the scores of each order on its own.
    fn sensitivity(&self, answered: &[JudgedQuestion]) -> ScoreSensitivity {
        let (judge, evidence) = (&self.metric.judge, &self.evidence);
        let orders = judge.orders(answered);
        let is_alone = answered.iter().all(|asked| asked.samples.len() < 2) && orders.is_empty();
        let own = judge.tally(evidence, answered);
        let Some(score) = own
            .score
            .filter(|_| broken(answered).is_none() && !is_alone)
        else {
            return ScoreSensitivity {
                scores: None,
                fragile: false,
            };
        };
        let (mut low, mut high, mut fragile) = (score, score, false);
        let mut take = |verdict: Verdict| {
            match verdict.score {
                Some(score) => (low, high) = (low.min(score), high.max(score)),
                None => fragile = true,
            }
            fragile |= verdict.gap.is_some()
                && own.gap.is_none()
                && self.metric.reading == VerdictParsing::Careful;
        };
        swapped(answered, |tried| take(judge.tally(evidence, tried)));
        orders
            .iter()
            .for_each(|order| take(judge.tally(evidence, order)));
        ScoreSensitivity {
            scores: Score::new(low).zip(Score::new(high)),
            fragile,
        }
    }

    /// For each sample, the score if it were the only one.
    fn score_per_sample(&self, answered: &[JudgedQuestion]) -> Vec<Option<Score>> {
        let most = answered
            .iter()
            .map(|asked| asked.samples.len())
            .max()
            .unwrap_or(0);
        if most < 2 {
            return Vec::new();
        }
        let only = |at: usize| {
            let pick = |asked: &JudgedQuestion| JudgedQuestion {
                samples: asked.samples.get(at).cloned().into_iter().collect(),
                ..asked.clone()
            };
            let picked: Vec<JudgedQuestion> = answered.iter().map(pick).collect();
            self.metric
                .judge
                .tally(&self.evidence, &picked)
                .score
                .and_then(Score::new)
        };
        (0..most).map(only).collect()
    }
}

/// The scores of turns.
fn scores_of(turns: &[TurnVerdict]) -> Result<Vec<Option<Score>>, NotFinite> {
    turns.iter().map(|turn| Score::check(turn.score)).collect()
}

/// Calls `look` with each variation of the answers in which one sample is replaced by a different one of its
/// question.
fn swapped(answered: &[JudgedQuestion], mut look: impl FnMut(&[JudgedQuestion])) {
    let mut tried = answered.to_vec();
    for (at, asked) in answered.iter().enumerate() {
        let mut seen: Vec<(usize, usize)> = Vec::new();
        let kinds: Vec<usize> = asked
            .samples
            .iter()
            .map(|one| {
                asked
                    .samples
                    .iter()
                    .position(|other| gist(one) == gist(other))
                    .unwrap_or(0)
            })
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

/// The scores that are possible if one sample is replaced.
struct ScoreSensitivity {
    /// The lowest and the highest score.
    scores: Option<(Score, Score)>,
    /// Whether a replacement could leave something without a verdict.
    fragile: bool,
}

/// The verdicts of a sample, without its texts.
fn gist(sample: &Sample) -> (Option<u64>, Vec<(&str, Option<u64>)>) {
    let bits = |score: Option<f64>| score.map(f64::to_bits);
    let verdicts = sample
        .verdicts
        .iter()
        .map(|one| (one.rubric_id.as_str(), bits(one.score())));
    (bits(sample.score()), verdicts.collect())
}
