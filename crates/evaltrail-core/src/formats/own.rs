//! Detection of files that evaltrail wrote and that contain results, by their first bytes, or their last. They are not data sets,
//! although some have the columns of one.

use super::file_start::{FILE_START, decoded_text};
use super::index;
use flate2::read::GzDecoder;
use std::io::Read;

/// The first columns of a report in CSV.
pub const REPORT_COLUMNS: &[&str] = &[
    "eval_set",
    "file",
    "eval_id",
    "attempt",
    "status",
    "quarantined_until",
    "latency_s",
    "error",
    "prompt",
    "response",
    "end",
    "tools_stubbed",
    "tools_nearest",
    "tools_made_to_fail",
    "tools_live",
    "tools_missing",
    "model_errors",
    "adk_status",
    "reason",
    "position",
];

/// The number of columns by which a report is recognized: those that every version wrote.
const IDENTIFYING_COLUMNS: usize = 11;

/// Number of the last bytes of a file that are needed where the first do not decide. After the metadata of a sorted
/// `EvaluationResult` follows a summary for each metric.
pub const TAIL: usize = 64 << 10;

/// The first key of a report in JSON, and of each row of one in Vertex's table.
pub const REPORT_KEY: &str = "evaltrail";

/// The first key of each line of a file of drafts. Its value is the kind of the draft.
pub(super) const DRAFT_KEY: &str = "evaltrail_draft";

/// The beginning of `metadata.dataset_id` of a report in the form of an `EvaluationResult`, whose client refuses other keys.
/// The id of the run follows.
pub const RESULT_ID: &str = "evaltrail run ";

/// A file that evaltrail writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvaltrailFile {
    /// A report in JSON, HTML, Markdown or JUnit's format, or an `EvaluationResult`, with the id of its run if the first bytes contain it.
    Report(Option<String>),
    /// A report in CSV, or Vertex's table or summary: without the id of its run.
    Table,
    /// A run in one file, not packed.
    Export,
    /// The journal of a run, or its plan.
    Journal,
    /// A recording of agents.
    Recording,
    /// A result for ADK, or one of ADK.
    AdkResult,
    /// Drafts of cases.
    Drafts,
}

/// The first bytes of a packed file: gzip's.
const PACKED: &[u8] = &[0x1f, 0x8b];

/// The first line of a report in Markdown.
pub const MARKDOWN_TITLE: &str = "## Agent evaluation";
/// The beginning of the title of a report in HTML. The id of the run follows.
pub const HTML_TITLE: &str = "<title>evaltrail ";
/// The beginning of the root element of a report in JUnit's format.
const JUNIT_ROOT: &str = "<testsuites name=\"evaltrail\"";

/// Whether a file with these first bytes is packed.
pub fn is_packed(start: &[u8]) -> bool {
    start.starts_with(PACKED)
}

/// Whether a file with these first bytes is a report, a recording, an export, a journal or a result for ADK. `tail` reads its
/// last bytes: [`own_file`].
pub fn is_own_result(start: &[u8], tail: impl FnOnce() -> Vec<u8>) -> bool {
    own_file(start, tail).is_some()
}

/// What a file with these first bytes is, if evaltrail wrote it. It may be packed or indented in another way, have another
/// encoding or order of members, and be a row or an element of a list. `tail` reads the last [`TAIL`] bytes; it is called only
/// for an `EvaluationResult` whose metadata are not among the first bytes, as with sorted members.
pub fn own_file(start: &[u8], tail: impl FnOnce() -> Vec<u8>) -> Option<EvaltrailFile> {
    file_of_start(start).or_else(|| {
        let is_result = !is_packed(start) && is_result_without_metadata(&decoded_text(start));
        if is_result {
            result_file(&decoded_text(&tail()))
        } else {
            None
        }
    })
}

fn file_of_start(start: &[u8]) -> Option<EvaltrailFile> {
    let text = match is_packed(start) {
        true => decoded_text(&unpacked(start)),
        false => decoded_text(start),
    };
    let text = text.trim_start_matches('\u{FEFF}').trim_start();
    if is_csv_report(text) {
        Some(EvaltrailFile::Table)
    } else {
        report_page(text).or_else(|| json_file(text))
    }
}

/// Whether a text with these first bytes is a report in JSON. Those of other formats can be read as data sets.
pub(super) fn is_json_report(start: &str) -> bool {
    let keys = if start.trim_start().starts_with('{') {
        index::first_keys(start)
    } else {
        Vec::new()
    };
    keys.first().is_some_and(|key| key == REPORT_KEY) && keys.iter().any(|key| key == "run_id")
}

/// The first bytes of what is packed; what follows after an error is left out.
fn unpacked(start: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = GzDecoder::new(start)
        .take(FILE_START as u64)
        .read_to_end(&mut bytes);
    bytes
}

