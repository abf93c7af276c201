//! Screens drawn without a terminal: reviewed snapshots at several sizes, the pictures of the README, themes, and
//! hostile text.

use crate::common::judge::judged_case;
use crate::common::root;
use crate::common::svg::{AnimationFrame, animated_svg, svg};
use evaltrail::explorer::shared::found_drafts::FoundDrafts;
use evaltrail::explorer::{
    CaptureTarget, CaseSummary, ChatMsg, ComparedPair, ComparedRun, ConfiguredRun, EditMsg, Effect,
    HistoryMsg, Key, KeyCode, Model, Msg, OpenedSet, ResultEffect, ResultMsg, RunMsg, SetEffect,
    SetLoaded, SetMsg, SetState, changes_for_groups, parse_key, update,
};
use evaltrail::explorer::{CaseTab, Mouse, MouseKind, Theme, draw};
use evaltrail_core::analysis::{ComparisonRule, MutationKind, compare_runs};
use evaltrail_core::domain::{
    AgentSpec, Attempt, AttemptKey, Content, Criterion, EndedAttempt, Invocation, JudgeUsage,
    JudgedQuestion, MetricResult, ModelError, Part, PlannedCase, PlannedCases, PlannedSet,
    Progress, RunBy, RunEvent, RunOptions, RunPlan, RunRef, RunState, Sample, Status, ToolCall,
    Totals, VerdictParsing, adk_status, case_status, is_hidden,
};
use evaltrail_core::formats::adk::{Event, invocations_of};
use evaltrail_core::formats::recording::read_recording;
use evaltrail_core::formats::{RecordedCase, SetFile, read_responses, write_drafts};
use evaltrail_core::metrics::{Evidence, JudgedMetric, Question, score_case};
use evaltrail_engine::history::{
    History, MetricMean, PastRun, PastSet, RunSource, RunSummary, SetCount, SetResults,
};
use evaltrail_engine::runner::{
    ChatEvent, DerivedDraftRequest, RecordedConversation, SetDrafts, derive_drafts,
};
use evaltrail_engine::store::RunLabel;
use evaltrail_engine::store::{FileAction, FileEdit};
use evaltrail_engine::workspace::{Workspace, criteria_for, drafts_path, open_set};
use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use std::sync::{Arc, LazyLock, OnceLock};

fn workspace() -> &'static Workspace {
    static WORKSPACE: LazyLock<Workspace> =
        LazyLock::new(|| Workspace::open(&root().join("fixtures/workspace")).unwrap());
    &WORKSPACE
}

/// A model of the sample workspace, without runs.
fn sample(size: (u16, u16)) -> Model {
    let workspace = workspace();
    let mut model = Model::new("the sample workspace".into(), workspace.sets.clone(), size);
    model.judge = workspace
        .config
        .judge
        .as_ref()
        .and_then(|judge| judge.label());
    for set in 0..model.view.sets.len() {
        let open = open_set(&model.view.sets[set].path).unwrap();
        let agent = model.view.sets[set]
            .path
            .app
            .clone()
            .ok_or_else(|| "none".to_string());
        let notes = Ok(Default::default());
        let result = Ok(OpenedSet {
            criteria: None,
            file: Arc::new(open.file),
            digest: open.digest,
            agent,
            notes,
            stubs: None,
        });
        let ticket = model.ticket();
        update(
            &mut model,
            Msg::Sets(SetMsg::Loaded(SetLoaded {
                set,
                ticket,
                result,
            })),
        );
        let file = model.file(set).unwrap().clone();
        let digest = digest_of(&model, set);
        let summary = |index| {
            let case = file.case(index).unwrap();
            CaseSummary {
                turns: case.turns().len(),
                prompt: case.first_prompt(200).into(),
                ..CaseSummary::default()
            }
        };
        let summaries = Arc::new((0..file.len()).map(summary).collect());
        update(
            &mut model,
            Msg::Sets(SetMsg::Summarised {
                set,
                digest,
                summaries,
            }),
        );
    }
    keys(&mut model, "left g j j right");
    let (ticket, results) = (model.ticket(), Vec::new().into());
    update(
        &mut model,
        Msg::Results(ResultMsg::History { ticket, results }),
    );
    model
}

fn digest_of(model: &Model, set: usize) -> String {
    match &model.view.sets[set].state {
        SetState::Ready(_, digest) => digest.clone(),
        other => panic!("{other:?}"),
    }
}

fn keys(model: &mut Model, keys: &str) -> Vec<Effect> {
    let read = |text: &str| parse_key(text).unwrap_or_else(|| panic!("{text}"));
    keys.split_whitespace()
        .flat_map(|text| update(model, Msg::Key(read(text))))
        .collect()
}

/// A plan with every case of the sample, in the model's order of sets.
fn plan(model: &Model) -> RunPlan {
    let mut plan = RunPlan {
        commit: None,
        judge: evaltrail_core::domain::JudgeSpec::standard(),
        run_id: "7f3a1c09d2e4".into(),
        started: "2026-01-01T00:00:00Z".into(),
        sets: vec![],
        cases: PlannedCases::default(),
        options: RunOptions::default(),
    };
    for (set, view) in model.view.sets.iter().enumerate() {
        let SetState::Ready(file, digest) = &view.state else {
            panic!("the set is open")
        };
        let Some(app) = view.path.app.clone() else {
            continue;
        };
        plan.sets.push(PlannedSet {
            stubs: None,
            tools: Default::default(),
            user: Default::default(),
            id: file.id.clone(),
            file: view.path.shown.clone(),
            path: view.path.path.clone(),
            digest: digest.clone(),
            agent: AgentSpec::Replay {
                path: format!("{app}.jsonl").into(),
                speed: 100,
                fallback: None,
            },
            agent_name: app,
            agent_jobs: None,
            agent_files: None,
            file_cases: None,
            app_dir: None,
            criteria: criteria_for(workspace(), &view.path, file, None, &[])
                .unwrap()
                .0,
        });
        for index in 0..file.len() {
            let (eval_id, content) = (file.eval_id(index), file.content_hash(index).into());
            plan.cases
                .push(PlannedCase {
                    set,
                    index,
                    eval_id,
                    content,
                    quarantine: None,
                })
                .unwrap();
        }
    }
    plan
}

