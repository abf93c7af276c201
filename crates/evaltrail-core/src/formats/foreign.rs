//! Files that are not cases and that people find where cases are expected: pointers of Git LFS, logs of Inspect, archives,
//! configurations of promptfoo, reports and exports of evaltrail.

use super::index;
use super::own::is_json_report;

const LFS: &str = "version https://git-lfs.github.com/spec/";

/// What a text is, if it is a known kind of file that contains no cases.
pub(super) fn of_text(text: &str) -> Option<&'static str> {
    let text = text.trim_start_matches('\u{FEFF}');
    if text.trim().is_empty() {
        return Some("an empty file");
    }
    if text.starts_with(LFS) {
        return Some("a pointer of Git LFS: run git lfs pull");
    }
    if is_json_report(start_of(text)) {
        return Some(
            "a report of evaltrail, which contains results and no cases: `evaltrail open` opens its run",
        );
    }
    is_inspect_log(text).then_some(
        "a log of Inspect, which contains results and no cases; evaltrail reads the samples of its data set",
    )
}

fn start_of(text: &str) -> &str {
    &text[..text.floor_char_boundary(4 << 10)]
}

/// The first keys of a log are in the order in which Inspect writes them.
fn is_inspect_log(text: &str) -> bool {
    let start = start_of(text);
    if !text.starts_with('{') || !start.contains("\"eval\"") || !start.contains("\"status\"") {
        return false;
    }
    let keys = index::first_keys(text);
    let has = |key: &str| keys.iter().any(|other| other == key);
    has("version") && has("status") && has("eval") && !has("eval_cases")
}

/// Whether a file is a configuration of promptfoo in YAML, by its name: `promptfooconfig.yaml`, also with a word before the
/// ending.
pub(super) fn is_promptfoo_config(name: &str) -> bool {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    name.starts_with("promptfooconfig.") && (name.ends_with(".yaml") || name.ends_with(".yml"))
}

/// What a file is by its name and its first bytes, if it is no text of cases that are read.
pub fn of_bytes(name: &str, start: &[u8]) -> Option<&'static str> {
    match start {
        _ if is_promptfoo_config(name) => Some(
            "a configuration of promptfoo in YAML, which is not read: write the list `tests` to a file in JSON, for example with \
             `yq -o=json .tests`",
        ),
        [b'P', b'K', 3 | 5, 4 | 6, ..] if name.ends_with(".eval") => {
            Some("a log of Inspect (.eval), which contains results and no cases")
        }
        [b'P', b'K', 3 | 5, 4 | 6, ..] => Some("a zip file: unpack it"),
        [0x1f, 0x8b, ..] if name.ends_with(".evaltrail") => {
            Some("a run that `evaltrail export` wrote: `evaltrail open` opens it")
        }
        [0x1f, 0x8b, ..] => Some("a gzip file: unpack it with gzip -d"),
        [b'P', b'A', b'R', b'1', ..] => {
            Some("a Parquet file: write it as JSON Lines, for example with pandas")
        }
        _ => None,
    }
}

/// Whether an archive contains a file of cases, by the names at its beginning.
pub(super) fn holds_data(start: &[u8]) -> bool {
    const ENDINGS: [&[u8]; 5] = [b".jsonl", b".ndjson", b".csv", b".tsv", b".evalset.json"];
    ENDINGS
        .iter()
        .any(|ending| memchr::memmem::find(start, ending).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_cases_are_named_by_kind() {
        let lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:a1\nsize 4\n";
        assert_eq!(of_text(lfs), Some("a pointer of Git LFS: run git lfs pull"));
        let log = "{\n \"version\": 2,\n \"status\": \"success\",\n \"eval\": {\"task\": \"x\"}, \"samples\": [";
        assert!(of_text(log).unwrap().starts_with("a log of Inspect"));
        assert_eq!(of_text("{\"status\": 1, \"prompt\": \"x\"}"), None);
        assert_eq!(
            (of_text(""), of_text("\u{FEFF}\n")),
            (Some("an empty file"), Some("an empty file"))
        );
        assert!(
            of_bytes("t.parquet", b"PAR1\x15")
                .unwrap()
                .starts_with("a Parquet file")
        );
        let zip = b"PK\x03\x04\x14\0\0\0\x08\0cases.jsonl";
        assert!(
            of_bytes("2026_task.eval", zip)
                .unwrap()
                .starts_with("a log of Inspect")
        );
        assert_eq!(of_bytes("a.json", zip), Some("a zip file: unpack it"));
        assert!(holds_data(zip) && !holds_data(b"PK\x03\x04lib/package.json"));
        assert_eq!(of_bytes("a.csv", b"prompt,response"), None);
        let packed = [0x1f, 0x8b, 8, 0];
        assert!(
            of_bytes("run.evaltrail", &packed)
                .unwrap()
                .contains("`evaltrail open`")
        );
        assert!(
            of_bytes("rows.jsonl.gz", &packed)
                .unwrap()
                .contains("gzip -d")
        );
        for name in [
            "promptfooconfig.yaml",
            "evals/promptfooconfig.yml",
            "promptfooconfig.tone.yaml",
        ] {
            let words = of_bytes(name, b"tests:\n  - vars: {q: a}\n").unwrap();
            assert!(
                words.contains("promptfoo in YAML") && words.contains("yq -o=json .tests"),
                "{words}"
            );
        }
        assert_eq!(of_bytes("config.yaml", b"tests:\n"), None);
        let report = "{\n  \"evaltrail\": \"0.1.0\",\n  \"run_id\": \"1f\", \"cases\": [";
        assert!(of_text(report).unwrap().contains("`evaltrail open`"));
        assert_eq!(
            of_text("{\"evaltrail\": \"0.1.0\", \"eval_case_id\": \"a\"}"),
            None,
            "a row of a table"
        );
    }
}
