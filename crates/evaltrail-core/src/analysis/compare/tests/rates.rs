//! Rates of cases and of runs, and the evidence for a change.

use super::*;

#[test]
fn more_attempts_of_same_agent_are_no_change() {
    // 80 % of the attempts pass: in a run of one attempt each, and in a run of five.
    let one: Vec<(usize, usize)> = (0..100).map(|at| (usize::from(at % 5 != 0), 1)).collect();
    let five = vec![(4, 5); 100];
    for (before, after) in [(&one, &five), (&five, &one)] {
        let found = compared(&run_of(before), &run_of(after));
        assert_eq!(
            (
                count(&found, CaseChange::Broke),
                count(&found, CaseChange::Fixed)
            ),
            (0, 0)
        );
        let rates = found.overall.rates.unwrap();
        assert!((rates.0 - rates.1).abs() < 1e-9, "{rates:?}");
        assert!(found.overall.is_by_rates());
        assert!(
            matches!(found.overall.test, OutcomeTest::Rates(p) if p > 0.5),
            "{:?}",
            found.overall
        );
        assert!(matches!(
            found.metrics[0].test,
            ScoreTest::Equal | ScoreTest::WithinCases(0.05..)
        ));
        assert_eq!(found.rate_change, None);
    }
}

#[test]
fn worse_agent_with_fewer_attempts_is_detected() {
    // 80 % of five attempts, then 50 % of one: all attempts pass in 49 cases instead of 31.
    let five: Vec<(usize, usize)> = (0..100)
        .map(|at| if at < 31 { (5, 5) } else { (3 + at % 2, 5) })
        .collect();
    let one: Vec<(usize, usize)> = (0..100)
        .map(|at| ((at * 37 % 100 < 49) as usize, 1))
        .collect();
    let found = compared(&run_of(&five), &run_of(&one));
    assert_eq!(
        (found.overall.passed, count(&found, CaseChange::Fixed)),
        ((31, 49), 0)
    );
    let rates = found.overall.rates.unwrap();
    assert!(rates.0 > 0.79 && rates.1 < 0.5, "{rates:?}");
    assert!(
        matches!(found.overall.test, OutcomeTest::Rates(..0.001)),
        "{:?}",
        found.overall
    );
    assert!(
        matches!(found.metrics[0].test, ScoreTest::WithinCases(..0.001)),
        "{:?}",
        found.metrics[0]
    );
}

#[test]
fn a_flaky_case_is_neither_broke_nor_fixed() {
    let before = run_of(&[(5, 5), (4, 5), (3, 5), (5, 5)]);
    let after = run_of(&[(4, 5), (5, 5), (4, 5), (0, 5)]);
    let found = compared(&before, &after);
    let changes: Vec<CaseChange> = found.cases.iter().map(|case| case.change).collect();
    assert_eq!(
        changes,
        [
            CaseChange::Unclear,
            CaseChange::Unclear,
            CaseChange::StillFailing,
            CaseChange::Broke
        ]
    );
    assert_eq!(found.overall.passed, (2, 1));
    assert_eq!(
        found.overall.test,
        OutcomeTest::McNemar(1.0),
        "equally many attempts"
    );
    let any = ComparisonRule {
        evidence: ChangeEvidence::Any,
        ..ComparisonRule::default()
    };
    let found = compare_runs(&before, &after, &any);
    assert_eq!(
        (
            count(&found, CaseChange::Broke),
            count(&found, CaseChange::Fixed)
        ),
        (2, 1)
    );
}

#[test]
fn rates_are_reported_if_no_case_fully_passes() {
    let found = compared(&run_of(&[(8, 10); 20]), &run_of(&[(1, 10); 20]));
    assert_eq!(
        (
            count(&found, CaseChange::StillFailing),
            found.overall.passed
        ),
        (20, (0, 0))
    );
    assert!(
        found.overall.rates_p.is_some_and(|p| p < 1e-6),
        "{:?}",
        found.overall
    );
    assert_eq!(
        found.overall.passed_text(),
        "0 → 0 of 20 comparable cases passed in all attempts, 80.0 % → 10.0 % of attempts passed"
    );
    assert_eq!(
        found.test_text(),
        "the same cases passed in all attempts; rates p < 0.0001"
    );
    let single = compared(&run_of(&[(1, 1); 20]), &run_of(&[(0, 1); 20]));
    assert_eq!(
        (single.overall.rates_p, single.test_text()),
        (None, "McNemar p < 0.0001".to_string())
    );
}

#[test]
fn unreachable_evidence_is_reported() {
    let rule = ComparisonRule {
        evidence: ChangeEvidence::Significant,
        ..ComparisonRule::default()
    };
    let words = |attempts: usize| {
        let found = compare_runs(
            &run_of(&[(attempts, attempts)]),
            &run_of(&[(0, attempts)]),
            &rule,
        );
        found.undecidable_text()
    };
    assert!(
        words(1)
            .unwrap()
            .starts_with("with at most 1 and 1 attempts of a case, no case can differ")
    );
    assert_eq!(
        (
            words(5),
            compared(&run_of(&[(1, 1)]), &run_of(&[(0, 1)])).undecidable_text()
        ),
        (None, None)
    );
}

