//! The kinds of JSON values.

use serde_json::Value;
use std::fmt;

/// The kind of a JSON value that is not null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum JsonKind {
    /// A text.
    Text,
    /// An integer or another number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A list.
    List,
    /// An object.
    Object,
}

impl JsonKind {
    /// The kind of a value; `None` for null.
    pub fn of_value(value: &Value) -> Option<JsonKind> {
        Some(match value {
            Value::Null => return None,
            Value::String(_) => JsonKind::Text,
            Value::Number(_) => JsonKind::Number,
            Value::Bool(_) => JsonKind::Boolean,
            Value::Array(_) => JsonKind::List,
            Value::Object(_) => JsonKind::Object,
        })
    }

    /// The kind that a schema names as its only `type`, in the spelling of JSON Schema or of Gemini's API. `None` for other
    /// schemas.
    pub fn of_schema(schema: &Value) -> Option<JsonKind> {
        Some(match &*schema.get("type")?.as_str()?.to_ascii_lowercase() {
            "string" => JsonKind::Text,
            "integer" | "number" => JsonKind::Number,
            "boolean" => JsonKind::Boolean,
            "array" => JsonKind::List,
            "object" => JsonKind::Object,
            _ => return None,
        })
    }
}

impl fmt::Display for JsonKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            JsonKind::Text => "a text",
            JsonKind::Number => "a number",
            JsonKind::Boolean => "true or false",
            JsonKind::List => "a list",
            JsonKind::Object => "an object",
        })
    }
}
