//! Tests of the reports of two runs.

use super::*;
use evaltrail_core::analysis::{ComparisonRule, compare_runs};
use evaltrail_core::domain::{
    AgentSpec, Attempt, AttemptKey, Criterion, EndedAttempt, JudgeSpec, MetricResult, PlannedCase,
    PlannedCases, PlannedSet, RunEvent, RunOptions, RunPlan, Score, UserSpec,
};
use evaltrail_core::metrics::unscored;
use std::sync::Arc;

fn set_of(file: &str, threshold: f64) -> PlannedSet {
    PlannedSet {
        stubs: None,
        tools: Default::default(),
        id: "lights".into(),
        file: file.into(),
        path: file.into(),
        digest: String::new(),
        agent: AgentSpec::PriorAttempts,
        agent_name: String::new(),
        agent_jobs: None,
        agent_files: None,
        file_cases: None,
        app_dir: None,
        criteria: vec![Criterion::new("m", Some(threshold))],
        user: UserSpec::default(),
    }
}

/// A run of one case of each file, whose attempts have these statuses. Each reason is the number of the attempt.
fn run(threshold: f64, cases: &[(&str, &[Status])]) -> RunState {
    let planned = |(set, _)| PlannedCase {
        set,
        index: 0,
        eval_id: "a".into(),
        content: "".into(),
        quarantine: None,
    };
    let plan = RunPlan {
        commit: None,
        run_id: "r".into(),
        started: String::new(),
        sets: cases
            .iter()
            .map(|(file, _)| set_of(file, threshold))
            .collect(),
        cases: PlannedCases::new(cases.iter().enumerate().map(planned)).unwrap(),
        options: RunOptions::default(),
        judge: JudgeSpec::standard(),
    };
    let mut state = RunState::new(Arc::new(plan));
    for (case, (_, statuses)) in cases.iter().enumerate() {
        for (at, status) in statuses.iter().enumerate() {
            let key = AttemptKey {
                case,
                attempt: at as u32 + 1,
            };
            let error = Some(format!("reason {}", key.attempt));
            let attempt = Attempt {
                status: *status,
                error,
                ..Attempt::blank(key, "a")
            };
            state.apply(RunEvent::Finished(Arc::new(EndedAttempt::unrecorded(
                attempt,
            ))));
        }
    }
    state
}

/// The comparison as text, Markdown and JSON.
fn reports(before: &RunState, after: &RunState) -> (String, String, serde_json::Value) {
    let found = compare_runs(before, after, &ComparisonRule::default());
    let removed = BTreeSet::new();
    let compared = ComparedRuns {
        before: before.into(),
        after: after.into(),
        found: &found,
        removed: &removed,
    };
    (
        compared.text(crate::report::Paint { on: false }),
        compared.markdown(),
        compared.json(),
    )
}

#[test]
fn case_is_shown_with_worst_attempt_and_rate() {
    use Status::{Errored, Failed, NotEvaluated, Passed};
    for (statuses, rate, reason) in [
        ([NotEvaluated, Failed, Failed], "✗ 0/2 (0–66 %)", "reason 2"),
        (
            [Errored, NotEvaluated, Failed],
            "✗ 0/2 (0–66 %)",
            "reason 3",
        ),
        (
            [NotEvaluated, Errored, Passed],
            "! 1/2 (9–91 %)",
            "reason 2",
        ),
        ([Passed, NotEvaluated, NotEvaluated], "? 1/1", "reason 2"),
        (
            [NotEvaluated, NotEvaluated, NotEvaluated],
            "? –",
            "reason 1",
        ),
    ] {
        let run = run(0.5, &[("a.json", &statuses)]);
        let of = outcome_of(&run, 0).unwrap();
        assert_eq!(
            (of.sign.as_str(), of.reason.as_str()),
            (rate, reason),
            "{statuses:?}"
        );
    }
}

#[test]
fn a_case_without_an_attempt_has_no_outcome() {
    let (before, after) = (
        run(0.5, &[("a.json", &[Status::Failed])]),
        run(0.5, &[("a.json", &[])]),
    );
    let (text, _, json) = reports(&before, &after);
    assert!(text.contains("✗ → ·"), "{text}");
    assert!(
        json["cases"][0]["after"].is_null() && outcome_of(&after, 0).is_none(),
        "{json}"
    );
}

#[test]
fn cases_of_sets_with_same_id_show_their_file() {
    let one = [
        ("home/lights.json", &[Status::Passed][..]),
        ("office/lights.json", &[Status::Passed]),
    ];
    let other = [
        ("home/lights.json", &[Status::Failed][..]),
        ("office/lights.json", &[Status::Failed]),
    ];
    let (text, markdown, _) = reports(&run(0.5, &one), &run(0.5, &other));
    for file in ["home", "office"] {
        assert!(
            text.contains(&format!("lights ({file}/lights.json) › a")),
            "{text}"
        );
        let markdown = markdown.replace("<!-- -->", "");
        assert!(
            markdown.contains(&format!("lights ({file}/lights.json) › a")),
            "{markdown}"
        );
    }
}

#[test]
fn cases_with_other_criteria_are_counted() {
    let (before, after) = (
        run(0.5, &[("a.json", &[Status::Passed])]),
        run(0.8, &[("a.json", &[Status::Failed])]),
    );
    let (text, markdown, _) = reports(&before, &after);
    for report in [text, markdown] {
        let line = report
            .lines()
            .find(|line| line.contains("comparable case"))
            .unwrap();
        assert!(line.contains(", 1 case with other criteria"), "{line}");
        let line = report
            .lines()
            .find(|line| line.contains("lights › a"))
            .unwrap();
        assert!(
            line.contains("[other criteria]") || line.contains("\\[other criteria\\]"),
            "{line}"
        );
    }
}

#[test]
fn runs_without_common_case_are_not_compared() {
    let before = run(0.5, &[("a.json", &[Status::Passed])]);
    let after = run(0.5, &[("b.json", &[Status::Passed])]);
    let (text, markdown, _) = reports(&before, &after);
    for report in [text, markdown] {
        assert!(
            report.contains("no case has results in both runs"),
            "{report}"
        );
    }
    let (text, _, _) = reports(&before, &before);
    assert!(!text.contains("no case has results in both runs"), "{text}");
}

#[test]
fn json_has_the_number_of_evaluated_attempts() {
    let (passed, failed, none) = (Status::Passed, Status::Failed, Status::NotEvaluated);
    let before = run(0.5, &[("s.json", &[passed, failed, none, none])]);
    let (_, _, json) = reports(&before, &before);
    let side = &json["cases"][0]["before"];
    assert_eq!(
        (&side["passed"], &side["evaluated"], &side["attempts"]),
        (&1.into(), &2.into(), &4.into())
    );
    assert_eq!(side["pass_rate"], 0.5);
}

#[test]
fn very_large_scores_have_an_exponent() {
    let run_with = |score: f64| {
        let mut state = run(0.5, &[("s.json", &[])]);
        let metric = MetricResult {
            score: Score::new(score),
            ..unscored(&Criterion::new("m", Some(0.5)), 0, Status::Passed, "")
        };
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
    let (text, markdown, _) = reports(&run_with(1e300), &run_with(3e300));
    for report in [text, markdown] {
        for number in ["1.000e300", "3.000e300", "+2.000e300"] {
            assert!(report.contains(number), "{number}: {report}");
        }
    }
}
