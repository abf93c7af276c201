//! Authoring without a terminal: keys and messages in, state and effects out. The effects are applied to real files
//! with `EditLog`.

use crate::common::TestWorkspace;
use crate::common::past::past;
use evaltrail::explorer::Proposal;
use evaltrail::explorer::dialogs::variants::VariantList;
use evaltrail::explorer::prompts::ask::AskLine;
use evaltrail::explorer::prompts::confirm::Confirm;
use evaltrail::explorer::{
    CaseRef, ChatEffect, ChatMsg, EditDone, EditEffect, EditFailure, EditMsg, EditorOf, Effect,
    Model, Msg, OpenedSet, ResultMsg, SetEffect, SetLoaded, SetMsg, TerminalEffect, parse_key,
    update,
};
use evaltrail::explorer::{Context, EditScreen};
use evaltrail_core::domain::{
    Attempt, AttemptKey, Content, Conversation, Criterion, EvalCase, Invocation, Status, ToolCall,
    Trajectory, case_status,
};
use evaltrail_core::formats::adk::write_case;
use evaltrail_core::metrics::{Evidence, score_case};
use evaltrail_engine::runner::ChatEvent;
use evaltrail_engine::store::{AppFolders, EditLog, Reversal};
use evaltrail_engine::workspace::{SetPath, edited_with, open_set, read_notes};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

fn turn(tool: &str, litres: Value, said: &str) -> Invocation {
    let args = json!({"bed": "beans", "litres": litres});
    Invocation {
        user: Content::text("user", "water the beans"),
        final_response: Some(Content::text("model", said)),
        trajectory: Trajectory::Listed {
            calls: vec![ToolCall::new(tool, args.as_object().cloned())],
            responses: Vec::new(),
            texts: Vec::new(),
        },
        ..Invocation::default()
    }
}

fn case(id: &str) -> EvalCase {
    EvalCase {
        eval_id: id.into(),
        conversation: Conversation::Turns(vec![turn("water_bed", 3.into(), "done")]),
        ..EvalCase::default()
    }
}

fn set(id: &str, cases: &[&str]) -> String {
    let cases: Vec<Value> = cases.iter().map(|id| write_case(&case(id))).collect();
    serde_json::to_string_pretty(&json!({"eval_set_id": id, "eval_cases": cases})).unwrap()
}

/// A workspace on disk, and the explorer's model of it.
struct Workshop {
    workspace: TestWorkspace,
    sets: Vec<SetPath>,
    model: Model,
}

impl Workshop {
    fn new() -> Workshop {
        let workspace = TestWorkspace::new(&[
            ("a.evalset.json", set("a", &["one", "two", "three"])),
            ("b.evalset.json", set("b", &["four"])),
        ]);
        let path = |name: &str| SetPath::of_file(&workspace.path().join(name), workspace.path());
        let sets = vec![path("a.evalset.json"), path("b.evalset.json")];
        let model = Model::new("w".into(), sets.clone(), (120, 40));
        let mut desk = Workshop {
            workspace,
            sets,
            model,
        };
        desk.load();
        desk.press("left g j j right");
        desk
    }

    fn load(&mut self) {
        for (at, set) in self.sets.iter().enumerate() {
            let Ok(open) = open_set(set) else { continue };
            let result = Ok(OpenedSet {
                criteria: None,
                file: Arc::new(open.file),
                digest: open.digest,
                agent: Ok("a".into()),
                notes: read_notes(&set.path),
                stubs: None,
            });
            let ticket = self.model.ticket();
            update(
                &mut self.model,
                Msg::Sets(SetMsg::Loaded(SetLoaded {
                    set: at,
                    ticket,
                    result,
                })),
            );
        }
    }

    fn press(&mut self, keys: &str) -> Vec<Effect> {
        let keys = keys.split_whitespace().map(|key| parse_key(key).unwrap());
        keys.flat_map(|key| update(&mut self.model, Msg::Key(key)))
            .collect()
    }

    fn paste(&mut self, text: &str) {
        update(&mut self.model, Msg::Paste(text.into()));
    }

