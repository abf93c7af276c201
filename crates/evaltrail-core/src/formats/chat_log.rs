//! Logs of chats with OpenAI's API: objects with `messages`, alone, in a list or one per line, possibly with the response of the
//! model (`choices`, also in `response`).

use super::json::{self, ParseFailure};
use super::messages::conversation;
use super::read::JsonNode;
use crate::domain::Invocation;
use serde_json::Value;

/// The maximum memory of the documents of a log, in bytes: that of those of a trace.
const MAX_FILE: usize = 1 << 30;

/// A conversation in a log of chats.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedChat {
    /// The id in the log, or the number of the conversation (from 1).
    pub id: String,
    /// Its turns.
    pub turns: Vec<Invocation>,
    /// Whether it has a system message, which is not part of a turn.
    pub has_system: bool,
}

/// The conversations in a log of chats; `None` if the text is not one. Errors: a message is not understood, with its
/// place.
pub fn read_chat_log(text: &str) -> Option<Result<Vec<LoggedChat>, String>> {
    let documents = documents(text, MAX_FILE)?;
    let records: Vec<&Value> = match documents.as_slice() {
        [Value::Array(list)] if !is_messages(list) => list.iter().collect(),
        documents => documents.iter().collect(),
    };
    let chats: Vec<Value> = records
        .iter()
        .map(|record| messages_of(record))
        .collect::<Option<_>>()?;
    let chat = |(at, (record, messages)): (usize, (&&Value, &Value))| {
        let found = conversation(JsonNode::top(messages))
            .map_err(|error| format!("conversation {}: {error}", at + 1))?;
        let id = record
            .get("id")
            .and_then(Value::as_str)
            .map_or_else(|| (at + 1).to_string(), str::to_string);
        let has_system = found.system.is_some();
        Ok(LoggedChat {
            id,
            turns: found.into_turns(),
            has_system,
        })
    };
    (!chats.is_empty()).then(|| records.iter().zip(&chats).enumerate().map(chat).collect())
}

/// The document in a text, or those in its lines; `None` if it is neither, or needs more than `most` bytes of memory.
fn documents(text: &str, most: usize) -> Option<Vec<Value>> {
    match json::parse_within(text, most) {
        Ok((document, _)) => return Some(vec![document]),
        Err(ParseFailure::TooLarge) => return None,
        Err(ParseFailure::Syntax(_)) => {}
    }
    let mut left = most;
    let document = |line| {
        let (document, size) = json::parse_within(line, left).ok()?;
        left = left.checked_sub(size + json::ITEM)?;
        Some(document)
    };
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(document)
        .collect()
}

fn is_messages(list: &[Value]) -> bool {
    !list.is_empty()
        && list
            .iter()
            .all(|one| one.get("role").is_some_and(Value::is_string))
}

/// The messages of a record, with the response of the model.
fn messages_of(record: &Value) -> Option<Value> {
    let request = record
        .get("request")
        .or(record.get("body"))
        .unwrap_or(record);
    let list = request
        .get("messages")
        .unwrap_or(request)
        .as_array()
        .filter(|list| is_messages(list))?;
    let response = record.get("response").unwrap_or(record);
    let response = response.get("body").unwrap_or(response);
    let said = response
        .get("choices")
        .and_then(|choices| choices.get(0)?.get("message"));
    Some(list.iter().chain(said).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_form_is_the_same_conversation() {
        let user = json!({"role": "user", "content": "Weather in Oslo?"});
        let call = json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\":\"Oslo\"}"}}]});
        let result = json!({"role": "tool", "tool_call_id": "c1", "content": "4"});
        let said = json!({"role": "assistant", "content": "Oslo: 4"});
        let all = json!([user, call, result, said]);
        let before = json!([user, call, result]);
        let choices = json!([{"message": said}]);
        for text in [
            all.to_string(),
            json!({"messages": all}).to_string(),
            json!([{"messages": all}]).to_string(),
            format!("{}\n\n", json!({"messages": all})),
            json!({"messages": before, "choices": choices}).to_string(),
            json!({"request": {"messages": before}, "response": {"choices": choices}}).to_string(),
        ] {
            let found = read_chat_log(&text).unwrap().unwrap();
            assert_eq!(
                (found.len(), found[0].turns.len(), found[0].id.as_str()),
                (1, 1, "1"),
                "{text}"
            );
            let turn = &found[0].turns[0];
            assert_eq!(turn.user.scored_text(), "Weather in Oslo?");
            assert_eq!(
                turn.calls()[0].args,
                json!({"city": "Oslo"}).as_object().cloned()
            );
            assert_eq!(turn.response_text(), "Oslo: 4");
        }
        let two = format!(
            "{}\n{}",
            json!({"messages": all, "id": "a"}),
            json!({"messages": all})
        );
        let ids: Vec<String> = read_chat_log(&two)
            .unwrap()
            .unwrap()
            .into_iter()
            .map(|chat| chat.id)
            .collect();
        assert_eq!(ids, ["a", "2"]);
    }

    #[test]
    fn a_text_that_needs_more_memory_is_not_read() {
        let list = format!("[{}0]", "0,".repeat(10_000));
        for text in [list.clone(), format!("{list}\n{list}")] {
            assert!(documents(&text, 4 << 20).is_some() && documents(&text, 1 << 10).is_none());
        }
    }

    #[test]
    fn non_log_is_ignored_and_unknown_role_refused() {
        for text in [
            "",
            "{}",
            "[]",
            "no JSON",
            "{\"resourceSpans\": []}",
            "[{\"span_id\": 1}]",
        ] {
            assert_eq!(read_chat_log(text), None, "{text}");
        }
        let strange = json!({"messages": [{"role": "ghost", "content": "x"}]}).to_string();
        let error = read_chat_log(&strange).unwrap().unwrap_err();
        assert!(error.starts_with("conversation 1: $[0]"), "{error}");
    }
}
