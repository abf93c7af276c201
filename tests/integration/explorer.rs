//! The explorer's logic without a terminal: messages in, state and effects out.

use crate::common::input::{press, type_text};
use crate::common::past::past;
use crate::common::root;
use evaltrail::explorer::Proposal;
use evaltrail::explorer::app::palette::Palette;
use evaltrail::explorer::dialogs::filter::FilterLine;
use evaltrail::explorer::dialogs::jump::CaseFinder;
use evaltrail::explorer::dialogs::messages::MessageLog;
use evaltrail::explorer::dialogs::run_options::RunOptionsForm;
use evaltrail::explorer::dialogs::verdicts::VerdictForm;
use evaltrail::explorer::prompts::ask::AskLine;
use evaltrail::explorer::prompts::confirm::Confirm;
use evaltrail::explorer::shared::run_screen::LiveScreen;
use evaltrail::explorer::{
    CaptureTarget, CaseOrigin, CaseRef, CaseSummary, ConfiguredRun, EditEffect, EditMsg, Effect,
    HistoryEffect, HistoryMsg, Model, Mouse, MouseKind, Msg, OpenedSet, ResultEffect, ResultMsg,
    RunEffect, RunMsg, RunOverrides, RunTarget, SetEffect, SetLoaded, SetMsg, SetState,
    TerminalEffect, update, verdict_lines,
};
use evaltrail::explorer::{ChatScreen, Context};
use evaltrail_core::analysis::{Addition, CoverageItem};
use evaltrail_core::domain::{
    AgentSpec, Attempt, AttemptKey, AttemptRecords, CancelReason, Content, Criterion, EndedAttempt,
    Gate, InMemory, Invocation, MetricResult, PlannedCase, PlannedCases, PlannedSet, Progress,
    RecordedAt, RubricScore, RunBy, RunEvent, RunOptions, RunPlan, RunRef, RunState, Score, Status,
    StubMode,
};
use evaltrail_core::metrics::unscored;
use evaltrail_engine::runner::{RecordedConversation, TrustQuestion};
use evaltrail_engine::store::{FileAction, FileEdit, Reversal};
use evaltrail_engine::workspace::{Workspace, open_set};
use std::sync::Arc;

fn sample() -> Model {
    let workspace = Workspace::open(&root().join("fixtures/workspace")).unwrap();
    let mut model = Model::new("w".into(), workspace.sets, (120, 40));
    for set in 0..model.view.sets.len() {
        load(&mut model, set);
    }
    press(&mut model, "left g j j right");
    model
}

fn load(model: &mut Model, set: usize) -> Vec<Effect> {
    let open = open_set(&model.view.sets[set].path).unwrap();
    let result = Ok(OpenedSet {
        criteria: None,
        file: Arc::new(open.file),
        digest: open.digest,
        agent: Ok("a".into()),
        notes: Ok(Default::default()),
        stubs: None,
    });
    let ticket = model.ticket();
    update(
        model,
        Msg::Sets(SetMsg::Loaded(SetLoaded {
            set,
            ticket,
            result,
        })),
    )
}

fn case(set: usize, index: usize) -> CaseRef {
    CaseRef { set, index }
}

/// The cases of the sample's first set.
const IDS: &[&str] = &[
    "water_tomatoes",
    "beans_are_wet",
    "herbs_moisture",
    "lettuce_six_litres",
    "check_then_water",
];

/// A run of the first set's cases.
fn run_state(model: &Model, cases: usize) -> RunState {
    let view = &model.view.sets[0];
    let SetState::Ready(_, digest) = &view.state else {
        panic!("the set is open")
    };
    let set = PlannedSet {
        stubs: None,
        tools: Default::default(),
        user: Default::default(),
        id: "watering".into(),
        file: view.path.shown.clone(),
        path: view.path.path.clone(),
        digest: digest.clone(),
        agent: AgentSpec::Replay {
            path: "r".into(),
            speed: 0,
            fallback: None,
        },
        agent_name: "garden".into(),
        agent_jobs: None,
        agent_files: None,
        file_cases: None,
        app_dir: None,
        criteria: vec![],
    };
    let case = |index| PlannedCase {
        set: 0,
        index,
        eval_id: IDS[index].into(),
        content: "".into(),
        quarantine: None,
    };
    RunState::new(Arc::new(RunPlan {
        commit: None,
        judge: evaltrail_core::domain::JudgeSpec::standard(),
        run_id: "r1".into(),
        started: String::new(),
        sets: vec![set],
        cases: PlannedCases::new((0..cases).map(case)).unwrap(),
        options: RunOptions::default(),
    }))
}

fn finished(attempt: Attempt) -> RunEvent {
    RunEvent::Finished(Arc::new(EndedAttempt::unrecorded(attempt)))
}

fn ended(case: usize, status: Status) -> RunEvent {
    finished(Attempt {
        asked: vec![],
        rubrics: vec![],
        scenario: None,
        variables: serde_json::Map::new(),
        variants: Vec::new(),
        expected_state: None,
        actual_state: None,
        key: AttemptKey { case, attempt: 1 },
        eval_id: IDS[case].into(),
        status,
        adk_status: status,
        started: String::new(),
        latency_s: Some(case as f64),
        failed: None,
        error: None,
        metrics: vec![],
        expected: [].into(),
        actual: [].into(),
        session_id: String::new(),
        user_id: String::new(),
        tries: 1,
        tool_use: None,
        setup: None,
        user_spent: None,
        turn: None,
    })
}

fn with_run(statuses: &[Status]) -> Model {
    let mut model = sample();
    let state = run_state(&model, statuses.len());
    update(&mut model, Msg::Run(RunMsg::Started(Box::new(state))));
    let mut events: Vec<RunEvent> = statuses
        .iter()
        .enumerate()
        .map(|(at, status)| ended(at, *status))
        .collect();
    events.push(RunEvent::Ended { duration_s: 1.0 });
    update(&mut model, Msg::Run(RunMsg::Events(events)));
    press(&mut model, "q");
    model
}

#[test]
fn r_runs_the_case_the_selection_or_the_set() {
    let mut model = sample();
    assert_eq!(
        press(&mut model, "r"),
        [Effect::Run(RunEffect::Start(
            vec![case(0, 0)],
            RunTarget::Agent
        ))]
    );
    assert_eq!(
        press(&mut model, "j space space r"),
        [Effect::Run(RunEffect::Start(
            vec![case(0, 1), case(0, 2)],
            RunTarget::Agent
        ))]
    );
    press(&mut model, "esc left");
    let effects = press(&mut model, "r");
    assert!(
        matches!(&effects[..], [Effect::Run(RunEffect::Start(cases, RunTarget::Agent))] if cases.len() == 10)
    );
    press(&mut model, "right enter");
    assert_eq!(
        press(&mut model, "r").len(),
        1,
        "on a case it runs that case"
    );
}

#[test]
fn rerun_failed_runs_cases_that_did_not_pass() {
    use Status::*;
    let mut model = with_run(&[Passed, Passed]);
    assert_eq!(press(&mut model, "R"), [], "nothing has failed");
    assert!(
        model
            .notice
            .as_ref()
            .unwrap()
            .text
            .contains("no listed case failed")
    );
    let mut model = with_run(&[Passed, Failed, Errored, NotEvaluated, Passed]);
    assert_eq!(
        press(&mut model, "R"),
        [Effect::Run(RunEffect::Start(
            vec![case(0, 1), case(0, 2), case(0, 3)],
            RunTarget::Agent
        ))]
    );
}

#[test]
fn rerun_key_runs_all_where_nothing_was_run() {
    let mut model = sample();
    let hint = |model: &Model| {
        evaltrail::explorer::commands::RERUN_FAILED
            .hint_now
            .unwrap()(model)
    };
    assert_eq!(press(&mut model, "R"), [], "past results are still read");
    let (ticket, results) = (model.ticket(), Vec::new().into());
    update(
        &mut model,
        Msg::Results(ResultMsg::History { ticket, results }),
    );
    assert_eq!(hint(&model), "run all (10)");
    let all: Vec<CaseRef> = (0..10).map(|at| case(0, at)).collect();
    let start = Effect::Run(RunEffect::Start(all, RunTarget::Agent));
    assert_eq!(press(&mut model, "R"), [start]);
    let one = with_run(&[Status::Passed]);
    assert_eq!(hint(&one), "rerun failed", "nine others were not run");
}

