//! Detection of files that evaltrail wrote and that contain results, by their first bytes. They are not data sets,
//! although some have the columns of one.

use super::index;

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

/// The first key of a report in JSON, and of each row of one in Vertex's table.
pub const REPORT_KEY: &str = "evaltrail";

/// The beginning of `metadata.dataset_id` of a report in the form of an `EvaluationResult`, whose client refuses other keys.
/// The id of the run follows.
pub const RESULT_ID: &str = "evaltrail run ";

/// A file that evaltrail writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnFile {
    /// A report in JSON or as an `EvaluationResult`, with the id of its run if the first bytes contain it.
    Report(Option<String>),
    /// A report in CSV, or Vertex's table or summary: without the id of its run.
    Table,
    /// A run in one file, not packed.
    Export,
    /// The journal of a run.
    Journal,
    /// A recording of agents.
    Recording,
    /// A result for ADK, or one of ADK.
    AdkResult,
}

/// Whether a file with these first bytes is a report, a recording, a journal or a result for ADK.
pub fn is_own_result(head: &str) -> bool {
    own_file(head).is_some()
}

/// What a file with these first bytes is, if evaltrail wrote it.
pub fn own_file(head: &str) -> Option<OwnFile> {
    let head = head.trim_start_matches('\u{FEFF}');
    if is_csv_report(head) { Some(OwnFile::Table) } else { json_file(head) }
}

/// Whether a text with these first bytes is a report in JSON. Those of other formats can be read as data sets.
pub(super) fn is_json_report(head: &str) -> bool {
    let keys = if head.trim_start().starts_with('{') { index::first_keys(head) } else { Vec::new() };
    keys.first().is_some_and(|key| key == REPORT_KEY) && keys.iter().any(|key| key == "run_id")
}

fn is_csv_report(head: &str) -> bool {
    let line = head.lines().next().unwrap_or_default();
    let columns: Vec<&str> = line.split([',', ';', '\t']).map(|name| name.trim_matches('"')).collect();
    columns.starts_with(&REPORT_COLUMNS[..IDENTIFYING_COLUMNS])
        || columns.starts_with(&[REPORT_KEY, "eval_case_id"])
}

fn json_file(head: &str) -> Option<OwnFile> {
    if !head.trim_start().starts_with('{') {
        return None;
    }
    let keys = index::first_keys(head);
    let has = |key: &str| keys.iter().any(|other| other == key);
    match keys.first().map(String::as_str) {
        Some(REPORT_KEY) if has("run_id") => Some(OwnFile::Report(text_after(head, "\"run_id\""))),
        Some(REPORT_KEY) => Some(OwnFile::Table),
        Some("evaltrail_run") => Some(OwnFile::Export),
        // An `EvaluationResult`.
        Some("metadata") if has_result_id(head) => {
            let id = text_after(head, "\"dataset_id\"");
            Some(OwnFile::Report(id.and_then(|id| Some(id.strip_prefix(RESULT_ID)?.to_string()))))
        }
        Some("metadata") => None,
        Some("key") if has("eval_id") && has("adk_status") => Some(OwnFile::Journal),
        Some("key") => None,
        Some("eval_id") => keys.get(1).is_some_and(|key| key == "turns").then_some(OwnFile::Recording),
        _ => (has("eval_set_result_id") && has("eval_case_results")).then_some(OwnFile::AdkResult),
    }
}

/// The text that is the value of the first member with this key, which has no escape sequences.
fn text_after(head: &str, key: &str) -> Option<String> {
    let value = head.split_once(key)?.1.trim_start().strip_prefix(':')?.trim_start();
    Some(value.strip_prefix('"')?.split_once('"')?.0.to_string())
}

/// Whether the first member of an object is the metadata of an [`RESULT_ID`].
fn has_result_id(head: &str) -> bool {
    let compact: String = head.chars().take(200).filter(|c| !c.is_whitespace()).collect();
    let id: String = RESULT_ID.chars().filter(|c| !c.is_whitespace()).collect();
    compact.starts_with(&format!("{{\"metadata\":{{\"dataset_id\":\"{id}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_told_from_data_sets() {
        assert!(is_own_result("evaltrail,eval_case_id,prompt,reference\n"));
        let report = format!("{},prompt/score\n", REPORT_COLUMNS.join(","));
        for own in [
            report.as_str(),
            "{\n  \"evaltrail\": \"0.1.0\",\n  \"run_id\": \"x\", \"cases\": [",
            "{\"key\":{\"case\":0,\"attempt\":1},\"eval_id\":\"a\",\"status\":\"passed\",\"adk_status\":\"pas",
            "{\"eval_id\":\"a\",\"turns\":[{\"prompt\": \"x\", \"res",
            "{\"evaltrail\":\"0.1.0\",\"eval_case_id\":\"a\",\"prompt\":\"x\",\"response\":\"y\"}",
            "{\n  \"metadata\": {\n    \"dataset_id\": \"evaltrail run 7f3a\",\n    \"candidate_names\": [",
            "{\"eval_set_result_id\": \"a\", \"eval_set_id\": \"b\", \"eval_case_results\": [",
        ] {
            assert!(is_own_result(own), "{own}");
        }
        for other in [
            "eval_id,prompt,response,status\n",
            "{\"prompt\": \"a\", \"evaltrail\": 1}",
            "{\"eval_id\": \"a\", \"prompt\": \"x\"}",
            "{\"eval_set_id\": \"a\", \"eval_cases\": [{\"eval_id\": \"x\", \"turns\": []}]}",
            "[{\"key\": 1}]",
            "{\"metadata\": {\"dataset_id\": \"mine\"}, \"eval_case_results\": []}",
            "{\"metadata\": {\"note\": \"\\\"dataset_id\\\": \\\"evaltrail run x\"}, \"eval_cases\": []}",
            "",
        ] {
            assert!(!is_own_result(other), "{other}");
        }
    }
}
