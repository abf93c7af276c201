//! Fuzz tests of the readers with almost valid files: seeds that are changed at random with words of the formats. Two
//! reads of a text return the same value or error, and take less than two seconds together.
//!
//! `EVALTRAIL_FUZZ=1000000 cargo test --release --test integration fuzz::` sets the number of inputs for each reader.

use crate::common::root;
use evaltrail_core::formats::adk::{KnownNames, ResultFile, check_text, read_config};
use evaltrail_core::formats::recording::read_recording;
use evaltrail_core::formats::spans::{conversations, read_spans};
use evaltrail_core::formats::{FileHints, Notes, SetFile, check_rows, read_dotenv, read_responses};
use evaltrail_engine::config::ConfigFile;
use evaltrail_engine::net::SseDecoder;
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Words that random bytes are unlikely to contain.
const WORDS: &[&str] = &[
    "\"eval_set_id\"",
    "\"eval_cases\"",
    "\"evalCases\"",
    "\"eval_id\"",
    "\"conversation\"",
    "\"conversation_scenario\"",
    "\"user_content\"",
    "\"final_response\"",
    "\"parts\"",
    "\"text\"",
    "\"intermediate_data\"",
    "\"tool_uses\"",
    "\"function_call\"",
    "\"args\"",
    "\"session_input\"",
    "\"state\"",
    "\"criteria\"",
    "\"rubrics\"",
    "\"threshold\"",
    "\"eval_case_results\"",
    "\"final_eval_status\"",
    "\"overall_eval_metric_results\"",
    "\"prompt\"",
    "\"response\"",
    "\"reference_trajectory\"",
    "\"predicted_trajectory\"",
    "\"tool_name\"",
    "\"tool_input\"",
    "\"messages\"",
    "\"role\"",
    "\"resourceSpans\"",
    "\"attributes\"",
    "\"format\"",
    "\"signature\"",
    "\"cases\"",
    "\"sets\"",
    "\"ended\"",
    "[metrics.x]",
    "[agents.a]",
    "kind = \"command\"",
    "[judge]",
    "[[match]]",
    "data: ",
    "event: ",
    "\r\n\r\n",
    "null",
    "true",
    "NaN",
    "-Infinity",
    "1e999",
    "99999999999999999999",
    "\\u0000",
    "\\ud800",
    "\u{feff}",
    "[]",
    "{}",
    "\"\"",
    "{",
    "[",
    "}",
    "]",
];

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// The name of a reader, its seeds, and a function that reads a text and formats the outcome.
type Target = (&'static str, Vec<String>, fn(&str) -> String);

fn targets() -> Vec<Target> {
    let set = read("fixtures/workspace/library_desk/tone/tone.evalset.json");
    let turns = read("fixtures/workspace/library_desk/hours.test.json");
    let config = read("fixtures/workspace/library_desk/tone/test_config.json");
    let toml = read("fixtures/workspace/evaltrail.toml").replace("#: ", "");
    let recording = read("fixtures/workspace/recordings/garden.jsonl");
    let answers = read("fixtures/workspace/recordings/judge.jsonl");
    let beginning = |text: &str| text.chars().take(6_000).collect::<String>();
    let rows = "{\"prompt\": \"a\", \"reference_trajectory\": [{\"tool_name\": \"f\", \"tool_input\": {\"x\": 1}}], \"response\": \"b\"}\n{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}\n";
    let table = "prompt,reference_trajectory,response\n\"a, b\",\"[{'tool_name': 'f', 'tool_input': {'x': None}}]\",c\nd,[],e\n";
    let result = "{\"eval_set_result_id\": \"r\", \"eval_set_id\": \"s\", \"creation_timestamp\": 1.5, \"eval_case_results\": [{\"eval_id\": \"a\", \"final_eval_status\": 1, \"overall_eval_metric_results\": [{\"metric_name\": \"m\", \"score\": 1.0, \"threshold\": 0.5, \"eval_status\": 1}], \"eval_metric_result_per_invocation\": [], \"session_id\": \"x\"}]}";
    let notes = "{\"cases\": {\"a\": {\"tags\": [\"x\"], \"variants\": []}}}";
    let trace = "{\"resourceSpans\": [{\"scopeSpans\": [{\"spans\": [{\"traceId\": \"1\", \"spanId\": \"2\", \"name\": \"invocation\", \"startTimeUnixNano\": \"1\", \"attributes\": [{\"key\": \"gen_ai.input.messages\", \"value\": {\"stringValue\": \"[]\"}}]}]}]}]}";
    let stream = "data: {\"author\": \"a\", \"content\": {\"parts\": [{\"text\": \"x\"}]}}\n\nevent: e\r\ndata: {}\r\n\r\n";
    vec![
        (
            "eval set",
            vec![beginning(&set), beginning(&turns)],
            |text| {
                SetFile::open(Arc::from(text), "x").map_or_else(
                    |error| error.to_string(),
                    |file| {
                        let cases = (0..file.len().min(20)).map(|at| match file.case(at) {
                            Ok(case) => format!("{case:?}{}", file.line_of(at)),
                            Err(error) => error.to_string(),
                        });
                        cases.collect()
                    },
                )
            },
        ),
        ("rows", vec![rows.into(), table.into()], |text| {
            SetFile::open(Arc::from(text), "x").map_or_else(
                |error| error.to_string(),
                |file| {
                    (0..file.len().min(20))
                        .map(|at| format!("{:?}", file.case(at)))
                        .collect()
                },
            )
        }),
        (
            "check",
            vec![beginning(&set), config.clone(), result.into(), rows.into()],
            |text| {
                format!(
                    "{:?}{:?}",
                    check_rows(text, &FileHints::default()),
                    check_text(text, "x.evalset.json", KnownNames::default())
                )
            },
        ),
        ("result", vec![result.into()], |text| {
            ResultFile::open(Arc::from(text)).map_or_else(
                |error| error.to_string(),
                |file| {
                    (0..file.entries.len().min(20))
                        .map(|at| format!("{:?}", file.attempt(at)))
                        .collect()
                },
            )
        }),
        ("criteria", vec![config], |text| {
            format!("{:?}", read_config(text))
        }),
        ("evaltrail.toml", vec![toml], |text| {
            format!("{:?}", ConfigFile::parse(text, Path::new("/w")))
        }),
        ("recording", vec![beginning(&recording)], |text| {
            format!("{:?}", read_recording(text))
        }),
        ("recorded answers", vec![beginning(&answers)], |text| {
            format!("{:?}", read_responses(text))
        }),
        ("notes", vec![notes.into()], |text| {
            format!("{:?}", Notes::open(text.into()))
        }),
        ("trace", vec![trace.into()], |text| match read_spans(text) {
            Ok(spans) => format!("{:?}", conversations(&spans)),
            Err(error) => error,
        }),
        (
            ".env",
            vec!["A=b\nexport C='d e' # f\nG=\"h\\n${A}\"\n".into()],
            |text| format!("{:?}", read_dotenv(text)),
        ),
        ("server-sent events", vec![stream.into()], |text| {
            let mut decoder = SseDecoder::default();
            let fed: Vec<_> = text
                .as_bytes()
                .chunks(7)
                .map(|chunk| decoder.feed(chunk))
                .collect();
            format!("{fed:?}{:?}", decoder.finish())
        }),
        ("journal", vec![journal()], |text| read_run(text)),
    ]
}

/// A recorded run: the plan, a separator, the journal.
fn journal() -> String {
    let plan = "{\"format\": 2, \"run_id\": \"r\", \"started\": \"2026-01-01T00:00:00Z\", \"sets\": [{\"id\": \"s\", \"file\": \"s\", \"path\": \"/s\", \"digest\": \"\", \"agent\": {\"kind\": \"saved\"}, \"agent_name\": \"\", \"app_dir\": null, \"criteria\": []}], \"cases\": [{\"set\": 0, \"index\": 0, \"eval_id\": \"a\"}], \"options\": {\"jobs\": 1, \"repeat\": 1, \"timeout_ms\": 1, \"retries\": 0}}";
    let attempt = evaltrail_core::domain::Attempt::blank(
        evaltrail_core::domain::AttemptKey {
            case: 0,
            attempt: 1,
        },
        "a",
    );
    format!(
        "{plan}\u{1e}{}\n{{\"ended\":true}}\n",
        serde_json::to_string(&attempt).unwrap()
    )
}

fn read_run(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join(".evaltrail/runs/r");
    std::fs::create_dir_all(&run).unwrap();
    let (plan, journal) = text.split_once('\u{1e}').unwrap_or((text, ""));
    std::fs::write(run.join("run.json"), plan).unwrap();
    std::fs::write(run.join("journal.jsonl"), journal).unwrap();
    match evaltrail_engine::store::load_run(&run, None) {
        Ok(run) => format!("{:?}{}{}", run.state.finished, run.damaged, run.ended),
        Err(error) => error.source.to_string(),
    }
}

/// A seed with a few changes.
fn changed(seeds: &[String], random: &mut StdRng) -> String {
    let mut bytes = seeds[random.random_range(0..seeds.len())]
        .clone()
        .into_bytes();
    for _ in 0..random.random_range(1..6) {
        let at = random.random_range(0..=bytes.len());
        let end = (at + random.random_range(0..40)).min(bytes.len());
        let word = WORDS[random.random_range(0..WORDS.len())].as_bytes();
        match random.random_range(0..7) {
            0 => drop(bytes.splice(at..at, word.iter().copied())),
            1 => drop(bytes.splice(at..end, word.iter().copied())),
            2 => drop(bytes.drain(at..end)),
            3 => bytes.truncate(at),
            4 => {
                let piece = bytes[at..end].to_vec();
                let to = random.random_range(0..=bytes.len());
                drop(bytes.splice(to..to, piece));
            }
            5 if at < bytes.len() => bytes[at] ^= 1 << random.random_range(0..8),
            _ => drop(bytes.splice(at..at, [random.next_u32() as u8])),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn readers_take_anything() {
    let inputs: u64 = std::env::var("EVALTRAIL_FUZZ").map_or(1_500, |text| text.parse().unwrap());
    for (name, seeds, read) in targets() {
        for seed in &seeds {
            let first = read(seed);
            assert_eq!(first, read(seed), "{name}: the seed");
        }
        let mut random = StdRng::seed_from_u64(0xE7A1);
        for input in 0..inputs {
            let text = changed(&seeds, &mut random);
            let began = Instant::now();
            let outcome = std::panic::catch_unwind(|| (read(&text), read(&text)));
            let Ok((first, second)) = outcome else {
                panic!("{name}, input {input}: {text:?}")
            };
            assert!(
                first == second,
                "{name}, input {input} is read in two ways: {text:?}"
            );
            assert!(
                began.elapsed() < Duration::from_secs(2),
                "{name}, input {input} took {:?}: {text:?}",
                began.elapsed()
            );
        }
    }
}