fn is_csv_report(text: &str) -> bool {
    let line = text.lines().next().unwrap_or_default();
    let columns: Vec<&str> = line
        .split([',', ';', '\t'])
        .map(|name| name.trim_matches('"'))
        .collect();
    columns.starts_with(&REPORT_COLUMNS[..IDENTIFYING_COLUMNS])
        || columns.starts_with(&[REPORT_KEY, "eval_case_id"])
}

/// A report in HTML, JUnit's format or Markdown.
fn report_page(text: &str) -> Option<EvaltrailFile> {
    if text.starts_with("<!doctype html>") {
        let run_id = text.split_once(HTML_TITLE)?.1.split_once("</title>")?.0;
        return Some(EvaltrailFile::Report(Some(run_id.to_string())));
    }
    let is_junit = text.starts_with("<?xml ") && text.contains(JUNIT_ROOT);
    (is_junit || text.starts_with(MARKDOWN_TITLE)).then_some(EvaltrailFile::Report(None))
}

fn json_file(start: &str) -> Option<EvaltrailFile> {
    if !start.starts_with(['{', '[']) {
        return None;
    }
    let keys = index::first_keys(start);
    let has = |all: &[&str]| all.iter().all(|key| keys.iter().any(|other| other == key));
    let is_first = |key: &str| keys.first().is_some_and(|first| first == key);
    match () {
        () if has(&[REPORT_KEY]) && (is_first(REPORT_KEY) || has_version(start)) => {
            match has(&["run_id"]) {
                true => Some(EvaltrailFile::Report(text_after(start, "\"run_id\""))),
                false => Some(EvaltrailFile::Table),
            }
        }
        () if has(&["evaltrail_run"]) => Some(EvaltrailFile::Export),
        () if is_first(DRAFT_KEY) => Some(EvaltrailFile::Drafts),
        // An `EvaluationResult`.
        () if has(&["metadata"]) && has_result_id(start) => result_file(start),
        () if has(&["key", "eval_id", "status", "adk_status"]) => Some(EvaltrailFile::Journal),
        // A block of attempts.
        () if is_first("block") && has(&["size", "lz4"]) => Some(EvaltrailFile::Journal),
        () if has(&["signature", "number", "run_id", "started", "sets"]) => {
            Some(EvaltrailFile::Journal)
        }
        () if is_first("eval_id") && keys.get(1).is_some_and(|key| key == "turns") => {
            Some(EvaltrailFile::Recording)
        }
        () => has(&["eval_set_result_id", "eval_case_results"]).then_some(EvaltrailFile::AdkResult),
    }
}

/// Whether the value of the mark of reports is a version, as evaltrail writes it. Data sets may have a column of this name.
fn has_version(start: &str) -> bool {
    let version = text_after(start, &format!("\"{REPORT_KEY}\"")).unwrap_or_default();
    let numbers: Vec<&str> = version.split(['.', '-']).collect();
    numbers.len() >= 3
        && numbers[..3]
            .iter()
            .all(|number| number.parse::<u32>().is_ok())
}

/// The text that is the value of the first member with this key, which has no escape sequences.
fn text_after(start: &str, key: &str) -> Option<String> {
    let value = start
        .split_once(key)?
        .1
        .trim_start()
        .strip_prefix(':')?
        .trim_start();
    Some(value.strip_prefix('"')?.split_once('"')?.0.to_string())
}

/// Whether a text begins with an `EvaluationResult` whose metadata follow later, if there are any.
fn is_result_without_metadata(start: &str) -> bool {
    let start = start.trim_start_matches('\u{FEFF}').trim_start();
    let keys = if start.starts_with('{') {
        index::first_keys(start)
    } else {
        Vec::new()
    };
    let has = |key: &str| keys.iter().any(|other| other == key);
    // The value of the last key may be cut.
    let has_metadata = has("metadata") && keys.last().is_none_or(|key| key != "metadata");
    has("eval_case_results") && !has_metadata && !has("eval_set_id")
}

/// An `EvaluationResult` that evaltrail wrote, by a part of its text with its metadata.
fn result_file(text: &str) -> Option<EvaltrailFile> {
    let id = text_after(text, "\"dataset_id\"").filter(|_| has_result_id(text));
    Some(EvaltrailFile::Report(Some(
        id?.strip_prefix(RESULT_ID)?.to_string(),
    )))
}