/// What the question of the key says, which starts a run of these cases five times.
fn repeated(model: &mut Model) -> (String, Vec<CaseRef>) {
    assert_eq!(press(model, "K"), [], "it asks first");
    let title = model.dialog::<Confirm>().unwrap().question.title.clone();
    match &press(model, "enter")[..] {
        [Effect::Run(RunEffect::Start(cases, RunTarget::AgentWith(overrides)))] => {
            assert_eq!(overrides.repeat, Some(5));
            (title, cases.clone())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn repeat_key_takes_selection_failures_or_case() {
    use Status::*;
    let mut model = with_run(&[Passed, Failed, Passed, Errored]);
    let failing = (
        "Repeat 2 failing cases 5 times each?".into(),
        vec![case(0, 1), case(0, 3)],
    );
    assert_eq!(repeated(&mut model), failing);
    press(&mut model, "enter");
    let open = model.open_case().unwrap().at;
    assert_eq!(
        repeated(&mut model),
        ("Repeat the case 5 times?".into(), vec![open])
    );
    press(&mut model, "L q g space");
    let selected = ("Repeat the case 5 times?".into(), vec![case(0, 0)]);
    assert_eq!(repeated(&mut model), selected);
    let mut model = with_run(&[Passed, Passed]);
    let (title, cases) = repeated(&mut model);
    assert_eq!(
        (title.as_str(), cases),
        ("Repeat the case 5 times?", vec![case(0, 0)])
    );
}

#[test]
fn next_failing_goes_around() {
    use Status::*;
    let mut model = with_run(&[Passed, Failed, Passed, Errored]);
    let mut seen = Vec::new();
    for _ in 0..3 {
        press(&mut model, "n");
        seen.push(model.view.browse.cursor);
    }
    press(&mut model, "N");
    seen.push(model.view.browse.cursor);
    assert_eq!(seen, [1, 3, 1, 3]);
}

/// A case that passes after an edit leaves the failing ones at the top of the list. The next one is the one that followed it.
#[test]
fn next_failing_continues_after_a_fixed_case() {
    use Status::*;
    let fix_second = |then: &str| {
        let mut model = with_run(&[Failed, Failed, Failed, Failed]);
        press(&mut model, "o n");
        assert_eq!(model.current_case(), Some(case(0, 1)));
        let SetState::Ready(_, digest) = &model.view.sets[0].state else {
            panic!()
        };
        let digest = digest.clone();
        let RunEvent::Finished(passed) = ended(1, Passed) else {
            panic!()
        };
        let revision = model.view.outcomes.get(case(0, 1)).unwrap().revision;
        let reevaluated = SetMsg::Reevaluated {
            set: 0,
            digest,
            requested: vec![(case(0, 1), revision)],
            results: vec![(case(0, 1), vec![passed])],
        };
        update(&mut model, Msg::Sets(reevaluated));
        let on = (model.current_case(), model.view.browse.cursor);
        assert_eq!(on, (Some(case(0, 1)), 3), "it stays under the cursor");
        press(&mut model, then);
        assert_eq!(
            model.notice.as_ref().map(|notice| notice.text.as_str()),
            None
        );
        model.current_case().unwrap()
    };
    assert_eq!(fix_second("n"), case(0, 2));
    assert_eq!(fix_second("N"), case(0, 0));
    assert_eq!(fix_second("n n"), case(0, 3));
}

#[test]
fn end_of_repeated_run_counts_flaky_cases() {
    use Status::*;
    let mut model = sample();
    let mut state = run_state(&model, 3);
    let mut plan = RunPlan::clone(&state.plan);
    plan.options.repeat = 2;
    state = RunState::new(Arc::new(plan));
    update(&mut model, Msg::Run(RunMsg::Started(Box::new(state))));
    let attempt = |case, number, status| {
        let RunEvent::Finished(ended) = ended(case, status) else {
            panic!()
        };
        let mut attempt = Attempt::clone(&ended.read().unwrap());
        attempt.key.attempt = number;
        finished(attempt)
    };
    let statuses = [[Passed, Passed], [Passed, Failed], [Failed, Errored]];
    let attempts = statuses.into_iter().enumerate();
    let mut events: Vec<RunEvent> = attempts
        .flat_map(|(case, [one, two])| [attempt(case, 1, one), attempt(case, 2, two)])
        .collect();
    events.push(RunEvent::Ended { duration_s: 1.0 });
    update(&mut model, Msg::Run(RunMsg::Events(events)));
    assert_eq!(
        model.notice.as_ref().map(|notice| notice.text.as_str()),
        Some(
            "run ended: 1 case always passed, 1 was flaky, 1 never passed; attempts: 3 passed, 2 failed, 1 errored, \
             0 not evaluated"
        )
    );
}

/// A case that passes since it was edited is not run again.
#[test]
fn rerun_on_run_screen_leaves_out_fixed_cases() {
    use Status::*;
    let mut model = with_run(&[Failed, Failed]);
    let RunEvent::Finished(passed) = ended(1, Passed) else {
        panic!()
    };
    let outcomes = &mut model.view.outcomes;
    outcomes.reevaluate(case(0, 1), Some(vec![passed]));
    press(&mut model, "L");
    assert_eq!(
        press(&mut model, "R"),
        [Effect::Run(RunEffect::Start(
            vec![case(0, 0)],
            RunTarget::Agent
        ))]
    );
}

#[test]
fn tab_completes_and_corrects_the_filter() {
    let mut model = sample();
    let SetState::Ready(file, digest) = &model.view.sets[0].state else {
        panic!()
    };
    let waters = CaseSummary {
        tools: vec!["water_bed".into()],
        ..CaseSummary::default()
    };
    let summaries = SetMsg::Summarised {
        set: 0,
        digest: digest.clone(),
        summaries: Arc::new(vec![waters; file.len()]),
    };
    update(&mut model, Msg::Sets(summaries));
    let mut type_filter = |text: &str| {
        press(&mut model, "/");
        text.chars()
            .for_each(|letter| drop(press(&mut model, &letter.to_string())));
        press(&mut model, "tab");
        let typed = model.view.browse.filter.clone();
        let listed = model.view.browse.visible.len();
        press(&mut model, "esc");
        (typed, listed)
    };
    let all = type_filter("").1;
    assert_eq!(type_filter("-to"), ("-tool:".into(), 0));
    assert_eq!(type_filter("status:not_r"), ("status:not_run".into(), all));
    let (filter, listed) = type_filter("tool:watr_bed");
    assert_eq!(filter, "tool:water_bed");
    assert!(listed > 0);
    assert_eq!(type_filter("turns:1").0, "turns:1");
}

#[test]
fn a_run_can_be_ended_gently_and_at_once() {
    let mut model = sample();
    assert_eq!(press(&mut model, "X"), []);
    let state = run_state(&model, 4);
    update(&mut model, Msg::Run(RunMsg::Started(Box::new(state))));
    assert!(model.is_on(Context::Run));
    assert_eq!(
        press(&mut model, "X"),
        [Effect::Run(RunEffect::Cancel(CancelReason::Finish))]
    );
    update(
        &mut model,
        Msg::Run(RunMsg::Events(vec![RunEvent::Cancelling(
            CancelReason::Finish,
        )])),
    );
    assert_eq!(
        press(&mut model, "X"),
        [Effect::Run(RunEffect::Cancel(CancelReason::Stop))]
    );
    assert_eq!(
        press(&mut model, "p"),
        [Effect::Run(RunEffect::Pause(true))]
    );
    update(
        &mut model,
        Msg::Run(RunMsg::Events(vec![RunEvent::Paused(true)])),
    );
    assert_eq!(
        press(&mut model, "p"),
        [Effect::Run(RunEffect::Pause(false))]
    );
    let key = AttemptKey {
        case: 2,
        attempt: 1,
    };
    update(
        &mut model,
        Msg::Run(RunMsg::Events(vec![RunEvent::Started { key, slot: 0 }])),
    );
    assert_eq!(
        press(&mut model, "x"),
        [Effect::Run(RunEffect::CancelAttempt(key))]
    );
    assert_eq!(
        press(&mut model, "r"),
        [],
        "there is no second run beside it"
    );
    assert_eq!(
        press(&mut model, "ctrl-c"),
        [],
        "leaving a run is asked about"
    );
    assert!(
        model
            .dialog::<Confirm>()
            .is_some_and(|c| c.then == Effect::Terminal(TerminalEffect::Quit))
    );
    assert_eq!(
        press(&mut model, "y"),
        [Effect::Terminal(TerminalEffect::Quit)]
    );
}

#[test]
fn trust_question_defaults_to_no() {
    let question = TrustQuestion {
        destination: None,
        action: evaltrail_engine::runner::TrustAction::Start,
        command: "adk api_server".into(),
        folder: "/w".into(),
        fingerprint: "f".into(),
    };
    let asked = |model: &mut Model| {
        let msg = RunMsg::AskTrust(vec![case(0, 0)], vec![question.clone()], RunTarget::Agent);
        update(model, Msg::Run(msg));
    };
    let mut model = sample();
    for no in ["enter", "esc", "n", "q"] {
        asked(&mut model);
        assert_eq!(press(&mut model, no), [], "{no} is no");
        assert!(model.view.open_dialog.is_none());
    }
    asked(&mut model);
    assert_eq!(
        press(&mut model, "y"),
        [Effect::Run(RunEffect::StartTrusted(
            vec![case(0, 0)],
            vec![question.clone()],
            RunTarget::Agent
        ))]
    );
}

/// A question cannot be confirmed before all of it was on the screen, including text below the screen or after
/// blanks.
#[test]
fn yes_requires_whole_question_displayed() {
    let question = |n: usize| TrustQuestion {
        destination: None,
        action: evaltrail_engine::runner::TrustAction::Start,
        command: format!("program-{n}{}--and-this", "\u{2800}".repeat(40)),
        folder: "/w".into(),
        fingerprint: n.to_string(),
    };
    let questions: Vec<TrustQuestion> = (0..15).map(question).collect();
    let mut model = sample();
    let ask = |model: &mut Model, size: (u16, u16)| {
        update(model, Msg::Resize(size.0, size.1));
        let msg = RunMsg::AskTrust(vec![case(0, 0)], questions.clone(), RunTarget::Agent);
        update(model, Msg::Run(msg));
    };
    for size in [(120, 24), (60, 12), (30, 5), (10, 3)] {
        ask(&mut model, size);
        assert_eq!(press(&mut model, "y"), [], "{size:?}: there is more below");
        assert!(model.view.open_dialog.is_some());
    }
    ask(&mut model, (120, 24));
    let mut pressed = 0;
    while press(&mut model, "y").is_empty() {
        press(&mut model, "j");
        pressed += 1;
        assert!(pressed < 200);
    }
    assert!(pressed > 10, "{pressed}");
    ask(&mut model, (120, 24));
    press(&mut model, "G");
    assert_eq!(press(&mut model, "y").len(), 1, "at its end");
}

#[test]
fn key_question_starts_run_or_declines_key() {
    let question = TrustQuestion {
        destination: None,
        action: evaltrail_engine::runner::TrustAction::Use,
        command: "use GOOGLE_API_KEY of /w/.env to call gemini-2.5-flash".into(),
        folder: "/w".into(),
        fingerprint: "f".into(),
    };
    for (key, allowed) in [("y", true), ("n", false), ("esc", false)] {
        let mut model = sample();
        let msg = RunMsg::AskTrust(vec![case(0, 0)], vec![question.clone()], RunTarget::Saved);
        update(&mut model, Msg::Run(msg));
        let questions = vec![question.clone()];
        let wanted = match allowed {
            true => Effect::Run(RunEffect::StartTrusted(
                vec![case(0, 0)],
                questions,
                RunTarget::Saved,
            )),
            false => Effect::Run(RunEffect::DeclineKeys(questions)),
        };
        assert_eq!(
            press(&mut model, key),
            [wanted],
            "{key} starts nothing but what was allowed"
        );
    }
}

#[test]
fn open_case_stays_while_its_file_is_unreadable() {
    let mut model = sample();
    press(&mut model, "enter");
    assert!(model.is_on(Context::Case));
    let ticket = model.ticket();
    let loaded = SetLoaded {
        set: 0,
        ticket,
        result: Err("line 3: expected a colon".into()),
    };
    update(&mut model, Msg::Sets(SetMsg::Loaded(loaded)));
    assert!(model.is_on(Context::Case));
    load(&mut model, 0);
    assert!(model.is_on(Context::Case));
}

#[test]
fn older_load_result_never_replaces_newer() {
    let mut model = sample();
    let read = |model: &mut Model| -> Vec<Effect> {
        let sets = model.view.sets.iter().map(|set| set.path.clone()).collect();
        assert_eq!(
            update(model, Msg::Sets(SetMsg::FilesChanged)),
            [Effect::Sets(SetEffect::Rediscover)]
        );
        update(model, Msg::Sets(SetMsg::Found(sets)))
    };
    let answer = |effect: &Effect, why: &str| match effect {
        Effect::Sets(SetEffect::Load { set, ticket }) => Msg::Sets(SetMsg::Loaded(SetLoaded {
            set: *set,
            ticket: *ticket,
            result: Err(why.into()),
        })),
        other => panic!("{other:?}"),
    };
    let (first, second) = (read(&mut model), read(&mut model));
    assert_eq!(
        (first.len(), second.len()),
        (model.view.sets.len(), model.view.sets.len())
    );
    update(&mut model, answer(&first[0], "first"));
    let failed = |model: &Model| matches!(&model.view.sets[0].state, SetState::Failed(why) if why == "first");
    assert!(
        failed(&model),
        "a file that changes all the time is shown all the same"
    );
    let third = read(&mut model);
    update(&mut model, answer(&third[0], "third"));
    update(&mut model, answer(&second[0], "second"));
    assert!(
        matches!(&model.view.sets[0].state, SetState::Failed(why) if why == "third"),
        "not an older answer"
    );
    let asked = load(&mut model, 0);
    assert!(
        matches!(
            &asked[..],
            [Effect::Sets(SetEffect::Summarise { set: 0, .. })]
        ),
        "{asked:?}"
    );
    assert!(model.file(0).is_some());
}

#[test]
fn effect_results_survive_file_rediscovery() {
    let mut model = sample();
    let (history, results) = (model.ticket(), vec![]);
    let SetState::Ready(_, digest) = &model.view.sets[0].state else {
        panic!()
    };
    let digest = digest.clone();
    let sets = model.view.sets.iter().map(|set| set.path.clone()).collect();
    update(&mut model, Msg::Sets(SetMsg::Found(sets)));
    update(
        &mut model,
        Msg::Results(ResultMsg::History {
            ticket: history,
            results: results.into(),
        }),
    );
    assert_eq!(
        model.history, history,
        "past results are taken although files were looked for since"
    );
    update(
        &mut model,
        Msg::Sets(SetMsg::Summarised {
            set: 0,
            digest,
            summaries: Arc::new(Vec::new()),
        }),
    );
    assert!(
        model.view.sets[0].summaries.is_some(),
        "a summary is about a file, whenever it was asked for"
    );
    update(
        &mut model,
        Msg::Sets(SetMsg::Summarised {
            set: 1,
            digest: "of another".into(),
            summaries: Arc::default(),
        }),
    );
    assert!(model.view.sets[1].summaries.is_none());
}

#[test]
fn sets_are_listed_as_they_load() {
    let full = sample();
    let mut model = Model::new("w".into(), vec![], (100, 30));
    model.is_searching = true;
    let effects = update(
        &mut model,
        Msg::Sets(SetMsg::Found(
            full.view.sets.iter().map(|set| set.path.clone()).collect(),
        )),
    );
    assert!(!model.is_searching);
    assert_eq!((model.view.sets.len(), effects.len()), (6, 6));
    load(&mut model, 0);
    assert_eq!(
        model.view.browse.visible.len(),
        10,
        "the first set is listed as soon as it is there"
    );
}

#[test]
fn open_case_stays_until_its_file_is_deleted() {
    let mut model = with_run(&[Status::Passed, Status::Failed]);
    press(&mut model, "g j enter");
    let mut sets: Vec<_> = model.view.sets.iter().map(|set| set.path.clone()).collect();
    let mut new = sets[0].clone();
    (new.shown, new.path, new.stem) = (
        "garden/a_new.evalset.json".into(),
        "a_new".into(),
        "a_new".into(),
    );
    sets.push(new);
    update(&mut model, Msg::Sets(SetMsg::Found(sets.clone())));
    let first = model.listed_sets().next().unwrap();
    assert_eq!(
        (
            model.view.sets[first].path.stem.as_str(),
            model.listed_sets().count()
        ),
        ("a_new", 7)
    );
    assert_eq!(
        model.shown_attempt().unwrap().status,
        Status::Failed,
        "the case that was open stays open"
    );
    assert_eq!(
        model.current_case(),
        Some(case(0, 1)),
        "a set keeps its index"
    );
    sets.retain(|set| set.stem != "watering");
    update(&mut model, Msg::Sets(SetMsg::Found(sets)));
    assert!(model.is_on(Context::Browse), "its file is gone");
    assert!(
        model
            .listed_sets()
            .all(|set| model.view.sets[set].path.stem != "watering")
    );
}

#[test]
fn filter_applies_per_key_and_esc_clears_it() {
    use Status::*;
    let mut model = with_run(&[Passed, Failed, Passed]);
    press(&mut model, "/ s t a t u s : f a i l");
    assert_eq!(model.view.browse.visible, [case(0, 1)]);
    press(&mut model, "x");
    assert_eq!(
        model.view.browse.visible,
        [case(0, 1)],
        "a filter that cannot be read changes nothing"
    );
    press(&mut model, "enter");
    assert!(model.view.open_dialog.is_some(), "it is not left");
    press(&mut model, "backspace enter");
    assert!(model.view.open_dialog.is_none());
    assert_eq!(model.view.browse.filter, "status:fail");
    press(&mut model, "esc");
    assert_eq!(model.view.browse.visible.len(), 10);
    press(&mut model, "o");
    assert_eq!(model.view.browse.visible[0], case(0, 1), "failing first");
    press(&mut model, "o");
    assert_eq!(
        model.view.browse.visible[0],
        case(0, 1),
        "by cause, those that passed last"
    );
    press(&mut model, "o");
    assert_eq!(model.view.browse.visible[0], case(0, 2), "slowest first");
}

#[test]
fn the_palette_gives_any_command_of_the_screen() {
    let mut model = sample();
    press(&mut model, ": q u i t");
    let Some(palette) = model.dialog::<Palette>() else {
        panic!("the palette")
    };
    assert_eq!(palette.picker.found[0].0.name(), "quit");
    assert_eq!(
        press(&mut model, "enter"),
        [Effect::Terminal(TerminalEffect::Quit)]
    );
}

/// A command of another screen is found by its name, and says where it is. Without it, scattered letters of its name would find
/// commands that change files.
#[test]
fn palette_names_commands_of_other_screens() {
    let mut model = sample();
    press(&mut model, ":");
    "export"
        .chars()
        .for_each(|letter| drop(press(&mut model, &letter.to_string())));
    let found = |model: &Model| -> Vec<&str> {
        let palette = model.dialog::<Palette>().unwrap();
        palette
            .picker
            .found
            .iter()
            .map(|(command, _)| command.name())
            .collect()
    };
    assert_eq!(found(&model), ["export"]);
    assert_eq!(press(&mut model, "enter"), []);
    let notice = model.notice.as_ref().map(|notice| notice.text.as_str());
    assert_eq!(notice, Some("export is a command of other screens: runs"));
    assert!(model.is_on(Context::Browse));
}

#[test]
fn a_case_that_is_open_shows_its_new_attempt() {
    let mut model = sample();
    press(&mut model, "enter");
    assert!(model.shown_attempt().is_none());
    let state = run_state(&model, 1);
    update(&mut model, Msg::Run(RunMsg::Started(Box::new(state))));
    assert!(
        model.open_case().is_some(),
        "one case is watched where it is"
    );
    update(
        &mut model,
        Msg::Run(RunMsg::Events(vec![ended(0, Status::Failed)])),
    );
    assert_eq!(model.shown_attempt().unwrap().status, Status::Failed);
}

#[test]
fn the_mouse_chooses_opens_and_scrolls() {
    let mut model = sample();
    let mut at = |kind, x, y| update(&mut model, Msg::Mouse(Mouse { x, y, kind }));
    // The third case: below the header, the border and the column headers.
    at(MouseKind::Click, 50, 5);
    at(MouseKind::ScrollDown, 50, 5);
    assert_eq!(
        model.current_case(),
        Some(case(0, 5)),
        "the wheel goes three rows on"
    );
    let click = Msg::Mouse(Mouse {
        x: 50,
        y: 8,
        kind: MouseKind::Click,
    });
    update(&mut model, click);
    assert!(
        model
            .open_case()
            .is_some_and(|shown| shown.at == case(0, 5)),
        "a click on the chosen row opens it"
    );
    press(&mut model, "q");
    update(
        &mut model,
        Msg::Mouse(Mouse {
            x: 5,
            y: 5,
            kind: MouseKind::Click,
        }),
    );
    assert_eq!(
        model.current_case(),
        Some(case(1, 0)),
        "a click in the tree lists that set"
    );
}

#[test]
fn result_is_copied_and_editor_opened() {
    use Status::*;
    let mut model = with_run(&[Failed]);
    let effects = press(&mut model, "g y");
    let [Effect::Terminal(TerminalEffect::Copy(text))] = &effects[..] else {
        panic!("{effects:?}")
    };
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(value["status"], "failed");
    let effects = press(&mut model, "j c e");
    assert!(
        matches!(&effects[..], [Effect::Terminal(TerminalEffect::OpenEditor { path, line })] if path.ends_with("watering.evalset.json") && *line > 10)
    );
}

/// A model after a run of two cases, in which the agent responded.
fn with_something_done() -> Model {
    let mut model = sample();
    let state = run_state(&model, 2);
    update(&mut model, Msg::Run(RunMsg::Started(Box::new(state))));
    let done = |at| {
        let RunEvent::Finished(attempt) = ended(at, Status::Passed) else {
            unreachable!()
        };
        let turn = Invocation {
            final_response: Some(Content::text("model", "done")),
            ..Invocation::default()
        };
        finished(Attempt {
            actual: [turn].into(),
            ..(*attempt.read().unwrap()).clone()
        })
    };
    update(
        &mut model,
        Msg::Run(RunMsg::Events(vec![
            done(0),
            done(1),
            RunEvent::Ended { duration_s: 1.0 },
        ])),
    );
    press(&mut model, "q");
    model
}

#[test]
fn finder_lists_cases_loaded_while_open() {
    let mut model = sample();
    let last = model.view.sets.len() - 1;
    let file = std::mem::replace(&mut model.view.sets[last].state, SetState::Loading);
    assert!(matches!(file, SetState::Ready(..)));
    press(&mut model, "f");
    let listed = |model: &Model| match model.dialog::<CaseFinder>() {
        Some(finder) => finder.picker.found.len(),
        None => panic!("{:?}", model.view.open_dialog),
    };
    let before = listed(&model);
    load(&mut model, last);
    assert!(listed(&model) > before);
}

#[test]
fn judging_again_uses_the_saved_attempts() {
    let mut model = sample();
    assert_eq!(press(&mut model, "m j"), [], "nothing was done yet");
    assert!(
        model
            .notice
            .as_ref()
            .unwrap()
            .text
            .contains("r runs the case")
    );
    let mut model = with_something_done();
    let effects = press(&mut model, "space space m j");
    let [Effect::Run(RunEffect::Start(cases, RunTarget::Recorded(kept)))] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(cases, &[case(0, 0), case(0, 1)]);
    assert!(kept.iter().all(|(_, attempt)| attempt.actual_turns == 1));
}

/// A journal whose run was removed.
struct Lost;

impl AttemptRecords for Lost {
    fn read(&self, _: RecordedAt) -> Result<Arc<Attempt>, String> {
        Err("the run was removed".into())
    }
}

#[test]
fn large_attempt_is_loaded_or_reported_lost() {
    let mut model = with_something_done();
    let whole = model.view.outcomes.get(case(0, 0)).unwrap().attempts[0]
        .read()
        .unwrap();
    let lost: Arc<dyn AttemptRecords> = Arc::new(Lost);
    let at = RecordedAt {
        offset: 0,
        length: 1 << 20,
    };
    let large = EndedAttempt::recorded(whole.clone(), at, &lost, InMemory::Summary);
    let run = Arc::new(RunRef {
        id: "r2".into(),
        started: String::new(),
        by: RunBy::Evaltrail,
    });
    model.view.outcomes.add(case(0, 0), &run, Arc::new(large));
    let asked = |effects: Vec<Effect>| {
        let [Effect::Results(ResultEffect::ReadAttempt(key, _))] = &effects[..] else {
            panic!("{effects:?}")
        };
        key.clone()
    };
    let lines = |model: &Model| {
        let Some(case) = model.open_case() else {
            panic!("no case is open")
        };
        format!("{:?}", case.body.as_ref().expect("lines"))
    };
    let key = asked(press(&mut model, "enter"));
    assert_eq!(press(&mut model, "j"), [], "it is requested once");
    assert_eq!(
        update(
            &mut model,
            Msg::Results(ResultMsg::AttemptRead(key, Ok(whole)))
        ),
        []
    );
    assert!(lines(&model).contains("done"), "{}", lines(&model));
    let key = asked(press(&mut model, "v"));
    assert_eq!(
        update(
            &mut model,
            Msg::Results(ResultMsg::AttemptRead(
                key,
                Err("the run was removed".into())
            ))
        ),
        []
    );
    assert!(
        lines(&model).contains("can no longer be read"),
        "{}",
        lines(&model)
    );
}

#[test]
fn human_verdict_does_not_replace_computed() {
    let mut model = with_something_done();
    let before = model.view.outcomes.get(case(0, 0)).unwrap().clone();
    let metric = MetricResult {
        status: Status::Failed,
        ..unscored(&Criterion::new("m", Some(0.5)), 1, Status::Failed, "")
    };
    let attempt = Attempt {
        metrics: vec![metric],
        ..(*before.attempts[0].read().unwrap()).clone()
    };
    let run = Arc::new(RunRef {
        id: "r2".into(),
        started: String::new(),
        by: RunBy::Evaltrail,
    });
    model.view.outcomes.add(
        case(0, 0),
        &run,
        Arc::new(EndedAttempt::unrecorded(attempt)),
    );
    press(&mut model, "enter m v tab");
    update(&mut model, Msg::Paste("it is fine\n".into()));
    let effects = press(&mut model, "enter");
    let [Effect::Results(ResultEffect::SaveVerdicts(kept))] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(
        (kept[0].computed, kept[0].verdict, kept[0].note.as_str()),
        (Some(false), Some(true), "it is fine")
    );
    assert_eq!(
        (kept[0].run_id.as_str(), kept[0].metric.as_str()),
        ("r2", "m")
    );
    assert_eq!(
        model.shown_attempt().unwrap().metrics[0].status,
        Status::Failed,
        "the computed one stays"
    );
    // Without a change nothing is saved. Tab changes the verdict to agreement with the computed one, then to none.
    assert_eq!(press(&mut model, "m v enter"), []);
    press(&mut model, "m v tab");
    assert!(
        model
            .dialog::<VerdictForm>()
            .is_some_and(|given| given.items[0].verdict == Some(false))
    );
    press(&mut model, "tab");
    let effects = press(&mut model, "enter");
    assert!(
        matches!(&effects[..], [Effect::Results(ResultEffect::SaveVerdicts(kept))] if kept[0].verdict.is_none()),
        "{effects:?}"
    );
    assert!(model.verdicts.is_empty());
}

/// A notice says that the verdict is saved, and the line below the metric shows it beside the computed one.
#[test]
fn overruled_rubric_shows_both_verdicts() {
    let mut model = with_something_done();
    let before = model.view.outcomes.get(case(0, 0)).unwrap().clone();
    let rubric = RubricScore {
        rubric_id: "kind".into(),
        score: Score::new(1.0),
        rationale: None,
        votes: None,
    };
    let metric = MetricResult {
        rubrics: vec![rubric],
        ..unscored(&Criterion::new("m", Some(0.5)), 1, Status::Passed, "")
    };
    let attempt = Attempt {
        metrics: vec![metric],
        ..(*before.attempts[0].read().unwrap()).clone()
    };
    let run = Arc::new(RunRef {
        id: "r2".into(),
        started: String::new(),
        by: RunBy::Evaltrail,
    });
    model.view.outcomes.add(
        case(0, 0),
        &run,
        Arc::new(EndedAttempt::unrecorded(attempt)),
    );
    press(&mut model, "enter");
    let lines = |model: &Model| format!("{:?}", verdict_lines(model, 120, true));
    assert!(!lines(&model).contains("your verdict"), "{}", lines(&model));
    press(&mut model, "m v down tab");
    update(&mut model, Msg::Paste("it is rude".into()));
    press(&mut model, "enter");
    let notice = model.notice.as_ref().unwrap();
    assert_eq!(notice.text, "your verdict on kind is saved");
    let words = "your verdict on kind: ✗ no: it is rude  (computed: ✓ yes)";
    assert!(lines(&model).contains(words), "{}", lines(&model));
    press(&mut model, "m v down tab tab enter");
    assert!(!lines(&model).contains("your verdict"), "{}", lines(&model));
}

/// Files that were requested before a decision may have been read before it was saved.
#[test]
fn late_reply_does_not_drop_a_decision() {
    let mut model = with_run(&[Status::Failed, Status::Failed]);
    let before = model.ticket();
    press(&mut model, "T a");
    let counts = |model: &Model| {
        let queue = model.queue.as_ref().unwrap();
        (queue.undecided.len(), queue.pending.values().sum::<usize>())
    };
    assert_eq!(counts(&model), (1, 1));
    let read = Msg::Results(ResultMsg::Decisions(before, Vec::new()));
    let effects = update(&mut model, read);
    let [Effect::Results(ResultEffect::ReadDecisions(again))] = effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(counts(&model), (1, 1));
    let read = Msg::Results(ResultMsg::Decisions(again, Vec::new()));
    assert_eq!(update(&mut model, read), []);
    assert_eq!(counts(&model), (2, 0), "another program took it back");
}

/// A run of this explorer is also in the files that are read again when it has ended.
#[test]
fn own_results_cause_no_foreign_notice() {
    let mut model = with_run(&[Status::Passed, Status::Failed]);
    let (first, file) = (model.ticket(), model.view.sets[0].path.path.clone());
    update(
        &mut model,
        Msg::Results(ResultMsg::History {
            ticket: first,
            results: Vec::new().into(),
        }),
    );
    let recorded = |model: &mut Model, run: &str| {
        let effects = update(model, Msg::Results(ResultMsg::RecordsChanged));
        let [Effect::Results(ResultEffect::ReadAgain(ticket, _))] = &effects[..] else {
            panic!("{effects:?}")
        };
        let RunEvent::Finished(attempt) = ended(0, Status::Passed) else {
            unreachable!()
        };
        let results = past(&file, run, vec![attempt.read().unwrap()]);
        update(
            model,
            Msg::Results(ResultMsg::History {
                ticket: *ticket,
                results: results.into(),
            }),
        );
        model
            .notice
            .as_ref()
            .map(|notice| notice.text.clone())
            .unwrap_or_default()
    };
    let words = recorded(&mut model, "r1");
    assert!(!words.contains("another program"), "{words}");
    let words = recorded(&mut model, "r2");
    assert_eq!(
        words,
        "results recorded by another program are shown: run r2"
    );
}

#[test]
fn running_attempt_marks_earlier_results() {
    let mut model = with_run(&[Status::Failed, Status::Passed]);
    let mut state = run_state(&model, 2);
    let plan = RunPlan {
        run_id: "r2".into(),
        ..(*state.plan).clone()
    };
    state = RunState::new(Arc::new(plan));
    update(&mut model, Msg::Run(RunMsg::Started(Box::new(state))));
    let key = AttemptKey {
        case: 0,
        attempt: 1,
    };
    update(
        &mut model,
        Msg::Run(RunMsg::Events(vec![RunEvent::Started { key, slot: 0 }])),
    );
    press(&mut model, "q enter");
    assert_eq!(model.current_case(), Some(case(0, 0)));
    let first = |model: &Model| format!("{:?}", verdict_lines(model, 100, false).first());
    assert!(
        first(&model).contains("the results shown are from an earlier run"),
        "{}",
        first(&model)
    );
    update(
        &mut model,
        Msg::Run(RunMsg::Events(vec![ended(0, Status::Passed)])),
    );
    assert!(!first(&model).contains("earlier run"), "{}", first(&model));
    assert_eq!(model.view.outcomes.worst(case(0, 0)), Some(Status::Passed));
}

#[test]
fn the_usual_steps_take_few_keys() {
    let mut model = with_run(&[Status::Passed, Status::Failed, Status::Passed]);
    // Why a case failed: no key, the preview shows it.
    press(&mut model, "n");
    let case = model.shown_case().expect("a preview");
    assert!(
        model
            .shown_attempt()
            .is_some_and(|attempt| attempt.status == Status::Failed)
    );
    assert_eq!(case.at, self::case(0, 1));
    // Run a set: one key in the tree.
    press(&mut model, "left");
    let effects = press(&mut model, "r");
    assert!(matches!(&effects[..], [Effect::Run(RunEffect::Start(cases, _))] if cases.len() == 10));
    // Undo: one key on any screen.
    for keys in ["right", "enter", "esc left"] {
        press(&mut model, keys);
        let effects = press(&mut model, "u");
        let is_undo = |effect: &Effect| {
            matches!(
                effect,
                Effect::Edits(EditEffect::UndoOrRedo {
                    reversal: Reversal::Undo,
                    shown: Some(_),
                    confirmed: None
                })
            )
        };
        assert!(
            effects.len() == 1 && effects.iter().all(is_undo),
            "{keys}: {effects:?}"
        );
    }
}

#[test]
fn hint_names_the_cases_to_run() {
    let mut model = sample();
    let hint = |model: &Model| evaltrail::explorer::commands::RUN.hint_now.unwrap()(model);
    assert_eq!(hint(&model), "run case");
    press(&mut model, "left");
    assert_eq!(hint(&model), "run set (10)");
    press(&mut model, "g");
    assert_eq!(hint(&model), "run all (30)");
    press(&mut model, "right space space");
    assert_eq!(hint(&model), "run 2 selected");
    press(&mut model, "left");
    assert_eq!(
        hint(&model),
        "run 2 selected",
        "a selection counts wherever the cursor is"
    );
}

#[test]
fn key_sequence_is_completed_or_cancelled() {
    let mut model = sample();
    press(&mut model, "c");
    assert_eq!(model.pressed.len(), 1);
    press(&mut model, "esc");
    assert!(model.pressed.is_empty() && model.is_on(Context::Browse));
    press(&mut model, "c n");
    assert!(model.dialog::<AskLine>().is_some(), "new case");
    press(&mut model, "esc c Z");
    assert!(
        model
            .notice
            .as_ref()
            .unwrap()
            .text
            .contains("c Z is not bound")
    );
    press(&mut model, "v");
    assert!(
        model
            .notice
            .as_ref()
            .unwrap()
            .text
            .contains("elsewhere it is timeline (case, triage)")
    );
}

#[test]
fn enter_confirms_and_log_lists_notices() {
    let mut model = sample();
    let state = run_state(&model, 3);
    update(&mut model, Msg::Run(RunMsg::Started(Box::new(state))));
    press(&mut model, "q q");
    assert!(model.dialog::<Confirm>().is_some(), "a run is live");
    assert_eq!(
        press(&mut model, "enter"),
        [Effect::Terminal(TerminalEffect::Quit)]
    );
    press(&mut model, "Z");
    press(&mut model, "!");
    assert!(model.dialog::<MessageLog>().is_some());
    assert!(!model.notices.is_empty());
}

#[test]
fn equal_notices_are_counted_in_the_message_log() {
    let mut model = sample();
    let removed = || Msg::Notice("1 run was removed".to_string());
    update(&mut model, removed());
    update(&mut model, Msg::Notice("another".to_string()));
    for _ in 0..300 {
        update(&mut model, removed());
    }
    let log: Vec<(&str, u32)> = model
        .notices
        .iter()
        .map(|notice| (notice.text.as_str(), notice.count))
        .collect();
    assert_eq!(log, [("another", 1), ("1 run was removed", 301)]);
    press(&mut model, "!");
    let screen = screen_text(&model);
    assert!(screen.contains("1 run was removed  ×301"), "{screen}");
}

#[test]
fn run_dialog_sets_repeats_and_jobs() {
    let mut model = sample();
    let five = RunOverrides {
        repeat: Some(5),
        ..RunOverrides::default()
    };
    let start = |chosen: RunOverrides| {
        Effect::Run(RunEffect::Start(
            vec![case(0, 0)],
            RunTarget::AgentWith(Box::new(chosen)),
        ))
    };
    // The dialog asks for the agents and for what is configured when it opens.
    let list = || Effect::Sets(SetEffect::ListAgents);
    let press = |model: &mut Model, keys: &str| -> Vec<Effect> {
        let mut effects = press(model, keys);
        effects.retain(|one| !matches!(one, Effect::Sets(SetEffect::ReadConfigured(..))));
        effects
    };
    let wanted = [list(), start(five)];
    assert_eq!(press(&mut model, "O 5 enter"), wanted);
    assert_eq!(press(&mut model, "O enter"), wanted, "it is remembered");
    assert_eq!(
        press(&mut model, "r"),
        [Effect::Run(RunEffect::Start(
            vec![case(0, 0)],
            RunTarget::Agent
        ))],
        "r is as configured"
    );
    let other = RunOverrides {
        repeat: Some(2),
        jobs: Some(16),
        ..RunOverrides::default()
    };
    assert_eq!(
        press(&mut model, "O 2 x down 1 6 enter"),
        [list(), start(other.clone())]
    );
    assert_eq!(
        press(&mut model, "O 0 enter"),
        [list()],
        "no attempt at all is not run"
    );
    press(&mut model, "esc");
    assert_eq!(press(&mut model, "O backspace backspace esc"), [list()]);
    assert_eq!(model.run_overrides, other, "esc changes nothing");
}

#[test]
fn run_dialog_sets_agent_judge_and_filter() {
    let mut model = sample();
    model.agents = vec!["lamp".into(), "radio".into()];
    // From the tree, all cases of the set.
    press(&mut model, "h O down down tab tab");
    press(&mut model, "down tab tab down");
    type_text(&mut model, "openai/gpt-5");
    press(&mut model, "down 3 down");
    type_text(&mut model, "strict.json");
    press(&mut model, "down");
    type_text(&mut model, "bleuu");
    assert_eq!(press(&mut model, "enter"), [], "no metric is called so");
    press(&mut model, "ctrl-u");
    type_text(&mut model, "bleu, rouge_l");
    press(&mut model, "tab down");
    type_text(&mut model, "status:");
    assert_eq!(
        press(&mut model, "enter"),
        [],
        "a filter that cannot be read does not run"
    );
    assert!(model.dialog::<RunOptionsForm>().is_some());
    press(&mut model, "ctrl-u");
    type_text(&mut model, "nothing-like-this");
    assert_eq!(
        press(&mut model, "enter"),
        [],
        "a filter that leaves nothing neither"
    );
    press(&mut model, "ctrl-u");
    let first = model.eval_id(case(0, 0)).into_owned();
    type_text(&mut model, &first);
    let chosen = RunOverrides {
        agent: Some("radio".into()),
        stubs: Some(StubMode::Fail),
        judge: Some("openai/gpt-5".into()),
        samples: Some(3),
        criteria: Some("strict.json".into()),
        metrics: vec!["bleu".into(), "rouge_l_sum".into()],
        filter: first,
        ..RunOverrides::default()
    };
    assert_eq!(
        press(&mut model, "enter"),
        [Effect::Run(RunEffect::Start(
            vec![case(0, 0)],
            RunTarget::AgentWith(Box::new(chosen.clone()))
        ))]
    );
    assert_eq!(model.run_overrides, chosen, "it is remembered");
    press(&mut model, "O down down tab");
    press(&mut model, "enter");
    assert_eq!(
        model.run_overrides.agent, None,
        "after the last agent comes the configured one"
    );
}

/// What is not chosen is shown as it is configured, and the number of attempts follows what is typed.
#[test]
fn run_dialog_shows_configured_values() {
    let mut model = sample();
    let requested = |effects: &[Effect]| {
        let ticket = effects.iter().find_map(|effect| match effect {
            Effect::Sets(SetEffect::ReadConfigured(ticket, _)) => Some(*ticket),
            _ => None,
        });
        ticket.unwrap()
    };
    let of_closed = requested(&press(&mut model, "h O"));
    let ticket = requested(&press(&mut model, "esc O"));
    let configured = ConfiguredRun {
        repeat: 2,
        given_repeat: Some(2),
        jobs: 4,
        gate: "all".into(),
        stubs: "off".into(),
        criteria: vec!["garden/test_config.json".into()],
        metrics: vec!["response_match_score 0.80".into()],
        ..ConfiguredRun::default()
    };
    let late = Box::new(ConfiguredRun {
        repeat: 7,
        given_repeat: Some(7),
        ..configured.clone()
    });
    for (ticket, configured) in [(ticket, Box::new(configured)), (of_closed, late)] {
        update(
            &mut model,
            Msg::Sets(SetMsg::Configured(ticket, configured)),
        );
    }
    let shown = screen_text(&model);
    for words in [
        "repeats        2 ",
        "jobs           4 ",
        "garden/test_config.json",
        "as each criterion says",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let cases = model.view.browse.visible.len();
    assert!(
        shown.contains(&format!("{} attempts", 2 * cases)),
        "{shown}"
    );
    press(&mut model, "7");
    let shown = screen_text(&model);
    assert!(
        shown.contains(&format!("{} attempts", 7 * cases)),
        "{shown}"
    );
}

#[test]
fn gate_of_a_run_can_be_chosen() {
    let mut model = sample();
    let gate = |model: &Model| model.run_overrides.gate;
    let open = |keys: &str| format!("O {} {keys}", "down ".repeat(9).trim());
    press(&mut model, open("").trim());
    type_text(&mut model, "most");
    assert_eq!(
        press(&mut model, "enter"),
        [],
        "a gate that is none does not run"
    );
    press(&mut model, "ctrl-u");
    type_text(&mut model, "80%");
    assert!(matches!(
        &press(&mut model, "enter")[..],
        [Effect::Run(RunEffect::Start(..))]
    ));
    assert_eq!(gate(&model), Some(Gate::Rate(0.8)));
    press(&mut model, &open("ctrl-u tab tab enter"));
    assert_eq!(gate(&model), Some(Gate::Mean), "tab names the gates");
    press(&mut model, &open("tab enter"));
    assert_eq!(gate(&model), None, "as configured");
}

#[test]
fn theme_picker_previews_and_esc_restores() {
    let mut model = sample();
    press(&mut model, "t down");
    assert_eq!(model.theme, "dark");
    press(&mut model, "esc");
    assert_eq!(model.theme, "default");
    press(&mut model, "t down down enter");
    assert_eq!(model.theme, "light");
}

/// One key in the list opens the judges' responses to the case under the cursor.
#[test]
fn judges_are_opened_from_the_list_with_one_key() {
    let mut model = with_something_done();
    press(&mut model, "g J");
    assert!(model.is_on(Context::Browse), "nothing was judged yet");
    assert!(
        model
            .notice
            .as_ref()
            .unwrap()
            .text
            .contains("no judge scored this case")
    );
    let before = model.view.outcomes.get(case(0, 0)).unwrap().clone();
    let metric = MetricResult {
        judgement: Some(Default::default()),
        ..unscored(&Criterion::new("m", Some(0.5)), 1, Status::Failed, "")
    };
    let attempt = Attempt {
        metrics: vec![metric],
        ..(*before.attempts[0].read().unwrap()).clone()
    };
    let run = Arc::new(RunRef {
        id: "r2".into(),
        started: String::new(),
        by: RunBy::Evaltrail,
    });
    model.view.outcomes.add(
        case(0, 0),
        &run,
        Arc::new(EndedAttempt::unrecorded(attempt)),
    );
    press(&mut model, "J");
    let Some(shown) = model.open_case() else {
        panic!("the case")
    };
    assert_eq!(
        (shown.at, shown.mode),
        (case(0, 0), evaltrail::explorer::CaseTab::Judged)
    );
}

/// A notice disappears with the screen on which it was shown. A notice that is given while a screen or dialog closes
/// stays, also when the log is full.
#[test]
fn a_notice_goes_with_its_screen() {
    let mut model = sample();
    for _ in 0..evaltrail::explorer::shared::notices::MAX_NOTICES {
        press(&mut model, "Z");
    }
    press(&mut model, "enter");
    assert!(model.open_case().is_some() && model.notice.is_none());
    press(&mut model, "Z q");
    assert_eq!(model.notice, None);
    press(&mut model, "t enter");
    assert!(
        model
            .notice
            .as_ref()
            .is_some_and(|notice| notice.text.starts_with("theme")),
        "said while it closes"
    );
}

/// All turns of a case are one text: arrow keys go from turn to turn, and scrolling changes the current turn.
#[test]
fn the_turns_of_a_case_are_one_text() {
    let mut model = sample();
    update(&mut model, Msg::Resize(100, 19));
    press(&mut model, "g enter");
    while !model
        .eval_id(model.current_case().unwrap())
        .contains("morning_round")
    {
        press(&mut model, "esc j enter");
    }
    fn open(model: &Model) -> &evaltrail::explorer::CaseScreen {
        let Some(open) = model.open_case() else {
            panic!("a case is open")
        };
        open
    }
    let starts: Vec<usize> = open(&model)
        .body
        .as_ref()
        .unwrap()
        .turns
        .iter()
        .map(|turn| turn.line)
        .collect();
    assert_eq!(starts.len(), 4);
    press(&mut model, "right right");
    assert_eq!((open(&model).turn, open(&model).scroll), (2, starts[2]));
    press(&mut model, "g");
    assert_eq!((open(&model).turn, open(&model).scroll), (0, 0));
    press(&mut model, "G");
    assert!(
        open(&model).turn >= 2 && open(&model).scroll > starts[1],
        "the current turn is in sight"
    );
    update(&mut model, Msg::Resize(80, 24));
    press(&mut model, "G");
    let lines = open(&model).body.as_ref().unwrap().lines.len();
    assert_eq!(lines - open(&model).scroll, 18, "visible at 80×24");
    press(&mut model, "4 esc");
    assert_eq!(
        open(&model).mode,
        evaltrail::explorer::CaseTab::Compare,
        "esc closes the innermost"
    );
    press(&mut model, "esc");
    assert!(model.is_on(Context::Browse));
}

/// On a wide screen the metrics are beside the comparison, and scroll independently.
#[test]
fn metrics_are_in_a_side_pane_on_wide_screens() {
    let mut model = with_run(&[Status::Failed]);
    press(&mut model, "enter");
    let width = |model: &Model| {
        let Some(open) = model.open_case() else {
            panic!("a case is open")
        };
        let view = open.key.as_ref().unwrap().view;
        (view.width, view.beside)
    };
    assert_eq!(width(&model).1, None);
    press(&mut model, "ctrl-d");
    assert!(
        model
            .notice
            .as_ref()
            .unwrap()
            .text
            .contains("too narrow for a side pane"),
        "{:?}",
        model.notice
    );
    update(&mut model, Msg::Resize(200, 50));
    assert_eq!(width(&model), (118, Some(78)));
}

/// `enter` on an attempt in flight shows its transcript while it runs, and then its result. A cancelled attempt stays
/// in the list.
#[test]
fn running_attempt_is_shown_until_its_result() {
    let mut model = sample();
    let state = run_state(&model, 3);
    update(&mut model, Msg::Run(RunMsg::Started(Box::new(state))));
    let key = |case| AttemptKey { case, attempt: 1 };
    let step = |case, progress| RunEvent::Progress {
        key: key(case),
        progress,
    };
    let tell = |model: &mut Model, events| update(model, Msg::Run(RunMsg::Events(events)));
    let turn = Progress::Turn {
        turn: 1,
        of: 1,
        user: "Water the tomatoes.".into(),
    };
    let begun = (0..2).map(|case| RunEvent::Started {
        key: key(case),
        slot: case,
    });
    tell(
        &mut model,
        begun
            .chain([step(0, turn), step(0, Progress::SaysMore("The tom".into()))])
            .collect(),
    );
    press(&mut model, "enter");
    assert!(
        model
            .screen::<LiveScreen>()
            .is_some_and(|live| live.key == key(0))
    );
    let shown = screen_text(&model);
    for words in [
        "1  user  Water the tomatoes.",
        "agent  The tom",
        "not judged yet",
        "turn 1 of 1",
    ] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
    assert_eq!(
        press(&mut model, "x"),
        [Effect::Run(RunEffect::CancelAttempt(key(0)))]
    );
    tell(&mut model, vec![ended(0, Status::Failed)]);
    assert!(
        model
            .open_case()
            .is_some_and(|case| case.from == CaseOrigin::Run),
        "its result takes the place"
    );
    press(&mut model, "esc");
    tell(
        &mut model,
        vec![
            RunEvent::Dropped(key(1)),
            RunEvent::Ended { duration_s: 1.0 },
        ],
    );
    let shown = screen_text(&model);
    assert!(shown.contains("– beans_are_wet"), "{shown}");
    assert!(
        model
            .notice
            .as_ref()
            .unwrap()
            .text
            .ends_with(", 1 cancelled, 1 not run"),
        "{:?}",
        model.notice
    );
}

fn screen_text(model: &Model) -> String {
    let area = ratatui::layout::Rect::new(0, 0, model.size.0, model.size.1);
    let mut buffer = ratatui::buffer::Buffer::empty(area);
    evaltrail::explorer::draw(
        model,
        &evaltrail::explorer::Theme::named("mono", true).unwrap(),
        &mut buffer,
    );
    let line = |y| {
        (0..area.width)
            .map(|x| buffer[(x, y)].symbol())
            .collect::<String>()
    };
    (0..area.height).map(|y| line(y) + "\n").collect()
}

/// Columns are chosen in a dialog beside the visible list, and the list can be sorted by each of them.
#[test]
fn columns_are_chosen_and_order_the_list() {
    let mut model = with_run(&[Status::Passed, Status::Failed, Status::Passed]);
    let headers = |model: &Model| screen_text(model).lines().nth(2).unwrap().to_string();
    assert!(headers(&model).contains("turns") && headers(&model).contains("time"));
    press(&mut model, "# down down down down space");
    assert!(!headers(&model).contains("turns"), "{}", headers(&model));
    press(&mut model, "down enter");
    assert_eq!(
        model.view.browse.visible[0],
        case(0, 2),
        "the slowest first"
    );
    press(&mut model, "enter");
    assert_eq!(
        model.view.browse.visible[0],
        case(0, 0),
        "again: as in the file"
    );
    press(&mut model, "up up up up up enter esc");
    let first = model.eval_id(model.view.browse.visible[0]).into_owned();
    assert_eq!(first, "beans_are_wet", "by name");
}

fn conversation(id: &str, messages: &[&str]) -> RecordedConversation {
    let turn = |text: &&str| Invocation {
        user: Content::text("user", *text),
        ..Invocation::default()
    };
    RecordedConversation {
        id: id.into(),
        agent: None,
        turns: messages.iter().map(turn).collect(),
        input: None,
        states: Vec::new(),
        notes: Vec::new(),
        problem: None,
    }
}

/// The open proposal: its title, and the paths and contents of the files that it creates.
fn created(model: &Model) -> (String, Vec<(String, String)>) {
    let Some(proposal) = model.dialog::<Proposal>() else {
        panic!("a change is proposed")
    };
    let file = |job: &FileEdit| match &job.action {
        FileAction::Create(text) => (job.path.display().to_string(), text.clone()),
        other => panic!("{other:?}"),
    };
    (
        proposal.words.clone(),
        proposal.jobs.iter().map(file).collect(),
    )
}

#[test]
fn empty_folder_offers_create_and_capture() {
    let mut model = Model::new("empty".into(), Vec::new(), (100, 30));
    model.folder = "/work/empty".into();
    assert_eq!(
        press(&mut model, "S"),
        [Effect::Terminal(TerminalEffect::OpenSample)]
    );
    press(&mut model, "c s");
    type_text(&mut model, "lights");
    press(&mut model, "enter");
    let (words, files) = created(&model);
    assert_eq!(
        (words.as_str(), files[0].0.as_str()),
        ("create the set lights", "/work/empty/lights.evalset.json")
    );
    press(&mut model, "esc c g");
    type_text(&mut model, "trace.json");
    let (source, target) = ("trace.json".to_string(), CaptureTarget::NewSet);
    assert_eq!(
        press(&mut model, "enter"),
        [Effect::Edits(EditEffect::ReadConversations {
            source,
            target: target.clone()
        })]
    );
    let found = vec![conversation("3f2a", &["Good morning!"])];
    let source = "trace.json".to_string();
    update(
        &mut model,
        Msg::Edits(EditMsg::Conversations {
            source,
            target,
            found: Ok(found),
            additions: Vec::new(),
        }),
    );
    press(&mut model, "ctrl-u");
    type_text(&mut model, "greeting");
    press(&mut model, "enter");
    let (_, files) = created(&model);
    assert_eq!(files[0].0, "/work/empty/captured.evalset.json");
    let set: serde_json::Value = serde_json::from_str(&files[0].1).unwrap();
    assert_eq!(set["eval_cases"][0]["eval_id"], "greeting");
    assert_eq!(
        set["eval_cases"][0]["conversation"][0]["user_content"]["parts"][0]["text"],
        "Good morning!"
    );
}

/// A list that was requested before the change may be read before it. Only one that is requested after it shows it for sure.
#[test]
fn runs_are_listed_after_a_change() {
    let mut model = sample();
    let changes = [
        HistoryMsg::Named,
        HistoryMsg::Pinned("the run is pinned".into()),
        HistoryMsg::Removed("r".into()),
    ];
    for change in changes {
        let before = model.ticket();
        let effects = update(&mut model, Msg::History(change.clone()));
        let is_newer = |effect: &Effect| matches!(effect, Effect::History(HistoryEffect::List(ticket)) if *ticket > before);
        assert!(effects.iter().any(is_newer), "{change:?}: {effects:?}");
    }
}

/// Those that add coverage are first, and the source is proposed again for the next one.
#[test]
fn conversations_that_add_coverage_are_first() {
    let mut model = sample();
    press(&mut model, "c g");
    type_text(&mut model, "garden.jsonl");
    press(&mut model, "enter");
    let conversations = ["first", "second", "third"].map(|id| conversation(id, &[id]));
    let addition = |candidate, tools: &[&str]| Addition {
        candidate,
        items: tools
            .iter()
            .map(|tool| CoverageItem::Tool(tool.to_string()))
            .collect(),
    };
    update(
        &mut model,
        Msg::Edits(EditMsg::Conversations {
            source: "garden.jsonl".into(),
            target: CaptureTarget::Set(0),
            found: Ok(conversations.to_vec()),
            additions: vec![addition(2, &["a", "b", "c", "d"]), addition(1, &["e"])],
        }),
    );
    let screen = screen_text(&model);
    let line = |words: &str| {
        let found = screen.lines().position(|line| line.contains(words));
        found.unwrap_or_else(|| panic!("{words}\n{screen}"))
    };
    assert!(line("third   1 turn   +4: a, b, c …   third") < line("second   1 turn   +1: e"));
    assert!(line("second   1 turn") < line("first   1 turn   first"));
    press(&mut model, "enter");
    let Some(line) = model.dialog::<AskLine>() else {
        panic!("an id is asked for")
    };
    assert_eq!(line.input.value(), "third");
    press(&mut model, "esc c g");
    let Some(line) = model.dialog::<AskLine>() else {
        panic!("a source is asked for")
    };
    assert_eq!(line.input.value(), "garden.jsonl");
}

#[test]
fn one_of_several_conversations_is_captured() {
    let mut model = sample();
    press(&mut model, "S");
    assert!(
        model
            .notice
            .as_ref()
            .unwrap()
            .text
            .contains("only where there are no eval sets")
    );
    press(&mut model, "c g");
    type_text(&mut model, "garden.jsonl");
    press(&mut model, "enter");
    let target = CaptureTarget::Set(0);
    let unusable = RecordedConversation {
        problem: Some("no message".into()),
        ..conversation("none", &[""])
    };
    let found = vec![
        unusable,
        conversation("water_tomatoes", &["Water!"]),
        conversation("long", &["One", "Two", "Three"]),
    ];
    let arrive = |model: &mut Model| {
        let (source, target, found) = (
            "garden.jsonl".to_string(),
            target.clone(),
            Ok(found.clone()),
        );
        update(
            model,
            Msg::Edits(EditMsg::Conversations {
                source,
                target,
                found,
                additions: Vec::new(),
            }),
        );
    };
    arrive(&mut model);
    press(&mut model, "enter");
    assert!(
        model.notice.as_ref().unwrap().text.contains("no message"),
        "it says why it cannot be a case"
    );
    arrive(&mut model);
    press(&mut model, "down enter");
    let Some(line) = model.dialog::<AskLine>() else {
        panic!("an id is asked for")
    };
    assert_eq!(
        line.input.value(),
        "water_tomatoes_2",
        "the id that is free"
    );
    press(&mut model, "esc");
    arrive(&mut model);
    press(&mut model, "down down enter ctrl-u");
    type_text(&mut model, "late 2-3");
    press(&mut model, "enter");
    assert!(
        model
            .notice
            .as_ref()
            .unwrap()
            .text
            .contains("begins at turn 2"),
        "what the case lacks is said"
    );
    let Some(proposal) = model.dialog::<Proposal>() else {
        panic!("a change is proposed")
    };
    assert_eq!(proposal.words, "save the conversation as late");
    press(&mut model, "esc");
    let (source, found) = (
        "http://x/s".to_string(),
        Err("no session: the server answered 404".to_string()),
    );
    update(
        &mut model,
        Msg::Edits(EditMsg::Conversations {
            source,
            target,
            found,
            additions: Vec::new(),
        }),
    );
    assert!(
        model
            .notice
            .as_ref()
            .unwrap()
            .text
            .contains("nothing is captured from http://x/s: no session")
    );
    let Some(line) = model.dialog::<AskLine>() else {
        panic!("the source can be corrected")
    };
    assert_eq!(line.input.value(), "http://x/s");
}

#[test]
fn new_chat_with_unsaved_turns_asks_first() {
    let mut model = sample();
    press(&mut model, "C");
    let Some(chat) = model.screen_mut::<ChatScreen>() else {
        panic!("a conversation is open")
    };
    let number = chat.number;
    chat.turns.push(Invocation {
        user: Content::text("user", "Good morning!"),
        ..Invocation::default()
    });
    assert_eq!(press(&mut model, "ctrl-n"), []);
    assert!(
        model.dialog::<Confirm>().is_some(),
        "unsaved turns are not dropped"
    );
    press(&mut model, "esc");
    let Some(chat) = model.screen::<ChatScreen>() else {
        panic!("the conversation stays")
    };
    assert_eq!((chat.number, chat.turns.len()), (number, 1));
    press(&mut model, "ctrl-t ctrl-u");
    type_text(&mut model, "{\"a\": 2}");
    press(&mut model, "enter");
    assert!(model.dialog::<Confirm>().is_some());
    press(&mut model, "y");
    let Some(chat) = model.screen::<ChatScreen>() else {
        panic!("another conversation is open")
    };
    assert_eq!(
        (chat.number, chat.turns.len(), &chat.session.state["a"]),
        (number + 1, 0, &2.into())
    );
}

/// A run of the first case in which the agent did this, with its status; the run screen is shown at 80x24.
fn ended_with(status: Status, change: impl FnOnce(&Model, &mut Attempt)) -> Model {
    let mut model = sample();
    update(&mut model, Msg::Resize(80, 24));
    let state = run_state(&model, 1);
    update(&mut model, Msg::Run(RunMsg::Started(Box::new(state))));
    let RunEvent::Finished(attempt) = ended(0, status) else {
        unreachable!()
    };
    let mut attempt = (*attempt.read().unwrap()).clone();
    change(&model, &mut attempt);
    let events = vec![finished(attempt), RunEvent::Ended { duration_s: 1.0 }];
    update(&mut model, Msg::Run(RunMsg::Events(events)));
    model
}

/// The expected turns of the first case, and the same with another response.
fn another_response(model: &Model, attempt: &mut Attempt) {
    let case = model.file(0).unwrap().case(0).unwrap();
    let mut actual = case.turns().to_vec();
    actual[0].final_response = Some(Content::text("model", "something else"));
    attempt.expected = case.turns().to_vec().into();
    attempt.actual = actual.into();
}

/// Each metric that failed has a line while the comparison leaves rows; the others are counted.
#[test]
fn failed_metrics_take_rows_nothing_else_needs() {
    let fail = |count: usize| {
        let mut model = ended_with(Status::Failed, |_, attempt| {
            let failed = |at: usize| {
                let why = format!("reason number {at} of the metric");
                let criterion = Criterion::new(&format!("metric_{at}"), Some(0.5));
                unscored(&criterion, 1, Status::Failed, &why)
            };
            attempt.metrics = (0..count).map(failed).collect();
        });
        press(&mut model, "q n enter");
        screen_text(&model)
    };
    let two = fail(2);
    for at in 0..2 {
        let why = format!("reason number {at} of the metric");
        assert!(two.contains(&why), "{why}: {two}");
    }
    let many = fail(40);
    assert!(many.contains("more did not pass"), "{many}");
    assert!(many.contains("(4 all metrics)"), "{many}");
}

/// Where there is no preview, the border of the run screen has the whole reason of the row under the cursor.
#[test]
fn run_screen_shows_whole_reason_in_border() {
    let why = "the connection was refused after three tries in thirty seconds";
    let model = ended_with(Status::Errored, |_, attempt| {
        attempt.error = Some(why.into());
    });
    let shown = screen_text(&model);
    let is_border = |line: &&str| line.starts_with('╰') && line.contains(why);
    assert!(shown.lines().any(|line| is_border(&line)), "{shown}");
}

/// The preview of a run that ended is of the case under the cursor of the run, whatever the list shows.
#[test]
fn run_preview_is_of_the_case_under_its_cursor() {
    let mut model = sample();
    update(&mut model, Msg::Resize(140, 40));
    press(&mut model, "down down");
    let state = run_state(&model, 2);
    update(&mut model, Msg::Run(RunMsg::Started(Box::new(state))));
    let finished = |case: usize| {
        let RunEvent::Finished(attempt) = ended(case, Status::Errored) else {
            unreachable!()
        };
        let mut attempt = (*attempt.read().unwrap()).clone();
        attempt.error = Some(format!("refused number {case}"));
        finished(attempt)
    };
    update(&mut model, Msg::Run(RunMsg::Events(vec![finished(0)])));
    press(&mut model, "tab");
    assert!(model.view.preview.is_none(), "rows of a live run move");
    let events = vec![finished(1), RunEvent::Ended { duration_s: 1.0 }];
    update(&mut model, Msg::Run(RunMsg::Events(events)));
    for key in ["home", "down"] {
        press(&mut model, key);
        let at = model.view.preview.as_ref().unwrap().at;
        let shown = screen_text(&model);
        let title = format!("╭─ {} ", model.shown_id(at));
        let below = shown.split_once(&title).unwrap().1;
        let why = format!("! errored  refused number {}", at.index);
        assert!(below.contains(&why), "{why}: {shown}");
    }
}

/// The position among the failing cases is shortened before it gives way to the attempts.
#[test]
fn position_stays_beside_many_attempts() {
    let title = |attempts: u32| {
        let mut model = with_run(&[Status::Failed]);
        update(&mut model, Msg::Resize(80, 24));
        let before = model.view.outcomes.get(case(0, 0)).unwrap().attempts[0].clone();
        let run = Arc::new(RunRef {
            id: "r2".into(),
            started: String::new(),
            by: RunBy::Evaltrail,
        });
        for number in 1..=attempts {
            let mut attempt = (*before.read().unwrap()).clone();
            attempt.key.attempt = number;
            let attempt = Arc::new(EndedAttempt::unrecorded(attempt));
            model.view.outcomes.add(case(0, 0), &run, attempt);
        }
        press(&mut model, "n enter");
        screen_text(&model).lines().next().unwrap().to_string()
    };
    let (two, six) = (title(2), title(6));
    assert!(two.contains("1 of 1 failing  n N"), "{two}");
    assert!(six.contains("1/1") && six.contains("✗ failed"), "{six}");
}

/// In a list without a preview, the key opens the case and proposes, as on the run screen.
#[test]
fn accept_in_small_list_opens_the_case() {
    let mut model = ended_with(Status::Failed, another_response);
    press(&mut model, "q n a");
    let proposal = model.dialog::<Proposal>();
    let words = proposal.map(|proposal| proposal.words.clone());
    assert!(
        words
            .as_ref()
            .is_some_and(|words| words.contains("the response")),
        "{words:?} {:?}",
        model.notice
    );
    assert!(model.open_case().is_some());
}

#[test]
fn hints_leave_out_what_cannot_be_accepted() {
    let mut errored = ended_with(Status::Errored, |model, attempt| {
        another_response(model, attempt);
        attempt.error = Some("refused".into());
    });
    press(&mut errored, "q");
    for size in [(80, 24), (140, 40)] {
        update(&mut errored, Msg::Resize(size.0, size.1));
        let shown = screen_text(&errored);
        let hints = shown.lines().rev().take(2).collect::<String>();
        assert!(!hints.contains("accept"), "{shown}");
    }
    // The comparison in the preview shows that nothing differs.
    let mut identical = ended_with(Status::Passed, |model, attempt| {
        another_response(model, attempt);
        attempt.actual = attempt.expected.clone();
    });
    press(&mut identical, "q");
    update(&mut identical, Msg::Resize(140, 40));
    let shown = screen_text(&identical);
    let hints = shown.lines().rev().take(2).collect::<String>();
    assert!(!hints.contains("accept"), "{shown}");
}

/// A notice about the position is hidden at the next key, although there was no time to read it.
#[test]
fn notice_about_position_goes_with_the_next_key() {
    let is_wrapped = |model: &Model| {
        let notice = model.notice.as_ref();
        notice.is_some_and(|notice| notice.text.starts_with("no further"))
    };
    let mut model = with_run(&[Status::Failed, Status::Passed, Status::Failed]);
    let has_wrapped = (0..4).any(|_| {
        press(&mut model, "n");
        is_wrapped(&model)
    });
    assert!(has_wrapped, "{:?}", model.notice);
    press(&mut model, "n");
    assert!(!is_wrapped(&model));
}

#[test]
fn help_begins_with_keys_of_the_screen() {
    let mut model = with_run(&[Status::Failed]);
    update(&mut model, Msg::Resize(80, 24));
    press(&mut model, "n enter ?");
    let shown = screen_text(&model);
    let first: String = shown.lines().take(4).collect();
    assert!(first.contains("This screen"), "{shown}");
    assert!(shown.contains("next failing"), "{shown}");
    assert!(!shown.contains("cancel all"), "{shown}");
}

#[test]
fn repeated_tab_goes_to_the_next_completion() {
    let mut model = sample();
    press(&mut model, "/ t");
    let mut complete = || {
        press(&mut model, "tab");
        let line = model.dialog::<FilterLine>().unwrap();
        line.input.value().to_string()
    };
    let completed: Vec<String> = (0..4).map(|_| complete()).collect();
    assert_eq!(completed, ["tool:", "tag:", "turns:", "tool:"]);
}

#[test]
fn repeating_has_a_hint_on_wide_screens() {
    let mut model = with_run(&[Status::Failed]);
    update(&mut model, Msg::Resize(140, 40));
    for keys in ["esc", "L"] {
        press(&mut model, keys);
        let shown = screen_text(&model);
        assert!(shown.contains("K repeat failing"), "{keys}: {shown}");
    }
}

/// Text from an earlier run is selected: what is typed replaces it, and a cursor key edits it.
#[test]
fn text_of_an_entered_option_is_selected() {
    let mut model = sample();
    let mut judge = |keys: &str, text: &str| {
        press(&mut model, "O down down down down");
        press(&mut model, keys);
        type_text(&mut model, text);
        press(&mut model, "enter");
        model.run_overrides.judge.clone()
    };
    assert_eq!(judge("", "foo").as_deref(), Some("foo"));
    assert_eq!(judge("", "bar").as_deref(), Some("bar"));
    assert_eq!(judge("left", "x").as_deref(), Some("baxr"));
    assert_eq!(judge("backspace", ""), None);
}

#[test]
fn long_error_of_run_options_is_wrapped() {
    let mut model = sample();
    update(&mut model, Msg::Resize(80, 24));
    press(&mut model, "O down down down down down down down");
    type_text(&mut model, "final_response_match_v22");
    press(&mut model, "enter");
    let shown = screen_text(&model);
    assert!(
        shown.contains("there is no metric final_response_match_v22"),
        "{shown}"
    );
    assert!(shown.contains("\"final_response_match_v2\"?"), "{shown}");
}

/// The columns do not depend on the page that is visible.
#[test]
fn columns_stay_on_every_page_of_the_list() {
    let mut model = ended_with(Status::Errored, |_, attempt| {
        attempt.error = Some("refused by the server".into());
    });
    press(&mut model, "q");
    update(&mut model, Msg::Resize(80, 12));
    // Without the border, which has a scroll bar.
    let headings = |model: &Model| {
        let text = screen_text(model);
        let line = text.lines().nth(2).unwrap();
        line.trim_end_matches(['│', '┃']).to_string()
    };
    press(&mut model, "home");
    let first = headings(&model);
    assert!(first.contains("reason"), "{first}");
    press(&mut model, "end");
    assert_eq!(headings(&model), first);
}

/// A run that ended before all of its attempts is continued from its screen.
#[test]
fn unfinished_run_is_resumed_from_its_screen() {
    let mut model = sample();
    let state = run_state(&model, 2);
    update(&mut model, Msg::Run(RunMsg::Started(Box::new(state))));
    assert_eq!(press(&mut model, "Z"), [], "it goes on");
    let key = AttemptKey {
        case: 0,
        attempt: 1,
    };
    let ended = EndedAttempt::unrecorded(Attempt::blank(key, IDS[0]));
    let events = vec![
        RunEvent::Finished(Arc::new(ended)),
        RunEvent::Ended { duration_s: 1.0 },
    ];
    update(&mut model, Msg::Run(RunMsg::Events(events)));
    let resume = RunEffect::Start(Vec::new(), RunTarget::Resume("r1".into()));
    assert_eq!(press(&mut model, "Z"), [Effect::Run(resume)]);
}

/// The number of attempts is that of the cases that an agent can run.
#[test]
fn run_options_count_runnable_cases() {
    let mut model = sample();
    press(&mut model, "left g");
    let all: usize = (0..model.view.sets.len())
        .map(|set| model.file(set).unwrap().len())
        .sum();
    let without = model.file(0).unwrap().len();
    model.view.sets[0].agent = Err("none".into());
    press(&mut model, "O");
    let run = all - without;
    let frame = screen_text(&model);
    assert!(frame.contains(&format!("run all ({run})")), "{frame}");
    type_text(&mut model, "3");
    let frame = screen_text(&model);
    assert!(frame.contains(&format!("{} attempts", run * 3)), "{frame}");
}

/// A run that was stopped before any attempt ended has nothing to open, and says why it is nowhere else.
#[test]
fn stopped_run_without_results_says_so() {
    let mut model = sample();
    let state = run_state(&model, 2);
    update(&mut model, Msg::Run(RunMsg::Started(Box::new(state))));
    let ended = vec![RunEvent::Ended { duration_s: 1.0 }];
    update(&mut model, Msg::Run(RunMsg::Events(ended)));
    let shown = screen_text(&model);
    assert!(
        shown.contains("no attempt has a result, so the run is not recorded"),
        "{shown}"
    );
    assert!(!shown.contains("enter open"), "{shown}");
    assert_eq!(press(&mut model, "enter"), []);
    assert_eq!(press(&mut model, "Z"), [], "there is nothing to continue");
}

/// A file with a syntax error is one that cannot be read, although its cases are listed.
#[test]
fn malformed_file_is_neither_run_nor_counted() {
    let mut model = sample();
    let SetState::Ready(file, digest) = model.view.sets[0].state.clone() else {
        panic!("the set is open")
    };
    let all = model.view.sets.iter().enumerate().skip(2);
    let readable: usize = all.map(|(set, _)| model.file(set).unwrap().len()).sum();
    let problem = CaseSummary {
        problem: Some("line 1, column 9: expected a key".into()),
        is_syntax_error: true,
        ..CaseSummary::default()
    };
    update(
        &mut model,
        Msg::Sets(SetMsg::Summarised {
            set: 0,
            digest,
            summaries: Arc::new(vec![problem; file.len()]),
        }),
    );
    let ticket = model.ticket();
    let lost = SetLoaded {
        set: 1,
        ticket,
        result: Err("an empty file".into()),
    };
    update(&mut model, Msg::Sets(SetMsg::Loaded(lost)));
    assert_eq!(
        (press(&mut model, "r"), press(&mut model, "e")),
        (vec![], vec![])
    );
    press(&mut model, "left g");
    let shown = screen_text(&model);
    assert!(shown.contains("2 files cannot be read"), "{shown}");
    assert!(
        shown.contains(&format!("r run all ({readable})")),
        "{shown}"
    );
}
