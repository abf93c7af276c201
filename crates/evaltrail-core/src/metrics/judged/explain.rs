//! The explanation of a judged result, in words.

use super::judge::{TurnVerdict, Verdict, broken};

use crate::domain::{Judgement, Score, Status, compared_texts, score_text};

pub(super) fn explain(
    verdict: &Verdict,
    judgement: &Judgement,
    status: Status,
    threshold: Option<f64>,
) -> String {
    let mut words: Vec<String> = judgement.warnings.clone();
    if let Some(error) = broken(&judgement.questions) {
        words.push(format!("the judge failed: {error}"));
    }
    if let (Some(gap), Status::NotEvaluated) = (&verdict.gap, status) {
        words.push(gap.clone());
    }
    let bias = judgement
        .position_bias
        .map(Score::get)
        .filter(|bias| bias.abs() >= 0.005);
    if let Some(bias) = bias {
        let position = if bias > 0.0 { "second" } else { "first" };
        words.push(format!(
            "position bias {bias:+.2}: the judge prefers the {position} response, whichever it is"
        ));
    }
    if judgement.is_unsteady(threshold) {
        words.push(match judgement.reach {
            Some((low, high)) if low < high => {
                let text = |score: Score| match threshold {
                    Some(threshold) => compared_texts(score.get(), threshold).0,
                    None => score_text(score.get()),
                };
                format!(
                    "unsteady: one changed vote could give {} to {}",
                    text(low),
                    text(high)
                )
            }
            _ => "unsteady: one changed vote could leave no verdict".into(),
        });
    }
    let of_rubrics = verdict.rubrics.iter().map(|rubric| {
        let sign = match rubric.score() {
            Some(score) if score >= 1.0 => "✓",
            Some(_) => "✗",
            None => "?",
        };
        let votes = rubric
            .votes
            .filter(|votes| votes.is_split() || votes.none > 0);
        let votes = votes
            .map(|votes| format!(" {}", votes.describe()))
            .unwrap_or_default();
        format!("{sign} {}{votes}", rubric.rubric_id)
    });
    match verdict.rubrics.is_empty() {
        false => words.push(of_rubrics.collect::<Vec<_>>().join("  ")),
        true => {
            let why = lowest(&verdict.turns);
            let is_new = |why: &String| !words.iter().any(|before| before.ends_with(why.as_str()));
            let why = why.filter(is_new);
            words.extend(why);
        }
    }
    words.join("; ")
}

/// The reason of the turn with the lowest score.
fn lowest(turns: &[TurnVerdict]) -> Option<String> {
    let rank = |turn: &TurnVerdict| turn.score.unwrap_or(f64::MAX);
    let told = turns
        .iter()
        .enumerate()
        .filter(|(_, turn)| !turn.why.is_empty());
    let (at, turn) = told.min_by(|(_, a), (_, b)| rank(a).total_cmp(&rank(b)))?;
    Some(if turns.len() > 1 {
        format!("turn {}: {}", at + 1, turn.why)
    } else {
        turn.why.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_part_of_turn_is_reported_once() {
        let why = "no sentence has a label";
        let verdict = Verdict {
            gap: Some(format!("turn 1: {why}")),
            turns: vec![TurnVerdict {
                score: None,
                why: why.into(),
                rubrics: Vec::new(),
            }],
            ..Verdict::default()
        };
        let words = explain(
            &verdict,
            &Judgement::default(),
            Status::NotEvaluated,
            Some(0.5),
        );
        assert_eq!(words, "turn 1: no sentence has a label");
    }

    #[test]
    fn explanation_includes_effect_of_one_vote() {
        let words = |(low, high): (f64, f64), fragile| {
            let reach = Score::new(low).zip(Score::new(high));
            let judgement = Judgement {
                reach,
                fragile,
                ..Judgement::default()
            };
            explain(&Verdict::default(), &judgement, Status::Passed, Some(0.5))
        };
        let could = words((0.25, 0.75), false);
        assert_eq!(could, "unsteady: one changed vote could give 0.25 to 0.75");
        assert_eq!(
            words((0.499, 1.0), false),
            "unsteady: one changed vote could give 0.499 to 1.00"
        );
        let fragile = words((1.0, 1.0), true);
        assert_eq!(fragile, "unsteady: one changed vote could leave no verdict");
    }
}
