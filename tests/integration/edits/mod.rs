//! Edits preserve the file: only the bytes of the changed value change, and every edit can be undone.

mod changes;
mod styles;
mod two_editors;

use changes::{Changed, change};
use evaltrail_core::domain::EvalCase;
use evaltrail_core::formats::adk::{KnownNames, check_text};
use evaltrail_core::formats::json::{JsonPath, Step, TextChange, locate};
use evaltrail_core::formats::{SetFile, change_case, copy_case, insert_case, remove_cases};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use styles::{Style, eval_set, named_list};

const EDITS: u64 = 1_000;

fn open(text: &str) -> SetFile {
    SetFile::open(Arc::from(text), "set").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The byte range of the value at a path, or at the longest part of the path that exists. Its end is found without
/// the code under test.
fn span(text: &str, path: &JsonPath) -> Range<usize> {
    let start = locate(text, path);
    start..start + value_len(&text[start..])
}

fn exists(text: &str, path: &JsonPath) -> bool {
    let parsed = evaltrail_core::formats::json::parse(text).unwrap().value;
    let found = path.0.iter().try_fold(&parsed, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.get(index),
    });
    found.is_some()
}

/// The length of the first JSON value of a text, by counting brackets.
fn value_len(text: &str) -> usize {
    let (mut depth, mut inside, mut escaped) = (0, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if inside => escaped = true,
            '"' => inside = !inside,
            _ if inside => {}
            '{' | '[' => depth += 1,
            '}' | ']' if depth == 0 => return at,
            '}' | ']' => depth -= 1,
            ',' | ' ' | '\n' | '\r' | '\t' if depth == 0 => return at,
            _ => {}
        }
        let closed = matches!(c, '"' | '}' | ']') && !inside && depth == 0 && at > 0;
        if closed {
            return at + c.len_utf8();
        }
    }
    text.len()
}

/// The path with keys as the file has them, in camelCase or snake_case.
fn spelt(path: &JsonPath, camel: bool) -> JsonPath {
    let step = |step: &Step| match step {
        Step::Key(key) if camel => {
            let mut words = key.split('_');
            let first = words.next().unwrap().to_string();
            Step::Key(words.fold(first, |out, word| {
                out + &word[..1].to_uppercase() + &word[1..]
            }))
        }
        other => other.clone(),
    };
    JsonPath(path.0.iter().map(step).collect())
}

/// Applies a random change, and checks that the file differs only where the change may modify it.
fn one_edit(rng: &mut StdRng, text: &str, legacy: bool, camel: bool) -> (String, TextChange) {
    let file = open(text);
    let at = rng.random_range(0..file.len());
    let before = file.case(at).unwrap();
    let Changed { case, within, what } = change(rng, &before, legacy);
    let edited = change_case(&file, at, &case).unwrap_or_else(|e| panic!("{what}: {e}\n{text}"));
    let after = edited.apply(text).unwrap();
    let list = if legacy {
        JsonPath::default()
    } else {
        JsonPath::default().key("eval_cases")
    };
    let path = spelt(&within, camel).below(&list.index(at));
    let (old, new) = (span(text, &path), span(&after, &path));
    // A new member modifies the object that it is added to.
    let (old, new) = match exists(text, &path) && exists(&after, &path) {
        true => (old, new),
        false => {
            let parent = JsonPath(path.0[..path.0.len() - 1].to_vec());
            (span(text, &parent), span(&after, &parent))
        }
    };
    assert_eq!(
        text[..old.start],
        after[..new.start],
        "{what}: before {path}\n{text}\n{after}"
    );
    assert_eq!(
        text[old.end..],
        after[new.end..],
        "{what}: behind {path}\n{text}\n{after}"
    );
    let read = open(&after);
    assert_eq!(read.len(), file.len());
    for other in (0..file.len()).filter(|other| *other != at) {
        assert_eq!(
            read.case(other).unwrap(),
            file.case(other).unwrap(),
            "{what}: another case"
        );
    }
    (after, edited)
}

