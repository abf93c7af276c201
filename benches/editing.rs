//! Benchmark of editing one case in a set of 10,000 cases (26 MB): opening the editor, showing the change, saving the
//! file. Run with `cargo bench --bench editing`.

#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::unwrap_used)]

use evaltrail::explorer::{Model, Msg, OpenedSet, SetLoaded, SetMsg, parse_key, update};
use evaltrail::explorer::{Theme, draw};
use evaltrail_core::domain::Conversation;
use evaltrail_core::formats::{Edit, SetFile, plan, preview};
use evaltrail_engine::store::{AppFolders, EditLog, FileAction, FileEdit};
use evaltrail_engine::workspace::{SetPath, open_set};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

const CASES: usize = 10_000;
const SIZE: (u16, u16) = (120, 40);
const ROUNDS: usize = 9;

fn eval_set() -> String {
    let call = |n: usize| json!({"args": {"device_id": format!("device_{n}"), "location": "Bedroom", "on": true}, "name": "set_device_info"});
    let turn = |n: usize| {
        json!({
            "invocation_id": format!("t{n}"),
            "user_content": {"parts": [{"text": format!("Turn device_{n} on in the Bedroom, please, leave it on until midnight at most, and tell me what it costs by the hour and for all of that time.")}], "role": "user"},
            "final_response": {"parts": [{"text": format!("device_{n} in the Bedroom is on. It costs about two cents an hour, and about eleven cents until midnight, when I am going to switch it off again.")}], "role": "model"},
            "intermediate_data": {"tool_uses": [call(n), call(n + 1)]},
        })
    };
    let case = |n: usize| json!({"eval_id": format!("case_{n:05}"), "conversation": [turn(n), turn(n + 1)], "session_input": {"app_name": "home", "user_id": "u"}});
    let cases: Vec<Value> = (0..CASES).map(case).collect();
    serde_json::to_string_pretty(&json!({"eval_set_id": "large", "eval_cases": cases})).unwrap()
}

/// The median and the maximum of times.
fn middle(mut times: Vec<f64>) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], times[times.len() - 1])
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.evalset.json");
    std::fs::write(&path, eval_set()).unwrap();
    let set = SetPath::of_file(&path, folder.path());
    let size = std::fs::metadata(&path).unwrap().len() as f64 / 1e6;
    opening(&set);
    saving(&set, folder.path());
    println!("the set: {CASES} cases, {size:.1} MB");
}

/// Measures the time from the key to the frame with the editor, and to the frame with the change.
fn opening(set: &SetPath) {
    let open = open_set(set).unwrap();
    let mut model = Model::new("w".into(), vec![set.clone()], SIZE);
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
    let theme = Theme::named("dark", true).unwrap();
    let mut buffer = Buffer::empty(Rect::new(0, 0, SIZE.0, SIZE.1));
    let press = |model: &mut Model, keys: &str| {
        keys.split(' ')
            .for_each(|key| drop(update(model, Msg::Key(parse_key(key).unwrap()))));
    };
    press(&mut model, "right end");
    let time = |model: &mut Model, keys: &str, buffer: &mut Buffer| {
        let began = Instant::now();
        press(model, keys);
        draw(model, &theme, buffer);
        began.elapsed().as_secs_f64() * 1e3
    };
    let (mut opened, mut shown) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        opened.push(time(&mut model, "e", &mut buffer));
        assert!(model.is_on(evaltrail::explorer::Context::Edit));
        press(&mut model, "j j o x enter");
        shown.push(time(&mut model, "esc w", &mut buffer));
        press(&mut model, "esc esc y");
    }
    let ((middle_, worst), (change, worst_change)) = (middle(opened), middle(shown));
    println!("opening the editor, with its frame: {middle_:.2} ms (worst {worst:.2}), aim 16");
    println!(
        "showing what changes, with its frame: {change:.2} ms (worst {worst_change:.2}), aim 16"
    );
}

/// Measures the time from planning an edit to the synced file.
fn saving(set: &SetPath, root: &std::path::Path) {
    let app_folders = AppFolders {
        data: root.join("own"),
        cache: root.join("own"),
        config: root.join("own"),
    };
    let log = EditLog::in_folder(Some(&app_folders));
    let mut times = Vec::new();
    let mut plain = Vec::new();
    for round in 0..ROUNDS {
        let file: SetFile = open_set(set).unwrap().file;
        let mut case = file.case(CASES / 2).unwrap();
        let Conversation::Turns(turns) = &mut case.conversation else {
            unreachable!()
        };
        turns[0]
            .trajectory
            .change_call(0, |call| call.name = format!("tool_{round}"));
        let began = Instant::now();
        let change = plan(&file, &[Edit::Case(CASES / 2, Box::new(case))]).unwrap();
        assert_eq!(
            preview(file.text(), &change, 0).len(),
            3,
            "one line goes and one comes"
        );
        let jobs = [FileEdit {
            path: set.path.clone(),
            action: FileAction::Change(file.shared_text(), change),
        }];
        log.make(Some(root), "edit", &jobs).unwrap();
        times.push(began.elapsed().as_secs_f64() * 1e3);
        let bytes = std::fs::read(&set.path).unwrap();
        let began = Instant::now();
        let mut copy = tempfile::NamedTempFile::new_in(root).unwrap();
        std::io::Write::write_all(&mut copy, &bytes).unwrap();
        copy.as_file().sync_all().unwrap();
        plain.push(began.elapsed().as_secs_f64() * 1e3);
    }
    let ((middle_, worst), (write, _)) = (middle(times), middle(plain));
    println!(
        "saving one edited case: {middle_:.0} ms (worst {worst:.0}), {:.1} × writing and syncing the bytes ({write:.0} ms), aim 300",
        middle_ / write
    );
}