/// Whether the metadata are those of an `EvaluationResult` that evaltrail wrote ([`RESULT_ID`]). Quotes within a text are
/// escaped, so that no text contains the member.
fn has_result_id(start: &str) -> bool {
    let without_spaces = |text: &str| {
        text.chars()
            .filter(|c| !c.is_whitespace())
            .collect::<String>()
    };
    without_spaces(start).contains(&without_spaces(&format!("\"dataset_id\":\"{RESULT_ID}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_not_data_sets() {
        assert!(is_own_result(
            b"evaltrail,eval_case_id,prompt,reference\n",
            Vec::new
        ));
        let report = format!("{},prompt/score\n", REPORT_COLUMNS.join(","));
        for own in [
            report.as_str(),
            "{\n  \"evaltrail\": \"0.1.0\",\n  \"run_id\": \"x\", \"cases\": [",
            "{\"key\":{\"case\":0,\"attempt\":1},\"eval_id\":\"a\",\"status\":\"passed\",\"adk_status\":\"pas",
            "{\"evaltrail_draft\":\"value\",\"source\":\"a\",\"cha",
            "{\"block\":128,\"size\":214016,\"lz4\":\"8B57ImtleSI6eyJj",
            "{\"eval_id\":\"a\",\"turns\":[{\"prompt\": \"x\", \"res",
            "{\"evaltrail\":\"0.1.0\",\"eval_case_id\":\"a\",\"prompt\":\"x\",\"response\":\"y\"}",
            "{\n  \"metadata\": {\n    \"dataset_id\": \"evaltrail run 7f3a\",\n    \"candidate_names\": [",
            "[{\"evaltrail\":\"0.1.0\",\"eval_case_id\":\"a\"}]",
            "{\"actual\": 1, \"eval_case_id\": \"a\", \"evaltrail\": \"0.1.0\", \"prompt\": \"x\"}",
            "{\"adk_status\": \"passed\", \"eval_id\": \"a\", \"key\": {}, \"status\": \"passed\"}",
            "{\"eval_case_results\": [], \"metadata\": {\"candidate_names\": [], \"dataset_id\": \"evaltrail run 7f3a\"}}",
            "[{\"evaltrail_run\": 1, \"run_id\": \"a\"}]",
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<title>evaltrail 7f3a</title>",
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"evaltrail\" tests=\"1\"",
            "\n## Agent evaluation\n\n1 passed",
            "{\"eval_set_result_id\": \"a\", \"eval_set_id\": \"b\", \"eval_case_results\": [",
        ] {
            assert!(is_own_result(own.as_bytes(), Vec::new), "{own}");
        }
        for other in [
            "eval_id,prompt,response,status\n",
            "{\"prompt\": \"a\", \"evaltrail\": 1}",
            "{\"eval_id\": \"a\", \"prompt\": \"x\"}",
            "{\"block\": 7, \"prompt\": \"a\", \"size\": 1}",
            "{\"eval_set_id\": \"a\", \"eval_cases\": [{\"eval_id\": \"x\", \"turns\": []}]}",
            "[{\"key\": 1}]",
            "{\"prompt\": \"a\", \"response\": \"b\", \"evaltrail\": \"yes\"}",
            "<!doctype html>\n<title>cases for evaltrail</title>",
            "<?xml version=\"1.0\"?>\n<testsuites name=\"pytest tests\">",
            "{\"metadata\": {\"dataset_id\": \"mine\"}, \"eval_case_results\": []}",
            "{\"metadata\": {\"note\": \"\\\"dataset_id\\\": \\\"evaltrail run x\"}, \"eval_cases\": []}",
            "",
        ] {
            assert!(!is_own_result(other.as_bytes(), Vec::new), "{other}");
        }
    }

    /// `eval_case_results` sorts before `metadata`, so that the first bytes of a large file do not contain these.
    #[test]
    fn sorted_result_is_recognised_by_its_end() {
        let start = "{\"eval_case_results\": [{\"eval_case_id\": \"a\", \"eval_case_index\": 0, \"response_candidate_re";
        let tail = |id: &str| {
            format!(
                "\"score\": 1}}}}]}}], \"metadata\": {{\"candidate_names\": [\"x\"], \"dataset_id\": \"{id}\"}}, \"summary_metrics\": []}}"
            )
        };
        let with = |start: &str, id: &str| own_file(start.as_bytes(), || tail(id).into_bytes());
        assert_eq!(
            with(start, "evaltrail run 7f3a"),
            Some(EvaltrailFile::Report(Some("7f3a".into())))
        );
        assert_eq!(with(start, "mine"), None);
        assert_eq!(
            with(start, "x\\\", \\\"dataset_id\\\": \\\"evaltrail run 7f3a"),
            None,
            "in a text"
        );
        // The end is not read where the beginning decides.
        let unread =
            |start: &str| own_file(start.as_bytes(), || panic!("the end is read: {start}"));
        for other in [
            "[{\"eval_case_results\": [",
            "{\"prompt\": \"a\"}",
            "prompt,reference\n",
        ] {
            assert_eq!(unread(other), None, "{other}");
        }
        assert_eq!(
            unread("{\"metadata\": {\"dataset_id\": \"mine\"}, \"eval_case_results\": []}"),
            None
        );
    }
}