/// Inserts, copies or removes cases, and checks that the bytes of the others stay the same.
fn one_case_more_or_less(rng: &mut StdRng, text: &str) -> (String, TextChange) {
    let file = open(text);
    let texts = |file: &SetFile| -> Vec<String> {
        (0..file.len())
            .map(|at| file.text()[file.range(at).unwrap()].to_string())
            .collect()
    };
    let mut expected = texts(&file);
    let at = rng.random_range(0..file.len());
    let kind = rng.random_range(0..3);
    let edited = match kind {
        0 => {
            let position = rng.random_range(0..=file.len());
            let case = EvalCase {
                eval_id: "inserted".into(),
                ..file.case(at).unwrap()
            };
            expected.insert(position, String::new());
            insert_case(&file, position, &case)
        }
        1 => {
            expected.insert(
                at + 1,
                expected[at].replace(&format!("case_{at}"), "copied"),
            );
            copy_case(&file, at, "copied")
        }
        _ => {
            let least = usize::from(!text.contains("eval_cases"));
            let gone: Vec<usize> = (least..file.len())
                .filter(|_| rng.random_bool(0.5))
                .collect();
            let mut index = 0..;
            expected.retain(|_| !gone.contains(&index.next().unwrap()));
            remove_cases(&file, &gone)
        }
    };
    let edited = edited.unwrap_or_else(|error| panic!("{error}\n{text}"));
    let after = edited.apply(text).unwrap();
    let found = texts(&open(&after));
    for (found, expected) in found
        .iter()
        .zip(&expected)
        .filter(|(_, expected)| !expected.is_empty())
    {
        assert_eq!(found, expected, "{text}\n{after}");
    }
    assert_eq!(found.len(), expected.len());
    (after, edited)
}

/// The messages of `check` about a file, without positions.
fn issues(text: &str) -> BTreeSet<String> {
    check_text(text, "set.evalset.json", KnownNames::default())
        .into_iter()
        .map(|issue| issue.message)
        .collect()
}

#[test]
fn random_edits_change_only_their_part() {
    let workspace = crate::common::TestWorkspace::new(&[]);
    for seed in 0..EDITS {
        let rng = &mut StdRng::seed_from_u64(seed);
        let legacy = rng.random_bool(0.15);
        let mut style = Style::any(rng);
        style.camel &= !legacy;
        let document = if legacy {
            named_list(rng)
        } else {
            eval_set(&style, rng)
        };
        let text = style
            .write(rng, &document)
            .replace("-0e+9999", "NaN")
            .replace("-1e+9999", "-Infinity");
        let (after, edited) = one_edit(rng, &text, legacy, style.camel);
        assert_eq!(
            edited.inverse().apply(&after).as_deref(),
            Some(text.as_str()),
            "seed {seed}"
        );
        let new: Vec<String> = issues(&after).difference(&issues(&text)).cloned().collect();
        assert!(new.is_empty(), "seed {seed}: {new:?}\n{after}");
        let (other, counted) = one_case_more_or_less(rng, &text);
        assert_eq!(
            counted.inverse().apply(&other).as_deref(),
            Some(text.as_str()),
            "seed {seed}"
        );
        if style.is_adks() && !legacy {
            std::fs::write(
                workspace.path().join(format!("set_{seed}_other.json")),
                other,
            )
            .unwrap();
        }
        if style.is_adks() {
            let kind = if legacy { "legacy" } else { "set" };
            std::fs::write(workspace.path().join(format!("{kind}_{seed}.json")), after).unwrap();
        }
    }
    adk_loads_all_of(workspace.path());
}

/// Checks that google-adk loads every file.
fn adk_loads_all_of(folder: &Path) {
    let Some(adk) = crate::common::adk() else {
        assert!(
            std::env::var_os("EVALTRAIL_REQUIRE_ADK").is_none(),
            "google-adk is required here"
        );
        eprintln!("google-adk is not here: not loaded with it");
        return;
    };
    let script = r#"
import pathlib, sys
from google.adk.evaluation.eval_set import EvalSet
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file
bad = 0
files = sorted(pathlib.Path(sys.argv[1]).glob("*.json"))
for file in files:
    try:
        if file.name.startswith("set_"):
            EvalSet.model_validate_json(file.read_text(encoding="utf-8"))
        else:
            load_eval_set_from_file(str(file), "set")
    except Exception as error:
        bad += 1
        print(file.name, type(error).__name__, str(error)[:300])
print(len(files), "files")
sys.exit(1 if bad or len(files) < 1000 else 0)
"#;
    let python = adk.with_file_name("python");
    let loaded = std::process::Command::new(python)
        .args(["-W", "ignore", "-c", script])
        .arg(folder)
        .output()
        .unwrap();
    assert!(loaded.status.success(), "{}", crate::common::both(&loaded));
}
