//! What if: criteria are changed from the keyboard, every case is rescored, status_changes are counted, and the change is
//! written or dropped.

use crate::common::input::{press, type_text};
use crate::common::past::past;
use evaltrail::explorer::dialogs::changed_cases::ChangedCases;
use evaltrail::explorer::dialogs::metrics::MetricCatalog;
use evaltrail::explorer::dialogs::rule::RuleLine;
use evaltrail::explorer::dialogs::statistics::StatisticsTable;
use evaltrail::explorer::{
    ActiveWhatIf, CaseRef, EditDone, EditMsg, Effect, Model, Msg, OpenedSet, ResultEffect,
    ResultMsg, RunEffect, RunTarget, SetLoaded, SetMsg, Theme, draw, rescored, update,
};
use evaltrail::explorer::{OlderCriteria, Proposal, ProposalLine};
use evaltrail_core::domain::{
    Attempt, AttemptKey, Content, Conversation, Criterion, Decision, DecisionKind, EvalCase,
    Invocation, Status, ToolCall, Trajectory, case_status, causes_of_worst_attempt,
};
use evaltrail_core::formats::adk::write_case;
use evaltrail_core::formats::{PreviewLine, SetFile};
use evaltrail_core::metrics::{Evidence, score_case};
use evaltrail_engine::store::{FileAction, FileEdit};
use evaltrail_engine::workspace::SetPath;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn turn(calls: &[(&str, Value)], said: &str) -> Invocation {
    let call = |(name, args): &(&str, Value)| ToolCall::new(*name, args.as_object().cloned());
    let calls = calls.iter().map(call).collect();
    Invocation {
        trajectory: Trajectory::Listed {
            calls,
            responses: vec![],
            texts: vec![],
        },
        final_response: Some(Content::text("model", said)),
        ..Invocation::default()
    }
}

fn attempt(case: usize, expected: Invocation, actual: Invocation) -> Arc<Attempt> {
    let criteria = [
        Criterion::new("tool_trajectory_avg_score", Some(1.0)),
        Criterion::new("response_match_score", Some(0.8)),
    ];
    let mut attempt = Attempt::blank(AttemptKey { case, attempt: 1 }, &format!("c{case}"));
    (attempt.expected, attempt.actual) = ([expected].into(), [actual].into());
    attempt.metrics = score_case(&criteria, &Evidence::from_attempt(&attempt));
    attempt.status = case_status(&attempt.metrics);
    Arc::new(attempt)
}

const FILE: &str = "/w/x.evalset.json";
const SAID: &str = "the lamp is off now";

/// Four cases: one passes; the others differ in the order of calls, an argument, or the response.
fn model() -> Model {
    model_with(|_| {})
}

