//! Detection of files that contain cases, by their first bytes: a folder has many other files.

use super::file_start::decoded_text;
use super::foreign::{holds_data, is_promptfoo_config, of_bytes, of_text};
use super::index::{self, RootKind};
use super::messages::KINDS;
use super::text_lines::table_header;
use super::vertex::{ColumnMap, header, is_known_name};

/// What a file of a folder contains, as far as its name and its first bytes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileContent {
    /// Cases.
    Cases,
    /// Rows of data without a column that is known, or a file that stands for cases and has none; opening it says why.
    UnknownData,
    /// Anything else.
    Other,
}

/// Endings of files that may contain cases.
pub const DATA: &[&str] = &[".jsonl", ".ndjson", ".csv", ".tsv", ".json"];
/// Endings of files in which people look for cases in vain.
pub const ARCHIVES: &[&str] = &[
    ".eval",
    ".zip",
    ".parquet",
    ".jsonl.gz",
    ".csv.gz",
    ".tsv.gz",
    ".json.gz",
];

/// Whether a file with this name may contain cases, or is one in which people look for them, so that its beginning must be read.
pub fn may_be_data(name: &str) -> bool {
    DATA.iter()
        .chain(ARCHIVES)
        .any(|ending| name.ends_with(ending))
        || is_promptfoo_config(name)
}

/// Columns of which one is enough to recognise a data set.
const TELLING: &[&str] = &[
    "reference_trajectory",
    "predicted_trajectory",
    "reference_outputs",
    "agent_data",
];

/// What a file with this name and these first bytes contains.
pub fn content_of(name: &str, start: &[u8], columns: &ColumnMap) -> FileContent {
    let is_data = DATA.iter().any(|ending| name.ends_with(ending));
    if of_bytes(name, start).is_some() {
        let stands_for_cases = is_data || !name.ends_with(".zip") || holds_data(start);
        return if stands_for_cases {
            FileContent::UnknownData
        } else {
            FileContent::Other
        };
    }
    if !is_data {
        return FileContent::Other;
    }
    let text = decoded_text(start);
    let text = text.trim_start_matches('\u{FEFF}');
    if text.trim().is_empty() && name.ends_with(".json") {
        return FileContent::Other;
    }
    if of_text(text).is_some() {
        return FileContent::UnknownData;
    }
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("csv" | "tsv") => of_table(text, columns),
        Some("jsonl" | "ndjson") => match text.lines().find(|line| !line.trim().is_empty()) {
            Some(line) => of_members(&index::first_members(line), line, columns, true),
            None => FileContent::Other,
        },
        _ => of_document(text, columns),
    }
}

fn of_table(text: &str, columns: &ColumnMap) -> FileContent {
    let Some((_, names)) = header(text) else {
        return FileContent::Other;
    };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    if is_row(&names, columns) {
        return FileContent::Cases;
    }
    let is_unknown =
        !names.iter().any(|name| is_known_name(name, columns)) && table_header(text).is_some();
    if is_unknown && !is_log(&names) {
        FileContent::UnknownData
    } else {
        FileContent::Other
    }
}

/// What an object at the beginning of a file is. `is_row_of_file`: each line or element is a row.
fn of_members(
    members: &[(String, u8)],
    text: &str,
    columns: &ColumnMap,
    is_row_of_file: bool,
) -> FileContent {
    let names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
    if is_row(&names, columns) || has_messages(&names, text) || is_conversation(&names, text) {
        return FileContent::Cases;
    }
    let is_known = names.iter().any(|name| is_known_name(name, columns));
    let starts = |with: &[u8]| {
        members
            .iter()
            .filter(|(_, first)| with.contains(first))
            .count()
    };
    // Rows of data have at least two values that are no structures, and at least one text.
    let is_data =
        members.len() > 1 && starts(b"\"") > 0 && starts(b"{[") < members.len().max(2) - 1;
    match is_row_of_file && !is_known && is_data && !is_log(&names) {
        true => FileContent::UnknownData,
        false => FileContent::Other,
    }
}

/// Whether these are the columns of a log, of a trace or of a file of evaltrail.
fn is_log(names: &[&str]) -> bool {
    let has = |any: &[&str]| {
        names
            .iter()
            .any(|name| any.iter().any(|other| name.eq_ignore_ascii_case(other)))
    };
    has(&[
        "resourceSpans",
        "trace_id",
        "traceId",
        "span_id",
        "spanId",
        "run_type",
    ]) || (has(&[
        "level",
        "severity",
        "levelname",
        "loglevel",
        "timestamp",
        "time",
        "ts",
        "@timestamp",
    ]) && has(&["message", "msg", "event", "logger"]))
        || (has(&["eval_id"]) && has(&["turns", "replies", "metric"]))
        || (has(&["tool"]) && has(&["response", "responses", "args"]))
}

