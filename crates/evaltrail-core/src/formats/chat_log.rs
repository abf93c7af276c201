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
    /// Its turns; empty if it cannot be read.
    pub turns: Vec<Invocation>,
    /// Whether it has a system message, which is not part of a turn.
    pub has_system: bool,
    /// Why it cannot be read, with its position.
    pub problem: Option<String>,
}

/// A document in a log of chats, or why it cannot be read.
struct ChatRecord {
    /// Its line or its number, for messages.
    position: String,
    document: Result<Value, String>,
}

/// The conversations in a log of chats, of which at least half must have messages; `None` if the text is not such a log. A
/// record that cannot be read is a conversation with a problem.
///
/// # Errors
///
/// When no conversation can be read: why the first one cannot.
pub fn read_chat_log(text: &str) -> Option<Result<Vec<LoggedChat>, String>> {
    let records = records(text, MAX_FILE)?;
    let with_messages: Vec<(ChatRecord, Option<Value>)> = records
        .into_iter()
        .map(|record| {
            let messages = record.document.as_ref().ok().and_then(messages_of);
            (record, messages)
        })
        .collect();
    let count = with_messages.iter().filter(|(_, found)| found.is_some());
    let count = count.count();
    if count == 0 || count * 2 < with_messages.len() {
        return None;
    }
    let chats: Vec<LoggedChat> = with_messages
        .iter()
        .enumerate()
        .map(|(at, (record, messages))| logged_chat(at, record, messages.as_ref()))
        .collect();
    let first_problem = chats.first().and_then(|chat| chat.problem.clone());
    Some(match first_problem {
        Some(why) if chats.iter().all(|chat| chat.problem.is_some()) => Err(why),
        _ => Ok(chats),
    })
}

/// The conversation of the record at a position, from 0.
fn logged_chat(at: usize, record: &ChatRecord, messages: Option<&Value>) -> LoggedChat {
    let id = record.document.as_ref().ok();
    let id = id.and_then(|document| document.get("id")?.as_str());
    let id = id.map_or_else(|| (at + 1).to_string(), str::to_string);
    let read = match (&record.document, messages) {
        (Err(why), _) => Err(why.clone()),
        (Ok(_), None) => Err("it has no list of messages".to_string()),
        (Ok(_), Some(messages)) => {
            conversation(JsonNode::top(messages)).map_err(|error| error.to_string())
        }
    };
    match read {
        Ok(found) => LoggedChat {
            id,
            has_system: found.system.is_some(),
            turns: found.into_turns(),
            problem: None,
        },
        Err(why) => LoggedChat {
            id,
            turns: Vec::new(),
            has_system: false,
            problem: Some(format!("{}: {why}", record.position)),
        },
    }
}

/// The records of a text: one document, the elements of a list, or one document per line. `None` if it needs more than
/// `most` bytes of memory.
fn records(text: &str, most: usize) -> Option<Vec<ChatRecord>> {
    let numbered = |(at, document): (usize, Value)| ChatRecord {
        position: format!("conversation {}", at + 1),
        document: Ok(document),
    };
    match json::parse_within(text, most) {
        Ok((Value::Array(list), _)) if !is_messages(&list) => {
            return Some(list.into_iter().enumerate().map(numbered).collect());
        }
        Ok((document, _)) => return Some(vec![numbered((0, document))]),
        Err(ParseFailure::TooLarge) => return None,
        Err(ParseFailure::Syntax(_)) => {}
    }
    let mut left = most;
    let record = |(at, line): (usize, &str)| {
        let document = match json::parse_within(line, left) {
            Ok((document, size)) => {
                left = left.checked_sub(size + json::ITEM)?;
                Ok(document)
            }
            Err(ParseFailure::TooLarge) => return None,
            Err(ParseFailure::Syntax(error)) => Err(format!("this is not JSON: {error}")),
        };
        let position = format!("line {}", at + 1);
        Some(ChatRecord { position, document })
    };
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(record)
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
            assert!(records(&text, 4 << 20).is_some() && records(&text, 1 << 10).is_none());
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

    #[test]
    fn unreadable_records_have_position_and_reason() {
        let good = r#"{"id": "a", "messages": [{"role": "user", "content": "hi"}]}"#;
        let ghost = r#"{"messages": [{"role": "ghost", "content": "x"}]}"#;
        let text = format!("{good}\n\n{ghost}\n{{\"note\": 1}}\n{{\"messages\": [\n{good}\n");
        let found = read_chat_log(&text).unwrap().unwrap();
        let problems: Vec<Option<&str>> = found.iter().map(|one| one.problem.as_deref()).collect();
        assert_eq!(problems.len(), 5);
        assert_eq!((problems[0], problems[4]), (None, None));
        assert!(
            problems[1].unwrap().starts_with("line 3: $[0]"),
            "{problems:?}"
        );
        assert_eq!(problems[2], Some("line 4: it has no list of messages"));
        assert!(problems[3].unwrap().starts_with("line 5: this is not JSON"));
    }

    #[test]
    fn text_with_few_messages_is_no_log() {
        let good = r#"{"messages": [{"role": "user", "content": "hi"}]}"#;
        assert_eq!(read_chat_log(&format!("{good}\n{{}}\n{{}}\n")), None);
    }
}