/// The recorded attempt of a case, scored with the real metrics.
fn attempt(model: &Model, plan: &RunPlan, case: usize) -> Attempt {
    let planned = plan.cases.get(case).unwrap();
    let app = &plan.sets[planned.set].agent_name;
    let recording = root()
        .join("fixtures/workspace/recordings")
        .join(format!("{app}.jsonl"));
    let recorded = read_recording(&std::fs::read_to_string(recording).unwrap()).unwrap();
    let case_file = model
        .file(planned.set)
        .unwrap()
        .case(planned.index)
        .unwrap();
    let of_case = recorded.iter().find(|r| r.eval_id == planned.eval_id);
    let of_case = of_case.expect("recorded").clone();
    let actual: Vec<_> = of_case
        .turns
        .iter()
        .zip(case_file.turns())
        .map(|(turn, expected)| {
            let user = Event {
                author: "user".into(),
                content: Some(expected.user.clone()),
                ..Event::default()
            };
            let events: Vec<Event> = std::iter::once(user).chain(turn.events.clone()).collect();
            let mut invocation = invocations_of(&events).remove(0);
            invocation.durations.total = turn.events.last().and_then(|event| event.at);
            invocation
        })
        .collect();
    let error = of_case.turns.iter().find_map(|turn| turn.error.clone());
    let metrics = match error {
        Some(_) => vec![],
        None => {
            let evidence = Evidence::turns(Some(case_file.turns()), &actual);
            let criteria = &plan.sets[planned.set].criteria;
            let mut metrics = score_case(criteria, &evidence);
            for (at, criterion) in criteria.iter().enumerate() {
                let judged = JudgedMetric::new(criterion, VerdictParsing::Careful, None).unwrap();
                if let Some(judged) = judged {
                    metrics[at] = judge(&judged, &planned.eval_id, &evidence);
                }
            }
            metrics
        }
    };
    let criteria = plan.sets[planned.set].criteria.iter();
    let asked = if error.is_some() {
        criteria.map(|one| one.metric.clone()).collect()
    } else {
        vec![]
    };
    Attempt {
        asked,
        rubrics: vec![],
        scenario: None,
        variables: serde_json::Map::new(),
        variants: Vec::new(),
        expected_state: None,
        actual_state: None,
        key: AttemptKey { case, attempt: 1 },
        eval_id: planned.eval_id.to_string(),
        status: if error.is_some() {
            evaltrail_core::domain::Status::Errored
        } else {
            case_status(&metrics)
        },
        adk_status: if error.is_some() {
            evaltrail_core::domain::Status::Failed
        } else {
            adk_status(&metrics)
        },
        started: String::new(),
        latency_s: actual
            .iter()
            .filter_map(|turn| turn.durations.total)
            .reduce(|a, b| a + b),
        failed: None,
        error,
        metrics,
        expected: case_file.turns().into(),
        actual: actual.into(),
        session_id: "s".into(),
        user_id: "u".into(),
        tries: 1,
        tool_use: None,
        setup: None,
        user_spent: None,
        turn: None,
    }
}

/// The result of a judged metric with the recorded responses.
fn judge(metric: &JudgedMetric, eval_id: &str, evidence: &Evidence) -> MetricResult {
    let recording = root().join("fixtures/workspace/recordings/judge.jsonl");
    let recorded = read_responses(&std::fs::read_to_string(recording).unwrap()).unwrap();
    let name = &metric.criterion().metric;
    let answers = recorded
        .iter()
        .find(|one| one.eval_id == eval_id && one.metric == *name)
        .expect("recorded");
    let sample = |reply: &String| Sample {
        reply: Some(reply.clone()),
        ..Sample::default()
    };
    let asked = |question: Question| JudgedQuestion {
        id: question.id,
        about: question.about.into(),
        samples: answers
            .replies
            .iter()
            .take(question.samples as usize)
            .map(sample)
            .collect(),
    };
    let mut case = judged_case(metric, evidence);
    let asked: Vec<JudgedQuestion> = case
        .questions(&[])
        .unwrap()
        .into_iter()
        .map(asked)
        .collect();
    let spent = JudgeUsage {
        asked: 5,
        input_tokens: 2410,
        output_tokens: 305,
        cost: Some(0.0012),
        ..JudgeUsage::default()
    };
    case.result(asked, "gemini-2.5-flash", spent)
}

/// A run of the whole sample, `done` of its attempts ended and the next four in flight.
fn run(model: &mut Model, done: usize) {
    // Scored once: all models have the same plan.
    static ATTEMPTS: OnceLock<Vec<Attempt>> = OnceLock::new();
    let plan = plan(model);
    let all = || (0..plan.cases.len()).map(|case| attempt(model, &plan, case));
    let attempts = ATTEMPTS.get_or_init(|| all().collect()).clone();
    let all = attempts.len();
    update(
        model,
        Msg::Run(RunMsg::Started(Box::new(RunState::new(Arc::new(plan))))),
    );
    let mut events: Vec<RunEvent> = Vec::new();
    events.extend(
        attempts
            .into_iter()
            .take(done)
            .map(|attempt| RunEvent::Finished(Arc::new(EndedAttempt::unrecorded(attempt)))),
    );
    for (slot, case) in (done..all.min(done + 4)).enumerate() {
        let key = AttemptKey { case, attempt: 1 };
        events.push(RunEvent::Started { key, slot });
        events.push(RunEvent::Progress {
            key,
            progress: Progress::Turn {
                turn: 1,
                of: 2,
                user: "Give the beans water.".into(),
            },
        });
        let progress = match slot {
            0 => Progress::Calls("water_bed(bed=\"herbs\", litres=2)".into()),
            1 => Progress::Says("The tomatoes are at 18 percent, which is dry.".into()),
            2 => Progress::Retrying {
                delay_ms: 1200,
                error: "the server answered 429".into(),
            },
            _ => Progress::Answered {
                tool: "read_soil".into(),
                response: "{\"moisture\":18}".into(),
            },
        };
        events.push(RunEvent::Progress { key, progress });
    }
    if done >= all {
        events.push(RunEvent::Ended { duration_s: 6.2 });
    }
    update(model, Msg::Run(RunMsg::Events(events)));
    update(model, Msg::Tick(30.0));
}

fn frame(model: &Model, theme: &str) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, model.size.0, model.size.1));
    draw(model, &Theme::named(theme, true).unwrap(), &mut buffer);
    buffer
}