    /// Adds a result of a case, in which the agent made this call and gave this response.
    fn ran(&mut self, index: usize, tool: &str, litres: Value, said: &str) {
        let run = format!("run of {litres}");
        let criteria = [
            Criterion::new("tool_trajectory_avg_score", Some(1.0)),
            Criterion::new("response_match_score", Some(0.8)),
        ];
        let id = self.model.eval_id(CaseRef { set: 0, index }).into_owned();
        let mut attempt = Attempt {
            expected: [turn("water_bed", 3.into(), "done")].into(),
            actual: [turn(tool, litres, said)].into(),
            ..Attempt::blank(
                AttemptKey {
                    case: index,
                    attempt: 1,
                },
                &id,
            )
        };
        attempt.metrics = score_case(&criteria, &Evidence::from_attempt(&attempt));
        attempt.status = case_status(&attempt.metrics);
        let results = past(
            &self.model.view.sets[0].path.path,
            &run,
            vec![Arc::new(attempt)],
        );
        let ticket = self.model.ticket();
        update(
            &mut self.model,
            Msg::Results(ResultMsg::History {
                ticket,
                results: results.into(),
            }),
        );
    }

    fn worst(&self, index: usize) -> Option<Status> {
        self.model.view.outcomes.worst(CaseRef { set: 0, index })
    }

    /// Saves the proposed change and loads the files again.
    fn save(&mut self) {
        self.save_alone();
        self.load();
    }

    /// Saves the proposed change without loading the files again.
    fn save_alone(&mut self) {
        let effects = self.press("enter");
        let Some(Effect::Edits(EditEffect::Make {
            words,
            jobs,
            anywhere,
        })) = effects.into_iter().next()
        else {
            panic!(
                "nothing is saved: {:?} {:?}",
                self.model.view.open_dialog, self.model.notice
            )
        };
        let within = (!anywhere).then_some(self.workspace.path());
        let done = self.log().make(within, &words, &jobs);
        let msg = match done {
            Ok(done) => {
                let (words, note, written) = (done.words, done.note, done.written);
                Msg::Edits(EditMsg::Made(EditDone {
                    words,
                    note,
                    written,
                    stands: true,
                    at: None,
                }))
            }
            Err(failed) => match failed.why {
                evaltrail_engine::store::SaveError::Outside(path) => {
                    Msg::Edits(EditMsg::Failed(EditFailure::Outside(path)))
                }
                evaltrail_engine::store::SaveError::Changed { theirs } => {
                    Msg::Edits(EditMsg::Failed(EditFailure::Changed(
                        failed.path,
                        String::from_utf8(theirs).unwrap().into(),
                    )))
                }
                other => Msg::Edits(EditMsg::Failed(EditFailure::Other(other.to_string()))),
            },
        };
        update(&mut self.model, msg);
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.workspace.path().join(name)
    }

    fn log(&self) -> EditLog {
        let own = self.workspace.path().join(".own");
        EditLog::in_folder(Some(&AppFolders {
            data: own.clone(),
            cache: own.clone(),
            config: own,
        }))
    }

    fn undo(&mut self, name: &str) {
        let path = self.path(name);
        self.log().undo(None, &edited_with(&path)).unwrap();
        self.load();
    }

    fn ids(&self, set: usize) -> Vec<String> {
        self.model
            .file(set)
            .unwrap()
            .eval_ids()
            .map(|id| id.into_owned())
            .collect()
    }

    fn toast(&self) -> &str {
        self.model.notice.as_ref().map_or("", |notice| &notice.text)
    }
}

#[test]
fn accept_argument_passes_case_undo_fails_it() {
    let mut desk = Workshop::new();
    let before = desk.text("a.evalset.json");
    desk.ran(1, "water_bed", 5.into(), "done");
    assert_eq!(desk.worst(1), Some(Status::Failed));
    desk.press("j enter a");
    let Some(proposal) = desk.model.dialog::<Proposal>() else {
        panic!()
    };
    assert_eq!(proposal.words, "accept litres of call 1 water_bed in two");
    desk.save();
    assert_eq!(desk.worst(1), Some(Status::Passed));
    assert!(
        desk.model
            .view
            .outcomes
            .get(CaseRef { set: 0, index: 1 })
            .unwrap()
            .is_edited()
    );
    let other: Vec<_> = before
        .lines()
        .zip(desk.text("a.evalset.json").lines())
        .filter(|(a, b)| a != b)
        .map(|_| ())
        .collect();
    assert_eq!(other.len(), 1);
    desk.undo("a.evalset.json");
    assert_eq!(
        (desk.worst(1), desk.text("a.evalset.json")),
        (Some(Status::Failed), before)
    );
    assert!(
        !desk
            .model
            .view
            .outcomes
            .get(CaseRef { set: 0, index: 1 })
            .unwrap()
            .is_edited()
    );
}

