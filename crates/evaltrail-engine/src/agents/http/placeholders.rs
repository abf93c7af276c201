//! The placeholders of a template.

use crate::agents::messages::text_of;
use serde_json::{Map, Value};

/// A value of the template with its placeholders replaced. A text that is only a placeholder becomes the value; inside a
/// text, the value becomes text.
pub(super) fn filled(template: &Value, value_of: &dyn Fn(&str) -> Option<Value>) -> Value {
    match template {
        Value::String(text) => {
            let only = text
                .strip_prefix('{')
                .and_then(|rest| rest.strip_suffix('}'));
            match only.and_then(value_of) {
                Some(value) => value,
                None => replaced(text, |name| value_of(name).map(|value| text_of(&value))).into(),
            }
        }
        Value::Array(items) => items.iter().map(|item| filled(item, value_of)).collect(),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(key, member)| (key.clone(), filled(member, value_of)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// A text with the placeholders replaced that are known; anything else in braces stays.
pub(super) fn replaced(text: &str, value_of: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        rest = &rest[open..];
        let found = rest
            .find('}')
            .and_then(|close| Some((close, value_of(&rest[1..close])?)));
        match found {
            Some((close, value)) => {
                out.push_str(&value);
                rest = &rest[close + 1..];
            }
            None => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn placeholders_become_values_or_text() {
        let value = |name: &str| match name {
            "prompt" => Some(json!("say \"hi\" {session_id}")),
            "messages" => Some(json!([{"role": "user"}])),
            "turn" => Some(json!(2)),
            _ => None,
        };
        let template = json!({"m": "{messages}", "t": "turn {turn}: {prompt}", "n": "{turn}", "x": "{nothing} {", "k": [1, "{prompt}"]});
        assert_eq!(
            filled(&template, &value),
            json!({"m": [{"role": "user"}], "t": "turn 2: say \"hi\" {session_id}", "n": 2, "x": "{nothing} {", "k": [1, "say \"hi\" {session_id}"]})
        );
    }
}
