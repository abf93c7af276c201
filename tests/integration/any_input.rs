//! Readers with arbitrary input: they return a value or an error, and never panic or hang.

use crate::common::root;
use evaltrail_core::formats::SetFile;
use evaltrail_core::formats::adk::{KnownNames, ResultFile, check_text, read_config};
use evaltrail_core::formats::recording::read_recording;
use proptest::prelude::*;
use std::sync::Arc;

fn read_as_everything(text: &str) {
    if let Ok(file) = SetFile::open(Arc::from(text), "x") {
        for at in 0..file.len().min(20) {
            let _ = file.case(at);
            file.line_of(at);
        }
    }
    if let Ok(file) = ResultFile::open(Arc::from(text)) {
        (0..file.entries.len().min(20)).for_each(|at| drop(file.attempt(at)));
    }
    let _ = read_config(text);
    let _ = read_recording(text);
    check_text(text, "x", KnownNames::default());
}

/// Data sets: JSON Lines, CSV, JSON by columns, and the format of the newer Vertex client.
const DATA_SETS: [&str; 4] = [
    "{\"prompt\": \"a\", \"reference_trajectory\": [{\"tool_name\": \"f\", \"tool_input\": {\"x\": 1}}], \"response\": \"b\"}\n{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}\n",
    "prompt,reference_trajectory,response\n\"a, b\",\"[{'tool_name': 'f', 'tool_input': {'x': None}}]\",c\nd,[],e\n",
    "{\"prompt\": {\"0\": \"a\"}, \"predicted_trajectory\": {\"0\": \"[{'tool_name': 'f'}]\"}}",
    "{\"eval_cases\": [{\"prompt\": {\"parts\": [{\"text\": \"a\"}]}, \"agent_data\": {\"turns\": [{\"events\": [{\"author\": \"user\", \"content\": {\"parts\": [{\"text\": \"x\"}]}}]}]}}]}",
];

fn samples() -> Vec<String> {
    let folder = root().join("fixtures/workspace");
    let names = [
        "library_desk/hours.test.json",
        "library_desk/tone/tone.evalset.json",
        "library_desk/tone/test_config.json",
    ];
    let mut samples: Vec<String> = names
        .iter()
        .map(|name| std::fs::read_to_string(folder.join(name)).unwrap())
        .collect();
    samples.extend(DATA_SETS.map(String::from));
    samples
}

#[test]
fn every_beginning_of_a_file() {
    for text in samples() {
        for end in (0..=text.len()).filter(|&end| text.is_char_boundary(end)) {
            read_as_everything(&text[..end]);
        }
    }
}

#[test]
fn deep_wide_and_odd_documents() {
    for text in [
        "[".repeat(1_000_000),
        "{\"eval_cases\":".repeat(100_000),
        "\"".into(),
        "[[[]]]".into(),
        "nul".into(),
    ] {
        read_as_everything(&text);
    }
    let wide = format!(
        "{{\"eval_set_id\": \"x\", \"eval_cases\": [{}]}}",
        vec!["{}"; 20_000].join(",")
    );
    assert_eq!(
        SetFile::open(Arc::from(wide.as_str()), "x").unwrap().len(),
        20_000
    );
}

/// Prints a line for each file of a folder: `1 name` if Python reads it as JSON, otherwise `0 name`.
const READ_BY_PYTHON: &str = r#"
import json, os, sys
for name in sorted(os.listdir(sys.argv[1])):
    data = open(os.path.join(sys.argv[1], name), "rb").read()
    try:
        # Halves of surrogate pairs are no text; pydantic, and so ADK, refuses them.
        json.dumps(json.loads(data.decode("utf-8-sig")), ensure_ascii=False).encode()
        print(1, name)
    except Exception:
        print(0, name)
"#;

/// `EVALTRAIL_JSON_SUITE` names the folder `test_parsing` of JSONTestSuite (github.com/nst/JSONTestSuite). ADK reads
/// its files with Python, so exactly what Python accepts is accepted, except for nesting deeper than pydantic
/// accepts.
#[test]
fn json_test_suite_matches_python_json() {
    let (Ok(suite), Some(python)) = (
        std::env::var("EVALTRAIL_JSON_SUITE"),
        crate::common::python(),
    ) else {
        return;
    };
    let output = std::process::Command::new(python)
        .args(["-c", READ_BY_PYTHON, &suite])
        .output()
        .unwrap();
    let mut others = Vec::new();
    let mut count = 0;
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let (by_python, name) = (line.starts_with('1'), &line[2..]);
        let bytes = std::fs::read(std::path::Path::new(&suite).join(name)).unwrap();
        let ours = String::from_utf8(bytes)
            .is_ok_and(|text| evaltrail_core::formats::json::parse(&text).is_ok());
        count += 1;
        if ours != (by_python && name != "i_structure_500_nested_arrays.json") {
            others.push(format!("{name}: {by_python} by Python, {ours} here"));
        }
    }
    assert!(
        count >= 300 && others.is_empty(),
        "{count} files:\n{}",
        others.join("\n")
    );
}

proptest! {
    #[test]
    fn any_text(text in any::<String>()) {
        read_as_everything(&text);
    }

    #[test]
    fn a_file_with_a_piece_exchanged(at in 0..2000usize, len in 0..30usize, piece in "[\\[\\]{}:,\"a-z0-9 .]{0,8}", which in 0..7usize) {
        let text = &samples()[which];
        let start = text.floor_char_boundary(at.min(text.len()));
        let end = text.floor_char_boundary((start + len).min(text.len()));
        read_as_everything(&format!("{}{piece}{}", &text[..start], &text[end.max(start)..]));
    }
}
