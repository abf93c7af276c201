//! The questions sent to a judge about a case and its responses, sample by sample. All samples are stored, so that
//! the votes behind a majority can be inspected, and a case can be scored again without new requests.

use super::{RubricScore, Score};
use crate::domain::Votes;
use serde::{Deserialize, Serialize};

/// All questions and responses for one metric of one attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The requested model.
    pub model: String,
    /// The questions in order.
    pub questions: Vec<JudgedQuestion>,
    /// Requests, tokens and cost.
    #[serde(default)]
    pub spent: JudgeUsage,
    /// For each sample, the score if it were the only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alone: Vec<Option<Score>>,
    /// The lowest and highest score that is possible if one sample is replaced by another one of the same question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reach: Option<(Score, Score)>,
    /// Whether replacing one sample by another one could leave something without a verdict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fragile: bool,
    /// Whether a lower score is better.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lower_is_better: bool,
    /// For a choice between two responses, how much the judge prefers the second position: from −1 (always the first)
    /// to 1 (always the second). The mean over turns of the candidate's score in second position minus its score in
    /// first position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position_bias: Option<Score>,
    /// Reasons to distrust the judgement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What the judge was not sent, because it is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Judgement {
    /// The lowest and highest score of single samples; `None` with fewer than two.
    pub fn spread(&self) -> Option<(f64, f64)> {
        let scores: Vec<f64> = self
            .alone
            .iter()
            .flatten()
            .map(|score| score.get())
            .collect();
        let low = scores.iter().copied().reduce(f64::min)?;
        let high = scores.iter().copied().reduce(f64::max)?;
        (scores.len() > 1).then_some((low, high))
    }

    /// Whether replacing one sample by another one could change the outcome or leave none. For a choice between two
    /// responses, also whether using only one of the two orders could.
    pub fn is_unsteady(&self, threshold: Option<f64>) -> bool {
        let turns = |(low, high): (Score, Score), threshold: f64| match self.lower_is_better {
            true => low.get() <= threshold && threshold < high.get(),
            false => low.get() < threshold && threshold <= high.get(),
        };
        threshold.is_some_and(|threshold| {
            self.fragile || self.reach.is_some_and(|reach| turns(reach, threshold))
        })
    }

    /// The share of outvoted samples over all votes: from 0, if all agree, to 0.5.
    pub fn disagreement(&self) -> f64 {
        let votes = match self.position_bias {
            // The samples of both orders count as votes on the same question.
            Some(_) => self.votes_of_turns(),
            None => self
                .questions
                .iter()
                .flat_map(JudgedQuestion::votes)
                .collect(),
        };
        let (outvoted, cast) = votes.into_iter().fold((0, 0), |(outvoted, cast), votes| {
            (
                outvoted + votes.yes.min(votes.no),
                cast + votes.yes + votes.no,
            )
        });
        if cast == 0 {
            0.0
        } else {
            f64::from(outvoted) / f64::from(cast)
        }
    }

    fn votes_of_turns(&self) -> Vec<Votes> {
        let mut turns: Vec<usize> = self.questions.iter().map(|asked| asked.id.turn).collect();
        turns.dedup();
        let of = |turn: usize| {
            let samples = self
                .questions
                .iter()
                .filter(|asked| asked.id.turn == turn)
                .flat_map(|one| &one.samples);
            // A tie is a vote for neither.
            Votes::count(samples.map(|sample| sample.score().filter(|score| *score != 0.5)))
        };
        turns.into_iter().map(of).collect()
    }
}

/// A question with all responses to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JudgedQuestion {
    /// Identifies the question in the case.
    pub id: QuestionId,
    /// What the question is about, in a word or two: `verdict`, `rubrics`, `sentences`, `support`.
    pub about: String,
    /// The responses in order.
    pub samples: Vec<Sample>,
}

impl JudgedQuestion {
    /// The votes on each rubric, or on the single verdict.
    pub fn votes(&self) -> Vec<Votes> {
        let mut ids: Vec<&str> = Vec::new();
        for verdict in self.samples.iter().flat_map(|sample| &sample.verdicts) {
            if !ids.contains(&verdict.rubric_id.as_str()) {
                ids.push(&verdict.rubric_id);
            }
        }
        if ids.is_empty() {
            return vec![Votes::count(self.samples.iter().map(Sample::score))];
        }
        ids.into_iter().map(|id| self.votes_on(id)).collect()
    }

    /// The votes on a rubric. A sample that does not mention the rubric counts as having no verdict.
    pub fn votes_on(&self, rubric_id: &str) -> Votes {
        Votes::count(self.samples.iter().map(|sample| {
            let verdict = sample
                .verdicts
                .iter()
                .find(|verdict| verdict.rubric_id == rubric_id);
            verdict.and_then(RubricScore::score)
        }))
    }
}

/// Identifies a question of a case: the turn, the text in the turn, the step for the text.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct QuestionId {
    /// The turn, from 0.
    pub turn: usize,
    /// The index of the text in the turn, from 0.
    pub text: usize,
    /// The index of the question about the text, from 0.
    pub step: usize,
}

/// One response of a judge.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The response as received; `None` when there was none.
    pub reply: Option<String>,
    /// Why there was no response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The score; `None` when no verdict can be read from the response.
    pub score: Option<Score>,
    /// The judge's reason, or why no verdict can be read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Its verdicts on rubrics or sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<RubricScore>,
    /// Whether the response comes from the cache.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
}

impl Sample {
    /// The score as a number.
    pub fn score(&self) -> Option<f64> {
        self.score.map(Score::get)
    }
}

