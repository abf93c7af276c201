//! Benchmarks of scoring and listing large data: `cargo bench --bench scoring`.
//!
//! ROUGE is compared with Python's `rouge-score` in the same run, if `EVALTRAIL_PYTHON` names a Python that has it.
//! Listing is compared with reading the same file.

#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::unwrap_used)]

use evaltrail::explorer::{CaseRef, Outcomes, Rescored, rescored};
use evaltrail_core::domain::{
    Attempt, AttemptKey, Content, Criterion, EndedAttempt, Invocation, MatchRule, MatchType, RunBy,
    RunRef, ToolCall, Trajectory, case_status,
};
use evaltrail_core::metrics::{Evidence, Scorer, WhatIf, catalog, needs_judge, rouge_n_of, usable};
use serde_json::json;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn main() {
    println!("| what | aim | measured |\n|---|---|---|");
    rescoring();
    what_if();
    rouge();
    listing();
}

fn row(what: &str, aim: &str, measured: &str) {
    println!("| {what} | {aim} | {measured} |");
}

fn turn(n: usize, level: usize) -> Invocation {
    let call = |name: &str, args: serde_json::Value| ToolCall::new(name, args.as_object().cloned());
    let calls = vec![
        call(
            "switch",
            json!({"device": format!("lamp_{n}"), "on": true, "level": level}),
        ),
        call("measure", json!({"device": format!("lamp_{n}")})),
    ];
    let said = format!("Lamp {n} is on, and its brightness is {level} percent of what it can be.");
    Invocation {
        user: Content::text("user", format!("Please switch lamp {n} on.")),
        final_response: Some(Content::text("model", said)),
        trajectory: Trajectory::Listed {
            calls,
            responses: vec![],
            texts: vec![],
        },
        ..Invocation::default()
    }
}

/// Measures rescoring under all computed metrics; half of the actual turns differ from the expected ones.
fn rescoring() {
    const CASES: usize = 100_000;
    let criteria: Vec<Criterion> = catalog()
        .map(|metric| match metric.name {
            "trajectory_single_tool_use" => {
                Criterion::new("trajectory_single_tool_use:switch", Some(1.0))
            }
            name => Criterion::new(name, None),
        })
        .filter(|criterion| usable(criterion).is_ok() && !needs_judge(criterion))
        .collect();
    let cases: Vec<([Invocation; 1], [Invocation; 1])> = (0..CASES)
        .map(|n| ([turn(n, n % 100)], [turn(n, (n + n % 2) % 100)]))
        .collect();
    let state = json!({"lamp": "on"});
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let began = Instant::now();
    let scored: usize = std::thread::scope(|scope| {
        let parts = cases.chunks(CASES.div_ceil(threads)).map(|part| {
            let (criteria, state) = (&criteria, &state);
            scope.spawn(move || {
                let scorer = Scorer::new(criteria);
                let of = |(expected, actual): &([Invocation; 1], [Invocation; 1])| {
                    let evidence = Evidence {
                        latency_s: Some(1.0),
                        expected_state: Some(state),
                        actual_state: Some(state),
                        ..Evidence::turns(Some(expected), actual)
                    };
                    scorer.score(&evidence).len()
                };
                part.iter().map(of).sum::<usize>()
            })
        });
        let running: Vec<_> = parts.collect();
        running.into_iter().map(|part| part.join().unwrap()).sum()
    });
    let time = began.elapsed();
    assert_eq!(scored, CASES * criteria.len());
    let what = format!(
        "rescoring 100,000 cases under all {} computed metrics, {threads} threads",
        criteria.len()
    );
    row(&what, "1 s", &format!("{:.2} s", time.as_secs_f64()));
}

/// Measures one key of a what-if with 100,000 outcomes, which are rescored in the background.
fn what_if() {
    const CASES: usize = 100_000;
    let criteria = [
        Criterion::new("tool_trajectory_avg_score", Some(1.0)),
        Criterion::new("response_match_score", Some(0.8)),
    ];
    let scorer = Scorer::new(&criteria);
    let mut outcomes = Outcomes::default();
    let run = Arc::new(RunRef {
        id: "run".into(),
        started: String::new(),
        by: RunBy::Evaltrail,
    });
    for n in 0..CASES {
        let mut attempt = Attempt::blank(
            AttemptKey {
                case: n,
                attempt: 1,
            },
            &format!("case_{n}"),
        );
        attempt.expected = [turn(n, n % 100)].into();
        attempt.actual = [turn(n, (n + n % 2) % 100)].into();
        attempt.metrics = scorer.score(&Evidence::from_attempt(&attempt));
        attempt.status = case_status(&attempt.metrics);
        outcomes.add(
            CaseRef { set: 0, index: n },
            &run,
            Arc::new(EndedAttempt::unrecorded(attempt)),
        );
    }
    let change = WhatIf {
        match_type: Some(MatchType::AnyOrder),
        rules: vec![MatchRule::about("switch", "level", "ignore".into())],
        ..WhatIf::default()
    };
    let began = Instant::now();
    let Rescored {
        outcomes: after,
        status_changes,
        ..
    } = rescored(&outcomes, &change);
    let time = began.elapsed();
    drop(after);
    assert_eq!(status_changes.len(), CASES / 2);
    let what = "a match type and a rule tried out on 100,000 outcomes";
    row(
        what,
        "1 s",
        &format!("{:.2} s, away from the screen", time.as_secs_f64()),
    );
}