#[test]
fn accept_selection_reports_skipped_cases() {
    let mut desk = Workshop::new();
    desk.ran(0, "water_bed", 5.into(), "yes");
    desk.ran(2, "soak", 1.into(), "done");
    desk.press("* A");
    assert!(
        desk.toast().contains("two: the case has not been run yet"),
        "{}",
        desk.toast()
    );
    desk.save();
    let file = desk.model.file(0).unwrap();
    let told = |at: usize| {
        let case = file.case(at).unwrap();
        (
            case.turns()[0].calls()[0].name.clone(),
            case.turns()[0].response_text(),
        )
    };
    assert_eq!(told(0), ("water_bed".into(), "yes".into()));
    assert_eq!(told(1), ("water_bed".into(), "done".into()));
    assert_eq!(told(2), ("soak".into(), "done".into()));
    assert_eq!(
        (desk.worst(0), desk.worst(2)),
        (Some(Status::Passed), Some(Status::Passed))
    );
}

#[test]
fn concurrent_edits_merge_or_conflict() {
    let mut desk = Workshop::new();
    desk.ran(0, "water_bed", 5.into(), "done");
    desk.press("enter a");
    let theirs = desk
        .text("a.evalset.json")
        .replace("\"two\"", "\"renamed\"");
    std::fs::write(desk.path("a.evalset.json"), &theirs).unwrap();
    desk.save();
    let Some(proposal) = desk.model.dialog::<Proposal>() else {
        panic!("{:?}", desk.model.notice)
    };
    assert!(
        proposal.conflict.as_ref().unwrap().merged.is_some(),
        "another case was changed"
    );
    assert_eq!(
        desk.text("a.evalset.json"),
        theirs,
        "theirs stays until it is said"
    );
    desk.press("enter");
    desk.save();
    let now = desk.text("a.evalset.json");
    assert!(
        now.contains("\"renamed\"") && now.contains("\"litres\": 5"),
        "{now}"
    );
    // Both changed the same case: nothing is merged, and this version is written to a second file.
    desk.ran(0, "water_bed", 7.into(), "done");
    desk.press("a");
    let theirs = now.replace("\"litres\": 5", "\"litres\": 6");
    std::fs::write(desk.path("a.evalset.json"), &theirs).unwrap();
    desk.save();
    let Some(proposal) = desk.model.dialog::<Proposal>() else {
        panic!()
    };
    assert!(proposal.conflict.as_ref().unwrap().merged.is_none());
    assert!(
        desk.press("enter").is_empty(),
        "there is nothing that enter could do"
    );
    let effects = desk.press("b");
    let Some(Effect::Edits(EditEffect::Make { jobs, words, .. })) = effects.first() else {
        panic!("{effects:?}")
    };
    desk.log().make(None, words, jobs).unwrap();
    assert!(desk.text("a.evalset.json.mine").contains("\"litres\": 7"));
    assert_eq!(desk.text("a.evalset.json"), theirs);
}