fn text(buffer: &Buffer) -> String {
    let row = |y| {
        (0..buffer.area.width)
            .map(|x| buffer[(x, y)].symbol())
            .collect::<String>()
    };
    (0..buffer.area.height)
        .map(|y| row(y).trim_end().to_string())
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn screens() {
    for size in [(40, 12), (80, 24), (120, 40)] {
        let name = |screen: &str| format!("{screen}_{}x{}", size.0, size.1);
        let mut model = sample(size);
        insta::assert_snapshot!(name("browse_not_run"), text(&frame(&model, "default")));
        run(&mut model, 9);
        insta::assert_snapshot!(name("run_live"), text(&frame(&model, "default")));
        keys(&mut model, "down enter");
        insta::assert_snapshot!(name("attempt_live"), text(&frame(&model, "default")));
        let mut model = sample(size);
        run(&mut model, usize::MAX / 2);
        keys(&mut model, "q");
        insta::assert_snapshot!(name("browse_ended"), text(&frame(&model, "default")));
        keys(&mut model, "n enter");
        insta::assert_snapshot!(name("case_failed"), text(&frame(&model, "default")));
        keys(&mut model, "v");
        insta::assert_snapshot!(name("case_timeline"), text(&frame(&model, "default")));
        keys(&mut model, "?");
        insta::assert_snapshot!(name("help"), text(&frame(&model, "default")));
    }
    insta::assert_snapshot!("too_small", text(&frame(&sample((39, 12)), "default")));
}

#[test]
fn dialogs() {
    let mut model = sample((100, 24));
    run(&mut model, 30);
    keys(&mut model, "q / s t a t u s : f a i l");
    insta::assert_snapshot!("filter", text(&frame(&model, "default")));
    keys(&mut model, "esc : r e r");
    insta::assert_snapshot!("palette", text(&frame(&model, "default")));
    keys(&mut model, "esc f w a l k");
    insta::assert_snapshot!("jump", text(&frame(&model, "default")));
}

#[test]
fn drafts_of_a_set() {
    let folder = tempfile::tempdir().unwrap();
    let set = folder.path().join("watering.evalset.json");
    let path = &workspace().sets[0];
    let open = open_set(path).unwrap();
    let derived = derive_drafts(&DerivedDraftRequest {
        workspace: workspace(),
        set: (path, &open.file),
        sources: None,
        declared: &[],
        kinds: &MutationKind::ALL,
        seed: 0,
        most: 20,
        existing: &[],
        date: "2026-01-01",
    });
    std::fs::write(drafts_path(&set), write_drafts(&derived.drafts)).unwrap();
    let drafts = Arc::new(SetDrafts::read(&set).unwrap());
    for size in [(40, 12), (80, 24), (200, 55)] {
        let mut model = sample(size);
        let found = FoundDrafts::Listed(drafts.clone());
        update(&mut model, Msg::Sets(SetMsg::DraftsFound(0, Ok(found))));
        keys(&mut model, "down down");
        let name = format!("drafts_{}x{}", size.0, size.1);
        insta::assert_snapshot!(name, text(&frame(&model, "default")));
    }
}

#[test]
fn what_if() {
    for size in [(40, 12), (120, 32)] {
        let name = |screen: &str| format!("what_if_{screen}_{}x{}", size.0, size.1);
        let mut model = sample(size);
        run(&mut model, usize::MAX / 2);
        keys(&mut model, "q");
        keys(&mut model, "w r");
        update(&mut model, Msg::Paste("water_* litres ignore".into()));
        insta::assert_snapshot!(name("rule"), text(&frame(&model, "default")));
        keys(&mut model, "enter");
        insta::assert_snapshot!(name("browse"), text(&frame(&model, "default")));
        keys(&mut model, "w f");
        insta::assert_snapshot!(name("status_changes"), text(&frame(&model, "default")));
        for effect in keys(&mut model, "esc w w") {
            let Effect::Results(ResultEffect::PlanCriteria(change, _)) = effect else {
                panic!("{effect:?}")
            };
            let text = "[[match]]\ntool = \"water_*\"\nargs = { litres = \"ignore\" }\n";
            let file = FileEdit {
                path: root().join("fixtures/workspace/evaltrail.toml"),
                action: FileAction::Create(text.into()),
            };
            let planned = ResultMsg::CriteriaPlanned(change, Ok(vec![file]));
            update(&mut model, Msg::Results(planned));
        }
        let written = text(&frame(&model, "default")).replace(&root().display().to_string(), "…");
        insta::assert_snapshot!(name("write"), written);
        keys(&mut model, "esc m s");
        insta::assert_snapshot!(name("statistics"), text(&frame(&model, "default")));
        keys(&mut model, "esc m m");
        insta::assert_snapshot!(name("metrics"), text(&frame(&model, "default")));
    }
}

/// The description of a metric is longer than the room below the list: pages scroll it, and lines move the list.
#[test]
fn every_line_about_a_metric_can_be_reached() {
    let mut model = sample((80, 24));
    keys(&mut model, "m m");
    update(&mut model, Msg::Paste("tool_trajectory_avg_score".into()));
    let shown = |model: &Model| text(&frame(model, "default"));
    let (option, source) = ("match_type:", "google-adk 2.13.0");
    let first = shown(&model);
    assert!(
        first.contains("pgdn, pgup scroll") && !first.contains(source),
        "{first}"
    );
    let mut seen = first.clone();
    for _ in 0..5 {
        keys(&mut model, "pgdn");
        seen += &shown(&model);
    }
    assert!(
        seen.contains(option) && shown(&model).contains(source),
        "{seen}"
    );
    assert!(
        seen.contains("› tool_trajectory_avg_score"),
        "the list stays: {seen}"
    );
    for _ in 0..5 {
        keys(&mut model, "pgup");
    }
    assert_eq!(shown(&model), first);
    // Another metric is shown from its beginning.
    keys(&mut model, "pgdn");
    (0..25).for_each(|_| drop(keys(&mut model, "backspace")));
    keys(&mut model, "down up");
    let again = shown(&model);
    keys(&mut model, "pgup");
    assert_eq!(shown(&model), again, "{again}");
}

/// The case on which the judges disagree, with their responses.
fn judged(size: (u16, u16)) -> Model {
    let mut model = sample(size);
    run(&mut model, usize::MAX / 2);
    keys(&mut model, "q f u s e l e s s enter J");
    model
}

#[test]
fn judges() {
    for size in [(40, 12), (120, 40)] {
        let name = |screen: &str| format!("judges_{screen}_{}x{}", size.0, size.1);
        let mut model = judged(size);
        insta::assert_snapshot!(name("panel"), text(&frame(&model, "default")));
        // The first `q` closes the judges' responses.
        keys(&mut model, "q q");
        insta::assert_snapshot!(name("browse"), text(&frame(&model, "default")));
        keys(&mut model, "enter m v down down down down tab");
        update(&mut model, Msg::Paste("a question is a step".into()));
        insta::assert_snapshot!(name("opinions"), text(&frame(&model, "default")));
        keys(&mut model, "enter m a");
        insta::assert_snapshot!(name("agreement"), text(&frame(&model, "default")));
        keys(&mut model, "esc J");
        let panel = text(&frame(&model, "default"));
        assert!(
            size.0 < 100 || panel.contains("human verdict: yes  a question is a step"),
            "{panel}"
        );
    }
}

/// The keys for verdicts of people are in the hints where judges' responses are shown.
#[test]
fn judges_tab_has_hints_for_own_verdicts() {
    let mut model = judged((140, 40));
    let hints = |model: &Model| {
        let shown = text(&frame(model, "default"));
        shown.lines().rev().take(2).collect::<Vec<_>>().join("  ")
    };
    let shown = hints(&model);
    for hint in ["m v your verdict", "m a agreement"] {
        assert!(shown.contains(hint), "{shown}");
    }
    keys(&mut model, "q");
    assert!(!hints(&model).contains("m v"), "{}", hints(&model));
}

/// The proposal, the allowed variants, the editor and the chat.
#[test]
fn authoring() {
    for size in [(40, 12), (120, 40)] {
        let name = |screen: &str| format!("authoring_{screen}_{}x{}", size.0, size.1);
        let mut model = sample(size);
        run(&mut model, 30);
        keys(&mut model, "q n n n enter space a");
        insta::assert_snapshot!(name("proposal"), text(&frame(&model, "default")));
        keys(&mut model, "esc c v");
        insta::assert_snapshot!(name("variants"), text(&frame(&model, "default")));
        keys(&mut model, "esc e j j j j j enter ctrl-u x");
        insta::assert_snapshot!(name("editor"), text(&frame(&model, "default")));
        keys(&mut model, "esc esc q C");
        update(
            &mut model,
            Msg::Chat(1, ChatMsg::Event(ChatEvent::Opened(Default::default()))),
        );
        keys(&mut model, "h i enter");
        let calls = Progress::Calls("read_soil(bed=\"beans\")".into());
        update(
            &mut model,
            Msg::Chat(1, ChatMsg::Event(ChatEvent::Progress(calls))),
        );
        insta::assert_snapshot!(name("chat"), text(&frame(&model, "default")));
    }
}

#[test]
fn judge_disagreement_sorts_and_filters() {
    let mut model = judged((120, 40));
    keys(&mut model, "q q");
    let listed = |model: &Model| -> Vec<String> {
        model
            .view
            .browse
            .visible
            .iter()
            .map(|case| model.eval_id(*case).into_owned())
            .collect()
    };
    assert_eq!(listed(&model), ["angry_reader", "useless"]);
    keys(&mut model, "o o o");
    assert_eq!(listed(&model), ["useless", "angry_reader"]);
    keys(&mut model, "/ s t a t u s : u n s t e a d y enter");
    assert_eq!(listed(&model), ["useless"]);
}

/// No information is shown by colour alone: all themes draw the same text.
#[test]
fn every_theme_draws_the_same_text() {
    let mut model = sample((120, 32));
    run(&mut model, 30);
    keys(&mut model, "q n enter");
    let words = text(&frame(&model, "default"));
    for theme in Theme::names() {
        assert_eq!(text(&frame(&model, theme)), words, "{theme}");
    }
    for (screen, model) in screen_models((120, 40)) {
        let words = text(&frame(&model, "default"));
        for theme in Theme::names() {
            assert_eq!(text(&frame(&model, theme)), words, "{screen:?} in {theme}");
        }
    }
    let mono = frame(&model, "mono");
    let marked = mono
        .content()
        .iter()
        .any(|cell| cell.modifier.contains(Modifier::UNDERLINED));
    assert!(
        marked,
        "differences are underlined where there is no colour"
    );
}

/// The pictures in `assets/` are drawn from these frames. `EVALTRAIL_PICTURES=write` writes them.
#[test]
fn pictures_are_current() {
    let mut ended = sample((116, 32));
    run(&mut ended, 30);
    // Failing first, as after a run.
    keys(&mut ended, "q o g");
    let mut failing = sample((116, 24));
    run(&mut failing, 30);
    keys(&mut failing, "q n enter");
    let mut live = sample((116, 18));
    run(&mut live, 9);
    let mut what_if = sample((116, 24));
    run(&mut what_if, usize::MAX / 2);
    keys(&mut what_if, "q w");
    update(&mut what_if, Msg::Paste("water_* litres ignore".into()));
    keys(&mut what_if, "enter m m");
    let mut accepted = sample((116, 24));
    run(&mut accepted, 30);
    keys(&mut accepted, "q n n n enter a");
    let judged = judged((116, 34));
    let mut queue = sample((116, 28));
    run(&mut queue, usize::MAX / 2);
    keys(&mut queue, "q T a");
    let compared = past_runs((126, 26))
        .into_iter()
        .find(|(screen, _)| *screen == "comparison, a case")
        .unwrap()
        .1;
    let trends = many_runs((116, 28));
    let pictures = [
        ("trends", &trends, "The pass rate of a set over its runs"),
        ("triage", &queue, "The triage queue"),
        ("compare", &compared, "Two runs compared"),
        (
            "judges",
            &judged,
            "What the judges said: votes, reasons, an unsteady case",
        ),
        (
            "accept",
            &accepted,
            "A call that was made is accepted: the change of the file, before it is saved",
        ),
        ("browse", &ended, "Sets and cases"),
        ("case", &failing, "A failing case"),
        ("run", &live, "A run"),
        (
            "what_if",
            &what_if,
            "What if: a rule and a match type are tried",
        ),
    ];
    for (name, model, title) in pictures {
        assert_is_current(name, &svg(&frame(model, "dark"), title));
    }
}

/// The animation of the README shows the steps of the demo.
#[test]
fn animation_is_current() {
    let at = |done: usize, typed: &str| {
        let mut model = sample((112, 26));
        if done > 0 {
            run(&mut model, done);
        }
        keys(&mut model, typed);
        frame(&model, "dark")
    };
    let all = usize::MAX / 2;
    let steps = [
        (at(0, ""), "A folder of eval sets"),
        (at(9, ""), "r   runs the cases against your agent"),
        (
            at(all, "q o g"),
            "The ended run: which cases fail, where and why",
        ),
        (
            at(all, "q n enter"),
            "enter   expected and actual side by side, the difference marked",
        ),
        (
            at(all, "q n enter ="),
            "=   tries the smallest change of criteria with which it would pass",
        ),
        (
            at(all, "q n n n enter a"),
            "a   accepts what the agent did: the change of the file, before it is saved",
        ),
    ];
    let frames = steps.map(|(buffer, caption)| AnimationFrame {
        buffer,
        caption,
        seconds: 4,
    });
    let drawn = animated_svg(&frames, 3, "evaltrail in six steps");
    assert_is_current("demo", &drawn);
}

/// Compares a picture with its file, or writes it with `EVALTRAIL_PICTURES=write`.
fn assert_is_current(name: &str, drawn: &str) {
    let path = root().join("assets").join(format!("{name}.svg"));
    if std::env::var_os("EVALTRAIL_PICTURES").is_some() {
        std::fs::write(&path, drawn).unwrap();
    }
    // Browsers do not inherit the attribute: without it, spaces collapse, and what is left is stretched.
    assert_eq!(
        drawn.matches("<text ").count(),
        drawn.matches("<text xml:space=\"preserve\" ").count()
    );
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == drawn,
        "assets/{name}.svg is stale; write it with cargo xtask snapshots"
    );
}