const SCRIPT: &str = "import json, sys, time\nfrom rouge_score import rouge_scorer\n\
    pairs = [json.loads(line) for line in sys.stdin]\nscorer = rouge_scorer.RougeScorer(['rouge1'])\n\
    began = time.perf_counter()\nfor a, b in pairs: scorer.score(a, b)\nprint(time.perf_counter() - began)\n";

fn rouge() {
    const PAIRS: usize = 20_000;
    let text = |n: usize| {
        let words = [
            "the", "agent", "has", "booked", "flight", "number", "and", "sent", "a", "note", "to",
            "you",
        ];
        (0..40)
            .map(|at| words[(n * 7 + at * at) % words.len()])
            .collect::<Vec<_>>()
            .join(" ")
    };
    let pairs: Vec<(String, String)> = (0..PAIRS).map(|n| (text(n), text(n + 3))).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let score = |part: &[(String, String)]| -> f64 {
        part.iter()
            .map(|(a, b)| rouge_n_of(1, a, b, false).fmeasure)
            .sum()
    };
    let score_all = || -> f64 {
        std::thread::scope(|scope| {
            let parts: Vec<_> = pairs
                .chunks(PAIRS.div_ceil(threads))
                .map(|part| scope.spawn(move || score(part)))
                .collect();
            parts.into_iter().map(|part| part.join().unwrap()).sum()
        })
    };
    let timed = |_| {
        let began = Instant::now();
        assert!(score_all() > 0.0);
        began.elapsed()
    };
    let ours = (0..9).map(timed).min().unwrap();
    let rate = PAIRS as f64 / ours.as_secs_f64();
    let theirs = std::env::var("EVALTRAIL_PYTHON")
        .ok()
        .and_then(|python| python_seconds(&python, &pairs));
    let measured = match theirs {
        Some(theirs) => {
            format!(
                "{:.0} ×, {rate:.0} pairs a second, {threads} threads",
                theirs / ours.as_secs_f64()
            )
        }
        None => format!("{rate:.0} pairs a second (no Python with rouge-score named)"),
    };
    row(
        "ROUGE-1 against Python's rouge-score (one thread), pairs of 40 words",
        "100 ×",
        &measured,
    );
}

fn python_seconds(python: &str, pairs: &[(String, String)]) -> Option<f64> {
    let mut child = Command::new(python)
        .args(["-c", SCRIPT])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take()?;
    for pair in pairs {
        writeln!(stdin, "{}", json!([pair.0, pair.1])).ok()?;
    }
    drop(stdin);
    let told = child.wait_with_output().ok()?;
    String::from_utf8_lossy(&told.stdout).trim().parse().ok()
}

/// Compares `evaltrail list` of 1 GB of JSON Lines with reading the file.
fn listing() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("rows.jsonl");
    write_rows(&path, 1 << 30);
    let read = (0..3).map(|_| reading(&path)).min().unwrap();
    let (mut best, mut peak) = (Duration::MAX, 0);
    for _ in 0..3 {
        let (time, memory) = list(folder.path());
        best = best.min(time);
        peak = peak.max(memory);
    }
    let times = best.as_secs_f64() / read.as_secs_f64();
    let measured = format!(
        "{:.1} s, {times:.1} × reading it, {peak} MB",
        best.as_secs_f64()
    );
    row(
        "listing 1 GB of JSON Lines",
        "reading speed, 200 MB",
        &measured,
    );
}

fn write_rows(path: &Path, size: usize) {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let mut written = 0;
    let filler =
        "The guest asks for a room with a view of the sea and breakfast at eight. ".repeat(8);
    for n in 0.. {
        let row = json!({"prompt": format!("Request {n}: {filler}"), "reference": "Booked.",
            "reference_trajectory": [{"tool_name": "book", "tool_input": {"room": n, "view": "sea", "breakfast": true}}],
            "response": "It is booked."})
        .to_string();
        written += row.len() + 1;
        writeln!(file, "{row}").unwrap();
        if written >= size {
            return;
        }
    }
}

fn reading(path: &Path) -> Duration {
    let began = Instant::now();
    let mut file = std::fs::File::open(path).unwrap();
    let mut buffer = vec![0; 1 << 20];
    while file.read(&mut buffer).unwrap() > 0 {}
    began.elapsed()
}

/// Runs `evaltrail list`. Returns its duration and its peak memory in MB.
fn list(folder: &Path) -> (Duration, u64) {
    let began = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_evaltrail"))
        .arg("list")
        .arg(folder)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let told = std::fs::read_to_string(&status).unwrap_or_default();
        let line = told.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        peak = peak.max(kilobytes.unwrap_or(0) >> 10);
        std::thread::sleep(Duration::from_millis(5));
    }
    (began.elapsed(), peak)
}