#[test]
fn invalid_input_stays_editable_and_unsaved() {
    let mut desk = Workshop::new();
    let effects = desk.press("e");
    assert_eq!(effects, [Effect::Sets(SetEffect::CollectTools(0))]);
    desk.press("j j j j j enter");
    let Some(edit) = desk.model.screen::<EditScreen>() else {
        panic!()
    };
    assert_eq!(edit.row().unwrap().label, "bed");
    desk.press("ctrl-u");
    desk.paste("{\"a\": \u{1b}[31m}");
    desk.press("enter");
    let Some(edit) = desk.model.screen::<EditScreen>() else {
        panic!()
    };
    let typing = edit.typing.as_ref().unwrap();
    assert!(
        typing.wrong.is_some() && !edit.is_changed(),
        "{:?}",
        typing.wrong
    );
    assert!(
        typing.input.value().contains("[31m"),
        "nothing typed is lost"
    );
    desk.press("ctrl-u");
    desk.paste("[1.0, 1e2]");
    desk.press("enter ctrl-s");
    let lines = format!("{:?}", desk.model.view.open_dialog);
    assert!(
        lines.contains("1.0") && lines.contains("1e2"),
        "numbers stay as they are typed: {lines}"
    );
    desk.save();
    assert!(desk.text("a.evalset.json").contains("1e2"));
    // From $EDITOR: text that is not a case can be edited again, and nothing is written.
    let before = desk.text("a.evalset.json");
    desk.press("e");
    let effects = desk.press("ctrl-e");
    let Some(Effect::Terminal(TerminalEffect::EditText { text, of, .. })) =
        effects.into_iter().next()
    else {
        panic!()
    };
    let broken = text.replacen('{', "[", 1);
    update(
        &mut desk.model,
        Msg::Edits(EditMsg::TextEdited(of.clone(), broken.clone())),
    );
    assert!(desk.model.dialog::<Confirm>().is_some());
    let again = desk.press("y");
    assert!(
        matches!(&again[..], [Effect::Terminal(TerminalEffect::EditText { text, .. })] if *text == broken),
        "{again:?}"
    );
    update(
        &mut desk.model,
        Msg::Edits(EditMsg::TextEdited(of, text.replace("\"one\"", "\"eins\""))),
    );
    desk.save();
    assert_eq!(desk.ids(0), ["eins", "two", "three"]);
    assert_ne!(desk.text("a.evalset.json"), before);
    // Leaving with unsaved changes asks for confirmation.
    desk.press("e D");
    desk.press("j j j j D esc");
    assert!(desk.model.dialog::<Confirm>().is_some());
    desk.press("n");
    assert!(desk.model.is_on(Context::Edit));
    assert_eq!(desk.press("ctrl-c"), [], "leaving the program asks as well");
    assert_eq!(
        desk.press("ctrl-c"),
        [Effect::Terminal(TerminalEffect::Quit)]
    );
    desk.press("n");
    desk.press("u esc");
    assert!(desk.model.is_on(Context::Browse));
}

#[test]
fn save_key_takes_the_typed_value() {
    let mut desk = Workshop::new();
    desk.press("e j j j j j enter ctrl-u");
    desk.paste("\"leeks");
    desk.press("ctrl-s");
    assert!(
        desk.model.dialog::<Proposal>().is_none(),
        "the value is not valid JSON"
    );
    desk.paste("\"");
    desk.press("ctrl-s");
    let proposal = desk.model.dialog::<Proposal>();
    assert!(proposal.is_some(), "{:?}", desk.model.notice);
}

/// The file is loaded again while one of its cases is edited: a change of the case by another program is a conflict
/// and is not overwritten.
#[test]
fn external_change_of_edited_case_conflicts() {
    let mut desk = Workshop::new();
    desk.press("e j j j j j enter ctrl-u");
    desk.paste("\"leeks\"");
    desk.press("enter");
    let theirs = desk
        .text("a.evalset.json")
        .replacen("water the beans", "water all beans", 1);
    std::fs::write(desk.path("a.evalset.json"), &theirs).unwrap();
    desk.load();
    desk.press("ctrl-s");
    desk.save();
    let Some(proposal) = desk.model.dialog::<Proposal>() else {
        panic!("{:?}", desk.model.notice)
    };
    assert!(
        proposal
            .conflict
            .as_ref()
            .is_some_and(|conflict| conflict.merged.is_none())
    );
    assert_eq!(desk.text("a.evalset.json"), theirs);
    desk.press("esc");
    let Some(edit) = desk.model.screen::<EditScreen>() else {
        panic!("the draft is still there")
    };
    assert!(edit.is_changed());
}

