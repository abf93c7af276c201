//! Texts about a comparison.

use super::*;

#[test]
fn names_of_tests_and_conditions() {
    let keys = [
        OutcomeTest::McNemar(0.5),
        OutcomeTest::Rates(0.5),
        OutcomeTest::Selected,
        OutcomeTest::Equal,
    ]
    .map(OutcomeTest::key);
    assert_eq!(
        keys,
        [Some("mcnemar"), Some("rates"), Some("selected"), None]
    );
    let keys = [
        ScoreTest::Wilcoxon(0.5),
        ScoreTest::WithinCases(0.5),
        ScoreTest::Selected,
        ScoreTest::Equal,
    ]
    .map(ScoreTest::key);
    assert_eq!(
        keys,
        [
            Some("wilcoxon"),
            Some("within_cases"),
            Some("selected"),
            None
        ]
    );
    use ChangedCondition::{Agent, Criteria, File, Judge, Name, Tools, Variant};
    let labels = [Criteria, Agent, Tools, Judge, Variant, Name, File].map(ChangedCondition::label);
    assert_eq!(
        labels,
        [
            "criteria",
            "agent",
            "answers of tools",
            "judge",
            "variant",
            "name",
            "file"
        ]
    );
    assert!(
        !RateChange {
            before: 0.5,
            after: 0.5,
            p: 0.01
        }
        .is_fall(),
        "an equal rate is no fall"
    );
}

#[test]
fn probabilities_as_text() {
    assert_eq!(p_text(0.0001, 0.05), "p 0.0001");
    assert_eq!(p_text(0.000_099, 0.05), "p < 0.0001");
    assert_eq!(p_text(0.05, 0.05), "p 0.0500");
    assert_eq!(p_text(0.051, 0.05), "p 0.0510, could be noise");
}

#[test]
fn equal_runs_as_text() {
    let words = |before: (usize, usize), after: (usize, usize)| {
        let found = compared(&run_of(&[before]), &run_of(&[after]));
        assert_eq!(found.changes_text(), "0 broke, 0 fixed");
        found.test_text()
    };
    assert_eq!(words((1, 1), (1, 1)), "no case changed its outcome");
    assert_eq!(
        words((2, 2), (2, 2)),
        "the same cases passed in all attempts"
    );
    assert_eq!(
        words((1, 1), (5, 5)),
        "by rates, because the numbers of evaluated attempts differ: 1 and 5; no rate differs"
    );
}

#[test]
fn metrics_as_text() {
    let found = compared(&run_of(&[(1, 1)]), &run_of(&[(0, 1)]));
    let words = [
        ScoreTest::Equal,
        ScoreTest::Wilcoxon(0.5),
        ScoreTest::WithinCases(0.01),
    ]
    .map(|test| found.score_text(test));
    assert_eq!(
        words,
        [
            "no score differs",
            "p 0.5000, could be noise",
            "within cases, p 0.0100"
        ]
    );
    let other = |other_options: usize| {
        ComparedMetric {
            other_options,
            ..found.metrics[0].clone()
        }
        .other_options_text()
    };
    assert_eq!(
        (other(0), other(1)),
        (None, Some("other options in 1 case".to_string()))
    );
}

#[test]
fn other_conditions_of_a_case_as_text() {
    use ChangedCondition::{Criteria, File, Judge, Name};
    let words = |changed: &[ChangedCondition]| {
        let case = ComparedCase {
            before: Some(0),
            after: Some(0),
            change: CaseChange::Broke,
            changed: changed.to_vec(),
            has_other_cause: false,
        };
        case.other_conditions_text()
    };
    assert_eq!(
        words(&[Name, File]),
        None,
        "the line says them in other words"
    );
    assert_eq!(
        words(&[Criteria, Judge, Name]),
        Some("other criteria, other judge".to_string())
    );
}
