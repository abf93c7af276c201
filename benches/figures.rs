//! Benchmarks with targets: `cargo bench` prints the table of `docs/performance.md`.
//!
//! A measurement that depends on the speed of the machine is compared with a reference in the same run.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::unwrap_used
)]

// The benchmarks use fewer functions of it than the tests.
#[allow(dead_code)]
#[path = "../tests/integration/common/terminal.rs"]
mod terminal;
#[path = "../tests/integration/common/time_limit.rs"]
mod time_limit;

use evaltrail::explorer::{Model, Msg, OpenedSet, SetLoaded, SetMsg, parse_key, update};
use evaltrail::explorer::{Theme, draw};
use evaltrail_core::formats::SetFile;
use evaltrail_core::formats::adk::{ResultFile, default_criteria};
use evaltrail_core::metrics::{Evidence, score_case};
use evaltrail_engine::workspace::SetPath;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use terminal::Terminal;

const BINARY: &str = env!("CARGO_BIN_EXE_evaltrail");

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, file, ..] = arguments.as_slice()
        && flag == "--index"
    {
        return index_and_tell(Path::new(file));
    }
    println!("| what | aim | measured |\n|---|---|---|");
    first_frames();
    index();
    filter(10_000, "10,000 cases", "5 ms");
    filter(100_000, "100,000 cases", "—");
    keys_while_streaming();
    long_texts();
    idle_memory();
    binary();
    cpu_per_case();
    scoring();
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

fn turn(n: usize) -> Value {
    json!({
        "invocation_id": format!("turn-{n}"),
        "user_content": {"parts": [{"text": format!("Please switch lamp number {n} on and tell me how bright it is now.")}], "role": "user"},
        "final_response": {"parts": [{"text": format!("Lamp {n} is on, and its brightness is {} percent of what it can be.", n % 100)}], "role": "model"},
        "intermediate_data": {"tool_uses": [
            {"args": {"device": format!("lamp_{n}"), "on": true, "level": n % 100}, "name": "switch"},
            {"args": {"device": format!("lamp_{n}")}, "name": "measure"},
        ]},
    })
}

fn eval_set(cases: usize, turns: usize) -> String {
    let cases: Vec<Value> = (0..cases)
        .map(|n| json!({"eval_id": format!("case_{n:05}"), "conversation": (0..turns).map(|t| turn(n + t)).collect::<Vec<_>>()}))
        .collect();
    serde_json::to_string_pretty(&json!({"eval_set_id": "many", "eval_cases": cases})).unwrap()
}

/// The median time from starting the process to the first frame that contains `marker`, in a pseudo-terminal.
fn first_frame(args: &[&str], home: &Path, marker: &str) -> Duration {
    let times = (0..11).map(|_| {
        let began = Instant::now();
        let terminal = Terminal::start(BINARY, args, home, (120, 40));
        while !terminal.screen().contains(marker) {
            std::thread::sleep(Duration::from_micros(200));
        }
        began.elapsed()
    });
    median(times.collect())
}

fn first_frames() {
    let home = tempfile::tempdir().unwrap();
    row(
        "start to first frame, demo",
        "20 ms",
        &ms(first_frame(&["demo"], home.path(), "water_tomatoes")),
    );
    let folder = tempfile::tempdir().unwrap();
    let text = eval_set(10_000, 1);
    std::fs::write(folder.path().join("many.evalset.json"), &text).unwrap();
    let path = folder.path().display().to_string();
    let what = format!(
        "start to first frame, 10,000 cases ({} MB)",
        text.len() >> 20
    );
    row(
        &what,
        "50 ms",
        &ms(first_frame(&[&path], home.path(), "case_00000")),
    );
}

/// Texts of 1 MB on both sides that are compared by words: with one word changed in a thousand, and with all changed.
fn long_texts() {
    let text = |other: &dyn Fn(usize) -> bool| {
        let word = |at: usize| match other(at) {
            true => format!("other{at}"),
            false => format!("word{at}"),
        };
        let words: Vec<String> = (0..105_000).map(word).collect();
        words
            .chunks(12)
            .map(|sentence| sentence.join(" ") + ". ")
            .collect::<String>()
    };
    let expected = text(&|_| false);
    let measured = |actual: &str| {
        let times = (0..11).map(|_| {
            let began = Instant::now();
            assert!(evaltrail_core::diff::diff_words(&expected, actual).is_changed());
            began.elapsed()
        });
        ms(median(times.collect()))
    };
    let (few, all) = (text(&|at| at % 1_000 == 500), text(&|_| true));
    row(
        &format!(
            "comparison by words of two texts of {:.1} MB",
            expected.len() as f64 / 1e6
        ),
        "50 ms",
        &format!(
            "{} (1 of 1,000 words changed), {} (all changed)",
            measured(&few),
            measured(&all)
        ),
    );
}