/// A browser draws the texts of a picture as wide as the terminal: without stretching or squeezing them. Needs Chromium.
#[test]
fn browser_draws_texts_as_wide_as_cells() {
    let Some(chromium) = chromium() else {
        assert!(
            std::env::var_os("EVALTRAIL_REQUIRE_BROWSER").is_none(),
            "no Chromium"
        );
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let picture = std::fs::read_to_string(root().join("assets/case.svg")).unwrap();
    let script = "const texts = [...document.querySelectorAll('text')]; \
         const ratios = texts.map(text => { const width = text.textLength.baseVal.value; \
         text.removeAttribute('textLength'); return text.getComputedTextLength() / width; }); \
         document.body.textContent = 'ratios ' + Math.min(...ratios) + ' ' + Math.max(...ratios);";
    let page = folder.path().join("page.html");
    let text = format!("<!doctype html><body>{picture}<script>{script}</script></body>");
    std::fs::write(&page, text).unwrap();
    let ran = std::process::Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path().display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&ran.stdout).into_owned();
    let ratios: Vec<f64> = shown
        .split("ratios ")
        .nth(1)
        .unwrap_or_else(|| panic!("{shown}"))
        .split(|c: char| c.is_whitespace() || c == '<')
        .take(2)
        .map(|ratio| ratio.parse().unwrap())
        .collect();
    assert!(
        ratios[0] > 0.9 && ratios[1] < 1.1,
        "natural width of the texts by the width of their cells: {ratios:?}"
    );
}

fn chromium() -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    let named = |folder: std::path::PathBuf| {
        ["chromium", "chromium-browser", "google-chrome"].map(|name| folder.join(name))
    };
    std::env::split_paths(&path)
        .flat_map(named)
        .find(|file| file.is_file())
}

/// A judged result with hostile text in its rubric, response and error.
fn hostile_judgement(bad: &str, long: &str, evidence: &Evidence) -> MetricResult {
    let rubric = serde_json::json!({"rubric_id": bad, "rubric_content": {"text_property": long}});
    let name = "rubric_based_final_response_quality_v1";
    let mut criterion = Criterion::new(name, Some(0.5));
    criterion
        .options
        .insert("rubrics".into(), serde_json::json!([rubric]));
    let metric = JudgedMetric::new(&criterion, VerdictParsing::Adk, Some(2))
        .unwrap()
        .unwrap();
    let reply = format!("Property: {long}\nRationale: {bad}\nVerdict: yes\n{bad}");
    let sample = Sample {
        reply: Some(reply),
        ..Sample::default()
    };
    let broken = Sample {
        error: Some(bad.into()),
        ..Sample::default()
    };
    let mut case = judged_case(&metric, evidence);
    let question = case.questions(&[]).unwrap().remove(0);
    let asked = JudgedQuestion {
        id: question.id,
        about: question.about.into(),
        samples: vec![sample, broken],
    };
    case.result(vec![asked], bad, JudgeUsage::default())
}

