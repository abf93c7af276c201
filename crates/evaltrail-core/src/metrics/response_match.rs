//! `response_match_score` (ADK `final_response_match_v1.py`): ROUGE-1 F over ADK's tokens.

use super::measure::{
    Evidence, Measure, NO_REFERENCE, Outcome, TurnScore, by_every_turn, with_threshold,
};
use super::rouge::Overlap;
use super::tokenize::adk_tokens;
use super::words::{Interner, WordNumbers, lowered, shared};
use crate::domain::Invocation;
use std::borrow::Cow;

/// ROUGE-1 with ADK's tokeniser and stemming.
pub fn rouge1(reference: &str, candidate: &str) -> Overlap {
    let (shared, reference, candidate) = counts(reference, candidate);
    Overlap::new(shared, reference, candidate)
}

/// How many words two texts share, and how many each has.
fn counts(reference: &str, candidate: &str) -> (usize, usize, usize) {
    let room = (reference.len() + candidate.len()) / 6;
    if reference.is_ascii() && candidate.is_ascii() {
        let (reference, candidate) = (lowered(reference), lowered(candidate));
        let mut numbers = WordNumbers::new(true, room);
        let (r, c) = (numbers.of_text(&reference), numbers.of_text(&candidate));
        return (shared(&r, &c, numbers.kinds()), r.len(), c.len());
    }
    let mut interner = Interner::with_room(room);
    let r = interner.all(adk_tokens(reference).into_iter().map(Cow::Owned));
    let c = interner.all(adk_tokens(candidate).into_iter().map(Cow::Owned));
    (shared(&r, &c, interner.kinds()), r.len(), c.len())
}

/// The metric; it has no options of its own.
pub(super) struct ResponseMatch;

impl Measure for ResponseMatch {
    fn measure(&self, evidence: &Evidence, threshold: Option<f64>) -> Outcome {
        let outcome = by_every_turn(evidence, turn);
        let explanation = explain(
            &outcome.per_invocation,
            outcome.score,
            threshold,
            outcome.explanation,
        );
        Outcome {
            explanation,
            ..outcome
        }
    }
}

fn turn(expected: &Invocation, actual: &Invocation) -> TurnScore {
    if expected.lacks_reference() {
        return TurnScore::unscored(NO_REFERENCE);
    }
    let (shared, reference, candidate) = counts(&expected.response_text(), &actual.response_text());
    let overlap = Overlap::new(shared, reference, candidate);
    let why = match (reference, candidate) {
        (0, 0) => "both responses are empty, which scores 0".into(),
        (0, _) => "the reference response is empty, which scores 0".into(),
        (_, 0) => "the agent's response is empty".into(),
        (r, c) => {
            let words = if r == 1 { "word" } else { "words" };
            let others = match c - shared {
                0 => "no others".into(),
                count => format!("{count} more"),
            };
            format!("{shared} of {r} expected {words}, {others}")
        }
    };
    let thoughts = actual.final_response.as_ref().is_some_and(|content| {
        content
            .parts
            .iter()
            .any(|part| part.thought && part.has_text())
    });
    let note = if thoughts {
        "; the thoughts in the response count too"
    } else {
        ""
    };
    TurnScore::of_response(overlap.fmeasure, format!("{why}{note}"))
}

fn explain(
    turns: &[TurnScore],
    score: Option<f64>,
    threshold: Option<f64>,
    otherwise: String,
) -> String {
    let Some(score) = score else { return otherwise };
    let mean = with_threshold(score, threshold);
    if let [turn] = turns {
        return format!("{} ({mean})", turn.describe());
    }
    let score_of = |at: usize| turns[at].score.unwrap_or(0.0);
    let worst = (0..turns.len()).min_by(|&a, &b| score_of(a).total_cmp(&score_of(b)));
    let worst = worst.map(|at| {
        format!(
            "lowest in turn {}: {} ({:.2}); ",
            at + 1,
            turns[at].describe(),
            score_of(at)
        )
    });
    format!(
        "{}mean of {} turns {mean}",
        worst.unwrap_or_default(),
        turns.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Content;

    /// (candidate, reference, F), computed by ADK 2.13.
    const KNOWN: &[(&str, &str, f64)] = &[
        (
            "Device 2 is now off.",
            "I have set the device_2 status to off.",
            0.42857142857142855,
        ),
        ("I rolled a 17.", "I rolled a 19.", 0.75),
        ("running", "runs", 1.0),
        ("安徽省合肥市", "合肥市", 0.6666666666666666),
        ("the the the", "the", 0.5),
        ("it’s", "it's", 1.0),
        ("", "", 0.0),
    ];

    /// ADK expects an empty response where a case has none; a row of a data set says nothing about it.
    #[test]
    fn only_rows_without_a_reference_have_no_score() {
        let said = Invocation {
            final_response: Some(Content::text("model", "hi")),
            ..Invocation::default()
        };
        let of_adk = Invocation::default();
        let row = Invocation {
            is_data: true,
            ..Invocation::default()
        };
        assert_eq!(turn(&of_adk, &said).score, Some(0.0));
        assert_eq!(
            (
                turn(&row, &said).score,
                turn(&row, &said).describe().as_str()
            ),
            (None, NO_REFERENCE)
        );
    }

    #[test]
    fn rouge_equals_reference_values() {
        for (candidate, reference, f) in KNOWN {
            assert!(
                (rouge1(reference, candidate).fmeasure - f).abs() < 1e-9,
                "{candidate} | {reference}"
            );
        }
    }
}