#[test]
fn duplicate_or_invalid_case_id_is_refused() {
    let mut desk = Workshop::new();
    desk.press("e enter ctrl-u");
    for (typed, why) in [
        ("two", "there is a case \"two\""),
        ("a/b", "ADK allows only"),
        ("", "at least one"),
    ] {
        desk.press("ctrl-u");
        desk.paste(typed);
        desk.press("enter");
        let Some(edit) = desk.model.screen::<EditScreen>() else {
            panic!()
        };
        assert!(
            edit.typing
                .as_ref()
                .unwrap()
                .wrong
                .as_ref()
                .unwrap()
                .contains(why),
            "{typed}"
        );
    }
    desk.press("esc esc c c ctrl-u");
    desk.paste("three");
    desk.press("enter");
    assert!(
        desk.model
            .dialog::<AskLine>()
            .is_some_and(|ask| ask.wrong.is_some())
    );
}

#[test]
fn case_operations_are_saved_and_undone() {
    let mut desk = Workshop::new();
    desk.ran(2, "water_bed", 5.into(), "done");
    desk.press("c t");
    desk.paste("slow rain");
    desk.press("enter");
    desk.save();
    assert_eq!(
        desk.model.notes(CaseRef { set: 0, index: 0 }).unwrap().tags,
        ["slow", "rain"]
    );
    desk.press("c c enter");
    desk.save();
    assert_eq!(desk.ids(0), ["one", "one_2", "two", "three"]);
    assert_eq!(
        desk.worst(3),
        Some(Status::Failed),
        "what came of a case follows it"
    );
    assert_eq!(desk.worst(2), None);
    desk.press("c r");
    desk.press("ctrl-u");
    desk.paste("uno");
    desk.press("enter");
    desk.save();
    assert_eq!(desk.ids(0), ["uno", "one_2", "two", "three"]);
    assert!(
        desk.model.notes(CaseRef { set: 0, index: 0 }).is_some(),
        "its tags go with it"
    );
    desk.press("c m enter");
    desk.save();
    assert_eq!(
        (desk.ids(0).len(), desk.ids(1)),
        (3, vec!["four".to_string(), "uno".into()])
    );
    assert!(desk.model.notes(CaseRef { set: 1, index: 1 }).is_some());
    desk.undo("a.evalset.json");
    assert_eq!(
        (desk.ids(0).len(), desk.ids(1).len()),
        (4, 1),
        "one undo for both files"
    );
    desk.press("* c d");
    desk.save();
    assert_eq!(desk.ids(0), Vec::<String>::new());
    desk.undo("a.evalset.json");
    assert_eq!(desk.ids(0), ["uno", "one_2", "two", "three"]);
}

#[test]
fn sets_are_made_renamed_and_deleted() {
    let mut desk = Workshop::new();
    desk.press("c s");
    desk.paste("no-good");
    desk.press("enter");
    assert!(
        desk.model
            .dialog::<AskLine>()
            .is_some_and(|ask| ask.wrong.is_some()),
        "ADK's rule"
    );
    desk.press("ctrl-u");
    desk.paste("fresh");
    desk.press("enter");
    desk.save();
    assert!(
        desk.text("fresh.evalset.json")
            .contains("\"eval_set_id\": \"fresh\"")
    );
    desk.press("left c r ctrl-u");
    desk.paste("c");
    desk.press("enter");
    let before = desk.text("a.evalset.json");
    desk.save();
    assert!(!desk.path("a.evalset.json").exists());
    assert_eq!(
        desk.text("c.evalset.json"),
        before.replace("\"eval_set_id\": \"a\"", "\"eval_set_id\": \"c\"")
    );
    desk.undo("c.evalset.json");
    assert_eq!(
        (
            desk.text("a.evalset.json"),
            desk.path("c.evalset.json").exists()
        ),
        (before.clone(), false)
    );
    desk.press("c d");
    desk.save();
    assert!(!desk.path("a.evalset.json").exists());
    desk.undo("a.evalset.json");
    assert_eq!(desk.text("a.evalset.json"), before);
}

