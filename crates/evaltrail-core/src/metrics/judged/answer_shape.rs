//! The form of a judge's reply as a JSON Schema, for providers with structured output.
//!
//! A schema uses only what every provider supports: objects with all their keys required and no others, arrays, plain
//! types and enums of strings. It contains nothing of a case, since providers prepare each new schema once. The
//! reason comes before the verdict and the code directly before it, as the prompts request.

use serde_json::{Map, Value, json};

/// What a reply contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerShape {
    /// Whether a response is valid.
    Verdict,
    /// Yes or no to each property.
    Rubrics,
    /// A label for each sentence.
    Support,
    /// Whether a simulated user followed its plan.
    User,
    /// A number.
    Score,
    /// One of two responses.
    Choice,
}

impl AnswerShape {
    /// Its JSON Schema.
    pub fn schema(self) -> Value {
        match self {
            AnswerShape::Verdict => object(vec![
                ("reasoning", string()),
                ("code", string()),
                ("is_the_agent_response_valid", word(&["valid", "invalid"])),
            ]),
            AnswerShape::Rubrics => {
                let verdict = object(vec![
                    ("id", string()),
                    ("evidence", string()),
                    ("rationale", string()),
                    ("code", string()),
                    ("verdict", word(&["yes", "no"])),
                ]);
                object(vec![("verdicts", list(verdict))])
            }
            AnswerShape::Support => {
                let labels = [
                    "supported",
                    "unsupported",
                    "contradictory",
                    "disputed",
                    "not_applicable",
                ];
                let label = object(vec![
                    ("sentence", json!({"type": "integer"})),
                    ("rationale", string()),
                    ("supporting_excerpt", string()),
                    ("contradicting_excerpt", string()),
                    ("code", string()),
                    ("label", word(&labels)),
                ]);
                object(vec![("labels", list(label))])
            }
            AnswerShape::User => {
                let criterion = object(vec![
                    ("name", string()),
                    ("reasoning", string()),
                    ("passes", json!({"type": "boolean"})),
                ]);
                object(vec![
                    ("criteria", list(criterion)),
                    ("code", string()),
                    ("is_valid", json!({"type": "boolean"})),
                ])
            }
            AnswerShape::Score => object(vec![
                ("explanation", string()),
                ("code", string()),
                ("score", json!({"type": "number"})),
            ]),
            AnswerShape::Choice => object(vec![
                ("explanation", string()),
                ("code", string()),
                ("pairwise_choice", word(&["A", "B", "SAME"])),
            ]),
        }
    }
}

fn string() -> Value {
    json!({"type": "string"})
}

fn word(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

fn object(properties: Vec<(&str, Value)>) -> Value {
    let required: Vec<&str> = properties.iter().map(|(key, _)| *key).collect();
    let properties: Map<String, Value> = properties
        .iter()
        .map(|(key, schema)| ((*key).to_string(), schema.clone()))
        .collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [AnswerShape; 6] = [
        AnswerShape::Verdict,
        AnswerShape::Rubrics,
        AnswerShape::Support,
        AnswerShape::User,
        AnswerShape::Score,
        AnswerShape::Choice,
    ];

    /// Collects all objects of a schema. Panics at a keyword that some provider refuses.
    fn objects<'a>(schema: &'a Value, found: &mut Vec<&'a Map<String, Value>>) {
        let map = schema.as_object().unwrap();
        let known = [
            "type",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "enum",
        ];
        assert!(
            map.keys().all(|key| known.contains(&key.as_str())),
            "{schema}"
        );
        if let Some(items) = map.get("items") {
            objects(items, found);
        }
        if let Some(properties) = map.get("properties") {
            found.push(map);
            properties
                .as_object()
                .unwrap()
                .values()
                .for_each(|one| objects(one, found));
        }
    }

    #[test]
    fn schemas_are_valid_for_every_provider() {
        for shape in ALL {
            let schema = shape.schema();
            let mut all = Vec::new();
            objects(&schema, &mut all);
            for object in all {
                let keys: Vec<&str> = object["properties"]
                    .as_object()
                    .unwrap()
                    .keys()
                    .map(String::as_str)
                    .collect();
                let required: Vec<&str> = object["required"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|key| key.as_str().unwrap())
                    .collect();
                assert_eq!(
                    (keys.clone(), &object["additionalProperties"]),
                    (required, &json!(false))
                );
                // The code comes directly before the last key, which is the verdict.
                if let Some(at) = keys.iter().position(|key| *key == "code") {
                    assert_eq!(at + 2, keys.len(), "{shape:?}: {keys:?}");
                }
            }
        }
    }
}
