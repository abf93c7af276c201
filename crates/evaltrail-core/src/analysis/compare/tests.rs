//! Tests of the comparison of two runs.

mod rates;
mod text;

use super::*;
use crate::analysis::{ChangeEvidence, PassCount};
use crate::domain::{
    AgentSpec, Attempt, AttemptKey, Content, Criterion, EndedAttempt, Invocation, JudgeSpec,
    PlannedCase, PlannedCases, PlannedSet, ProgramSpec, RunEvent, RunOptions, RunPlan, Status,
    UserSpec,
};
use crate::metrics::unscored;
use std::sync::Arc;

fn compared(before: &RunState, after: &RunState) -> RunComparison {
    compare_runs(before, after, &ComparisonRule::default())
}

/// A case: file, id, content, and whether each of its attempts passed.
type Case<'a> = (&'a str, &'a str, &'a str, &'a [bool]);

fn run(cases: &[Case], change: impl Fn(&mut RunPlan)) -> RunState {
    let mut files: Vec<&str> = cases.iter().map(|(file, ..)| *file).collect();
    files.dedup();
    let set = |file: &&str| PlannedSet {
        stubs: None,
        tools: Default::default(),
        id: file.to_string(),
        file: file.to_string(),
        path: file.into(),
        digest: String::new(),
        agent: AgentSpec::PriorAttempts,
        agent_name: String::new(),
        agent_jobs: None,
        agent_files: None,
        file_cases: None,
        app_dir: None,
        criteria: Vec::new(),
        user: UserSpec::default(),
    };
    let planned = |(index, (file, id, content, _)): (usize, &Case)| PlannedCase {
        set: files.iter().position(|other| other == file).unwrap(),
        index,
        eval_id: id.to_string().into(),
        content: content.to_string().into(),
        quarantine: None,
    };
    let mut plan = RunPlan {
        commit: None,
        run_id: "r".into(),
        started: String::new(),
        sets: files.iter().map(set).collect(),
        cases: PlannedCases::new(cases.iter().enumerate().map(planned)).unwrap(),
        options: RunOptions::default(),
        judge: JudgeSpec::standard(),
    };
    change(&mut plan);
    let mut state = RunState::new(Arc::new(plan));
    for (case, (_, id, content, attempts)) in cases.iter().enumerate() {
        for (at, passed) in attempts.iter().enumerate() {
            let status = if *passed {
                Status::Passed
            } else {
                Status::Failed
            };
            let criterion = Criterion::new("m", Some(0.5));
            let mut metric = unscored(&criterion, 0, status, "");
            metric.score = Some(crate::domain::Score::of_flag(*passed));
            // The turns are those of the content without the name that ends it.
            let said = content.split('@').next().unwrap();
            let turn = Invocation {
                user: Content::text("user", said),
                ..Invocation::default()
            };
            let key = AttemptKey {
                case,
                attempt: at as u32 + 1,
            };
            let attempt = Attempt {
                status,
                metrics: vec![metric],
                expected: vec![turn].into(),
                ..Attempt::blank(key, id)
            };
            state.apply(RunEvent::Finished(Arc::new(EndedAttempt::unrecorded(
                attempt,
            ))));
        }
    }
    state
}

/// The cases of each change by their id in the second run, else in the first.
fn changes(before: &[Case], after: &[Case]) -> Vec<(&'static str, Vec<String>)> {
    let (a, b) = (run(before, |_| {}), run(after, |_| {}));
    let found = compared(&a, &b);
    let id = |case: &ComparedCase| match (case.before, case.after) {
        (_, Some(at)) => b.plan.cases.eval_id(at).to_string(),
        (at, None) => a.plan.cases.eval_id(at.unwrap()).to_string(),
    };
    let of = |change: CaseChange| {
        (
            change.key(),
            found.cases_with(change).map(id).collect::<Vec<_>>(),
        )
    };
    CaseChange::ALL
        .into_iter()
        .map(of)
        .filter(|(_, ids)| !ids.is_empty())
        .collect()
}