/// Many files have a key `messages`; the messages of a conversation have roles.
fn has_messages(names: &[&str], text: &str) -> bool {
    names.contains(&"messages") && text.contains("\"role\"")
}

/// Whether an object is a state of LangGraph, a request or response of a model, or a session of ADK.
fn is_conversation(keys: &[&str], text: &str) -> bool {
    let has = |key: &str| keys.contains(&key);
    let mentions = |key: &str| text.contains(&format!("\"{key}\""));
    (has("values") && mentions("messages"))
        || (has("contents") && mentions("parts") && mentions("role"))
        || (has("events") && (has("appName") || has("app_name")))
        || (has("output")
            && (has("input") || has("object"))
            && mentions("type")
            && mentions("role"))
}

/// Whether a list begins with a message of LangChain, an item of Responses, or `["human", "…"]`.
fn begins_with_message(keys: &[&str], start: &str) -> bool {
    let compact: String = start.chars().filter(|c| !c.is_whitespace()).collect();
    // Other programs have lists of objects of these types as well.
    let is_plain =
        |kind: &str| matches!(kind, "message" | "reasoning") && !compact.contains("\"role\":");
    let is_kind = |kind: &str| !is_plain(kind) && compact.contains(&format!("\"type\":\"{kind}\""));
    (keys.contains(&"type") && KINDS.iter().any(|kind| is_kind(kind)))
        || (keys.contains(&"lc") && keys.contains(&"kwargs") && compact.contains("\"messages\""))
        || ["human", "user", "system"]
            .iter()
            .any(|role| compact.starts_with(&format!("[[\"{role}\",\"")))
}

/// Parts of the names of columns with an answer.
const ANSWERS: &[&str] = &[
    "answer",
    "expected",
    "reference",
    "truth",
    "gold",
    "target",
    "output",
    "completion",
    "response",
    "ideal",
    "solution",
    "trajectory",
];

fn is_row(names: &[&str], columns: &ColumnMap) -> bool {
    let has = |name: &&str| names.contains(name);
    let has_any = |any: &[&str]| any.iter().any(has);
    let has_answer = || {
        names.iter().any(|name| {
            ANSWERS
                .iter()
                .any(|part| name.to_lowercase().contains(part))
        })
    };
    TELLING.iter().any(has)
        || has_any(&["__expected"])
        || (has(&"prompt") && has_answer())
        || (has(&"request") && has(&"response"))
        || (has(&"user_input") && (has_answer() || has_any(&["retrieved_contexts", "rubrics"])))
        || (has_any(&["input", "input_messages"])
            && (has_answer() || has_any(&["choices", "criteria"])))
        || (has(&"inputs") && has_any(&["outputs", "reference_outputs"]))
        || (has(&"vars") && has(&"assert"))
        || (has(&"item") && has(&"sample"))
        || columns.is_read_from(names)
}

fn of_document(text: &str, columns: &ColumnMap) -> FileContent {
    let members = index::first_members(text);
    let names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
    let has = |name: &str| names.contains(&name);
    match index::root_kind(text) {
        RootKind::Object => {
            let is_set = has("eval_cases")
                || has("evalCases")
                || (has("eval_case_results") && !has("eval_set_id"))
                || (has("columns") && has("data") && is_split(text, columns))
                || (has("schema") && has("data") && text.contains("\"fields\""));
            // A configuration may have `input` and `output`; the columns of a frame are lists or objects.
            let structures = members
                .iter()
                .all(|(_, first)| matches!(first, b'[' | b'{'));
            let is_frame = is_row(&names, columns) && (structures || !has("input"));
            match is_set || is_frame || has_messages(&names, text) || is_conversation(&names, text)
            {
                true => FileContent::Cases,
                false if is_indexed(text, columns) => FileContent::Cases,
                false => FileContent::Other,
            }
        }
        RootKind::Array => {
            let is_message = has("role") && (has("content") || has("parts"));
            match is_message || begins_with_message(&names, text) {
                true => FileContent::Cases,
                false => of_members(&members, text, columns, true),
            }
        }
        _ => FileContent::Other,
    }
}

