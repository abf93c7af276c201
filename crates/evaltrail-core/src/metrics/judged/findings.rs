//! Findings from a judge's verdict: the rubric, the turn, and the first sample with that verdict.

use super::judge::Verdict;
use crate::domain::{Finding, FindingRule, JudgedQuestion, RubricScore, Status};

/// Why a judged result is not the best possible. `None` when it failed and no verdict explains it.
pub(super) fn of_verdict(
    verdict: &Verdict,
    questions: &[JudgedQuestion],
    turns: &[Status],
    status: Status,
) -> Option<Vec<Finding>> {
    let mut found: Vec<Finding> = questions.iter().filter_map(first_failure).collect();
    for (at, turn) in verdict.turns.iter().enumerate() {
        let asked: Vec<&JudgedQuestion> = questions
            .iter()
            .filter(|asked| asked.id.turn == at)
            .collect();
        let on_rubrics = turn
            .rubrics
            .iter()
            .filter_map(|rubric| on_rubric(rubric, &asked));
        found.extend(on_rubrics.map(|finding| finding.in_turn(at + 1)));
        if turn.rubrics.is_empty() && matches!(turns[at], Status::Failed | Status::NotEvaluated) {
            let rule = match turns[at] {
                Status::Failed => FindingRule::JudgedInvalid,
                _ => FindingRule::NoVerdict,
            };
            let sample = asked.iter().find_map(|asked| first_against(asked));
            found.push(Finding {
                sample,
                ..Finding::text(rule, &turn.why).in_turn(at + 1)
            });
        }
    }
    if verdict.turns.iter().all(|turn| turn.rubrics.is_empty()) {
        let asked: Vec<&JudgedQuestion> = questions.iter().collect();
        found.extend(
            verdict
                .rubrics
                .iter()
                .filter_map(|rubric| on_rubric(rubric, &asked)),
        );
    }
    if found.is_empty() && status == Status::NotEvaluated {
        found.push(Finding::text(
            FindingRule::NoVerdict,
            verdict.gap.clone().unwrap_or_default(),
        ));
    }
    (!found.is_empty() || status != Status::Failed).then_some(found)
}

/// The first failed sample of a question, as a finding.
fn first_failure(asked: &JudgedQuestion) -> Option<Finding> {
    let errors = asked.samples.iter().enumerate();
    let (at, error) = errors
        .filter_map(|(at, sample)| Some((at, sample.error.as_deref()?)))
        .next()?;
    let finding = Finding::text(FindingRule::JudgeFailed, error).in_turn(asked.id.turn + 1);
    Some(Finding {
        sample: Some(at as u32 + 1),
        ..finding
    })
}

/// The finding for a rubric that is not met or has no verdict.
fn on_rubric(rubric: &RubricScore, asked: &[&JudgedQuestion]) -> Option<Finding> {
    let rule = match rubric.score() {
        Some(score) if score >= 1.0 => return None,
        Some(_) => FindingRule::RubricNotMet,
        None => FindingRule::NoVerdict,
    };
    let says_no = |asked: &&JudgedQuestion| {
        let no = asked.samples.iter().position(|sample| {
            let verdict = sample
                .verdicts
                .iter()
                .find(|verdict| verdict.rubric_id == rubric.rubric_id);
            verdict.is_some_and(|verdict| verdict.score().is_none_or(|score| score < 1.0))
        });
        no.map(|at| at as u32 + 1)
    };
    Some(Finding {
        rubric: Some(rubric.rubric_id.clone()),
        expected: Some(1.0.into()),
        actual: rubric.score().map(Into::into),
        sample: asked.iter().find_map(says_no),
        ..Finding::new(rule)
    })
}

/// The first sample whose score is 0 or missing, counted from 1.
fn first_against(asked: &JudgedQuestion) -> Option<u32> {
    let against = asked
        .samples
        .iter()
        .position(|sample| sample.score().is_none_or(|score| score <= 0.0));
    against.map(|at| at as u32 + 1)
}