#[test]
fn partial_chat_save_warns_of_unsaved_turns() {
    let mut desk = Workshop::new();
    desk.press("C");
    let chat =
        |desk: &mut Workshop, event| update(&mut desk.model, Msg::Chat(1, ChatMsg::Event(event)));
    chat(&mut desk, ChatEvent::Opened(Default::default()));
    for (litres, state) in [(1, json!({"wet": 1})), (2, json!({"wet": 2}))] {
        assert_eq!(
            desk.press("h i enter"),
            [Effect::Chat(ChatEffect::Send("hi".into()))]
        );
        let done = turn("water_bed", litres.into(), "done");
        chat(&mut desk, ChatEvent::Turn(Box::new(done), Some(state)));
    }
    assert_eq!(desk.press("ctrl-c"), [], "leaving the program asks");
    desk.press("n esc");
    assert!(
        desk.model.dialog::<Confirm>().is_some(),
        "and leaving the conversation"
    );
    desk.press("n ctrl-s");
    desk.paste("second 2");
    desk.press("enter");
    desk.save();
    let kept = desk.model.file(0).unwrap().case(3).unwrap();
    assert_eq!((kept.eval_id.as_str(), kept.turns().len()), ("second", 1));
    assert_eq!(
        Value::Object(kept.session_input.unwrap().state),
        json!({"wet": 1}),
        "as the turn before left it"
    );
    assert_eq!(desk.press("esc"), [], "the first turn is not kept");
    desk.press("n ctrl-s");
    desk.paste("first 1");
    desk.press("enter");
    desk.save();
    assert_eq!(
        desk.press("esc"),
        [Effect::Chat(ChatEffect::Close)],
        "what is kept is not asked about"
    );
}

#[test]
fn sets_are_copied_and_moved_to_another_folder() {
    let mut desk = Workshop::new();
    let folder = desk.path("other");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("d.evalset.json"), set("d", &["five"])).unwrap();
    desk.sets.push(SetPath::of_file(
        &folder.join("d.evalset.json"),
        desk.workspace.path(),
    ));
    desk.model = Model::new("w".into(), desk.sets.clone(), (120, 40));
    desk.sets = desk
        .model
        .view
        .sets
        .iter()
        .map(|view| view.path.clone())
        .collect();
    desk.load();
    desk.press("left g j j c c");
    assert!(
        desk.model
            .dialog::<AskLine>()
            .is_some_and(|ask| ask.input.value() == "a_2")
    );
    let before = desk.text("a.evalset.json");
    desk.press("enter");
    desk.save();
    assert_eq!(
        desk.text("a_2.evalset.json"),
        before.replace("\"eval_set_id\": \"a\"", "\"eval_set_id\": \"a_2\"")
    );
    desk.press("c m enter");
    desk.save();
    assert!(!desk.path("a.evalset.json").exists());
    assert_eq!(desk.text("other/a.evalset.json"), before);
    desk.undo("other/a.evalset.json");
    assert_eq!(desk.text("a.evalset.json"), before);
}

#[test]
fn criteria_are_checked_when_they_come_back() {
    let mut desk = Workshop::new();
    assert_eq!(
        desk.press("c k"),
        [Effect::Terminal(TerminalEffect::EditCriteria(0))]
    );
    let path = desk.path("test_config.json");
    let of = || EditorOf::Criteria(path.clone(), None);
    update(
        &mut desk.model,
        Msg::Edits(EditMsg::TextEdited(
            of(),
            "{\"criteria\": {\"a\": null}}".into(),
        )),
    );
    assert!(
        desk.model
            .dialog::<Confirm>()
            .is_some_and(|confirm| confirm.question.lines[0].contains("a threshold"))
    );
    desk.press("n");
    assert!(!path.exists());
    let right = "{\"criteria\": {\"response_match_score\": 0.5}}\n";
    update(
        &mut desk.model,
        Msg::Edits(EditMsg::TextEdited(of(), right.into())),
    );
    desk.save();
    assert_eq!(desk.text("test_config.json"), right);
    desk.undo("a.evalset.json");
    assert!(!path.exists(), "one undo for all that belongs to the set");
}