/// Escape sequences, bidi and zero-width characters, tabs and megabytes of text in every field that is shown.
fn hostile() -> (Model, String) {
    let bad = "\u{1b}]0;owned\u{7}\u{1b}[31m\u{9b}2J a\tb \u{202e}evil\u{2066} z\u{200b}w \u{e0041}\r\u{8}"
        .to_string();
    let long = format!("{bad}{}", "x".repeat(1 << 20));
    let args = serde_json::json!({ long.clone(): [bad.clone(), {"k\u{1b}": long.clone()}] });
    let turn = |text: &str| {
        let mut event = Event {
            author: bad.clone(),
            content: Some(Content::text("model", text)),
            ..Event::default()
        };
        let call = ToolCall::new(long.clone(), args.as_object().cloned());
        let part = Part {
            call: Some(call),
            ..Part::default()
        };
        event.content.as_mut().unwrap().parts.insert(0, part);
        event.error = ModelError::reported(Some(&bad), Some(&long));
        let answer = Event {
            author: "a".into(),
            content: Some(Content::text("model", text)),
            ..Event::default()
        };
        let user = Event {
            author: "user".into(),
            content: Some(Content::text("user", &long)),
            ..Event::default()
        };
        invocations_of(&[user, event, answer]).remove(0)
    };
    let mut model = sample((120, 32));
    let set = serde_json::json!({"eval_set_id": bad, "eval_cases": [{"eval_id": long, "conversation": []}]});
    let file = SetFile::open(Arc::from(set.to_string()), "x").unwrap();
    let result = Ok(OpenedSet {
        criteria: None,
        file: Arc::new(file),
        digest: "other".into(),
        agent: Ok(bad.clone()),
        notes: Ok(Default::default()),
        stubs: None,
    });
    let ticket = model.ticket();
    update(
        &mut model,
        Msg::Sets(SetMsg::Loaded(SetLoaded {
            set: 0,
            ticket,
            result,
        })),
    );
    model.view.sets[0].path.stem = long.clone();
    model.view.sets[0].path.shown = bad.clone();
    model.title = bad.clone();
    let mut plan = plan(&sample((80, 24)));
    let first = PlannedCase {
        eval_id: long.clone().into(),
        ..plan.cases.get(0).unwrap().into_owned()
    };
    plan.cases = PlannedCases::new([first]).unwrap();
    let (expected, actual) = (turn(&long), turn(&format!("{bad} other")));
    let evidence = Evidence::turns(
        Some(std::slice::from_ref(&expected)),
        std::slice::from_ref(&actual),
    );
    let mut metrics = score_case(&evaltrail_core::formats::adk::default_criteria(), &evidence);
    metrics.push(hostile_judgement(&bad, &long, &evidence));
    let attempt = Attempt {
        asked: vec![],
        rubrics: vec![],
        scenario: None,
        variables: serde_json::Map::new(),
        variants: Vec::new(),
        key: AttemptKey {
            case: 0,
            attempt: 1,
        },
        eval_id: long.clone(),
        status: case_status(&metrics),
        adk_status: adk_status(&metrics),
        started: bad.clone(),
        latency_s: Some(1.0),
        failed: None,
        error: None,
        metrics,
        expected: [expected].into(),
        actual: [actual].into(),
        expected_state: None,
        actual_state: None,
        session_id: bad.clone(),
        user_id: bad.clone(),
        tries: 1,
        tool_use: None,
        setup: None,
        user_spent: None,
        turn: None,
    };
    let key = attempt.key;
    update(
        &mut model,
        Msg::Run(RunMsg::Started(Box::new(RunState::new(Arc::new(plan))))),
    );
    let events = vec![
        RunEvent::Started { key, slot: 0 },
        RunEvent::Progress {
            key,
            progress: Progress::Calls(long.clone()),
        },
        RunEvent::Warning(bad.clone()),
    ];
    update(&mut model, Msg::Run(RunMsg::Events(events)));
    assert_clean(&model);
    update(
        &mut model,
        Msg::Run(RunMsg::Events(vec![RunEvent::Finished(Arc::new(
            EndedAttempt::unrecorded(attempt),
        ))])),
    );
    (model, bad)
}

fn assert_clean(model: &Model) {
    for cell in frame(model, "default").content() {
        assert!(
            !cell
                .symbol()
                .chars()
                .any(|c| c.is_control() || is_hidden(c)),
            "{:?}",
            cell.symbol()
        );
    }
}

#[test]
fn hostile_text_never_reaches_a_cell() {
    let (mut model, bad) = hostile();
    assert_clean(&model);
    for screen in [
        "L",
        "q left g j j right",
        "enter",
        "v",
        "J",
        "m v",
        "x esc",
        "m a",
        "esc",
        "right",
        "?",
        "esc",
        "f",
        "esc",
        "q : x",
        "esc q e",
        "down enter x",
        "esc o x",
        "esc esc y c c",
        "esc C h i enter",
        "esc c d",
        "esc enter A",
        "esc c v",
    ] {
        let effects = keys(&mut model, screen);
        for effect in effects {
            if let Effect::Results(ResultEffect::BuildBody(key, compared)) = effect {
                let body = evaltrail::explorer::build_body(&compared, key.view);
                update(
                    &mut model,
                    Msg::Results(ResultMsg::BodyBuilt(key, Arc::new(body))),
                );
            }
        }
        assert_clean(&model);
    }
    update(&mut model, Msg::Failed(bad.clone()));
    assert_clean(&model);
    update(&mut model, Msg::Run(RunMsg::Refused(bad)));
    assert_clean(&model);
}

