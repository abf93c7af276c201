//! `intermediate_response_match`, evaltrail's own: compares what agents respond within a turn, before its final response.

use super::criterion_error::CriterionError;
use super::measure::{Evidence, Measure, Outcome, TurnScore, by_every_turn, of_turns};
use super::response_match::rouge1;
use crate::domain::{Criterion, Finding, FindingRule, IntermediateResponse, Invocation};

/// The metric; it has no options.
pub(super) struct IntermediateResponses;

impl IntermediateResponses {
    pub(super) fn new(_: &Criterion) -> Result<Self, CriterionError> {
        Ok(IntermediateResponses)
    }
}

impl Measure for IntermediateResponses {
    fn measure(&self, evidence: &Evidence, _: Option<f64>) -> Outcome {
        let outcome = by_every_turn(evidence, turn);
        let turns = &outcome.per_invocation;
        if turns.iter().all(|turn| !turn.is_history) {
            return outcome;
        }
        let rest: Vec<TurnScore> = turns
            .iter()
            .filter(|turn| !turn.is_history)
            .cloned()
            .collect();
        if rest.is_empty() {
            return Outcome::none("the case expects no intermediate responses", turns.len());
        }
        let of_rest = of_turns(rest);
        Outcome {
            score: of_rest.score,
            explanation: of_rest.explanation,
            ..outcome
        }
    }
}

fn turn(expected: &Invocation, actual: &Invocation) -> TurnScore {
    let expected = expected.intermediate_responses();
    if expected.is_empty() {
        let measured = "no intermediate responses are expected".to_string();
        return TurnScore {
            measured,
            is_history: true,
            ..TurnScore::default()
        };
    }
    if actual.trajectory.events().is_none() && actual.intermediate_responses().is_empty() {
        return TurnScore::unscored(
            "it is not known what the agents responded before the final response",
        );
    }
    let pairs = paired(&expected, &actual.intermediate_responses());
    let score = pairs.iter().sum::<f64>() / expected.len() as f64;
    let missing = expected
        .iter()
        .zip(&pairs)
        .filter(|(_, score)| **score < 1.0)
        .map(|(response, score)| {
            let author = Some(response.author.as_str())
                .filter(|author| !author.is_empty())
                .unwrap_or("an agent");
            let text = match *score > 0.0 {
                true => format!("the intermediate response of {author} differs"),
                false => format!("the intermediate response of {author} is missing"),
            };
            Finding::text(FindingRule::ResponseDiffers, text)
        });
    let missing = missing.collect();
    TurnScore::scored(score, "").because(missing)
}

/// For each expected response, its ROUGE-1 with the actual one that it is paired with, or 0. Pairs are in order and have the
/// same author, and the sum of their scores is the largest possible one.
fn paired(expected: &[IntermediateResponse], actual: &[IntermediateResponse]) -> Vec<f64> {
    let score = |e: &IntermediateResponse, a: &IntermediateResponse| {
        let is_same_author = e.author.is_empty() || e.author == a.author;
        if is_same_author {
            rouge1(&e.text(), &a.text()).fmeasure
        } else {
            0.0
        }
    };
    let scores: Vec<Vec<f64>> = expected
        .iter()
        .map(|e| actual.iter().map(|a| score(e, a)).collect())
        .collect();
    // best[e][a]: the largest sum of the expected responses from e and the actual ones from a.
    let mut best = vec![vec![0.0; actual.len() + 1]; expected.len() + 1];
    for e in (0..expected.len()).rev() {
        for a in (0..actual.len()).rev() {
            let paired: f64 = scores[e][a] + best[e + 1][a + 1];
            best[e][a] = paired.max(best[e + 1][a]).max(best[e][a + 1]);
        }
    }
    let (mut found, mut a) = (vec![0.0; expected.len()], 0);
    for e in 0..expected.len() {
        while a < actual.len() && best[e][a] > best[e + 1][a] && best[e][a] == best[e][a + 1] {
            a += 1;
        }
        if a < actual.len() && best[e][a] > best[e + 1][a] {
            found[e] = scores[e][a];
            a += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Part, Trajectory};

    fn turn_with_texts(texts: &[(&str, &str)]) -> Invocation {
        let texts = texts
            .iter()
            .map(|(author, text)| (author.to_string(), vec![Part::text(*text)]))
            .collect();
        Invocation {
            trajectory: Trajectory::Listed {
                calls: vec![],
                responses: vec![],
                texts,
            },
            ..Invocation::default()
        }
    }

    fn score(expected: &[(&str, &str)], actual: &[(&str, &str)]) -> Option<f64> {
        let (expected, actual) = ([turn_with_texts(expected)], [turn_with_texts(actual)]);
        IntermediateResponses
            .measure(&Evidence::turns(Some(&expected), &actual), None)
            .score
    }

    #[test]
    fn responses_are_paired_by_author_and_in_order() {
        let (a, b) = (("a", "loading the data"), ("b", "the sum is seven"));
        assert_eq!(score(&[a, b], &[a, b]), Some(1.0));
        assert_eq!(
            score(&[a, b], &[a, ("c", "other words"), b]),
            Some(1.0),
            "others do not matter"
        );
        assert_eq!(score(&[a, b], &[b, a]), Some(0.5), "in another order");
        assert_eq!(
            score(&[a], &[("b", "loading the data")]),
            Some(0.0),
            "by another agent"
        );
        assert_eq!(
            score(&[("", "loading the data")], &[a]),
            Some(1.0),
            "the file names no agent"
        );
        let half = score(&[a], &[("a", "loading nothing")]).unwrap();
        assert!((half - 0.4).abs() < 1e-12, "{half}");
        assert_eq!(score(&[a, a], &[a]), Some(0.5), "each is paired once");
    }

    #[test]
    fn turns_without_expected_responses_are_skipped() {
        assert_eq!(score(&[], &[("a", "x")]), None);
        let expected = [turn_with_texts(&[]), turn_with_texts(&[("a", "x y")])];
        let actual = [
            turn_with_texts(&[("a", "q")]),
            turn_with_texts(&[("a", "x y")]),
        ];
        let measured =
            IntermediateResponses.measure(&Evidence::turns(Some(&expected), &actual), None);
        assert_eq!(measured.score, Some(1.0));
        let unknown = [Invocation::default()];
        let expected = [turn_with_texts(&[("a", "x")])];
        let measured =
            IntermediateResponses.measure(&Evidence::turns(Some(&expected), &unknown), None);
        assert_eq!(measured.score, None);
        assert!(
            measured.explanation.contains("not known"),
            "{}",
            measured.explanation
        );
    }
}
