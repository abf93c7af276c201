//! Detection of files that contain cases, by their first bytes: a folder has many other files.

use super::index::{self, Top};

/// Number of bytes of a file that are needed for the detection.
pub const HEAD: usize = 8 << 10;

/// Keys of which one is enough to recognise a data set.
const TELLING: &[&str] = &["reference_trajectory", "predicted_trajectory", "reference_outputs", "agent_data"];

/// Whether a file with this name and these first bytes contains cases.
pub fn looks_like_cases(name: &str, head: &str) -> bool {
    let head = head.trim_start_matches('\u{FEFF}');
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("csv" | "tsv") => {
            let line = head.lines().next().unwrap_or_default();
            let names: Vec<&str> =
                line.split([',', '\t']).map(|name| name.trim().trim_matches('"')).collect();
            is_row(&names)
        }
        Some("jsonl" | "ndjson") => head.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| {
            let keys = index::first_keys(line);
            is_row(&keys.iter().map(String::as_str).collect::<Vec<_>>()) || has_messages(&keys, line)
        }),
        Some("json") => is_document(head),
        _ => false,
    }
}

/// Many files have a key `messages`; the messages of a conversation have roles.
fn has_messages(keys: &[impl AsRef<str>], text: &str) -> bool {
    keys.iter().any(|key| key.as_ref() == "messages") && text.contains("\"role\"")
}

fn is_row(keys: &[&str]) -> bool {
    let has = |key: &&str| keys.contains(key);
    TELLING.iter().any(has)
        || (has(&"prompt") && ["reference", "response", "responses"].iter().any(has))
        || (has(&"request") && has(&"response"))
}

fn is_document(head: &str) -> bool {
    let keys = index::first_keys(head);
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    match index::top(head) {
        Top::Object => {
            let has = |key: &str| keys.contains(&key);
            has("eval_cases")
                || has("evalCases")
                || (has("eval_case_results") && !has("eval_set_id"))
                || is_row(&keys)
                || has_messages(&keys, head)
        }
        Top::Array => {
            (keys.contains(&"role") && keys.contains(&"content"))
                || is_row(&keys)
                || has_messages(&keys, head)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_told_from_other_files() {
        let yes = [
            ("a.jsonl", "{\"prompt\": \"x\", \"reference\": \"y\"}\n"),
            ("a.jsonl", "{\"prompt\": \"x\", \"reference_trajectory\": [{\"tool_na"),
            ("a.csv", "prompt,response,x\n"),
            ("a.json", "{\"eval_cases\": ["),
            ("a.json", "[{\"prompt\": \"x\", \"predicted_trajectory\": []}"),
            ("a.json", "[{\"role\": \"user\", \"content\": \"x\"}, {\"ro"),
            ("a.json", "{\"eval_case_results\": [{"),
            ("a.jsonl", "{\"messages\": [{\"role\": \"user\""),
        ];
        let no = [
            ("a.jsonl", "{\"eval_id\": \"x\", \"turns\": [{\"prompt\": \"y\", \"response\": 1}]}\n"),
            ("a.json", "{\"name\": \"x\", \"version\": \"1\"}"),
            ("a.csv", "name,prompt\n"),
            ("a.txt", "{\"eval_cases\": ["),
            ("a.json", "{\"eval_set_id\": \"x\", \"eval_case_results\": []}"),
            ("a.jsonl", ""),
            ("en.json", "{\"messages\": {\"hello\": \"Hello\"}}"),
        ];
        for (name, head) in yes {
            assert!(looks_like_cases(name, head), "{name} {head}");
        }
        for (name, head) in no {
            assert!(!looks_like_cases(name, head), "{name} {head}");
        }
    }
}
