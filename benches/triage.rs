//! Benchmarks of what triage waits for: groups of failures, comparison of runs, the list of runs.

#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::unwrap_used)]

use evaltrail::explorer::{
    Model, Msg, OpenedSet, ResultMsg, SetLoaded, SetMsg, Theme, draw, parse_key, update,
};
use evaltrail_core::analysis::{CaseChange, ComparisonRule, compare_runs, group_failures};
use evaltrail_core::domain::{
    AgentSpec, Attempt, AttemptKey, Cause, Criterion, EndedAttempt, JudgeSpec, MetricResult,
    PlannedCase, PlannedCases, PlannedSet, RunBy, RunEvent, RunOptions, RunPlan, RunRef, RunState,
    Status, UserSpec,
};
use evaltrail_core::formats::SetFile;
use evaltrail_core::formats::adk::default_criteria;
use evaltrail_core::metrics::unscored;
use evaltrail_engine::history::{History, PastResult, ResultOrigin};
use evaltrail_engine::store::{AppFolders, RunFolder, RunKey};
use evaltrail_engine::workspace::SetPath;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn main() {
    println!("| what | aim | measured |\n|---|---|---|");
    grouping();
    comparing();
    history();
    keys();
}

fn row(what: &str, aim: &str, measured: &str) {
    println!("| {what} | {aim} | {measured} |");
}

fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// 10,000 failures, each with three causes; 500 different first causes.
fn grouping() {
    let cause = |words: String| Cause::Error(words.into());
    let failures: Vec<Vec<Cause>> = (0..10_000)
        .map(|at| {
            vec![
                cause(format!("first {}", at % 500)),
                cause(format!("second {}", at % 90)),
                cause(format!("own {at}")),
            ]
        })
        .collect();
    let began = Instant::now();
    let found = group_failures(failures.iter().map(Vec::as_slice));
    let time = began.elapsed();
    assert_eq!((found.groups.len(), found.grouped()), (500, 10_000));
    row("grouping 10,000 failures by cause", "200 ms", &ms(time));
}

/// A run of as many cases; every `fails`-th fails.
fn finished_run(cases: usize, fails: usize) -> RunState {
    let set = PlannedSet {
        stubs: None,
        tools: Default::default(),
        id: "s".into(),
        file: "s.evalset.json".into(),
        path: "s.evalset.json".into(),
        digest: String::new(),
        agent: AgentSpec::Saved,
        agent_name: String::new(),
        agent_jobs: None,
        agent_files: None,
        file_cases: None,
        app_dir: None,
        criteria: default_criteria(),
        user: UserSpec::default(),
    };
    let planned = |index: usize| PlannedCase {
        set: 0,
        index,
        eval_id: format!("case_{index}").into(),
        content: format!("{index:032x}").into(),
        quarantine: None,
    };
    let plan = RunPlan {
        commit: None,
        run_id: format!("every-{fails}"),
        started: "2026-01-01T00:00:00Z".into(),
        sets: vec![set],
        cases: PlannedCases::new((0..cases).map(planned)).unwrap(),
        options: RunOptions::default(),
        judge: JudgeSpec::standard(),
    };
    let mut state = RunState::new(Arc::new(plan));
    for case in 0..cases {
        let status = if case % fails == 0 {
            Status::Failed
        } else {
            Status::Passed
        };
        let metric = |criterion: &Criterion| {
            let score = if case % fails == 0 { 0.25 } else { 1.0 };
            MetricResult {
                score: evaltrail_core::domain::Score::new(score),
                ..unscored(criterion, 1, status, "")
            }
        };
        let metrics = default_criteria().iter().map(metric).collect();
        let key = AttemptKey { case, attempt: 1 };
        let attempt = Attempt {
            status,
            metrics,
            ..Attempt::blank(key, &format!("case_{case}"))
        };
        state.apply(RunEvent::Finished(Arc::new(EndedAttempt::unrecorded(
            attempt,
        ))));
    }
    state
}

fn comparing() {
    let (before, after) = (finished_run(10_000, 7), finished_run(10_000, 5));
    let began = Instant::now();
    let found = compare_runs(&before, &after, &ComparisonRule::default());
    let time = began.elapsed();
    assert_eq!(
        found.cases_with(CaseChange::StillFailing).count(),
        10_000_usize.div_ceil(35)
    );
    row("comparing two runs of 10,000 cases", "200 ms", &ms(time));
}