/// Whether the names of pandas' `split` are those of a data set.
fn is_split(text: &str, columns: &ColumnMap) -> bool {
    let names = text
        .split_once("\"columns\"")
        .and_then(|(_, rest)| Some(rest.split_once('[')?.1.split_once(']')?.0));
    let names: Vec<&str> = names
        .unwrap_or_default()
        .split(',')
        .map(|name| name.trim().trim_matches('"'))
        .collect();
    is_row(&names, columns)
}

/// Whether the first value of an object is a row: pandas' `index`.
fn is_indexed(text: &str, columns: &ColumnMap) -> bool {
    let first = text
        .get(1..)
        .and_then(|rest| rest.find('{').map(|at| &rest[at..]));
    let members = first.map(index::first_members).unwrap_or_default();
    is_row(
        &members
            .iter()
            .map(|(name, _)| name.as_str())
            .collect::<Vec<_>>(),
        columns,
    )
}

#[cfg(test)]
mod tests {
    use super::super::file_start::is_utf16;
    use super::*;

    fn content(name: &str, start: &str) -> FileContent {
        content_of(name, start.as_bytes(), &ColumnMap::default())
    }

    #[test]
    fn cases_are_distinguished_from_other_files() {
        let yes = [
            ("a.jsonl", "{\"prompt\": \"x\", \"reference\": \"y\"}\n"),
            (
                "a.jsonl",
                "{\"prompt\": \"x\", \"reference_trajectory\": [{\"tool_na",
            ),
            (
                "a.jsonl",
                "{\"prompt\": \"x\", \"expected_answer\": \"y\"}\n",
            ),
            ("a.jsonl", "{\"user_input\": \"x\", \"response\": \"y\"}\n"),
            (
                "a.jsonl",
                "{\"input\": [{\"role\": \"user\", \"content\": \"x\"}], \"ideal\": \"y\"}\n",
            ),
            (
                "a.jsonl",
                "{\"inputs\": {\"question\": \"x\"}, \"outputs\": {\"answer\": \"y\"}}\n",
            ),
            (
                "a.jsonl",
                "{\"vars\": {\"question\": \"x\"}, \"assert\": []}\n",
            ),
            ("a.json", "[{\"input\": \"x\", \"expected_output\": \"y\"}]"),
            (
                "a.json",
                "{\"columns\": [\"prompt\", \"reference\"], \"index\": [0], \"data\": [[\"a\", \"b\"]]}",
            ),
            (
                "a.json",
                "{\"0\": {\"prompt\": \"a\", \"reference\": \"b\"}}",
            ),
            ("a.csv", "prompt,response,x\n"),
            ("a.csv", "prompt;response\n"),
            ("a.json", "{\"eval_cases\": ["),
            (
                "a.json",
                "[{\"prompt\": \"x\", \"predicted_trajectory\": []}",
            ),
            ("a.json", "[{\"role\": \"user\", \"content\": \"x\"}, {\"ro"),
            ("a.json", "{\"eval_case_results\": [{"),
            ("a.jsonl", "{\"messages\": [{\"role\": \"user\""),
            (
                "a.jsonl",
                "{\"input\": [{\"role\": \"user\", \"content\": \"x\"}], \"output\": [{\"type\": \"mess",
            ),
            (
                "a.json",
                "[\n  {\"type\": \"human\", \"content\": \"x\"}, {\"ty",
            ),
            (
                "a.json",
                "[{\"type\": \"function_call\", \"call_id\": \"c\"",
            ),
            ("a.json", "[[\"human\", \"x\"], [\"ai"),
            (
                "a.json",
                "[{\"lc\": 1, \"type\": \"constructor\", \"id\": [\"langchain\", \"schema\", \"messages\"], \"kwargs\": {",
            ),
            (
                "a.json",
                "{\"values\": {\"messages\": [{\"type\": \"human\"",
            ),
            (
                "a.json",
                "{\"contents\": [{\"role\": \"user\", \"parts\": [",
            ),
            (
                "a.json",
                "{\"id\": \"s\", \"appName\": \"home\", \"state\": {}, \"events\": [{",
            ),
        ];
        let no = [
            (
                "a.jsonl",
                "{\"eval_id\": \"x\", \"turns\": [{\"prompt\": \"y\", \"response\": 1}]}\n",
            ),
            ("a.json", "{\"name\": \"x\", \"version\": \"1\"}"),
            ("a.csv", "name,prompt\n"),
            ("a.txt", "{\"eval_cases\": ["),
            (
                "a.json",
                "{\"eval_set_id\": \"x\", \"eval_case_results\": []}",
            ),
            ("a.json", ""),
            ("a.json", "[{\"type\": \"Feature\", \"data\": {}}]"),
            ("a.json", "{\"values\": [1, 2]}"),
            (
                "a.json",
                "{\"state\": {}, \"app_name\": \"home\", \"user_id\": \"u\"}",
            ),
            ("en.json", "{\"messages\": {\"hello\": \"Hello\"}}"),
            (
                "package.json",
                "{\"name\": \"x\", \"version\": \"1\", \"scripts\": {\"test\": \"jest\"}}",
            ),
            (
                "tsconfig.json",
                "{\"compilerOptions\": {\"strict\": true}, \"include\": [\"src\"]}",
            ),
            (
                "build.json",
                "{\"input\": \"src/a.js\", \"output\": {\"file\": \"b.js\"}}",
            ),
            (
                "rules.json",
                "[{\"files\": [\"*.js\"], \"rules\": {\"semi\": 1}}]",
            ),
            (
                "log.jsonl",
                "{\"timestamp\": \"x\", \"level\": \"info\", \"message\": \"y\"}\n",
            ),
            (
                "judge.jsonl",
                "{\"eval_id\": \"a\", \"metric\": \"m\", \"replies\": [\"x\"]}\n",
            ),
            ("numbers.csv", "1,2\n3,4\n"),
            ("lib.zip", "PK\u{3}\u{4}\0\0package.json"),
        ];
        for (name, start) in yes {
            assert_eq!(content(name, start), FileContent::Cases, "{name} {start}");
        }
        for (name, start) in no {
            assert_eq!(content(name, start), FileContent::Other, "{name} {start}");
        }
    }