#[test]
fn trajectory_variant_is_added_and_removed() {
    let mut desk = Workshop::new();
    desk.ran(0, "soak", 1.into(), "done");
    assert_eq!(desk.worst(0), Some(Status::Failed));
    desk.press("enter c v enter");
    desk.save();
    assert_eq!(desk.worst(0), Some(Status::Passed));
    let attempt = &desk
        .model
        .view
        .outcomes
        .get(CaseRef { set: 0, index: 0 })
        .unwrap()
        .attempts[0];
    let adk = attempt
        .metrics
        .iter()
        .find(|metric| metric.metric == "tool_trajectory_avg_score")
        .unwrap();
    assert_eq!(
        (adk.score(), attempt.adk_status),
        (Some(0.0), Status::Failed),
        "ADK's number stays ADK's"
    );
    assert!(
        !desk.text("a.evalset.json").contains("soak"),
        "ADK's file is as it was"
    );
    desk.press("c v");
    assert!(
        desk.model
            .dialog::<VariantList>()
            .is_some_and(|list| list.picker.found.len() == 1)
    );
    desk.press("enter");
    desk.save();
    assert_eq!(desk.worst(0), Some(Status::Failed));
}

#[test]
fn a_single_turn_does_not_decide_the_case() {
    let mut desk = Workshop::new();
    desk.ran(0, "water_bed", 5.into(), "done");
    let mut alone = Attempt::clone(
        &desk
            .model
            .view
            .outcomes
            .get(CaseRef { set: 0, index: 0 })
            .unwrap()
            .attempts[0]
            .read()
            .unwrap(),
    );
    (alone.turn, alone.status) = (Some(1), Status::Passed);
    let results = past(
        &desk.model.view.sets[0].path.path,
        "r2",
        vec![Arc::new(alone)],
    );
    let ticket = desk.model.ticket();
    update(
        &mut desk.model,
        Msg::Results(ResultMsg::History {
            ticket,
            results: results.into(),
        }),
    );
    assert_eq!(
        desk.worst(0),
        Some(Status::Failed),
        "one good turn makes no good case"
    );
    desk.press("enter");
    assert_eq!(desk.model.shown_attempt().unwrap().turn, Some(1));
    desk.press("a");
    assert!(
        desk.model.dialog::<Proposal>().is_some(),
        "and it can be accepted"
    );
}

#[test]
fn new_sets_do_not_redirect_drafts_or_chats() {
    let mut desk = Workshop::new();
    let appear = |desk: &mut Workshop, name: &str| {
        std::fs::write(desk.workspace.path().join(name), set("new", &["zero"])).unwrap();
        let mut paths: Vec<SetPath> = desk
            .model
            .view
            .sets
            .iter()
            .map(|view| view.path.clone())
            .collect();
        paths.push(SetPath::of_file(
            &desk.workspace.path().join(name),
            desk.workspace.path(),
        ));
        update(&mut desk.model, Msg::Sets(SetMsg::Found(paths)));
    };
    let shown = |desk: &Workshop| match desk.model.dialog::<Proposal>() {
        Some(proposal) => proposal.jobs[0].path.file_name().unwrap().to_owned(),
        None => panic!("{:?} {:?}", desk.model.view.open_dialog, desk.model.notice),
    };
    desk.press("e enter");
    desk.paste("_x");
    desk.press("enter");
    appear(&mut desk, "0.evalset.json");
    desk.press("ctrl-s");
    assert_eq!(shown(&desk), "a.evalset.json");
    desk.press("enter");
    assert!(
        desk.text("a.evalset.json").contains("\"one\""),
        "nothing is written before the effect is done"
    );
    desk.press("esc esc y");
    desk.press("C");
    let number = desk.model.chats;
    let turn = Box::new(turn("water_bed", 3.into(), "done"));
    update(
        &mut desk.model,
        Msg::Chat(
            number,
            ChatMsg::Event(ChatEvent::Opened(Default::default())),
        ),
    );
    update(
        &mut desk.model,
        Msg::Chat(number, ChatMsg::Event(ChatEvent::Turn(turn, None))),
    );
    appear(&mut desk, "1.evalset.json");
    desk.press("ctrl-s t a l k enter");
    assert_eq!(shown(&desk), "a.evalset.json");
}

