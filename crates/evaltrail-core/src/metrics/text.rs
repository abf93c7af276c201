//! Vertex AI's metrics that compare the texts of the response and the reference.

use super::bleu::bleu;
use super::criterion_error::CriterionError;
use super::measure::{Evidence, Measure, NO_REFERENCE, Outcome, TurnScore, by_turn, flag};
use super::options::flag_option;
use super::rouge::{Overlap, rouge_l, rouge_l_sum, rouge_n};
use super::words::{WordNumbers, lowered};
use crate::domain::{Criterion, Invocation};
use unicode_segmentation::UnicodeSegmentation;

/// Scores two texts of a turn, when both are known.
fn by_text(evidence: &Evidence, score: impl Fn(&str, &str) -> (f64, String)) -> Outcome {
    by_turn(evidence, |expected, actual| {
        let Some(reference) = &expected.final_response else {
            return TurnScore::unscored(NO_REFERENCE);
        };
        if !is_response_known(actual) {
            return TurnScore::unscored("the file has no response");
        }
        let (score, measured) = score(&reference.scored_text(), &actual.response_text());
        TurnScore::of_response(score, measured)
    })
}

/// Whether the agent's response is known. After a run, a missing response is an empty one; in a file it is unknown.
fn is_response_known(actual: &Invocation) -> bool {
    actual.final_response.is_some() || actual.trajectory.events().is_some()
}

/// `exact_match`: whether the texts are equal, character by character.
pub(super) struct ExactMatch;

impl Measure for ExactMatch {
    fn measure(&self, evidence: &Evidence, _: Option<f64>) -> Outcome {
        by_text(evidence, |reference, response| {
            let same = reference == response;
            let why = match (same, reference.trim() == response.trim()) {
                (true, _) => "the response is the reference",
                (false, true) => "the response differs from the reference in blanks at its ends",
                (false, false) => "the response differs from the reference",
            };
            (flag(same), why.into())
        })
    }
}

/// `bleu`.
pub(super) struct BleuMetric {
    effective_order: bool,
}

impl BleuMetric {
    pub(super) fn new(criterion: &Criterion) -> Result<Self, CriterionError> {
        Ok(BleuMetric {
            effective_order: flag_option(criterion, "use_effective_order", "useEffectiveOrder")?,
        })
    }
}

impl Measure for BleuMetric {
    fn measure(&self, evidence: &Evidence, _: Option<f64>) -> Outcome {
        by_text(evidence, |reference, response| {
            let found = bleu(reference, response);
            let score = if self.effective_order {
                found.effective_order
            } else {
                found.score
            };
            let [one, two, three, four] = found.matches;
            (
                score,
                format!("runs of 1 to 4 words shared: {one}, {two}, {three}, {four}"),
            )
        })
    }
}

/// `rouge_1`, `rouge_2`, `rouge_l`, `rouge_l_sum`: the F measure.
pub(super) struct Rouge {
    kind: RougeKind,
    stem: bool,
    split_summaries: bool,
}

/// The variant of ROUGE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RougeKind {
    N(usize),
    L,
    LSum,
}

impl Rouge {
    pub(super) fn new(kind: RougeKind, criterion: &Criterion) -> Result<Self, CriterionError> {
        Ok(Rouge {
            kind,
            stem: flag_option(criterion, "use_stemmer", "useStemmer")?,
            split_summaries: flag_option(criterion, "split_summaries", "splitSummaries")?,
        })
    }
}

impl Measure for Rouge {
    fn measure(&self, evidence: &Evidence, _: Option<f64>) -> Outcome {
        by_text(evidence, |reference, response| {
            let found = rouge(
                self.kind,
                reference,
                response,
                self.stem,
                self.split_summaries,
            );
            (
                found.fmeasure,
                format!(
                    "precision {:.2}, recall {:.2}",
                    found.precision, found.recall
                ),
            )
        })
    }
}

/// ROUGE of two texts with rouge_score's own tokeniser.
pub(super) fn rouge(
    kind: RougeKind,
    reference: &str,
    candidate: &str,
    stem: bool,
    split: bool,
) -> Overlap {
    if kind == RougeKind::LSum {
        return rouge_of_lines(reference, candidate, stem, split);
    }
    let (reference, candidate) = (lowered(reference), lowered(candidate));
    let mut numbers = WordNumbers::new(stem, (reference.len() + candidate.len()) / 6);
    let (r, c) = (numbers.of_text(&reference), numbers.of_text(&candidate));
    match kind {
        RougeKind::N(n) => rouge_n(&r, &c, n, numbers.kinds()),
        _ => rouge_l(&r, &c),
    }
}

fn rouge_of_lines(reference: &str, candidate: &str, stem: bool, split: bool) -> Overlap {
    let lines = |text| sentences(text, split).map(lowered).collect::<Vec<String>>();
    let (reference, candidate) = (lines(reference), lines(candidate));
    let mut numbers = WordNumbers::new(stem, 0);
    let lines = reference.iter().chain(&candidate);
    let ids: Vec<Vec<u32>> = lines.map(|line| numbers.of_text(line)).collect();
    let (reference, candidate) = ids.split_at(reference.len());
    rouge_l_sum(reference, candidate, numbers.kinds())
}

/// The sentences of a text: its lines, or with `split` the sentences as defined by Unicode (UAX 29).
fn sentences(text: &str, split: bool) -> Box<dyn Iterator<Item = &str> + '_> {
    match split {
        true => Box::new(text.unicode_sentences()),
        false => Box::new(text.split('\n').filter(|line| !line.is_empty())),
    }
}

/// ROUGE-N of two texts, as `rouge_score` computes it.
pub fn rouge_n_of(n: usize, reference: &str, candidate: &str, stem: bool) -> Overlap {
    rouge(RougeKind::N(n), reference, candidate, stem, false)
}

/// ROUGE-L of two texts, as `rouge_score` computes it.
pub fn rouge_l_of(reference: &str, candidate: &str, stem: bool) -> Overlap {
    rouge(RougeKind::L, reference, candidate, stem, false)
}

/// ROUGE-Lsum of two texts, as `rouge_score` computes it; sentences are lines.
pub fn rouge_l_sum_of(reference: &str, candidate: &str, stem: bool) -> Overlap {
    rouge(RougeKind::LSum, reference, candidate, stem, false)
}