#[test]
fn each_planted_difference_is_in_its_list() {
    const YES: &[bool] = &[true];
    const NO: &[bool] = &[false];
    let before: &[Case] = &[
        ("s", "breaks", "1", YES),
        ("s", "mends", "2", NO),
        ("s", "stays", "3", YES),
        ("s", "fails", "4", NO),
        ("s", "golden", "5", NO),
        ("s", "old name", "6@old", YES),
        ("s", "moves", "7@s", YES),
        ("s", "gone", "8", YES),
        ("s", "never ran", "9", &[]),
        ("s", "shaky", "10", &[true, true]),
    ];
    let after: &[Case] = &[
        ("s", "new", "11", NO),
        ("s", "breaks", "1", NO),
        ("s", "mends", "2", YES),
        ("s", "stays", "3", YES),
        ("s", "fails", "4", NO),
        ("s", "golden", "5 edited", YES),
        ("s", "new name", "6@new", NO),
        ("s", "never ran", "9", YES),
        ("s", "shaky", "10", &[true, false]),
        ("t", "moves", "7@t", YES),
    ];
    let strings = |ids: &[&str]| ids.iter().map(|id| id.to_string()).collect::<Vec<_>>();
    assert_eq!(
        changes(before, after),
        [
            ("broke", strings(&["breaks", "new name"])),
            ("fixed", strings(&["mends"])),
            ("unclear", strings(&["shaky"])),
            ("edited", strings(&["golden"])),
            ("still_failing", strings(&["fails"])),
            ("still_passing", strings(&["stays", "moves"])),
            ("only_before", strings(&["gone"])),
            ("only_after", strings(&["new", "never ran"])),
        ]
    );
}

#[test]
fn unevaluated_case_is_neither_broken_nor_fixed() {
    let cases: &[Case] = &[("s", "a", "1", &[true]), ("s", "b", "2", &[false])];
    let before = run(cases, |_| {});
    let mut after = run(&[("s", "a", "1", &[]), ("s", "b", "2", &[])], |_| {});
    for (case, status) in [(0, Status::NotEvaluated), (1, Status::Errored)] {
        let attempt = Attempt {
            status,
            ..Attempt::blank(AttemptKey { case, attempt: 1 }, "x")
        };
        after.apply(RunEvent::Finished(Arc::new(EndedAttempt::unrecorded(
            attempt,
        ))));
    }
    let changes = |a: &RunState, b: &RunState| -> Vec<CaseChange> {
        compared(a, b)
            .cases
            .iter()
            .map(|case| case.change)
            .collect()
    };
    assert_eq!(
        changes(&before, &after),
        [CaseChange::NotEvaluated, CaseChange::StillFailing]
    );
    assert_eq!(
        changes(&after, &before),
        [CaseChange::NotEvaluated, CaseChange::StillFailing]
    );
}

#[test]
fn an_edit_of_the_expected_state_is_no_fix() {
    let with_state = |content: &'static str, passed: bool, state: i32| {
        let mut run = run(&[("s", "a", content, &[])], |plan| {
            plan.sets[0].agent = AgentSpec::Saved
        });
        let status = if passed {
            Status::Passed
        } else {
            Status::Failed
        };
        let expected_state = Some(serde_json::json!({"lamp": state}));
        let key = AttemptKey {
            case: 0,
            attempt: 1,
        };
        let expected = vec![Invocation::default()].into();
        let attempt = Attempt {
            status,
            expected,
            expected_state,
            ..Attempt::blank(key, "a")
        };
        run.apply(RunEvent::Finished(Arc::new(EndedAttempt::unrecorded(
            attempt,
        ))));
        run
    };
    let change = |after: &RunState| compared(&with_state("1", false, 1), after).cases[0].change;
    assert_eq!(change(&with_state("2", true, 2)), CaseChange::Edited);
    assert_eq!(change(&with_state("2", true, 1)), CaseChange::Fixed);
}

