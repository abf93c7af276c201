//! Detection of files that contain cases, by their first bytes: a folder has many other files.

use super::index::{self, Top};
use super::messages::KINDS;

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
            let names: Vec<&str> = keys.iter().map(String::as_str).collect();
            is_row(&names) || has_messages(&keys, line) || is_conversation(&names, line)
        }),
        Some("json") => is_document(head),
        _ => false,
    }
}

/// Many files have a key `messages`; the messages of a conversation have roles.
fn has_messages(keys: &[impl AsRef<str>], text: &str) -> bool {
    keys.iter().any(|key| key.as_ref() == "messages") && text.contains("\"role\"")
}

/// Whether an object is a state of LangGraph, a request or response of a model, or a session of ADK.
fn is_conversation(keys: &[&str], text: &str) -> bool {
    let has = |key: &str| keys.contains(&key);
    let mentions = |key: &str| text.contains(&format!("\"{key}\""));
    (has("values") && mentions("messages"))
        || (has("contents") && mentions("parts") && mentions("role"))
        || (has("events") && (has("appName") || has("app_name")))
        || (has("output") && (has("input") || has("object")) && mentions("type") && mentions("role"))
}

/// Whether a list begins with a message of LangChain, an item of Responses, or `["human", "…"]`.
fn begins_with_message(keys: &[&str], head: &str) -> bool {
    let compact: String = head.chars().filter(|c| !c.is_whitespace()).collect();
    // Other programs have lists of objects of these types as well.
    let is_plain = |kind: &str| matches!(kind, "message" | "reasoning") && !compact.contains("\"role\":");
    let is_kind = |kind: &str| !is_plain(kind) && compact.contains(&format!("\"type\":\"{kind}\""));
    (keys.contains(&"type") && KINDS.iter().any(|kind| is_kind(kind)))
        || (keys.contains(&"lc") && keys.contains(&"kwargs") && compact.contains("\"messages\""))
        || ["human", "user", "system"].iter().any(|role| compact.starts_with(&format!("[[\"{role}\",\"")))
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
                || is_conversation(&keys, head)
        }
        Top::Array => {
            (keys.contains(&"role") && (keys.contains(&"content") || keys.contains(&"parts")))
                || begins_with_message(&keys, head)
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
            (
                "a.jsonl",
                "{\"input\": [{\"role\": \"user\", \"content\": \"x\"}], \"output\": [{\"type\": \"mess",
            ),
            ("a.json", "[\n  {\"type\": \"human\", \"content\": \"x\"}, {\"ty"),
            ("a.json", "[{\"type\": \"function_call\", \"call_id\": \"c\""),
            ("a.json", "[[\"human\", \"x\"], [\"ai"),
            (
                "a.json",
                "[{\"lc\": 1, \"type\": \"constructor\", \"id\": [\"langchain\", \"schema\", \"messages\"], \"kwargs\": {",
            ),
            ("a.json", "{\"values\": {\"messages\": [{\"type\": \"human\""),
            ("a.json", "{\"contents\": [{\"role\": \"user\", \"parts\": ["),
            ("a.json", "{\"id\": \"s\", \"appName\": \"home\", \"state\": {}, \"events\": [{"),
        ];
        let no = [
            ("a.jsonl", "{\"eval_id\": \"x\", \"turns\": [{\"prompt\": \"y\", \"response\": 1}]}\n"),
            ("a.json", "{\"name\": \"x\", \"version\": \"1\"}"),
            ("a.csv", "name,prompt\n"),
            ("a.txt", "{\"eval_cases\": ["),
            ("a.json", "{\"eval_set_id\": \"x\", \"eval_case_results\": []}"),
            ("a.jsonl", ""),
            ("a.json", "[{\"type\": \"Feature\", \"data\": {}}]"),
            ("a.json", "{\"values\": [1, 2]}"),
            ("a.json", "{\"state\": {}, \"app_name\": \"home\", \"user_id\": \"u\"}"),
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