#[test]
fn unclear_case_explains_missing_evidence() {
    let words =
        |after: (usize, usize)| compared(&run_of(&[(1, 1)]), &run_of(&[after])).undecidable_text();
    assert_eq!(
        words((0, 3)).unwrap(),
        "with at most 1 and 3 attempts of a case, one case in which all passed before and none now could be noise \
         (p 0.2500): run more attempts"
    );
    assert_eq!(words((3, 3)), None);
    // Nothing is said about runs without a comparable case.
    let rule = ComparisonRule {
        evidence: ChangeEvidence::Significant,
        ..ComparisonRule::default()
    };
    assert_eq!(
        compare_runs(&run_of(&[]), &run_of(&[]), &rule).undecidable_text(),
        None
    );
}

#[test]
fn broken_case_counts_as_broke() {
    let (before, after) = (run_of(&[(5, 5), (5, 5)]), run_of(&[(0, 5), (5, 5)]));
    let found = compared(&before, &after);
    let lost: Vec<_> = found.lost(&before, &after).map(|case| case.after).collect();
    assert_eq!((count(&found, CaseChange::Broke), lost), (1, vec![Some(0)]));
}

/// The level is the maximum rate of false alarms: of pairs of runs of an agent that did not change, at most that share has a case that broke, or a rate
/// that fell significantly, whichever attempts were not evaluated.
#[test]
fn false_alarms_are_at_most_the_level() {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};
    const PAIRS: usize = 200;
    // Three standard deviations above the expected number.
    const MAX: usize = 19;
    let mut random = StdRng::seed_from_u64(4);
    let attempts = [(1, 2), (1, 5), (5, 1), (3, 3), (5, 5), (3, 10)];
    for ((before, after), missing) in attempts
        .into_iter()
        .flat_map(|of| [0.0, 0.1, 0.3].map(|share| (of, share)))
    {
        let mut alarms = [0, 0];
        for _ in 0..PAIRS {
            let table = |_| {
                let rate: f64 = random.random_range(0.5..1.0);
                let mut counts = |of: usize| {
                    let evaluated = (0..of).filter(|_| !random.random_bool(missing)).count();
                    let passed = (0..evaluated).filter(|_| random.random_bool(rate)).count();
                    (
                        PassCount {
                            passed,
                            of: evaluated,
                        },
                        of - evaluated,
                    )
                };
                let ((before, missing_before), (after, missing_after)) =
                    (counts(before), counts(after));
                PassTable {
                    before,
                    after,
                    not_evaluated: (missing_before, missing_after),
                }
            };
            let tables: Vec<PassTable> = (0..80)
                .map(table)
                .filter(|table| table.before.of.min(table.after.of) > 0)
                .collect();
            let found = compare_counts(&tables, &ComparisonRule::default());
            let is_fall = found.rate_change.map(RateChange::is_fall);
            let worse = found.changes.contains(&CaseChange::Broke) || is_fall == Some(true);
            let better = found.changes.contains(&CaseChange::Fixed) || is_fall == Some(false);
            alarms[0] += usize::from(worse);
            alarms[1] += usize::from(better);
        }
        let runs = format!("{before} and {after} attempts, {missing} not evaluated");
        assert!(
            alarms.iter().all(|alarms| *alarms <= MAX),
            "{runs}: {alarms:?}"
        );
    }
}

#[test]
fn partly_evaluated_cases_are_compared_by_rates() {
    // The first run lacks an attempt of each case: of those that failed in another attempt, and of those that did not.
    let before = run_with(&[
        &[P, P, P, P, U],
        &[P, P, P, F, U],
        &[P, P, P, P, U],
        &[U, U, U, U, U],
    ]);
    let after = run_with(&[&[P; 5], &[P, P, P, P, F], &[P, P, P, P, F], &[P; 5]]);
    let found = compared(&before, &after);
    assert_eq!(
        found.overall.cases, 3,
        "a case is not left out because its attempts passed"
    );
    let changes: Vec<CaseChange> = found.cases.iter().map(|case| case.change).collect();
    let (not_evaluated, failing) = (CaseChange::NotEvaluated, CaseChange::StillFailing);
    assert_eq!(
        changes,
        [not_evaluated, failing, CaseChange::Unclear, not_evaluated]
    );
    assert!(
        found
            .test_text()
            .starts_with("by rates, because the numbers of evaluated attempts differ: 3–4 and 5")
            || found
                .test_text()
                .starts_with("by rates, because the numbers of evaluated attempts differ: 4 and 5")
    );
    assert!(
        !found.test_text().contains("McNemar"),
        "{}",
        found.test_text()
    );
}

#[test]
fn case_is_lost_if_no_attempt_is_evaluated() {
    let before = run_with(&[&[P; 5], &[P; 5], &[P, P, P, P, U]]);
    let after = run_with(&[&[P, P, P, P, U], &[U; 5], &[U; 5]]);
    let found = compared(&before, &after);
    let lost: Vec<_> = found.lost(&before, &after).map(|case| case.after).collect();
    assert_eq!(lost, [Some(1)]);
}