/// A folder with 1,000 runs of 20 cases: the first reading makes the index.
fn history() {
    let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let app_folders = AppFolders {
        config: home.path().into(),
        data: home.path().into(),
        cache: home.path().into(),
    };
    let key = RunKey::open(&app_folders).unwrap();
    for at in 0..1_000 {
        let state = finished_run(20, 5);
        let plan = RunPlan {
            run_id: format!("run{at}"),
            ..(*state.plan).clone()
        };
        let mut run = RunFolder::create(folder.path(), &plan, Some(key.clone())).unwrap();
        for attempt in state.finished.iter() {
            run.append(&attempt.read().unwrap()).unwrap();
        }
        run.end().unwrap();
    }
    let opened = || {
        let began = Instant::now();
        let history = History::open(folder.path(), &[], Some(&app_folders));
        assert_eq!(history.ours().count(), 1_000);
        began.elapsed()
    };
    let first = opened();
    let later = median((0..5).map(|_| opened()).collect());
    row(
        "opening a history of 1,000 runs",
        "200 ms",
        &format!("{} (the first time {})", ms(later), ms(first)),
    );
    let history = History::open(folder.path(), &[], Some(&app_folders));
    let trends = || {
        let began = Instant::now();
        assert_eq!(history.trends(&[]).runs.len(), 1_000);
        began.elapsed()
    };
    let first = trends();
    let later = median((0..5).map(|_| trends()).collect());
    row(
        "outcomes of 20 cases over 1,000 runs, in the background",
        "200 ms",
        &format!("{} (the first time {})", ms(later), ms(first)),
    );
}

/// The time of the slowest key, with the frame after it, on the screens of triage with 10,000 failures.
fn keys() {
    let cases: Vec<Value> = (0..10_000)
        .map(|at| json!({"eval_id": format!("case_{at}"), "conversation": []}))
        .collect();
    let text = json!({"eval_set_id": "s", "eval_cases": cases}).to_string();
    let file = Arc::new(SetFile::open(Arc::from(text), "s").unwrap());
    let path = SetPath::of_file(Path::new("/w/s.evalset.json"), Path::new("/w"));
    let mut model = Model::new("w".into(), vec![path.clone()], (160, 48));
    let opened = OpenedSet {
        criteria: None,
        file: file.clone(),
        digest: "d".into(),
        agent: Ok("a".into()),
        notes: Ok(Default::default()),
        stubs: None,
    };
    let ticket = model.ticket();
    update(
        &mut model,
        Msg::Sets(SetMsg::Loaded(SetLoaded {
            set: 0,
            ticket,
            result: Ok(opened),
        })),
    );
    let run = Arc::new(RunRef {
        id: "r".into(),
        started: "2026-01-01T00:00:00Z".into(),
        by: RunBy::Evaltrail,
    });
    let origin = ResultOrigin::new(&path.path, run);
    let result = |at: usize| {
        let key = AttemptKey {
            case: at,
            attempt: 1,
        };
        let error = Some(format!(
            "the tool {} is not there",
            ["find", "set", "log", "get"][at % 4]
        ));
        let attempt = Attempt {
            status: Status::Errored,
            error,
            ..Attempt::blank(key, &format!("case_{at}"))
        };
        PastResult {
            origin: origin.clone(),
            eval_id: format!("case_{at}"),
            content: file.content_hash(at),
            attempts: vec![Arc::new(EndedAttempt::unrecorded(attempt))],
            planned: None,
            found: None,
        }
    };
    let (ticket, results) = (model.ticket(), (0..10_000).map(result).collect::<Vec<_>>());
    update(
        &mut model,
        Msg::Results(ResultMsg::History {
            ticket,
            results: results.into(),
        }),
    );
    let theme = Theme::named("default", true).unwrap();
    let mut slowest = (Duration::ZERO, "");
    for key in [
        "F", "esc", "T", "n", "r", "s", "u", "R", "y", "u", "down", "c", "esc", "esc", "o", "j",
    ] {
        let began = Instant::now();
        update(&mut model, Msg::Key(parse_key(key).unwrap()));
        let mut buffer = Buffer::empty(Rect::new(0, 0, 160, 48));
        draw(&model, &theme, &mut buffer);
        slowest = slowest.max((began.elapsed(), key));
    }
    row(
        "slowest key of a triage of 10,000 failures, with its frame",
        "16 ms",
        &format!("{} ({})", ms(slowest.0), slowest.1),
    );
}