#[test]
fn cases_without_expectations_are_not_paired() {
    let broken = |id: &'static str| {
        let mut run = run(&[("s", id, id, &[])], |_| {});
        let key = AttemptKey {
            case: 0,
            attempt: 1,
        };
        let attempt = Attempt {
            status: Status::Errored,
            ..Attempt::blank(key, id)
        };
        run.apply(RunEvent::Finished(Arc::new(EndedAttempt::unrecorded(
            attempt,
        ))));
        run
    };
    let found = compared(&broken("line 2"), &broken("line 9"));
    let changes: Vec<CaseChange> = found.cases.iter().map(|case| case.change).collect();
    assert_eq!(changes, [CaseChange::OnlyAfter, CaseChange::OnlyBefore]);
}

#[test]
fn equal_ids_are_paired_by_content_then_order() {
    let before: &[Case] = &[
        ("s", "a", "1", &[true]),
        ("s", "a", "2", &[false]),
        ("s", "a", "3", &[true]),
    ];
    let after: &[Case] = &[
        ("s", "a", "2", &[false]),
        ("s", "a", "1", &[true]),
        ("s", "a", "4", &[true]),
    ];
    let found = compared(&run(before, |_| {}), &run(after, |_| {}));
    let pairs: Vec<_> = found
        .cases
        .iter()
        .map(|case| (case.before, case.after, case.change))
        .collect();
    assert_eq!(
        pairs,
        [
            (Some(1), Some(0), CaseChange::StillFailing),
            (Some(0), Some(1), CaseChange::StillPassing),
            (Some(2), Some(2), CaseChange::Edited),
        ]
    );
}

/// The pairs as the rule says it: first of equal id and content, then of equal id, then of equal expectation, each in order.
fn pairs_by_rule(before: &[Case], after: &[Case]) -> Vec<(Option<usize>, Option<usize>)> {
    let mut pairs: Vec<(Option<usize>, Option<usize>)> =
        (0..after.len()).map(|at| (None, Some(at))).collect();
    let mut lost: Vec<usize> = (0..before.len()).collect();
    let is_same: [fn(&Case, &Case) -> bool; 3] = [
        |a, b| (a.0, a.1, a.2) == (b.0, b.1, b.2),
        |a, b| (a.0, a.1) == (b.0, b.1),
        |a, b| a.2.split('@').next() == b.2.split('@').next(),
    ];
    for is_same in is_same {
        for (at, pair) in pairs
            .iter_mut()
            .enumerate()
            .filter(|(_, pair)| pair.0.is_none())
        {
            let found = lost.iter().position(|a| is_same(&before[*a], &after[at]));
            pair.0 = found.map(|found| lost.remove(found));
        }
    }
    pairs.extend(lost.into_iter().map(|at| (Some(at), None)));
    pairs
}

proptest::proptest! {
    #[test]
    fn cases_are_paired_by_the_rule(
        before in proptest::collection::vec((0..2usize, 0..3usize, 0..3usize), 0..7),
        after in proptest::collection::vec((0..2usize, 0..3usize, 0..3usize), 0..7),
    ) {
        let case = |(file, id, content): &(usize, usize, usize)| -> Case<'static> {
            (["a.json", "b.json"][*file], ["x", "y", "z"][*id], ["1", "2@b", "2@c"][*content], &[true])
        };
        let cases = |of: &[(usize, usize, usize)]| {
            let mut cases: Vec<Case> = of.iter().map(case).collect();
            cases.sort_by_key(|case| case.0);
            cases
        };
        let (before, after) = (cases(&before), cases(&after));
        let found = compared(&run(&before, |_| {}), &run(&after, |_| {}));
        let pairs: Vec<_> = found.cases.iter().map(|case| (case.before, case.after)).collect();
        proptest::prop_assert_eq!(pairs, pairs_by_rule(&before, &after));
    }
}