fn index() {
    // The keys in ADK's order.
    let attempt = json!({
        "eval_set_file": "many", "eval_set_id": "many", "eval_id": "case_00000", "final_eval_status": 1, "eval_metric_results": null,
        "overall_eval_metric_results": [{"metric_name": "response_match_score", "threshold": 0.8, "score": 1.0, "eval_status": 1,
            "criterion": {"threshold": 0.8}, "custom_function_path": null, "details": {"rubric_scores": null}}],
        "eval_metric_result_per_invocation": (0..3).map(|n| json!({"actual_invocation": turn(n), "expected_invocation": turn(n), "eval_metric_results": []})).collect::<Vec<_>>(),
        "session_id": "s", "session_details": null, "user_id": "u",
    });
    let mut cases = Vec::new();
    let size = serde_json::to_string_pretty(&attempt).unwrap().len() * 117 / 100;
    for n in 0..70_000_000 / size {
        let mut case = attempt.clone();
        case["eval_id"] = format!("case_{n:05}").into();
        cases.push(case);
    }
    let text = serde_json::to_string_pretty(
        &json!({"eval_set_result_id": "r", "eval_set_id": "many", "eval_case_results": cases}),
    )
    .unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &text).unwrap();
    let skim = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    let text: Arc<str> = Arc::from(text);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..7 {
        let began = Instant::now();
        assert!(skim(&text));
        theirs.push(began.elapsed());
        let began = Instant::now();
        assert!(!ResultFile::open(text.clone()).unwrap().entries.is_empty());
        ours.push(began.elapsed());
    }
    let (ours, theirs) = (median(ours), median(theirs));
    let told = Command::new(std::env::current_exe().unwrap())
        .arg("--index")
        .arg(file.path())
        .output()
        .unwrap();
    let memory = String::from_utf8_lossy(&told.stdout).trim().to_string();
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    row(
        &format!("index of an ADK result of {} MB", text.len() / 1_000_000),
        "2 × serde_json's skim, 150 MB",
        &format!(
            "{ratio:.2} × ({} and {}), {memory} MB",
            ms(ours),
            ms(theirs)
        ),
    );
}

/// Runs in a separate process: reads and indexes a file, opens its last case, and prints the peak memory in MB.
fn index_and_tell(file: &Path) {
    let text: Arc<str> = Arc::from(evaltrail_engine::workspace::read_text(file).unwrap());
    let result = ResultFile::open(text).unwrap();
    result.attempt(result.entries.len() - 1).unwrap();
    println!("{}", peak_mb("self", "VmHWM"));
}

fn peak_mb(pid: &str, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<u64>()
        .unwrap()
        / 1024
}

