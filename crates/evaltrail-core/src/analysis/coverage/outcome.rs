//! How a call of a tool ended, as its response tells.

use crate::domain::finite_number;
use serde_json::Value;

/// How the calls of a tool ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallOutcome {
    /// With a response that is neither empty nor an error.
    Answered,
    /// With an empty response.
    Empty,
    /// With an error as the response.
    Error,
    /// Without a response.
    NoResponse,
}

impl CallOutcome {
    /// All of them.
    pub const ALL: [CallOutcome; 4] = [
        CallOutcome::Answered,
        CallOutcome::Empty,
        CallOutcome::Error,
        CallOutcome::NoResponse,
    ];

    /// The outcome in a word or two.
    pub fn label(self) -> &'static str {
        match self {
            CallOutcome::Answered => "answered",
            CallOutcome::Empty => "empty",
            CallOutcome::Error => "error",
            CallOutcome::NoResponse => "no response",
        }
    }

    /// The outcome as the heading of a column, which cannot be mistaken for the status of cases.
    pub fn heading(self) -> &'static str {
        match self {
            CallOutcome::Error => "call error",
            other => other.label(),
        }
    }

    /// The outcome of a call with this response.
    pub(super) fn of_response(response: Option<&Value>) -> CallOutcome {
        let Some(response) = response else {
            return CallOutcome::NoResponse;
        };
        let inner = match response.as_object() {
            Some(members) if members.len() == 1 => {
                members.get("result").or_else(|| members.get("output"))
            }
            _ => None,
        };
        let value = inner.unwrap_or(response);
        if is_error(response) || is_error(value) {
            CallOutcome::Error
        } else if is_empty(value) {
            CallOutcome::Empty
        } else {
            CallOutcome::Answered
        }
    }
}

/// Whether a response reports an error, in the forms of ADK, MCP and HTTP.
fn is_error(response: &Value) -> bool {
    let is_given = |value: &Value| match value {
        Value::Bool(is) => *is,
        code @ Value::Number(_) => finite_number(code) != Some(0.0),
        other => !is_empty(other),
    };
    let is_failed = |status: &Value| {
        status.as_u64().is_some_and(|code| code >= 400)
            || status
                .as_str()
                .is_some_and(|status| status.eq_ignore_ascii_case("error"))
    };
    let has = |keys: &[&str], is: &dyn Fn(&Value) -> bool| {
        keys.iter().any(|key| response.get(*key).is_some_and(is))
    };
    let errors = ["error", "errors", "error_code", "error_message", "isError"];
    has(&errors, &is_given) || has(&["status", "status_code", "statusCode"], &is_failed)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn outcomes_are_read_in_all_forms() {
        let outcome = |response: Value| CallOutcome::of_response(Some(&response));
        for error in [
            json!({"error": "x"}),
            json!({"isError": true, "content": []}),
            json!({"status": "error", "message": "x"}),
            json!({"status_code": 404}),
            json!({"statusCode": 500}),
            json!({"errors": ["a"]}),
            json!({"result": {"error_code": "E1"}}),
        ] {
            assert_eq!(outcome(error.clone()), CallOutcome::Error, "{error}");
        }
        for empty in [
            json!(null),
            json!({}),
            json!({"result": []}),
            json!({"result": " "}),
        ] {
            assert_eq!(outcome(empty.clone()), CallOutcome::Empty, "{empty}");
        }
        for answer in [
            json!({"result": 0}),
            json!({"error": null, "n": 1}),
            json!({"isError": false, "content": [1]}),
            json!({"status": "success"}),
            json!({"error_code": 0, "error_message": "", "data": 1}),
        ] {
            assert_eq!(outcome(answer.clone()), CallOutcome::Answered, "{answer}");
        }
        assert_eq!(CallOutcome::of_response(None), CallOutcome::NoResponse);
    }
}
