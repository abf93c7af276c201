//! The reader of `.env` files, compared with python-dotenv.

use crate::common::adk_or_skip;
use evaltrail_core::formats::read_dotenv;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

/// Pieces that are combined into valid and invalid `.env` files.
const PIECES: &[&str] = &[
    "\nA=",
    "\nexport B=",
    "\nA=\"",
    "\nB='",
    "A",
    "B",
    "GOOGLE_API_KEY",
    "=",
    "=",
    " = ",
    "=\"",
    "='",
    "\"",
    "'",
    "\n",
    "\n",
    "\r\n",
    "\r",
    "#",
    " # c",
    " ",
    "\t",
    "export ",
    "\\",
    "\\n",
    "\\'",
    "\\\"",
    "\\q",
    "${A}",
    "$A",
    "x",
    "ü",
    "a b",
    "\u{feff}",
];

/// Prints what python-dotenv reads from the texts, without variables that have no value or contain `${`.
const THEIRS: &str = r#"
import json, sys, io
from dotenv import dotenv_values
texts = json.load(sys.stdin)
def values(text):
    found = dotenv_values(stream=io.StringIO(text, newline=""), interpolate=False)
    return {k: v for k, v in found.items() if v is not None and "${" not in v}
json.dump([values(text) for text in texts], sys.stdout)
"#;

#[test]
fn dotenv_reader_matches_python_dotenv() {
    let Some(adk) = adk_or_skip("dotenv_reader_matches_python_dotenv") else {
        return;
    };
    let python = adk.parent().unwrap().join("python");
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    );
    let strategy = prop::collection::vec(prop::sample::select(PIECES), 0..24);
    let texts: Vec<String> = (0..10_000)
        .map(|_| strategy.new_tree(&mut runner).unwrap().current().concat())
        .collect();
    let mut child = Command::new(&python)
        .args(["-c", THEIRS])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(serde_json::to_string(&texts).unwrap().as_bytes())
        .unwrap();
    let ran = child.wait_with_output().unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let theirs: Vec<BTreeMap<String, String>> = serde_json::from_slice(&ran.stdout).unwrap();
    let set: usize = theirs.iter().map(BTreeMap::len).sum();
    assert!(set > 3000, "only {set} variables are set");
    for (text, theirs) in texts.iter().zip(theirs) {
        assert_eq!(read_dotenv(text), theirs, "{text:?}");
    }
}