#[test]
fn only_new_expectations_make_a_case_edited() {
    let saved = |plan: &mut RunPlan| plan.sets[0].agent = AgentSpec::Saved;
    let before = run(
        &[
            ("s", "a", "1@old response", &[false]),
            ("s", "b", "2", &[false]),
        ],
        saved,
    );
    let after = run(
        &[
            ("s", "a", "1@new response", &[true]),
            ("s", "b", "3", &[true]),
        ],
        saved,
    );
    let changes: Vec<CaseChange> = compared(&before, &after)
        .cases
        .iter()
        .map(|case| case.change)
        .collect();
    assert_eq!(changes, [CaseChange::Fixed, CaseChange::Edited]);
}

#[test]
fn edited_cases_are_excluded_from_statistics() {
    let cases: &[Case] = &[("s", "a", "1", &[true]), ("s", "b", "2", &[true])];
    let later: &[Case] = &[("s", "a", "1", &[false]), ("s", "b", "edited", &[false])];
    let after = run(later, |plan| {
        plan.sets[0].criteria.push(Criterion::new("other", None));
        plan.sets[0].agent_name = "shown under another name".into();
    });
    let found = compared(&run(cases, |_| {}), &after);
    assert_eq!(found.cases[0].changed, [ChangedCondition::Criteria]);
    let metric = &found.metrics[0];
    assert_eq!((metric.cases, metric.before, metric.after), (1, 1.0, 0.0));
    assert_eq!(
        (metric.test, found.overall.test.p()),
        (ScoreTest::Wilcoxon(1.0), Some(1.0))
    );
    let ids = ["1", "2", "3", "4", "5", "6"];
    let six = |passed: &'static [bool]| ids.map(|id| ("s", id, id, passed));
    let found = compared(&run(&six(&[true]), |_| {}), &run(&six(&[false]), |_| {}));
    assert!(
        (found.overall.test.p().unwrap() - 0.03125).abs() < 1e-12,
        "six of six broke"
    );
    assert_eq!(found.metrics[0].test, ScoreTest::Wilcoxon(0.03125));
}

#[test]
fn changed_metric_options_are_counted() {
    let with = |option: &str, threshold: f64| {
        let mut criterion = Criterion::new("m", Some(threshold));
        criterion.options.insert("match_type".into(), option.into());
        criterion
            .options
            .insert("threshold".into(), threshold.into());
        move |plan: &mut RunPlan| plan.sets[0].criteria = vec![criterion.clone()]
    };
    let cases: &[Case] = &[("s", "a", "1", &[true])];
    let others = |option: &str, threshold: f64| {
        let found = compared(
            &run(cases, with("EXACT", 1.0)),
            &run(cases, with(option, threshold)),
        );
        (
            found.cases[0].changed.clone(),
            found.metrics[0].other_options,
        )
    };
    assert_eq!(others("EXACT", 1.0), (vec![], 0));
    assert_eq!(
        others("IN_ORDER", 1.0),
        (vec![ChangedCondition::Criteria], 1)
    );
    assert_eq!(
        others("EXACT", 0.5),
        (vec![ChangedCondition::Criteria], 0),
        "the scores are the same"
    );
}

#[test]
fn missing_cases_that_passed_count_as_removed() {
    let before: &[Case] = &[
        ("s", "a", "1", &[true]),
        ("s", "b", "2", &[false]),
        ("s", "c", "3", &[true, true]),
    ];
    let (before, after) = (
        run(before, |_| {}),
        run(&[("s", "d", "4", &[true])], |_| {}),
    );
    let found = compared(&before, &after);
    let removed: Vec<_> = found.removed(&before).map(|case| case.before).collect();
    assert_eq!(removed, [Some(0), Some(2)]);
}

#[test]
fn moved_case_has_only_its_file_changed() {
    let (before, after) = (
        run(&[("s", "a", "1@s", &[true])], |_| {}),
        run(&[("t", "a", "1@t", &[true])], |_| {}),
    );
    assert_eq!(
        compared(&before, &after).cases[0].changed,
        [ChangedCondition::File]
    );
}

const P: Status = Status::Passed;
const F: Status = Status::Failed;
const U: Status = Status::NotEvaluated;