fn any_key() -> impl Strategy<Value = Key> {
    let codes = vec![
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Tab,
        KeyCode::PageDown,
    ];
    prop_oneof![
        any::<char>().prop_map(Key::char),
        "[a-zA-Z/?:*. ]".prop_map(|text| Key::char(text.chars().next().unwrap())),
        proptest::sample::select(codes).prop_map(Key::plain),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any keys at any size: no panic, and nothing is drawn outside.
    #[test]
    fn any_keys_at_any_size(keys in proptest::collection::vec(any_key(), 0..40), width in 0..200u16, height in 0..70u16) {
        let mut model = sample((100, 30));
        run(&mut model, 12);
        for key in keys {
            update(&mut model, Msg::Key(key));
            update(&mut model, Msg::Resize(width, height));
            if width > 0 && height > 0 {
                let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
                draw(&model, &Theme::named("default", false).unwrap(), &mut buffer);
            }
            update(&mut model, Msg::Resize(100, 30));
        }
    }
}

/// Screens and dialogs of the sample workspace after a run, and the keys that open each from the list.
const SCREENS: &[(&str, &str)] = &[
    ("list", ""),
    ("list next failing", "n"),
    ("causes", "F"),
    ("causes filter", "F enter"),
    ("list tree", "left"),
    ("run", "L"),
    ("run third line", "L down down"),
    ("case", "n enter"),
    ("case timeline", "n enter v"),
    ("case next difference", "n enter ]"),
    ("case differences only", "n enter i"),
    ("case metrics", "n enter 4"),
    ("editor", "n enter e down down down"),
    ("editor field", "n enter e down enter"),
    ("help", "?"),
    ("palette", ": r"),
    ("find", "f w"),
    ("metrics", "m m"),
    ("statistics", "m s"),
    ("agreement", "m a"),
    ("what-if keys", "n w"),
    ("what-if menu", "w m"),
    ("what-if changed cases", "w m w f"),
    ("verdict", "n enter m v"),
    ("accept", "n a"),
    ("chat", "C"),
    ("messages", "!"),
    ("filter", "/ s"),
    ("themes", "t down"),
    ("run options", "O 5"),
    ("tags", "# down"),
    ("triage", "T"),
    ("triage accepted", "T a"),
    ("triage accept all", "T A"),
    ("triage excluded", "T x"),
    ("triage note", "T a c k"),
    ("triage summary", "T a ctrl-s"),
];

/// The models of all screens at a size.
fn screen_models(size: (u16, u16)) -> Vec<(&'static str, Model)> {
    let model = |(screen, pressed): &(&'static str, &str)| {
        let mut model = sample(size);
        run(&mut model, usize::MAX / 2);
        keys(&mut model, "q");
        for effect in keys(&mut model, pressed) {
            match effect {
                Effect::Results(ResultEffect::RelaxGroups(ticket, groups)) => {
                    let found = ResultMsg::GroupsRelaxed(ticket, changes_for_groups(&groups));
                    update(&mut model, Msg::Results(found));
                }
                Effect::Sets(SetEffect::ReadConfigured(ticket, _)) => {
                    let configured = Box::new(configured_run());
                    update(
                        &mut model,
                        Msg::Sets(SetMsg::Configured(ticket, configured)),
                    );
                }
                _ => {}
            }
        }
        (*screen, model)
    };
    SCREENS
        .iter()
        .map(model)
        .chain(captures(size))
        .chain(past_runs(size))
        .chain(repeated(size))
        .collect()
}

/// What the configuration and the criteria of a set say.
fn configured_run() -> ConfiguredRun {
    ConfiguredRun {
        repeat: 1,
        jobs: 4,
        gate: "all".into(),
        stubs: "off".into(),
        criteria: vec!["garden/test_config.json".into()],
        metrics: vec![
            "tool_trajectory_avg_score 1.00".into(),
            "response_match_score 0.80".into(),
        ],
        ..ConfiguredRun::default()
    }
}

/// Cases of which some repetitions passed: the run, the list, and one of them.
fn repeated(size: (u16, u16)) -> [(&'static str, Model); 3] {
    let run = || {
        let mut model = sample(size);
        let mut plan = plan(&model);
        plan.options.repeat = 4;
        let plan = Arc::new(plan);
        let repeated = |case: usize| {
            let ran = attempt(&model, &plan, case);
            (1..=4u32).map(move |number| {
                let key = AttemptKey {
                    case,
                    attempt: number,
                };
                let mut one = Attempt { key, ..ran.clone() };
                if case < 3 && number % 2 == 0 {
                    one.status = Status::Failed;
                    one.actual = Vec::new().into();
                }
                RunEvent::Finished(Arc::new(EndedAttempt::unrecorded(one)))
            })
        };
        let events: Vec<RunEvent> = (0..plan.cases.len()).flat_map(repeated).collect();
        update(
            &mut model,
            Msg::Run(RunMsg::Started(Box::new(RunState::new(plan)))),
        );
        update(&mut model, Msg::Run(RunMsg::Events(events)));
        update(
            &mut model,
            Msg::Run(RunMsg::Events(vec![RunEvent::Ended { duration_s: 20.0 }])),
        );
        update(&mut model, Msg::Tick(30.0));
        model
    };
    let list = || {
        let mut model = run();
        keys(&mut model, "esc");
        model
    };
    let mut case = list();
    keys(&mut case, "g enter >");
    [
        ("repeated, the run", run()),
        ("repeated", list()),
        ("repeated, the next trajectory of a flaky case", case),
    ]
}

/// The screens of past runs: the list, a run as it was, and two runs compared.
fn past_runs(size: (u16, u16)) -> [(&'static str, Model); 9] {
    let model = || {
        let mut model = sample(size);
        run(&mut model, usize::MAX / 2);
        model.folder = root().join("fixtures/workspace");
        keys(&mut model, "q H");
        let ticket = model.ticket();
        let history = Arc::new(history(&model));
        update(
            &mut model,
            Msg::History(HistoryMsg::Listed { ticket, history }),
        );
        model
    };
    let with = |keys_pressed: &str| {
        let mut model = model();
        keys(&mut model, keys_pressed);
        model
    };
    let trends = |keys_pressed: &str| {
        let mut model = with("V");
        let ticket = model.ticket();
        let history = Arc::new(history(&model));
        update(
            &mut model,
            Msg::History(HistoryMsg::Listed { ticket, history }),
        );
        keys(&mut model, keys_pressed);
        model
    };
    let comparison = |keys_pressed: &str| {
        let mut model = with("c");
        let pair = Arc::new(compared_pair(&model));
        update(&mut model, Msg::History(HistoryMsg::Compared(pair)));
        keys(&mut model, keys_pressed);
        model
    };
    let mut opened = model();
    let past = Box::new(past_run(&opened));
    let name = Some("before the new prompt".to_string());
    update(
        &mut opened,
        Msg::History(HistoryMsg::Opened {
            past,
            name,
            case: None,
        }),
    );
    [
        ("runs", model()),
        (
            "runs, another marked, a name being typed",
            with("down space up e"),
        ),
        ("runs, deletion", with("d")),
        ("past run", opened),
        ("trends", trends("")),
        ("trends, an earlier run of a metric", trends("down left")),
        ("comparison", comparison("")),
        ("comparison, a case", comparison("enter")),
        (
            "comparison, a case without expected, differences only",
            comparison("enter b i"),
        ),
    ]
}

fn history(model: &Model) -> History {
    let plan = &model.run.as_ref().unwrap().plan;
    let sets = plan.sets.iter().enumerate().map(|(at, set)| SetCount {
        path: set.path.clone(),
        cases: plan.cases.iter().filter(|case| case.set == at).count(),
        is_whole: Some(true),
        agent: "replay garden.jsonl".into(),
        agent_files: None,
        setup: Default::default(),
        criteria: vec!["tool_trajectory_avg_score 1".into()],
        criteria_id: 1,
        scoring: Default::default(),
        results: SetResults::default(),
    });
    // Each run has other results.
    let ours = |is_foreign, passed: usize| RunSource::Evaltrail {
        sets: sets.clone().map(|set| with_results(set, passed)).collect(),
        is_foreign,
    };
    let adk = RunSource::Adk {
        app_dir: "garden".into(),
        set_id: "watering".into(),
        by_evaltrail: false,
        copied_run: None,
        results: SetResults::default(),
        cases: 1,
        criteria_id: 2,
    };
    let run_summary =
        |run_id: &str, started: &str, source: RunSource, failed: usize, missing: usize| {
            RunSummary {
                run_id: run_id.into(),
                path: run_id.into(),
                started: started.into(),
                commit: Some("6f1ed002ab5595859014ebf0951522d9f3a1c2b4".into()),
                agent: "replay garden.jsonl".into(),
                criteria: vec![
                    "tool_trajectory_avg_score 1".into(),
                    "response_match_score 0.8".into(),
                ],
                judge: Some("recorded".into()),
                duration_s: Some(75.25),
                spent: None,
                turn: None,
                attempts: 23,
                totals: Totals {
                    passed: 23 - failed - missing,
                    failed,
                    ..Totals::default()
                },
                ended: true,
                number: if matches!(source, RunSource::Adk { .. }) {
                    0
                } else {
                    1
                },
                source,
                shard: None,
                merged: Vec::new(),
                is_in_merged: false,
            }
        };
    let mut history = History::default();
    history.runs = vec![
        run_summary(
            "7f3a1c09d2e4",
            "2026-01-01T00:00:00Z",
            ours(false, 5),
            12,
            0,
        ),
        run_summary("51c0ffee1234", "2025-12-31T23:00:00Z", ours(false, 7), 4, 3),
        run_summary("0badcafe5678", "2025-12-30T12:00:00Z", ours(false, 9), 2, 0),
        run_summary("garden_watering_1767", "2025-12-29T12:00:00Z", adk, 1, 0),
        run_summary("ffee00112233", "2025-11-01T12:00:00Z", ours(true, 10), 0, 0),
    ];
    let label = |run: &str, name: Option<&str>| {
        (
            run.to_string(),
            RunLabel {
                run: run.into(),
                name: name.map(str::to_string),
                pinned: true,
            },
        )
    };
    history.labels = [
        label("0badcafe5678", Some("before the new prompt")),
        label("51c0ffee1234", None),
    ]
    .into();
    history.baseline = Some("0badcafe5678".into());
    history
}

/// Trends over two weeks of runs of one set.
fn many_runs(size: (u16, u16)) -> Model {
    const PASSED: [usize; 14] = [4, 4, 5, 5, 6, 6, 8, 8, 7, 8, 9, 9, 6, 7];
    let mut model = sample(size);
    run(&mut model, usize::MAX / 2);
    model.folder = root().join("fixtures/workspace");
    keys(&mut model, "q V");
    let plan = model.run.as_ref().unwrap().plan.clone();
    let RunSource::Evaltrail { sets, .. } = &history(&model).runs[0].source else {
        panic!("not ours")
    };
    let set = SetCount {
        path: plan.sets[0].path.clone(),
        ..sets[0].clone()
    };
    // The criteria of the last two runs are others.
    let set = |day: usize| SetCount {
        criteria_id: u64::from(day + 2 < PASSED.len()),
        ..set.clone()
    };
    let of_day = |(day, passed): (usize, &usize)| RunSummary {
        run_id: format!("{:012x}", 0x7f3a_1c09_d2e4_u64 + 0x11_2233 * day as u64),
        started: format!("2025-12-{:02}T08:00:00Z", day + 10),
        source: RunSource::Evaltrail {
            sets: vec![with_results(set(day), *passed)],
            is_foreign: false,
        },
        commit: Some(format!("{day:x}").repeat(40)),
        ..history(&model).runs[0].clone()
    };
    let mut past = History::default();
    past.runs = PASSED.iter().enumerate().map(of_day).collect();
    past.runs.reverse();
    let ticket = model.ticket();
    update(
        &mut model,
        Msg::History(HistoryMsg::Listed {
            ticket,
            history: Arc::new(past),
        }),
    );
    keys(&mut model, "h");
    model
}

/// A set of which `passed` of 10 attempts passed.
fn with_results(set: SetCount, passed: usize) -> SetCount {
    let totals = Totals {
        passed,
        failed: 10 - passed,
        ..Totals::default()
    };
    let mean = |metric: &str, mean| MetricMean {
        metric: metric.into(),
        mean: Some(mean),
        scored: 10,
    };
    let share = passed as f64 / 10.0;
    let metrics = vec![
        mean("tool_trajectory_avg_score", share),
        mean("response_match_score", 0.9 - share / 4.0),
    ];
    let criteria = set.criteria.clone();
    SetCount {
        results: SetResults {
            totals,
            pass_rate: Some(share),
            metrics,
            criteria,
        },
        ..set
    }
}

/// The run of the sample as a past run.
fn past_run(model: &Model) -> PastRun {
    let state = model.run.as_ref().unwrap();
    let set = |set: usize| {
        let cases =
            (0..state.plan.cases.len()).filter(|case| state.plan.cases.set_of(*case) == set);
        let (cases, attempts) = cases
            .map(|case| {
                let attempts = state.attempts_of(case);
                let eval_id = state.plan.cases.eval_id(case).to_string();
                (
                    RecordedCase {
                        eval_id,
                        attempt: attempts.first().cloned(),
                    },
                    attempts,
                )
            })
            .unzip();
        let planned = &state.plan.sets[set];
        let file = Arc::new(SetFile::of_recorded(cases, &planned.id));
        PastSet {
            path: planned.path.clone(),
            agent: planned.agent_name.clone(),
            file,
            attempts,
            quarantines: vec![],
        }
    };
    let run = RunRef {
        id: "0badcafe5678".into(),
        started: state.plan.started.clone(),
        by: RunBy::Evaltrail,
    };
    PastRun {
        run: Arc::new(run),
        sets: (0..state.plan.sets.len()).map(set).collect(),
        not_run: 0,
        damaged: 0,
    }
}

/// The run of the sample, compared with one in which the first failures passed and another case failed.
fn compared_pair(model: &Model) -> ComparedPair {
    let after = model.run.clone().unwrap();
    let mut before = RunState::new(after.plan.clone());
    let mut changed = 0;
    for case in 0..after.plan.cases.len() {
        for attempt in after.attempts_of(case) {
            let mut whole = (*attempt.read().unwrap()).clone();
            if changed < 3
                && whole.error.is_none()
                && (whole.status == Status::Failed) == (changed < 2)
            {
                changed += 1;
                let now_passes = whole.status == Status::Failed;
                whole.status = if now_passes {
                    Status::Passed
                } else {
                    Status::Failed
                };
                whole.actual = whole.expected.clone();
                for metric in whole
                    .metrics
                    .iter_mut()
                    .filter(|metric| metric.threshold.is_some())
                {
                    metric.status = whole.status;
                    metric.score = Some(evaltrail_core::domain::Score::of_flag(now_passes));
                }
            }
            before.apply(RunEvent::Finished(Arc::new(EndedAttempt::unrecorded(
                whole,
            ))));
        }
    }
    let found = compare_runs(&before, &after, &ComparisonRule::default());
    let side = |state, name: &str| ComparedRun {
        state,
        name: name.into(),
    };
    let (before, after) = (
        side(before, "before the new prompt"),
        side(after, "7f3a1c09d2e4"),
    );
    ComparedPair {
        before,
        after,
        found,
        setup: Default::default(),
        removed: Default::default(),
    }
}

/// A folder without eval sets, and the steps of a capture.
fn captures(size: (u16, u16)) -> [(&'static str, Model); 3] {
    let empty = Model::new("~/agents/empty".into(), Vec::new(), size);
    let mut capture = sample(size);
    keys(&mut capture, "c g");
    let mut conversations = sample(size);
    let turn = |text: &str| Invocation {
        user: Content::text("user", text),
        ..Invocation::default()
    };
    let conversation = |id: &str, messages: &[&str], problem: Option<&str>| RecordedConversation {
        id: id.into(),
        agent: None,
        turns: messages.iter().map(|text| turn(text)).collect(),
        input: None,
        states: Vec::new(),
        notes: Vec::new(),
        problem: problem.map(str::to_string),
    };
    let found = vec![
        conversation(
            "morning_round",
            &[
                "Good morning! What is there to do in the garden?",
                "Thanks.",
            ],
            None,
        ),
        conversation(
            "4bf92f3577b34da6a3ce929d0e0e4736",
            &[""],
            Some("the trace has no message"),
        ),
    ];
    let source = "garden.jsonl".to_string();
    let msg = EditMsg::Conversations {
        source,
        target: CaptureTarget::Set(0),
        found: Ok(found),
        additions: Vec::new(),
    };
    update(&mut conversations, Msg::Edits(msg));
    [
        ("empty folder", empty),
        ("capture", capture),
        ("conversations", conversations),
    ]
}

/// WCAG's relative luminance of a colour given as red, green and blue.
fn luminance(colour: ratatui::style::Color) -> Option<f64> {
    let ratatui::style::Color::Rgb(r, g, b) = colour else {
        return None;
    };
    let linear = |v: u8| {
        let v = f64::from(v) / 255.0;
        if v <= 0.03928 {
            v / 12.92
        } else {
            ((v + 0.055) / 1.055).powf(2.4)
        }
    };
    Some(0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b))
}

/// Whether a cell contains text, and not a space, a line or a block.
fn is_text(symbol: &str) -> bool {
    symbol
        .chars()
        .all(|c| !c.is_whitespace() && !('\u{2500}'..='\u{259f}').contains(&c))
}

/// WCAG requires a contrast of 4.5 to 1. Colours that the terminal defines cannot be checked. With those, a reversed
/// cell must have no colour of its own, because it would be a patch in the row under the cursor.
#[test]
fn every_text_on_every_screen_can_be_read() {
    use ratatui::style::{Color, Modifier};
    let screens = screen_models((120, 40));
    for theme in Theme::names() {
        for (screen, model) in &screens {
            for cell in frame(model, theme)
                .content()
                .iter()
                .filter(|cell| is_text(cell.symbol()))
            {
                let at = format!(
                    "{:?} in {theme} at {screen:?}: {:?} on {:?}",
                    cell.symbol(),
                    cell.fg,
                    cell.bg
                );
                match (luminance(cell.fg), luminance(cell.bg)) {
                    (Some(fg), Some(bg)) => {
                        let contrast = (fg.max(bg) + 0.05) / (fg.min(bg) + 0.05);
                        assert!(contrast >= 4.5, "{contrast:.1} {at}");
                    }
                    _ if cell.modifier.contains(Modifier::REVERSED) => {
                        assert!(cell.fg == Color::Reset && cell.bg == Color::Reset, "{at}");
                    }
                    // A dimmed colour, and blue on black, cannot be read in many terminals.
                    _ if cell.fg != Color::Reset => {
                        let is_dim = cell.modifier.contains(Modifier::DIM);
                        assert!(!is_dim && cell.fg != Color::Blue, "{at}");
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Asserts that nothing is drawn over the sides of a pane.
fn assert_inside_panes(screen: &str, model: &Model, buffer: &Buffer) {
    if model.view.open_dialog.is_some() || !model.pressed.is_empty() {
        return;
    }
    let areas = evaltrail::explorer::layout(model);
    let is_list = model.is_on(evaltrail::explorer::Context::Browse);
    let panes = [
        (areas.left, true),
        (areas.main, true),
        (areas.panel, is_list),
    ];
    for (area, _) in panes
        .iter()
        .filter(|(area, has_border)| *has_border && !area.is_empty())
    {
        for y in area.y..area.bottom() {
            for x in [area.x, area.right() - 1] {
                let symbol = buffer[(x, y)].symbol();
                assert!(
                    "│┃╭╮╰╯".contains(symbol),
                    "{:?} {screen:?} at {x},{y}: {symbol:?}",
                    model.size
                );
            }
        }
    }
}

/// A snapshot of each screen and dialog at each size, in `snapshots/frames`.
#[test]
fn every_screen_and_dialog_at_every_size() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("snapshots/frames");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let _bound = settings.bind_to_scope();
    for (width, height) in [(40, 12), (80, 24), (120, 40), (200, 60)] {
        for (screen, model) in screen_models((width, height)) {
            let buffer = frame(&model, "default");
            assert_inside_panes(screen, &model, &buffer);
            let shown = text(&buffer).replace(&root().display().to_string(), "…");
            let name = screen.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
            insta::assert_snapshot!(format!("{name}_{width}x{height}"), shown);
        }
    }
}

/// The list at every width, and how many of the visible reasons are whole.
#[test]
fn reasons_are_readable_at_every_width() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("snapshots/widths");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let _bound = settings.bind_to_scope();
    let mut table = String::new();
    let mut model = sample((60, 60));
    run(&mut model, usize::MAX / 2);
    keys(&mut model, "q h home l");
    for width in (60..=240).step_by(10) {
        update(&mut model, Msg::Resize(width, 60));
        let shown = text(&frame(&model, "default"));
        let reasons: Vec<String> = model
            .view
            .browse
            .visible
            .iter()
            .filter_map(|case| model.view.outcomes.get(*case))
            .filter(|outcome| outcome.is_failing())
            .filter_map(|outcome| outcome.attempts.first())
            .map(|attempt| {
                attempt
                    .reason()
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .to_string()
            })
            .filter(|reason| !reason.is_empty())
            .collect();
        let begun = |reason: &&String| {
            let start: String = reason.chars().take(8).collect();
            shown.contains(&start)
        };
        let whole = reasons
            .iter()
            .filter(|reason| shown.contains(*reason))
            .count();
        let visible = reasons.iter().filter(begun).count();
        table += &format!("{width:>3} columns: {whole} of {visible} reasons are whole\n");
        assert_eq!(
            visible,
            reasons.len(),
            "each row says why: {width}\n{shown}"
        );
        assert!(
            width < 140 || whole * 10 >= visible * 8,
            "{width}: {whole} of {visible}\n{shown}"
        );
        let shown = shown.replace(&root().display().to_string(), "…");
        insta::assert_snapshot!(format!("list_{width}"), shown);
    }
    insta::assert_snapshot!("whole_reasons", table);
}

/// The editor opens at the marked difference, and `a` takes what the agent did there.
#[test]
fn editor_takes_value_of_agent() {
    let mut model = sample((140, 40));
    run(&mut model, usize::MAX / 2);
    keys(&mut model, "q n enter e");
    let row = |model: &Model| {
        let shown = text(&frame(model, "default"));
        let marked = shown.lines().find(|line| line.contains('▸'));
        marked
            .unwrap_or_default()
            .split('│')
            .nth(1)
            .unwrap_or_default()
            .trim()
            .to_string()
    };
    assert_eq!(row(&model), "▸       litres           6");
    let shown = text(&frame(&model, "default"));
    assert!(
        shown.contains("what the agent did") && shown.contains("litres  5"),
        "{shown}"
    );
    keys(&mut model, "a");
    assert_eq!(row(&model), "▸       litres           5");
    keys(&mut model, "a");
    let shown = text(&frame(&model, "default"));
    assert!(
        shown.contains("no attempt has another value here"),
        "{shown}"
    );
    keys(&mut model, "u");
    assert_eq!(row(&model), "▸       litres           6");
}

/// Enter on the marked argument of a case types another value for it: three keys beside the value.
#[test]
fn enter_types_value_of_marked_argument() {
    let mut model = sample((140, 40));
    run(&mut model, usize::MAX / 2);
    keys(&mut model, "q n enter enter");
    let shown = text(&frame(&model, "default"));
    assert!(
        shown.lines().any(|line| line.trim() == "litres  6"),
        "{shown}"
    );
    keys(&mut model, "backspace 9 ctrl-s");
    let shown = text(&frame(&model, "default"));
    assert!(
        shown.contains("litres\": 9"),
        "the change is shown: {shown}"
    );
}

/// Hints and tabs are clicked as their keys are pressed.
#[test]
fn hints_and_tabs_can_be_clicked() {
    let mut model = sample((120, 40));
    run(&mut model, usize::MAX / 2);
    keys(&mut model, "q n enter");
    let click = |model: &mut Model, words: &str, row: Option<usize>| {
        let shown = text(&frame(model, "default"));
        let is_there =
            |(at, line): &(usize, &str)| row.is_none_or(|row| row == *at) && line.contains(words);
        let (y, line) = shown.lines().enumerate().find(is_there).unwrap();
        let x = line[..line.find(words).unwrap()].chars().count() + 1;
        let mouse = Mouse {
            x: x as u16,
            y: y as u16,
            kind: MouseKind::Click,
        };
        update(model, Msg::Mouse(mouse))
    };
    click(&mut model, "2 timeline", None);
    assert_eq!(model.open_case().unwrap().mode, CaseTab::Timeline);
    click(&mut model, "1 diff", None);
    assert_eq!(model.open_case().unwrap().mode, CaseTab::Compare);
    let before = model.open_case().unwrap().at;
    click(&mut model, "n next failing", Some(38));
    assert_ne!(model.open_case().unwrap().at, before);
    click(&mut model, "? help", None);
    assert!(model.view.open_dialog.is_some());
}