#[test]
fn one_evaluated_attempt_of_five_is_unclear() {
    let before = run_with(&[&[P, U, U, U, U], &[P; 5], &[P; 5]]);
    let after = run_with(&[&[F, U, U, U, U], &[P; 5], &[P; 5]]);
    assert_eq!(
        compared(&before, &after).cases[0].change,
        CaseChange::Unclear
    );
}

#[test]
fn rate_fall_is_found_without_broken_cases() {
    let before: Vec<(usize, usize)> = (0..50)
        .map(|at| (if at % 4 == 0 { 4 } else { 5 }, 5))
        .collect();
    let after: Vec<(usize, usize)> = (0..50).map(|at| (3 + at % 2, 5)).collect();
    let found = compared(&run_of(&before), &run_of(&after));
    assert_eq!(count(&found, CaseChange::Broke), 0);
    let fall = found.fall().unwrap();
    assert_eq!(
        fall.describe(),
        "the pass rate fell from 94.8 % to 70.0 % (p < 0.0001)"
    );
    let other = compared(&run_of(&after), &run_of(&before));
    assert_eq!(
        (
            other.fall(),
            other.rate_change.unwrap().describe().contains("rose")
        ),
        (None, true)
    );
    assert_eq!(
        compared(&run_of(&before), &run_of(&before)).rate_change,
        None
    );
}

#[test]
fn rate_change_excludes_quarantined_cases() {
    use crate::domain::Quarantine;
    let counts: Vec<(usize, usize)> = vec![(5, 5); 20];
    let lost: Vec<(usize, usize)> = (0..20).map(|at| (if at < 4 { 0 } else { 5 }, 5)).collect();
    let quarantined = |state: &RunState| {
        let mut plan = (*state.plan).clone();
        let cases = plan.cases.iter().enumerate().map(|(at, case)| PlannedCase {
            quarantine: (at < 4).then(|| std::borrow::Cow::Owned(Quarantine::default())),
            ..case.into_owned()
        });
        plan.cases = PlannedCases::new(cases.collect::<Vec<_>>()).unwrap();
        let mut copy = RunState::new(Arc::new(plan));
        let attempts = (0..20).flat_map(|case| state.attempts_of(case));
        attempts.for_each(|attempt| copy.apply(RunEvent::Finished(attempt)));
        copy
    };
    let (before, after) = (run_of(&counts), run_of(&lost));
    assert!(compared(&before, &after).fall().is_some());
    let found = compared(&before, &quarantined(&after));
    assert_eq!(
        (
            found.rate_change,
            found.lost(&before, &quarantined(&after)).count()
        ),
        (None, 0)
    );
}

/// The difference that is shown has the sign of the test: with unweighted means the case with few attempts would decide.
#[test]
fn shown_rates_have_same_direction_as_test() {
    let mut before = vec![(0, 1); 12];
    let mut after = vec![(20, 20); 12];
    before.extend(vec![(20, 20); 10]);
    after.extend(vec![(4, 20); 10]);
    let found = compared(&run_of(&before), &run_of(&after));
    let (first, second) = found.overall.rates.unwrap();
    assert!(
        second < first && found.overall.is_weighted,
        "{first} {second}"
    );
    assert!(
        found.fall().is_some_and(|fall| fall.p < 0.001),
        "{:?}",
        found.rate_change
    );
    assert!(
        found
            .overall
            .passed_text()
            .ends_with("22 comparable cases, weighted by their attempts")
    );
}

#[test]
fn equal_attempts_are_not_weighted() {
    let found = compared(&run_of(&[(1, 1), (0, 1)]), &run_of(&[(5, 5), (1, 5)])).overall;
    assert!(found.is_by_rates() && found.is_repeated() && !found.is_weighted);
    assert_eq!(
        found.passed_text(),
        "50.0 % → 60.0 % of attempts passed, mean over 2 comparable cases"
    );
    assert_eq!(
        found.short_passed_text(),
        "50.0 % → 60.0 % of attempts passed"
    );
}

#[test]
fn runs_without_comparable_cases_have_no_rates() {
    let found = compared(&run_of(&[]), &run_of(&[])).overall;
    assert_eq!(
        (found.rates, found.rates_p, found.test, found.cases),
        (None, None, OutcomeTest::Equal, 0)
    );
    assert!(!found.is_by_rates() && !OverallChange::default().is_by_rates());
    assert_eq!(found.passed_text(), "0 → 0 of 0 comparable cases passed");
}

#[test]
fn single_attempts_have_no_estimates() {
    use crate::analysis::repeated_passes;
    let repeated = |repeat: u32| {
        let cases: &[Case] = &[
            ("s", "a", "1", &[true, false]),
            ("s", "b", "2", &[true, true]),
        ];
        repeated_passes(&run(cases, |plan| plan.options.repeat = repeat))
    };
    assert_eq!(repeated(1), None);
    let found = repeated(2).unwrap();
    assert_eq!(
        (found.cases, found.left_out, found.flaky, found.by_k.len()),
        (2, 0, 1, 2)
    );
}