#[test]
fn criteria_order_is_ignored_and_stubs_are_not() {
    let cases: &[Case] = &[("s", "a", "1", &[true])];
    let with = |names: [&'static str; 2], stubs: Option<&'static str>| {
        run(cases, move |plan| {
            plan.sets[0].criteria = names.map(|name| Criterion::new(name, Some(0.5))).into();
            plan.sets[0].stubs = stubs.map(str::to_string);
        })
    };
    let (before, after) = (with(["m", "n"], Some("1")), with(["n", "m"], Some("1")));
    assert_eq!(compared(&before, &after).cases[0].changed, []);
    let conditions = RunConditions::from_run(&before);
    let pinned = with(["m", "n"], None);
    let baseline = RunToCompare {
        state: &pinned,
        conditions: Some(&conditions),
    };
    let changed = |after: &RunState| {
        compare_runs(baseline, after, &ComparisonRule::default()).cases[0]
            .changed
            .clone()
    };
    assert_eq!(changed(&after), []);
    assert_eq!(
        changed(&with(["m", "n"], Some("2"))),
        [ChangedCondition::Tools]
    );
}

#[test]
fn changed_judge_is_reported_for_judged_cases() {
    let judged = |model: &str, is_judged: bool| {
        let mut state = run(&[("s", "a", "1", &[])], |plan| {
            plan.judge.model = Some(model.to_string())
        });
        let criterion = Criterion::new("m", Some(0.5));
        let mut metric = unscored(&criterion, 0, Status::Passed, "");
        metric.judgement = is_judged.then(Default::default);
        let key = AttemptKey {
            case: 0,
            attempt: 1,
        };
        let attempt = Attempt {
            status: Status::Passed,
            metrics: vec![metric],
            ..Attempt::blank(key, "a")
        };
        state.apply(RunEvent::Finished(Arc::new(EndedAttempt::unrecorded(
            attempt,
        ))));
        state
    };
    let rule = ComparisonRule::default();
    let (before, same, other) = (judged("x", true), judged("x", true), judged("y", true));
    let conditions = RunConditions::from_run(&before);
    let pinned = judged("another one", true);
    for from in [
        RunToCompare::from(&before),
        RunToCompare {
            state: &pinned,
            conditions: Some(&conditions),
        },
    ] {
        let changed = |after: &RunState| compare_runs(from, after, &rule).cases[0].changed.clone();
        assert_eq!(changed(&same), []);
        assert_eq!(changed(&other), [ChangedCondition::Judge]);
    }
    let once = compare_runs(&judged("x", true), &judged("y", false), &rule);
    assert_eq!(
        once.cases[0].changed,
        [ChangedCondition::Judge],
        "one of the results is of a judge"
    );
    let unjudged = compare_runs(&judged("x", false), &judged("y", false), &rule);
    assert_eq!(
        (&unjudged.cases[0].changed[..], &unjudged.metrics[..]),
        (&[][..], &[][..]),
        "no score is compared"
    );
}

#[test]
fn changed_agent_and_variant_are_reported() {
    let cases: &[Case] = &[("s", "a", "1", &[true])];
    let by = |agent: AgentSpec| run(cases, |plan| plan.sets[0].agent = agent.clone());
    let before = by(AgentSpec::Command(ProgramSpec::default()));
    let (saved, scored_again) = (by(AgentSpec::Saved), by(AgentSpec::PriorAttempts));
    let changed = |before: RunToCompare, after: &RunState| {
        compare_runs(before, after, &ComparisonRule::default()).cases[0]
            .changed
            .clone()
    };
    assert_eq!(changed((&before).into(), &before), []);
    assert_eq!(changed((&before).into(), &saved), [ChangedCondition::Agent]);
    assert_eq!(
        changed((&before).into(), &scored_again),
        [],
        "it is not known"
    );
    let conditions = RunConditions::from_run(&before);
    fn of_baseline<'a>(state: &'a RunState, conditions: &'a RunConditions) -> RunToCompare<'a> {
        RunToCompare {
            state,
            conditions: Some(conditions),
        }
    }
    assert_eq!(changed(of_baseline(&saved, &conditions), &before), []);
    assert_eq!(
        changed(of_baseline(&saved, &conditions), &saved),
        [ChangedCondition::Agent]
    );
    let variants = vec![Some("polite".to_string())];
    let other = RunConditions {
        variants,
        ..conditions.clone()
    };
    assert_eq!(
        changed(of_baseline(&saved, &other), &before),
        [ChangedCondition::Variant]
    );
    let agents = ["a", "a", "b"].map(str::to_string).to_vec();
    assert_eq!(
        of_baseline(
            &saved,
            &RunConditions {
                agents,
                ..conditions
            }
        )
        .agent_label(),
        "a, b"
    );
    assert_eq!(
        RunToCompare::from(&saved).agent_label(),
        saved.plan.agent_label()
    );
}

#[test]
fn changed_content_is_edited_unless_both_saved() {
    let saved = |plan: &mut RunPlan| plan.sets[0].agent = AgentSpec::Saved;
    let (old, new): (&[Case], &[Case]) = (
        &[("s", "a", "1@old response", &[false])],
        &[("s", "a", "1@new response", &[true])],
    );
    let change = |before: &RunState, after: &RunState| compared(before, after).cases[0].change;
    assert_eq!(
        change(&run(old, saved), &run(new, saved)),
        CaseChange::Fixed
    );
    assert_eq!(
        change(&run(old, saved), &run(new, |_| {})),
        CaseChange::Edited
    );
    assert_eq!(
        change(&run(old, |_| {}), &run(new, saved)),
        CaseChange::Edited
    );
}

#[test]
fn cases_passed_in_both_runs_are_unchanged() {
    let before = [vec![(1, 1); 10], vec![(0, 1)]].concat();
    let after = [vec![(0, 1); 6], vec![(1, 1); 5]].concat();
    let found = compared(&run_of(&before), &run_of(&after));
    assert_eq!(found.overall.passed, (10, 5));
    let p = crate::analysis::statistics::mcnemar(6, 1);
    assert_eq!(
        (found.overall.test, found.overall.test.p()),
        (OutcomeTest::McNemar(p), Some(p))
    );
    assert_eq!(
        found.overall.passed_text(),
        "10 → 5 of 11 comparable cases passed"
    );
    assert_eq!(found.overall.short_passed_text(), "10 → 5 of 11 passed");
    assert!(!found.overall.is_repeated() && !found.overall.is_by_rates());
}

/// Cases whose means did not change are in no rank.
#[test]
fn scores_are_compared_by_case_means() {
    let (before, after) = ([2, 2, 2, 1, 1, 0], [1, 1, 0, 1, 2, 0]);
    let of_two = |passed: [usize; 6]| run_of(&passed.map(|passed| (passed, 2)));
    let metric = &compared(&of_two(before), &of_two(after)).metrics[0];
    assert_eq!(metric.cases, 6);
    assert!(
        (metric.before - 8.0 / 12.0).abs() < 1e-12 && (metric.after - 5.0 / 12.0).abs() < 1e-12
    );
    let p = crate::analysis::statistics::wilcoxon(&[-0.5, -0.5, -1.0, 0.5]).unwrap();
    assert_eq!(
        (metric.test, metric.test.p()),
        (ScoreTest::Wilcoxon(p), Some(p))
    );
    let unscored = run_with(&[&[P], &[F]]);
    assert!(compared(&unscored, &unscored).metrics.is_empty());
}

/// Runs of one set whose cases have these numbers of attempts that passed, and of attempts.
fn run_of(counts: &[(usize, usize)]) -> RunState {
    let ids: Vec<String> = (0..counts.len()).map(|at| at.to_string()).collect();
    let outcomes = counts
        .iter()
        .map(|(passed, of)| (0..*of).map(|at| at < *passed).collect::<Vec<bool>>());
    let outcomes: Vec<Vec<bool>> = outcomes.collect();
    let case = |(id, attempts)| ("s", id, id, attempts);
    let cases: Vec<Case> = ids
        .iter()
        .map(String::as_str)
        .zip(outcomes.iter().map(Vec::as_slice))
        .map(case)
        .collect();
    run(&cases, |_| {})
}

fn count(found: &RunComparison, change: CaseChange) -> usize {
    found.cases_with(change).count()
}

/// A run of cases with these statuses.
fn run_with(cases: &[&[Status]]) -> RunState {
    let ids: Vec<String> = (0..cases.len()).map(|at| at.to_string()).collect();
    let planned: Vec<Case> = ids
        .iter()
        .map(|id| ("s", id.as_str(), id.as_str(), &[][..]))
        .collect();
    let mut state = run(&planned, |_| {});
    for (case, statuses) in cases.iter().enumerate() {
        for (at, status) in statuses.iter().enumerate() {
            let key = AttemptKey {
                case,
                attempt: at as u32 + 1,
            };
            let attempt = Attempt {
                status: *status,
                ..Attempt::blank(key, &ids[case])
            };
            state.apply(RunEvent::Finished(Arc::new(EndedAttempt::unrecorded(
                attempt,
            ))));
        }
    }
    state
}

/// A run of cases of one set that each errored once, with these messages.
fn run_with_errors(messages: &[&str]) -> RunState {
    let ids: Vec<String> = (0..messages.len()).map(|at| at.to_string()).collect();
    let cases: Vec<Case> = ids.iter().map(|id| ("s", &**id, &**id, &[][..])).collect();
    let mut state = run(&cases, |_| {});
    for (case, message) in messages.iter().enumerate() {
        let attempt = Attempt {
            status: Status::Errored,
            error: Some(message.to_string()),
            ..Attempt::blank(AttemptKey { case, attempt: 1 }, &ids[case])
        };
        let attempt = EndedAttempt::unrecorded(attempt);
        state.apply(RunEvent::Finished(Arc::new(attempt)));
    }
    state
}

#[test]
fn failure_for_another_reason_is_counted() {
    let before = run_with_errors(&["valve 3 is stuck", "no water", "no water"]);
    let after = run_with_errors(&["valve 7 is stuck", "no pump", "no water"]);
    let found = compared(&before, &after);
    let others: Vec<bool> = found
        .cases
        .iter()
        .map(|case| case.has_other_cause)
        .collect();
    assert_eq!(others, [false, true, false], "numbers are no other cause");
    assert_eq!(
        found.heading_text(CaseChange::StillFailing),
        "still failing, 1 for another reason"
    );
    assert_eq!(found.heading_text(CaseChange::Broke), "broke");
}

#[test]
fn rerun_of_failures_alone_is_not_tested() {
    let cases = |ids: &[(&'static str, &'static [bool])]| {
        let cases: Vec<Case> = ids
            .iter()
            .map(|(id, passed)| ("s", *id, *id, *passed))
            .collect();
        run(&cases, |_| {})
    };
    const YES: &[bool] = &[true];
    const NO: &[bool] = &[false];
    let whole = cases(&[
        ("a", YES),
        ("b", NO),
        ("c", NO),
        ("d", NO),
        ("e", NO),
        ("f", NO),
        ("g", NO),
    ]);
    let again = cases(&[
        ("b", YES),
        ("c", YES),
        ("d", YES),
        ("e", YES),
        ("f", YES),
        ("g", YES),
    ]);
    for (before, after) in [(&whole, &again), (&again, &whole)] {
        let found = compared(before, after);
        assert_eq!(found.overall.test, OutcomeTest::Selected);
        assert_eq!(
            (found.rate_change, found.metrics[0].test),
            (None, ScoreTest::Selected)
        );
    }
    let fixed = compared(&whole, &again);
    assert_eq!(
        fixed.cases_with(CaseChange::Fixed).count(),
        6,
        "each of them is fixed"
    );
    let all_failed = cases(&[
        ("b", NO),
        ("c", NO),
        ("d", NO),
        ("e", NO),
        ("f", NO),
        ("g", NO),
    ]);
    let found = compared(&all_failed, &again);
    assert!(found.overall.test.p().is_some(), "nothing was left out");
}