    #[test]
    fn empty_or_binary_data_file_is_unknown_data() {
        assert_eq!(content("a.jsonl", ""), FileContent::UnknownData);
        assert_eq!(content("a.csv", "\n\n"), FileContent::UnknownData);
        assert_eq!(content("t.parquet", "PAR1"), FileContent::UnknownData);
    }

    #[test]
    fn data_without_known_columns_are_found() {
        for (name, start) in [
            (
                "a.jsonl",
                "{\"question\": \"q\", \"answer\": \"a\", \"ground_truth\": \"a\"}\n",
            ),
            ("a.csv", "question,answer\nq,a\n"),
            ("a.csv", "frage;antwort\nq;a\n"),
            ("a.json", "[{\"question\": \"q\", \"answer\": \"a\"}]"),
            (
                "a.jsonl",
                "version https://git-lfs.github.com/spec/v1\noid sha256:a1\n",
            ),
            ("x.eval", "PK\u{3}\u{4}\0\0_journal/start.json"),
            ("a.json", "PK\u{3}\u{4}\0\0x"),
            ("a.zip", "PK\u{3}\u{4}\0\0cases.jsonl"),
            (
                "log.json",
                "{\"version\": 2, \"status\": \"success\", \"eval\": {\"task\": \"x\"}",
            ),
            (
                "promptfooconfig.yaml",
                "prompts: [\"{{q}}\"]\ntests:\n  - vars: {q: a}\n",
            ),
        ] {
            assert!(may_be_data(name), "{name}");
            assert_eq!(
                content(name, start),
                FileContent::UnknownData,
                "{name} {start}"
            );
        }
        let columns = ColumnMap::parse("prompt=question,reference=answer").unwrap();
        let start = b"{\"question\": \"q\", \"answer\": \"a\"}\n";
        assert_eq!(content_of("a.jsonl", start, &columns), FileContent::Cases);
    }

    #[test]
    fn utf_16_is_read_in_both_orders() {
        let text = "prompt\treference\nq\tä\n";
        let units = || text.encode_utf16();
        let little: Vec<u8> = [0xff, 0xfe]
            .into_iter()
            .chain(units().flat_map(u16::to_le_bytes))
            .collect();
        let big: Vec<u8> = [0xfe, 0xff]
            .into_iter()
            .chain(units().flat_map(u16::to_be_bytes))
            .collect();
        for bytes in [&little[..], &big, &little[2..], &big[2..]] {
            assert_eq!(decoded_text(bytes), text);
            assert_eq!(
                content_of("a.tsv", bytes, &ColumnMap::default()),
                FileContent::Cases
            );
        }
        assert!(!is_utf16(text.as_bytes()));
    }
}