#[test]
fn edit_after_own_save_is_not_a_conflict() {
    let mut desk = Workshop::new();
    for name in ["first", "second"] {
        desk.press("e enter");
        desk.paste(&format!("_{name}"));
        desk.press("enter ctrl-s");
        desk.save_alone();
        assert!(
            desk.model.view.open_dialog.is_none(),
            "{:?}",
            desk.model.view.open_dialog
        );
        let text = desk.model.notice.as_ref().unwrap().text.clone();
        assert!(text.ends_with("; u undo"), "{text}");
    }
    assert!(desk.text("a.evalset.json").contains("one_first_second"));
    for tag in ["slow", "slow flaky"] {
        desk.press("c t");
        desk.press(&"backspace ".repeat(20));
        desk.paste(tag);
        desk.press("enter");
        desk.save_alone();
        assert!(
            desk.model.view.open_dialog.is_none(),
            "{:?}",
            desk.model.view.open_dialog
        );
    }
}

#[test]
fn undo_is_independent_of_cursor() {
    let mut desk = Workshop::new();
    fn undoes(desk: &mut Workshop) -> bool {
        matches!(
            &desk.press("u")[..],
            [Effect::Edits(EditEffect::UndoOrRedo {
                reversal: Reversal::Undo,
                ..
            })]
        )
    }
    assert!(undoes(&mut desk));
    desk.press("left j");
    assert!(undoes(&mut desk), "on another set");
    desk.press("right /");
    desk.paste("nothing matches this");
    desk.press("enter");
    assert!(desk.model.view.browse.visible.is_empty());
    assert!(undoes(&mut desk), "with nothing listed");
    update(&mut desk.model, Msg::Sets(SetMsg::Found(Vec::new())));
    assert!(undoes(&mut desk), "after the last set was deleted");
}

#[test]
fn files_that_are_not_adks_are_not_edited() {
    let workspace = TestWorkspace::new(&[(
        "rows.jsonl",
        "{\"prompt\": \"x\", \"response\": \"y\"}\n".into(),
    )]);
    let path = SetPath::of_file(&workspace.path().join("rows.jsonl"), workspace.path());
    let mut model = Model::new("w".into(), vec![path.clone()], (120, 40));
    let open = open_set(&path).unwrap();
    let result = Ok(OpenedSet {
        criteria: None,
        file: Arc::new(open.file),
        digest: open.digest,
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
    for keys in ["e", "c d", "c n", "c c"] {
        for key in keys.split(' ') {
            assert_eq!(update(&mut model, Msg::Key(parse_key(key).unwrap())), []);
        }
        assert!(
            model
                .notice
                .as_ref()
                .unwrap()
                .text
                .contains("evaltrail convert"),
            "{keys}"
        );
        assert!(model.is_on(Context::Browse) && model.view.open_dialog.is_none());
    }
}

#[cfg(unix)]
#[test]
fn save_reports_missing_file_and_outside_link() {
    let mut desk = Workshop::new();
    desk.ran(0, "water_bed", 5.into(), "done");
    let elsewhere = TestWorkspace::new(&[("real.json", desk.text("a.evalset.json"))]);
    let target = elsewhere.path().join("real.json");
    std::fs::remove_file(desk.path("a.evalset.json")).unwrap();
    desk.press("enter a");
    desk.save();
    let problem = |desk: &Workshop| match desk.model.dialog::<Proposal>() {
        Some(proposal) => proposal.problem.clone().unwrap_or_default(),
        None => panic!("{:?}", desk.model.view.open_dialog),
    };
    assert!(
        problem(&desk).contains("it no longer exists"),
        "{}",
        problem(&desk)
    );
    std::os::unix::fs::symlink(&target, desk.path("a.evalset.json")).unwrap();
    desk.save();
    assert!(problem(&desk).contains("outside the folder; enter again writes there"));
    assert!(
        std::fs::read_to_string(&target)
            .unwrap()
            .contains("\"litres\": 3"),
        "asked first"
    );
    desk.save();
    assert!(
        std::fs::read_to_string(&target)
            .unwrap()
            .contains("\"litres\": 5")
    );
    assert!(
        std::fs::symlink_metadata(desk.path("a.evalset.json"))
            .unwrap()
            .is_symlink()
    );
}
