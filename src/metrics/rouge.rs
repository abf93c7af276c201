//! `response_match_score` (ADK `final_response_match_v1.py`): ROUGE-1 F over ADK's tokens.

use super::registry::Outcome;
use super::tokenize::adk_tokens;
use super::trajectory::{mean, unlike_turns};
use crate::domain::Invocation;
use std::collections::HashMap;

/// How much of two bags of words overlaps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overlap {
    /// Overlap by the candidate's length.
    pub precision: f64,
    /// Overlap by the reference's length.
    pub recall: f64,
    /// Their harmonic mean; 0 when either side is empty, also when both are.
    pub fmeasure: f64,
}

/// ROUGE-1 with ADK's tokeniser and stemming.
pub fn rouge1(reference: &str, candidate: &str) -> Overlap {
    overlap(&adk_tokens(reference), &adk_tokens(candidate)).0
}

fn overlap(reference: &[String], candidate: &[String]) -> (Overlap, usize) {
    let mut left: HashMap<&str, usize> = HashMap::with_capacity(reference.len());
    for token in reference {
        *left.entry(token).or_default() += 1;
    }
    let mut shared = 0usize;
    for token in candidate {
        if let Some(count) = left.get_mut(token.as_str()).filter(|count| **count > 0) {
            *count -= 1;
            shared += 1;
        }
    }
    let precision = shared as f64 / candidate.len().max(1) as f64;
    let recall = shared as f64 / reference.len().max(1) as f64;
    let fmeasure = match precision + recall {
        0.0 => 0.0,
        sum => 2.0 * precision * recall / sum,
    };
    (Overlap { precision, recall, fmeasure }, shared)
}

pub(super) fn measure(expected: &[Invocation], actual: &[Invocation], threshold: Option<f64>) -> Outcome {
    if let Some(outcome) = unlike_turns(expected.len(), actual.len()) {
        return outcome;
    }
    let per_invocation: Vec<(Option<f64>, String)> =
        expected.iter().zip(actual).map(|(e, a)| turn(e, a)).collect();
    let score = mean(per_invocation.iter().filter_map(|(score, _)| *score));
    let explanation = explain(&per_invocation, score, threshold);
    Outcome { score, explanation, per_invocation, details: Vec::new(), overall: None, informational: false }
}

fn turn(expected: &Invocation, actual: &Invocation) -> (Option<f64>, String) {
    let (reference, candidate) = (adk_tokens(&expected.response_text()), adk_tokens(&actual.response_text()));
    let (overlap, shared) = overlap(&reference, &candidate);
    let why = match (reference.len(), candidate.len()) {
        (0, 0) => "both responses are empty, which scores 0 and not 1".into(),
        (0, _) => "nothing is expected to be said, which scores 0".into(),
        (_, 0) => "the agent said nothing".into(),
        (r, c) => format!("{shared} words shared of {r} expected and {c} said"),
    };
    let thoughts = actual
        .final_response
        .as_ref()
        .is_some_and(|content| content.parts.iter().any(|part| part.thought && part.has_text()));
    let note = if thoughts { "; the thoughts in the response count too" } else { "" };
    (Some(overlap.fmeasure), format!("{why}{note}"))
}

fn explain(turns: &[(Option<f64>, String)], score: Option<f64>, threshold: Option<f64>) -> String {
    let Some(score) = score else { return "there are no turns to compare".into() };
    let needed = threshold.map(|t| format!(", {t} needed")).unwrap_or_default();
    if let [(_, why)] = turns {
        return format!("{why} ({score:.2}{needed})");
    }
    let worst = (0..turns.len())
        .min_by(|&a, &b| turns[a].0.partial_cmp(&turns[b].0).unwrap_or(std::cmp::Ordering::Equal));
    let worst = worst.map(|at| {
        format!("; lowest in turn {} with {:.2}: {}", at + 1, turns[at].0.unwrap_or(0.0), turns[at].1)
    });
    format!("mean of {} turns {score:.2}{needed}{}", turns.len(), worst.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (candidate, reference, F), computed by ADK 2.13.
    const KNOWN: &[(&str, &str, f64)] = &[
        ("Device 2 is now off.", "I have set the device_2 status to off.", 0.42857142857142855),
        ("I rolled a 17.", "I rolled a 19.", 0.75),
        ("running", "runs", 1.0),
        ("安徽省合肥市", "合肥市", 0.6666666666666666),
        ("the the the", "the", 0.5),
        ("it’s", "it's", 1.0),
        ("", "", 0.0),
    ];

    #[test]
    fn known_answers() {
        for (candidate, reference, f) in KNOWN {
            assert!((rouge1(reference, candidate).fmeasure - f).abs() < 1e-9, "{candidate} | {reference}");
        }
    }
}