fn many_in_a_model(cases: usize) -> Model {
    let path = SetPath {
        shown: "many.evalset.json".into(),
        stem: "many".into(),
        ..SetPath::of_file("many".as_ref(), "".as_ref())
    };
    let mut model = Model::new("bench".into(), vec![path], (120, 40));
    let file = Arc::new(SetFile::open(Arc::from(eval_set(cases, 1)), "many").unwrap());
    let summaries = (0..file.len())
        .map(|index| {
            let case = file.case(index).unwrap();
            let text = case.turns()[0].user.scored_text().to_lowercase();
            let tools = case.turns()[0]
                .calls()
                .iter()
                .map(|call| call.name.clone())
                .collect();
            evaltrail::explorer::CaseSummary {
                turns: 1,
                prompt: case.first_prompt(200).into(),
                text,
                tools,
                problem: None,
                is_syntax_error: false,
            }
        })
        .collect();
    let notes = Ok(Default::default());
    let result = Ok(OpenedSet {
        criteria: None,
        file,
        digest: String::new(),
        agent: Ok("home".into()),
        notes,
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
    update(
        &mut model,
        Msg::Sets(SetMsg::Summarised {
            set: 0,
            digest: String::new(),
            summaries: Arc::new(summaries),
        }),
    );
    model
}

/// Measures a key in the filter of a set of cases, with its frame.
fn filter(cases: usize, words: &str, aim: &str) {
    let mut model = many_in_a_model(cases);
    let theme = Theme::named("default", false).unwrap();
    let key = |text: &str| Msg::Key(parse_key(text).unwrap());
    update(&mut model, key("/"));
    let mut times = Vec::new();
    for text in [
        "l", "a", "m", "p", "space", "n", "u", "m", "b", "e", "r", "space", "4", "2",
    ] {
        let began = Instant::now();
        update(&mut model, key(text));
        let mut buffer = Buffer::empty(Rect::new(0, 0, 120, 40));
        draw(&model, &theme, &mut buffer);
        times.push(began.elapsed());
    }
    let worst = times.iter().max().copied().unwrap();
    row(
        &format!("filter key on {words}, with its frame"),
        aim,
        &format!("{} (worst {})", ms(median(times)), ms(worst)),
    );
}

/// A workspace whose agent streams from a recording, 32 cases at once.
fn streaming_workspace(folder: &Path, cases: usize, events: usize, speed: u32) {
    std::fs::write(folder.join("many.evalset.json"), eval_set(cases, 1)).unwrap();
    let config = format!(
        "[agents.home]\nkind = \"replay\"\nrecording = \"r.jsonl\"\nspeed = {speed}\n[run]\njobs = 32\n"
    );
    std::fs::write(folder.join("evaltrail.toml"), config).unwrap();
    let lines: Vec<String> = (0..cases)
        .map(|n| {
            let events: Vec<Value> = (0..events)
                .map(|e| {
                    let part = match e + 1 == events {
                        true => json!({"text": format!("Lamp {n} is on.")}),
                        false => json!({"function_call": {"name": "switch", "args": {"device": format!("lamp_{e}")}}}),
                    };
                    json!({"at": e as f64 * 0.02, "author": "home", "content": {"parts": [part]}})
                })
                .collect();
            json!({"eval_id": format!("case_{n:05}"), "turns": [{"prompt": "", "events": events}]}).to_string()
        })
        .collect();
    std::fs::write(folder.join("r.jsonl"), lines.join("\n")).unwrap();
}

/// Measures the time from a key to the frame that shows its effect, while 32 cases stream.
fn keys_while_streaming() {
    let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    streaming_workspace(folder.path(), 2000, 50, 100);
    let path = folder.path().display().to_string();
    let mut terminal = Terminal::start(BINARY, &[&path], home.path(), (160, 48));
    terminal.wait_for("case_00000");
    terminal.keys("*r");
    terminal.wait_for("in flight");
    terminal.wait_for("attempts/s");
    let mut times = Vec::new();
    for _ in 0..150 {
        for (key, open) in [("?", true), ("\x1b", false)] {
            let began = Instant::now();
            terminal.keys(key);
            while terminal.screen().contains("help   ?") != open {
                std::thread::sleep(Duration::from_micros(100));
            }
            times.push(began.elapsed());
            std::thread::sleep(Duration::from_millis(17));
        }
    }
    times.sort();
    let p95 = times[times.len() * 95 / 100];
    let worst = times.last().copied().unwrap();
    row(
        "key to frame, 32 cases streaming, p95",
        "5 ms, never over 16 ms",
        &format!("{} (worst {})", ms(p95), ms(worst)),
    );
}

fn idle_memory() {
    let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().display().to_string();
    let terminal = Terminal::start(BINARY, &[&path], home.path(), (120, 40));
    terminal.wait_for("no eval sets in");
    terminal.wait_until_quiet(Duration::from_millis(300));
    row(
        "memory of the empty explorer",
        "20 MB",
        &format!("{} MB", peak_mb(&terminal.pid().to_string(), "VmRSS")),
    );
}

fn binary() {
    let size = std::fs::metadata(BINARY).unwrap().len() as f64 / 1e6;
    row("size of the program", "10 MB", &format!("{size:.1} MB"));
}

/// Measures evaltrail's own processor time per case, with an agent that responds immediately.
fn cpu_per_case() {
    let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    const CASES: usize = 4000;
    streaming_workspace(folder.path(), CASES, 3, 0);
    let line = format!(
        "TIMEFORMAT='%U %S'; time {BINARY} run -q {} > /dev/null 2>&1",
        folder.path().display()
    );
    let told = Command::new("bash")
        .args(["-c", &line])
        .env("EVALTRAIL_HOME", home.path())
        .output()
        .unwrap();
    let times = String::from_utf8_lossy(&told.stderr).into_owned();
    let seconds: f64 = times
        .split_whitespace()
        .map(|time| time.parse::<f64>().unwrap())
        .sum();
    row(
        "processor time a case, instant agent, journal and all",
        "1 ms",
        &format!("{:.2} ms", seconds * 1000.0 / CASES as f64),
    );
}

fn scoring() {
    let file = SetFile::open(Arc::from(eval_set(10_000, 1)), "many").unwrap();
    let cases: Vec<_> = (0..10_000).map(|at| file.case(at).unwrap()).collect();
    let criteria = default_criteria();
    let began = Instant::now();
    let scored: usize = (0..10_000)
        .map(|at| {
            score_case(
                &criteria,
                &Evidence::turns(
                    Some(cases[at].turns()),
                    cases[(at + at % 2) % 10_000].turns(),
                ),
            )
            .len()
        })
        .sum();
    let time = began.elapsed();
    assert_eq!(scored, 10_000 * criteria.len());
    row(
        "scoring 10,000 cases under the default criteria",
        "",
        &ms(time),
    );
}