/// The same, with other results.
fn model_with(change: impl Fn(&mut Vec<Arc<Attempt>>)) -> Model {
    let path = SetPath {
        stem: "x".into(),
        app: None,
        ..SetPath::of_file(FILE.as_ref(), "".as_ref())
    };
    let mut model = Model::new("w".into(), vec![path], (120, 40));
    let (a, b) = (("search_web", json!({"query": "x"})), ("log", json!({})));
    let golden = || turn(&[a.clone(), b.clone()], SAID);
    let case = |at| EvalCase {
        eval_id: format!("c{at}"),
        conversation: Conversation::Turns(vec![golden()]),
        ..EvalCase::default()
    };
    let cases: Vec<Value> = (0..4).map(|at| write_case(&case(at))).collect();
    let text = json!({"eval_set_id": "x", "eval_cases": cases}).to_string();
    let file = Arc::new(SetFile::open(Arc::from(text), "x").unwrap());
    let result = Ok(OpenedSet {
        criteria: None,
        file,
        digest: String::new(),
        agent: Err("none".into()),
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
    let mut outcomes = vec![
        attempt(0, golden(), golden()),
        attempt(1, golden(), turn(&[b.clone(), a.clone()], SAID)),
        attempt(
            2,
            golden(),
            turn(&[("search_web", json!({"query": "y"})), b.clone()], SAID),
        ),
        attempt(3, golden(), turn(&[a, b], "the lamp is on")),
    ];
    change(&mut outcomes);
    let results = past(Path::new(FILE), "r", outcomes);
    let ticket = model.ticket();
    update(
        &mut model,
        Msg::Results(ResultMsg::History {
            ticket,
            results: results.into(),
        }),
    );
    press(&mut model, "right");
    model
}

fn statuses(model: &Model) -> Vec<Status> {
    (0..4)
        .map(|index| {
            model
                .view
                .outcomes
                .worst(CaseRef { set: 0, index })
                .unwrap()
        })
        .collect()
}

const P: Status = Status::Passed;
const F: Status = Status::Failed;

#[test]
fn what_if_changes_criteria_from_keyboard() {
    let mut model = model();
    assert_eq!(statuses(&model), [P, F, F, F]);
    press(&mut model, "w m");
    assert_eq!(
        statuses(&model),
        [P, F, F, F],
        "IN_ORDER does not help: the order is another"
    );
    press(&mut model, "w m");
    assert_eq!(statuses(&model), [P, P, F, F], "ANY_ORDER");
    assert_eq!(model.view.what_if.as_ref().unwrap().counts(), (1, 0));
    press(&mut model, "w i");
    assert_eq!(statuses(&model), [P, P, P, F], "arguments ignored");
    press(&mut model, "down down down");
    press(&mut model, "w - w - w -");
    assert_eq!(
        model.view.what_if.as_ref().unwrap().change.thresholds["response_match_score"],
        0.65
    );
    assert_eq!(statuses(&model), [P, P, P, P]);
    assert_eq!(model.view.what_if.as_ref().unwrap().status_changes.len(), 3);
    press(&mut model, "w d");
    assert!(model.view.what_if.is_none());
    assert_eq!(statuses(&model), [P, F, F, F], "dropped");
}

/// Another program edits a case: its results are evaluated again, under the what-if.
/// The threshold of the metric that compares calls goes down step by step under a rule, whichever was tried first.
#[test]
fn threshold_goes_down_under_a_rule() {
    for is_rule_first in [true, false] {
        let mut model = model();
        press(&mut model, "down down enter");
        let type_rule = |model: &mut Model| {
            press(model, "w r");
            type_text(model, "log foo ignore");
            press(model, "enter");
        };
        if is_rule_first {
            type_rule(&mut model);
        }
        press(&mut model, "w -");
        if !is_rule_first {
            type_rule(&mut model);
        }
        for threshold in [0.95, 0.9, 0.85] {
            let metric = model.metric_at_hand().unwrap();
            assert_eq!(metric.metric, "trajectory_match");
            assert_eq!(metric.threshold, Some(threshold), "{is_rule_first}");
            press(&mut model, "w -");
        }
        let change = &model.view.what_if.as_ref().unwrap().change;
        assert_eq!(change.thresholds.len(), 1, "{change:?}");
    }
}

#[test]
fn what_if_survives_external_case_edit() {
    let mut model = model();
    press(&mut model, "w m");
    press(&mut model, "w m");
    assert_eq!(statuses(&model), [P, P, F, F]);
    let case = |at: usize| EvalCase {
        eval_id: format!("c{at}"),
        conversation: Conversation::Turns(vec![turn(
            &[("search_web", json!({"query": "x"})), ("log", json!({}))],
            if at == 3 { "the lamp is on" } else { SAID },
        )]),
        ..EvalCase::default()
    };
    let cases: Vec<Value> = (0..4).map(|at| write_case(&case(at))).collect();
    let text = json!({"eval_set_id": "x", "eval_cases": cases}).to_string();
    let result = Ok(OpenedSet {
        criteria: None,
        file: Arc::new(SetFile::open(Arc::from(text), "x").unwrap()),
        digest: "edited".into(),
        agent: Err("none".into()),
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
    assert_eq!(statuses(&model), [P, P, F, P]);
    assert_eq!(
        model
            .view
            .what_if
            .as_ref()
            .expect("the what-if is active")
            .counts(),
        (1, 0)
    );
    press(&mut model, "w d");
    assert_eq!(
        statuses(&model),
        [P, F, F, P],
        "the edited case passes without the what-if"
    );
}

#[test]
fn typed_rule_rescores_cases_immediately() {
    let mut model = model();
    press(&mut model, "w r");
    type_text(&mut model, "search_* query sometimes");
    press(&mut model, "enter");
    assert!(model.dialog::<RuleLine>().is_some_and(|line| {
        line.wrong
            .as_deref()
            .is_some_and(|why| why.contains("ignore"))
    }));
    press(&mut model, "ctrl-u");
    type_text(&mut model, "search_* query ignore");
    press(&mut model, "enter");
    assert_eq!(statuses(&model), [P, F, P, F]);
    let attempt = &model
        .view
        .outcomes
        .get(CaseRef { set: 0, index: 2 })
        .unwrap()
        .attempts[0];
    let of = |name: &str| {
        attempt
            .metrics
            .iter()
            .find(|metric| metric.metric == name)
            .unwrap()
    };
    assert_eq!(
        (
            of("trajectory_match").score(),
            of("tool_trajectory_avg_score").score()
        ),
        (Some(1.0), Some(0.0))
    );
    assert_eq!(attempt.adk_status, F, "ADK would still say failed");
    press(&mut model, "w f");
    assert!(
        model
            .dialog::<ChangedCases>()
            .is_some_and(|list| list.picker.found.len() == 1)
    );
    press(&mut model, "enter");
    assert_eq!(model.current_case(), Some(CaseRef { set: 0, index: 2 }));
}

#[test]
fn case_suggests_smallest_passing_change() {
    let mut model = model();
    let said = |model: &mut Model, keys: &str| {
        press(model, keys);
        let Some(case) = model.open_case() else {
            panic!("a case is open")
        };
        case.suggestion
            .as_ref()
            .map(|change| change.describe().join(" + "))
    };
    assert_eq!(said(&mut model, "enter"), None);
    assert_eq!(
        said(&mut model, "q down enter").as_deref(),
        Some("ANY_ORDER")
    );
    assert_eq!(
        said(&mut model, "q down enter").as_deref(),
        Some("search_web: query ignore")
    );
    assert_eq!(
        said(&mut model, "q down enter").as_deref(),
        Some("response_match_score at 0.66")
    );
}

/// What is written is shown first. Then the what-if stays, because the results are still those of the earlier criteria,
/// and after an undo it is one that is not written.
#[test]
fn written_what_if_stays_and_follows_undo() {
    let mut model = model();
    let effects = press(&mut model, "w m w w");
    let [Effect::Results(ResultEffect::PlanCriteria(change, sets))] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert!(change.match_type.is_some() && *sets == [0], "{effects:?}");
    let file = FileEdit {
        path: PathBuf::from("/w/test_config.json"),
        action: FileAction::Create("{\"criteria\": {}}\n".into()),
    };
    let planned = ResultMsg::CriteriaPlanned(change.clone(), Ok(vec![file]));
    update(&mut model, Msg::Results(planned));
    let proposal = model
        .dialog::<Proposal>()
        .expect("the changed lines are shown");
    let added = |line: &ProposalLine| matches!(line, ProposalLine::Change(PreviewLine::New(_)));
    assert!(proposal.lines.iter().any(added), "{:?}", proposal.lines);
    let words = proposal.words.clone();
    assert_eq!(press(&mut model, "esc"), []);
    assert!(!model.view.what_if.as_ref().unwrap().is_written);

    let case = CaseRef { set: 0, index: 0 };
    let passed = model.view.outcomes.totals(0).passed;
    for (stands, is_written) in [(true, true), (false, false), (true, true)] {
        let words = words.clone();
        let done = EditDone {
            words,
            stands,
            written: vec![(PathBuf::from("/w/test_config.json"), None)],
            at: Some(jiff::Timestamp::now()),
            ..EditDone::default()
        };
        update(&mut model, Msg::Edits(EditMsg::Made(done)));
        let what_if = model.view.what_if.as_ref().expect("it stays");
        assert_eq!(what_if.is_written, is_written);
        assert_eq!(model.view.outcomes.totals(0).passed, passed);
    }
    // Other sets may be listed by now; nothing is left to write for this one.
    let again = press(&mut model, "w w");
    assert!(matches!(
        &again[..],
        [Effect::Results(ResultEffect::PlanCriteria(..))]
    ));
    let change = model.view.what_if.as_ref().unwrap().change.clone();
    update(
        &mut model,
        Msg::Results(ResultMsg::CriteriaPlanned(change, Ok(Vec::new()))),
    );
    assert!(model.view.open_dialog.is_none());
    press(&mut model, "w m");
    assert!(
        !model.view.what_if.as_ref().unwrap().is_written,
        "another change is not"
    );
    assert_eq!(model.older_criteria(case), None, "shown with its criteria");
    press(&mut model, "w d");
    assert_eq!(
        model.older_criteria(case),
        Some(OlderCriteria::Edited("test_config.json".into())),
        "the results are those of the earlier criteria"
    );
}

/// The screen as text.
fn screen_text(model: &Model) -> String {
    let area = Rect::new(0, 0, model.size.0, model.size.1);
    let mut buffer = Buffer::empty(area);
    let theme = Theme::named("default", true).unwrap();
    draw(model, &theme, &mut buffer);
    buffer
        .content
        .chunks(usize::from(area.width))
        .map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>() + "\n")
        .collect()
}

/// Has an edit of the criteria made, as after its lines were confirmed.
fn edit_criteria(model: &mut Model, words: &str) -> String {
    let done = EditDone {
        words: words.into(),
        stands: true,
        written: vec![(PathBuf::from("/w/test_config.json"), Some("{}".into()))],
        at: Some(jiff::Timestamp::now()),
        ..EditDone::default()
    };
    update(model, Msg::Edits(EditMsg::Made(done)));
    model.notice.as_ref().unwrap().text.clone()
}

/// All listed results that are older than the criteria are scored again with one command, and say what they are before.
#[test]
fn outdated_results_are_scored_again() {
    let mut model = model();
    assert_eq!(press(&mut model, "m n"), [], "nothing was edited");
    press(&mut model, "w m w m");
    let change = model.view.what_if.as_ref().unwrap().change.clone();
    let notice = edit_criteria(&mut model, &ActiveWhatIf::edit_text(&change));
    assert!(
        notice.contains("4 results are older than their criteria (m n"),
        "{notice}"
    );
    assert!(
        screen_text(&model).contains("m n score again"),
        "{}",
        screen_text(&model)
    );
    let effects = press(&mut model, "m n");
    let Some(Effect::Run(RunEffect::Start(cases, RunTarget::Recorded(kept)))) = effects.first()
    else {
        panic!("{effects:?}")
    };
    assert_eq!((cases.len(), kept.len()), (4, 4));
    assert!(
        model.view.what_if.is_none(),
        "the results will be those of the files"
    );
    assert_eq!(statuses(&model), [P, F, F, F]);
    let text = screen_text(&model);
    let row = text.lines().find(|line| line.contains("c3")).unwrap();
    let (reason, older) = (
        row.find("of 5 expected words"),
        row.find("(test_config.json w"),
    );
    assert!(reason.is_some() && reason < older, "{row}");
}

/// With judged metrics the question comes first, and after a yes all is as without it.
#[test]
fn judged_results_are_scored_again_after_yes() {
    let mut model = model_with(|attempts| {
        let mut judged = Attempt::clone(&attempts[3]);
        judged.metrics[1].judgement = Some(Box::default());
        attempts[3] = Arc::new(judged);
        let mut second = Attempt::clone(&attempts[1]);
        second.key.attempt = 2;
        attempts.push(Arc::new(second));
    });
    press(&mut model, "w m w m");
    let change = model.view.what_if.as_ref().unwrap().change.clone();
    edit_criteria(&mut model, &ActiveWhatIf::edit_text(&change));
    assert_eq!(press(&mut model, "m n"), [], "it asks first");
    assert!(screen_text(&model).contains("1 attempt is judged"));
    assert!(model.view.what_if.is_some());
    let effects = press(&mut model, "y");
    let Some(Effect::Run(RunEffect::Start(cases, RunTarget::Recorded(kept)))) = effects.first()
    else {
        panic!("{effects:?}")
    };
    assert_eq!((cases.len(), kept.len()), (3, 3));
    assert!(model.view.what_if.is_none());
    let notice = &model.notice.as_ref().unwrap().text;
    assert!(
        notice.contains("1 case with another number of attempts is left"),
        "{notice}"
    );
}

/// A lowered threshold is no rule: the reason comes first, then that the result is older.
#[test]
fn relaxed_case_shows_its_reason_first() {
    let mut model = model();
    let case = CaseRef { set: 0, index: 3 };
    let attempts = &model.view.outcomes.get(case).unwrap().attempts;
    let causes = causes_of_worst_attempt(attempts).unwrap();
    let decision = Decision {
        file: model.view.sets[0].path.shown.clone(),
        eval_id: "c3".into(),
        finding: causes[0].describe(),
        kind: Some(DecisionKind::Relax),
        note: "response_match_score at 0.66".into(),
        is_applied: true,
        ..Decision::default()
    };
    let ticket = model.ticket();
    model
        .decisions
        .change(ticket, |known| known.take(&[decision]));
    let text = screen_text(&model);
    let row = text.lines().find(|line| line.contains("c3")).unwrap();
    let (reason, older) = (
        row.find("of 5 expected words"),
        row.find("(the criteria were"),
    );
    assert!(reason.is_some() && reason < older, "{row}");
    assert!(!text.contains("ignored by rule"), "{text}");
}

#[test]
fn results_during_what_if_are_rescored() {
    let mut model = model();
    press(&mut model, "w m w m");
    let (a, b) = (("search_web", json!({"query": "x"})), ("log", json!({})));
    let swapped = attempt(0, turn(&[a.clone(), b.clone()], SAID), turn(&[b, a], SAID));
    let results = past(Path::new(FILE), "r2", vec![swapped]);
    let ticket = model.ticket();
    update(
        &mut model,
        Msg::Results(ResultMsg::History {
            ticket,
            results: results.into(),
        }),
    );
    assert_eq!(statuses(&model)[0], P);
    press(&mut model, "w d");
    assert_eq!(statuses(&model)[0], F);
}

#[test]
fn late_rescore_results_are_dropped() {
    let mut model = model();
    let one = model
        .view
        .outcomes
        .get(CaseRef { set: 0, index: 1 })
        .unwrap()
        .attempts[0]
        .clone();
    let many: Vec<_> = (0..3000u32)
        .map(|at| {
            let key = AttemptKey {
                case: 1,
                attempt: at + 1,
            };
            Arc::new(Attempt {
                key,
                ..(*one.read().unwrap()).clone()
            })
        })
        .collect();
    let ticket = model.ticket();
    update(
        &mut model,
        Msg::Results(ResultMsg::History {
            ticket,
            results: past(Path::new(FILE), "many", many).into(),
        }),
    );
    let first = press(&mut model, "w m");
    let second = press(&mut model, "w m");
    let answer = |effects: &[Effect]| {
        let [
            Effect::Results(ResultEffect::Rescore {
                ticket,
                change,
                before,
            }),
        ] = effects
        else {
            panic!("{effects:?}")
        };
        let rescored = rescored(before, change);
        Msg::Results(ResultMsg::Rescored(*ticket, Box::new(rescored)))
    };
    assert!(model.view.what_if.as_ref().unwrap().pending.is_some());
    update(&mut model, answer(&first));
    assert!(
        model.view.what_if.as_ref().unwrap().pending.is_some(),
        "an answer for the change before"
    );
    update(&mut model, answer(&second));
    assert_eq!(statuses(&model)[1], P);
    assert!(model.view.what_if.as_ref().unwrap().pending.is_none());
    press(&mut model, "w d");
    let dropped = press(&mut model, "w m");
    press(&mut model, "w d");
    let shown = press(&mut model, "w m w m");
    update(&mut model, answer(&dropped));
    assert!(
        model.view.what_if.as_ref().unwrap().pending.is_some(),
        "an answer for a what_if that was dropped"
    );
    let key = AttemptKey {
        case: 1,
        attempt: 5000,
    };
    let late = vec![Arc::new(Attempt {
        key,
        ..(*one.read().unwrap()).clone()
    })];
    let ticket = model.ticket();
    update(
        &mut model,
        Msg::Results(ResultMsg::History {
            ticket,
            results: past(Path::new(FILE), "many", late).into(),
        }),
    );
    let again = update(&mut model, answer(&shown[1..]));
    assert!(
        matches!(&again[..], [Effect::Results(ResultEffect::Rescore { .. })]),
        "the outcomes are others by now: {again:?}"
    );
    update(&mut model, answer(&again));
    assert_eq!(
        model.view.outcomes.attempts(),
        3000 + 3 + 1,
        "no attempt is lost"
    );
}

#[test]
fn keys_of_m_open_scores_and_statistics() {
    let mut model = model();
    assert_eq!(
        press(&mut model, "s"),
        [],
        "an eval set holds nothing that an agent did"
    );
    press(&mut model, "m s");
    assert!(
        model
            .dialog::<StatisticsTable>()
            .is_some_and(|table| table.lines[0].total == 4)
    );
    press(&mut model, "esc");
    let rows: String = (0..4)
        .map(|at| format!("{{\"prompt\": \"{at}\", \"response\": \"x\"}}\n"))
        .collect();
    let file = Arc::new(SetFile::open(Arc::from(rows), "x").unwrap());
    let result = Ok(OpenedSet {
        criteria: None,
        file,
        digest: "2".into(),
        agent: Err("none".into()),
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
    let saved = vec![CaseRef { set: 0, index: 0 }];
    assert_eq!(
        press(&mut model, "s"),
        [Effect::Run(RunEffect::Start(saved, RunTarget::Saved))]
    );
    press(&mut model, "m m");
    assert!(
        model
            .dialog::<MetricCatalog>()
            .is_some_and(|list| list.picker.found.len() > 30)
    );
    type_text(&mut model, "bleu");
    assert!(
        model
            .dialog::<MetricCatalog>()
            .is_some_and(|list| list.picker.found[0].0 == "bleu")
    );
}

/// In the list, one key applies the suggestion to the what-if. The preview then shows the what-if, and the same
/// suggestion is not added twice.
#[test]
fn a_suggestion_is_tried_from_the_list_once() {
    let mut model = model();
    press(&mut model, "down down");
    assert_eq!(model.shown_attempt().unwrap().status, F);
    let suggestion = model
        .shown_case()
        .unwrap()
        .suggestion
        .clone()
        .expect("a suggestion");
    press(&mut model, "=");
    assert_eq!(model.view.what_if.as_ref().unwrap().change, suggestion);
    assert_eq!(
        model.shown_attempt().unwrap().status,
        P,
        "the preview is of the what-if"
    );
    assert_eq!(model.shown_case().unwrap().suggestion, None);
    let mut twice = suggestion.clone();
    twice.add(suggestion.clone());
    assert_eq!(twice, suggestion);
    // The same after another screen was open.
    press(&mut model, "w d enter");
    press(&mut model, "= q");
    assert_eq!(model.shown_attempt().unwrap().status, P);
    assert_eq!(
        model.shown_case().unwrap().suggestion,
        None,
        "no stale suggestion in the list"
    );
}

/// Tools and arguments of the case complete a rule, and a rule that matches no call is reported.
#[test]
fn rule_is_completed_and_warns_if_unmatched() {
    let mut model = model();
    press(&mut model, "down down w r");
    let typed = |model: &Model| match model.dialog::<RuleLine>() {
        Some(line) => line.input.value().to_string(),
        None => panic!("a rule is typed"),
    };
    type_text(&mut model, "se");
    press(&mut model, "tab");
    assert_eq!(typed(&model), "search_web");
    type_text(&mut model, " q");
    press(&mut model, "tab");
    type_text(&mut model, " ig");
    press(&mut model, "tab");
    assert_eq!(typed(&model), "search_web query ignore");
    press(&mut model, "enter");
    assert_eq!(statuses(&model), [P, F, P, F]);
    press(&mut model, "w r");
    type_text(&mut model, "find_* query ignore");
    press(&mut model, "enter");
    let told = &model.notice.as_ref().unwrap().text;
    assert!(
        told.contains("find_*: query ignore matches no call"),
        "{told}"
    );
}