/// Requests, tokens and cost of a judge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JudgeUsage {
    /// Responses that were requested.
    pub asked: u32,
    /// Responses that came from the cache.
    pub cached: u32,
    /// Responses that were not requested, because the spending limit was reached.
    #[serde(default)]
    pub missing: u32,
    /// Requests that were retried.
    pub retries: u32,
    /// Requests that were cancelled after they were sent. Their cost is estimated.
    #[serde(default)]
    pub cancelled: u32,
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens, thoughts included.
    pub output_tokens: u64,
    /// Cost in the currency of the configured prices; `None` if none are configured.
    pub cost: Option<f64>,
}

impl JudgeUsage {
    /// The sum of both.
    pub fn and(self, other: JudgeUsage) -> JudgeUsage {
        JudgeUsage {
            asked: self.asked.saturating_add(other.asked),
            cached: self.cached.saturating_add(other.cached),
            missing: self.missing.saturating_add(other.missing),
            retries: self.retries.saturating_add(other.retries),
            cancelled: self.cancelled.saturating_add(other.cancelled),
            // The numbers of tokens are what a server sent.
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cost: match (self.cost, other.cost) {
                (None, None) => None,
                (one, other) => Some(one.unwrap_or(0.0) + other.unwrap_or(0.0)),
            },
        }
    }

    /// What was spent after `before`, which is a part of it.
    pub fn since(self, before: JudgeUsage) -> JudgeUsage {
        JudgeUsage {
            asked: self.asked.saturating_sub(before.asked),
            cached: self.cached.saturating_sub(before.cached),
            missing: self.missing.saturating_sub(before.missing),
            retries: self.retries.saturating_sub(before.retries),
            cancelled: self.cancelled.saturating_sub(before.cancelled),
            input_tokens: self.input_tokens.saturating_sub(before.input_tokens),
            output_tokens: self.output_tokens.saturating_sub(before.output_tokens),
            cost: self
                .cost
                .map(|cost| (cost - before.cost.unwrap_or(0.0)).max(0.0)),
        }
    }

    /// The amounts times a factor, rounded.
    pub fn times(self, factor: f64) -> JudgeUsage {
        let of = |count: u32| (f64::from(count) * factor).round() as u32;
        let tokens = |count: u64| (count as f64 * factor).round() as u64;
        JudgeUsage {
            asked: of(self.asked),
            cached: of(self.cached),
            missing: of(self.missing),
            retries: of(self.retries),
            cancelled: of(self.cancelled),
            input_tokens: tokens(self.input_tokens),
            output_tokens: tokens(self.output_tokens),
            cost: self.cost.map(|cost| cost * factor),
        }
    }

    /// Responses, tokens and cost as short text.
    pub fn describe(self) -> String {
        let mut words = format!("{} answers", self.asked.saturating_add(self.cached));
        if self.cached > 0 {
            words += &format!(" ({} cached)", self.cached);
        }
        if self.missing > 0 {
            words += &format!(
                " · at least {} not requested, because the spending limit was reached",
                self.missing
            );
        }
        if self.cancelled > 0 {
            words += &format!(" · {} cancelled, their cost is estimated", self.cancelled);
        }
        if self.input_tokens > 0 || self.output_tokens > 0 {
            words += &format!(
                " · {} tokens in, {} out",
                self.input_tokens, self.output_tokens
            );
        }
        match self.cost {
            Some(cost) => words + &format!(" · cost {cost:.4}"),
            None => words,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn score_one_sample_could_flip_is_unsteady() {
        let score = |number: f64| Score::new(number).unwrap();
        let of = |reach: Option<(f64, f64)>| Judgement {
            reach: reach.map(|(low, high)| (score(low), score(high))),
            ..Judgement::default()
        };
        assert!(of(Some((0.5, 1.0))).is_unsteady(Some(0.7)));
        assert!(!of(Some((0.8, 1.0))).is_unsteady(Some(0.7)));
        assert!(!of(Some((0.0, 1.0))).is_unsteady(None) && !of(None).is_unsteady(Some(0.5)));
        let alone = |alone: &[Option<f64>]| Judgement {
            alone: alone.iter().map(|one| one.map(score)).collect(),
            ..Judgement::default()
        };
        assert_eq!(
            alone(&[Some(1.0), None, Some(0.5)]).spread(),
            Some((0.5, 1.0))
        );
        assert_eq!(alone(&[Some(1.0), None]).spread(), None);
    }

    #[test]
    fn votes_are_counted_rubric_by_rubric() {
        let verdict = |id: &str, score| RubricScore {
            rubric_id: id.into(),
            score,
            ..RubricScore::default()
        };
        let sample = |verdicts| Sample {
            verdicts,
            ..Sample::default()
        };
        let asked = JudgedQuestion {
            samples: vec![
                sample(vec![
                    verdict("a", Some(Score::ONE)),
                    verdict("b", Some(Score::ZERO)),
                ]),
                sample(vec![
                    verdict("a", Some(Score::ZERO)),
                    verdict("b", Some(Score::ZERO)),
                ]),
                sample(vec![verdict("b", None)]),
            ],
            ..JudgedQuestion::default()
        };
        assert_eq!(
            asked.votes_on("a"),
            Votes {
                yes: 1,
                no: 1,
                none: 1
            }
        );
        assert_eq!(asked.votes_on("b").describe(), "0–2, 1 unclear");
        let judgement = Judgement {
            questions: vec![asked],
            ..Judgement::default()
        };
        assert_eq!(judgement.disagreement(), 0.25);
    }
}
