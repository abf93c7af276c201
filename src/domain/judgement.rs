//! What a judge was asked about a case and what it answered, sample by sample. Nothing is thrown away:
//! a majority can be looked behind, and scored again without asking.

use super::RubricScore;
use serde::{Deserialize, Serialize};

/// All that was asked for one metric of one attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The model that answered, as it was asked for.
    pub model: String,
    /// The questions in order.
    pub questions: Vec<Asked>,
    /// What it took.
    #[serde(default)]
    pub spent: Spent,
    /// The scores that the samples have one by one, were each the only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alone: Vec<Option<f64>>,
    /// The lowest and highest score that it could have, had one sample answered as another one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reach: Option<(f64, f64)>,
    /// Whether one sample, answering as another one did, would leave something without a verdict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fragile: bool,
    /// Whether a lower score is better.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lower_is_better: bool,
    /// Of a choice between two responses, how much the judge prefers what stands second, whichever that is: from −1
    /// (always the first) to 1 (always the second). The mean over turns of the candidate's score where it stands
    /// second, less its score where it stands first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position_bias: Option<f64>,
    /// What a person should know before trusting it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Judgement {
    /// Lowest and highest score of a sample alone; nothing of fewer than two.
    pub fn spread(&self) -> Option<(f64, f64)> {
        let scores: Vec<f64> = self.alone.iter().flatten().copied().collect();
        let low = scores.iter().copied().reduce(f64::min)?;
        let high = scores.iter().copied().reduce(f64::max)?;
        (scores.len() > 1).then_some((low, high))
    }

    /// Whether one sample, answering as another one did, would turn the outcome or leave none. Of a choice between two
    /// responses, also whether one order of them alone would.
    pub fn is_unsteady(&self, threshold: Option<f64>) -> bool {
        let turns = |(low, high): (f64, f64), threshold: f64| match self.lower_is_better {
            true => low <= threshold && threshold < high,
            false => low < threshold && threshold <= high,
        };
        threshold
            .is_some_and(|threshold| self.fragile || self.reach.is_some_and(|reach| turns(reach, threshold)))
    }

    /// The share of samples that are outvoted, over all that was voted on: 0 when all agree, up to a half.
    pub fn disagreement(&self) -> f64 {
        let votes = match self.position_bias {
            // Both orders are one vote.
            Some(_) => self.votes_of_turns(),
            None => self.questions.iter().flat_map(Asked::votes).collect(),
        };
        let (outvoted, cast) = votes.into_iter().fold((0, 0), |(outvoted, cast), votes| {
            (outvoted + votes.yes.min(votes.no), cast + votes.yes + votes.no)
        });
        if cast == 0 { 0.0 } else { f64::from(outvoted) / f64::from(cast) }
    }

    fn votes_of_turns(&self) -> Vec<Votes> {
        let mut turns: Vec<usize> = self.questions.iter().map(|asked| asked.id.turn).collect();
        turns.dedup();
        let of = |turn: usize| {
            let samples =
                self.questions.iter().filter(|asked| asked.id.turn == turn).flat_map(|one| &one.samples);
            // The same is a vote for neither.
            Votes::of(samples.map(|sample| sample.score.filter(|score| *score != 0.5)))
        };
        turns.into_iter().map(of).collect()
    }
}

/// A question, with all answers to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Which question of the case.
    pub id: QuestionId,
    /// What was asked for, in a word or two: `verdict`, `rubrics`, `sentences`, `support`.
    pub about: String,
    /// The answers in order.
    pub samples: Vec<Sample>,
}

impl Asked {
    /// The votes: on each rubric, or on the one verdict.
    pub fn votes(&self) -> Vec<Votes> {
        let mut ids: Vec<&str> = Vec::new();
        for verdict in self.samples.iter().flat_map(|sample| &sample.verdicts) {
            if !ids.contains(&verdict.rubric_id.as_str()) {
                ids.push(&verdict.rubric_id);
            }
        }
        if ids.is_empty() {
            return vec![Votes::of(self.samples.iter().map(|sample| sample.score))];
        }
        ids.into_iter().map(|id| self.votes_on(id)).collect()
    }

    /// The votes on a rubric. A sample that does not mention it has no verdict on it.
    pub fn votes_on(&self, rubric_id: &str) -> Votes {
        Votes::of(self.samples.iter().map(|sample| {
            let verdict = sample.verdicts.iter().find(|verdict| verdict.rubric_id == rubric_id);
            verdict.and_then(|verdict| verdict.score)
        }))
    }
}

/// Which question of a case: the turn, the text of the turn, the step with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct QuestionId {
    /// The turn, from 0.
    pub turn: usize,
    /// Which of the turn's texts, from 0.
    pub text: usize,
    /// Which question on it, from 0.
    pub step: usize,
}

/// One answer of a judge.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The answer as it came; `None` when there was none.
    pub reply: Option<String>,
    /// Why there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What it comes to; `None` when no verdict can be read from it.
    pub score: Option<f64>,
    /// The judge's reason, or why no verdict can be read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Its verdicts on rubrics or sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<RubricScore>,
    /// Whether it was answered before and kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
}

/// How samples voted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Votes {
    /// For it.
    pub yes: u32,
    /// Against it.
    pub no: u32,
    /// Without a verdict.
    pub none: u32,
}

impl Votes {
    /// Counts scores: above 0 is for it, 0 is against it.
    pub fn of(scores: impl Iterator<Item = Option<f64>>) -> Votes {
        scores.fold(Votes::default(), |votes, score| match score {
            Some(score) if score > 0.0 => Votes { yes: votes.yes + 1, ..votes },
            Some(_) => Votes { no: votes.no + 1, ..votes },
            None => Votes { none: votes.none + 1, ..votes },
        })
    }

    /// Whether samples say both.
    pub fn is_split(self) -> bool {
        self.yes > 0 && self.no > 0
    }

    /// `4–1`, or `4–1, 2 unclear`.
    pub fn words(self) -> String {
        let unclear = if self.none > 0 { format!(", {} unclear", self.none) } else { String::new() };
        format!("{}–{}{unclear}", self.yes, self.no)
    }
}

/// What asking took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// Answers that were asked for now.
    pub asked: u32,
    /// Answers that were known from before.
    pub cached: u32,
    /// Requests made again.
    pub retries: u32,
    /// Tokens in.
    pub input_tokens: u64,
    /// Tokens out, thoughts included.
    pub output_tokens: u64,
    /// In the currency of the configured prices; `None` where none are configured.
    pub cost: Option<f64>,
}

impl Spent {
    /// Both together.
    pub fn and(self, other: Spent) -> Spent {
        Spent {
            asked: self.asked + other.asked,
            cached: self.cached + other.cached,
            retries: self.retries + other.retries,
            input_tokens: self.input_tokens + other.input_tokens,
            output_tokens: self.output_tokens + other.output_tokens,
            cost: match (self.cost, other.cost) {
                (None, None) => None,
                (one, other) => Some(one.unwrap_or(0.0) + other.unwrap_or(0.0)),
            },
        }
    }

    /// Tokens, answers and cost in a few words.
    pub fn words(self) -> String {
        let mut words = format!("{} answers", self.asked + self.cached);
        if self.cached > 0 {
            words += &format!(" ({} kept from before)", self.cached);
        }
        if self.input_tokens + self.output_tokens > 0 {
            words += &format!(" · {} tokens in, {} out", self.input_tokens, self.output_tokens);
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
    fn a_score_that_one_sample_would_turn_is_unsteady() {
        let of = |reach| Judgement { reach, ..Judgement::default() };
        assert!(of(Some((0.5, 1.0))).is_unsteady(Some(0.7)));
        assert!(!of(Some((0.8, 1.0))).is_unsteady(Some(0.7)));
        assert!(!of(Some((0.0, 1.0))).is_unsteady(None) && !of(None).is_unsteady(Some(0.5)));
        let alone = |alone: &[Option<f64>]| Judgement { alone: alone.to_vec(), ..Judgement::default() };
        assert_eq!(alone(&[Some(1.0), None, Some(0.5)]).spread(), Some((0.5, 1.0)));
        assert_eq!(alone(&[Some(1.0), None]).spread(), None);
    }

    #[test]
    fn votes_are_counted_rubric_by_rubric() {
        let verdict = |id: &str, score| RubricScore { rubric_id: id.into(), score, ..RubricScore::default() };
        let sample = |verdicts| Sample { verdicts, ..Sample::default() };
        let asked = Asked {
            samples: vec![
                sample(vec![verdict("a", Some(1.0)), verdict("b", Some(0.0))]),
                sample(vec![verdict("a", Some(0.0)), verdict("b", Some(0.0))]),
                sample(vec![verdict("b", None)]),
            ],
            ..Asked::default()
        };
        assert_eq!(asked.votes_on("a"), Votes { yes: 1, no: 1, none: 1 });
        assert_eq!(asked.votes_on("b").words(), "0–2, 1 unclear");
        let judgement = Judgement { questions: vec![asked], ..Judgement::default() };
        assert_eq!(judgement.disagreement(), 0.25);
    }
}
