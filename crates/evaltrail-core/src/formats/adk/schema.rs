//! What ADK 2.13 accepts, as one table, and a check of values with it.
//!
//! ADK's models differ in strictness: the same misspelt key is fatal in one place and silently
//! lost in another (`eval_set.py`, `eval_case.py` and `eval_metrics.py` in `google/adk/evaluation/`). The table specifies this for every model of ADK's files.

use super::schema_genai::{
    CONTENT, FUNCTION_CALL, FUNCTION_RESPONSE, GROUNDING_METADATA, PART, USAGE_METADATA, is_base64,
};
use super::schema_types::{SchemaField, SchemaModel, Type, Unknown, maybe, need, strict, with};
use crate::formats::json::JsonPath;
use crate::formats::read::{camel, describe, lax_float, lookup, same_name};
use serde_json::{Map, Value};

/// How ADK would treat a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::formats) enum SchemaVerdict {
    /// Refuse the whole file.
    Refuses,
    /// Read the file, and drop the value when it saves.
    Loses,
}

/// A value that ADK would refuse or lose.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::formats) struct SchemaProblem {
    pub(super) verdict: SchemaVerdict,
    pub(in crate::formats) path: JsonPath,
    pub(in crate::formats) expected: String,
    pub(in crate::formats) found: String,
}

pub(super) static EVAL_SET: SchemaModel = SchemaModel {
    name: "EvalSet",
    both_spellings: false,
    unknown: Unknown::Lost,
    fields: &[
        need("eval_set_id", Type::Text),
        maybe("name", Type::Text),
        maybe("description", Type::Text),
        need("eval_cases", Type::List(&Type::Model(&EVAL_CASE))),
        with("creation_timestamp", Type::Number),
    ],
};

pub(super) static EVAL_CASE: SchemaModel = SchemaModel {
    name: "EvalCase",
    both_spellings: true,
    unknown: Unknown::Kept,
    fields: &[
        need("eval_id", Type::Text),
        maybe("conversation", Type::List(&Type::Model(&INVOCATION))),
        maybe("conversation_scenario", Type::Model(&SCENARIO)),
        maybe("session_input", Type::Model(&SESSION_INPUT)),
        with("creation_timestamp", Type::Number),
        maybe("rubrics", Type::List(&Type::Model(&RUBRIC))),
        maybe("final_session_state", Type::Dict),
    ],
};

static INVOCATION: SchemaModel = strict(
    "Invocation",
    &[
        with("invocation_id", Type::Text),
        need("user_content", Type::Model(&CONTENT)),
        maybe("final_response", Type::Model(&CONTENT)),
        maybe("intermediate_data", Type::Intermediate),
        with("creation_timestamp", Type::Number),
        maybe("duration", Type::Number),
        maybe("model_duration", Type::Number),
        maybe("tool_duration", Type::Number),
        maybe("rubrics", Type::List(&Type::Model(&RUBRIC))),
        maybe("app_details", Type::Model(&APP_DETAILS)),
    ],
);

pub(super) static INTERMEDIATE_DATA: SchemaModel = strict(
    "IntermediateData",
    &[
        with("tool_uses", Type::List(&Type::Model(&FUNCTION_CALL))),
        with(
            "tool_responses",
            Type::List(&Type::Model(&FUNCTION_RESPONSE)),
        ),
        with("intermediate_responses", Type::List(&Type::AuthoredParts)),
    ],
);

pub(super) static PARTS: Type = Type::List(&Type::Model(&PART));

pub(super) static INVOCATION_EVENTS: SchemaModel = strict(
    "InvocationEvents",
    &[with(
        "invocation_events",
        Type::List(&Type::Model(&INVOCATION_EVENT)),
    )],
);

static INVOCATION_EVENT: SchemaModel = SchemaModel {
    name: "InvocationEvent",
    both_spellings: true,
    unknown: Unknown::Lost,
    fields: &[
        need("author", Type::Text),
        maybe("content", Type::Model(&CONTENT)),
        maybe("grounding_metadata", Type::Model(&GROUNDING_METADATA)),
        maybe("usage_metadata", Type::Model(&USAGE_METADATA)),
        maybe("model_version", Type::Text),
    ],
};

static SESSION_INPUT: SchemaModel = SchemaModel {
    name: "SessionInput",
    both_spellings: true,
    unknown: Unknown::Kept,
    fields: &[
        need("app_name", Type::Text),
        need("user_id", Type::Text),
        maybe("session_id", Type::Text),
        with("state", Type::Dict),
    ],
};

static RUBRIC: SchemaModel = strict(
    "Rubric",
    &[
        need("rubric_id", Type::Text),
        need("rubric_content", Type::Model(&RUBRIC_CONTENT)),
        maybe("description", Type::Text),
        maybe("type", Type::Text),
    ],
);

static RUBRIC_CONTENT: SchemaModel = strict("RubricContent", &[maybe("text_property", Type::Text)]);

static APP_DETAILS: SchemaModel = strict(
    "AppDetails",
    &[with(
        "agent_details",
        Type::DictOf(&Type::Model(&AGENT_DETAILS)),
    )],
);

static AGENT_DETAILS: SchemaModel = strict(
    "AgentDetails",
    &[
        need("name", Type::Text),
        with("instructions", Type::Text),
        with("tool_declarations", Type::List(&Type::Any)),
    ],
);

static SCENARIO: SchemaModel = strict(
    "ConversationScenario",
    &[
        need("starting_prompt", Type::Text),
        need("conversation_plan", Type::Text),
        maybe("user_persona", Type::Persona),
    ],
);

pub(super) static PERSONA: SchemaModel = SchemaModel {
    name: "UserPersona",
    both_spellings: false,
    unknown: Unknown::Lost,
    fields: &[
        need("id", Type::Text),
        need("description", Type::Text),
        need("behaviors", Type::List(&Type::Model(&BEHAVIOR))),
    ],
};

static BEHAVIOR: SchemaModel = SchemaModel {
    name: "UserBehavior",
    both_spellings: false,
    unknown: Unknown::Lost,
    fields: &[
        need("name", Type::Text),
        need("description", Type::Text),
        need("behavior_instructions", Type::List(&Type::Text)),
        need("violation_rubrics", Type::List(&Type::Text)),
    ],
};

pub(super) static JUDGE_MODEL_OPTIONS: SchemaModel = strict(
    "JudgeModelOptions",
    &[
        with("judge_model", Type::Text),
        maybe("judge_model_config", Type::Dict),
        with("num_samples", Type::Whole),
        with("parallelism_limit", Type::Whole),
    ],
);

pub(super) static CRITERION_RUBRICS: Type = Type::List(&Type::Model(&RUBRIC));

/// The problems for which ADK refuses an eval case.
pub(in crate::formats) fn refusals(case: &Value) -> Vec<SchemaProblem> {
    let mut findings = check(&EVAL_CASE, case, &JsonPath::default());
    findings.retain(|finding| finding.verdict == SchemaVerdict::Refuses);
    findings
}

/// Whether ADK has this field in a part of a message, in either spelling.
pub(in crate::formats) fn is_part_field(key: &str) -> bool {
    PART.fields.iter().any(|field| same_name(key, field.name))
}

/// Checks a value against one of ADK's models.
pub(super) fn check(
    model: &'static SchemaModel,
    value: &Value,
    path: &JsonPath,
) -> Vec<SchemaProblem> {
    check_type(&Type::Model(model), value, path)
}

/// Checks a value against one of ADK's types.
pub(super) fn check_type(kind: &Type, value: &Value, path: &JsonPath) -> Vec<SchemaProblem> {
    let mut walk = SchemaWalk {
        findings: Vec::new(),
    };
    walk.value(kind, value, path);
    walk.findings
}

struct SchemaWalk {
    findings: Vec<SchemaProblem>,
}

impl SchemaWalk {
    fn refuse(&mut self, path: &JsonPath, expected: impl Into<String>, found: impl Into<String>) {
        let (expected, found) = (expected.into(), found.into());
        self.findings.push(SchemaProblem {
            verdict: SchemaVerdict::Refuses,
            path: path.clone(),
            expected,
            found,
        });
    }

    fn value(&mut self, kind: &Type, value: &Value, path: &JsonPath) {
        let fits = match kind {
            Type::Any => true,
            Type::Text => value.is_string(),
            Type::Bytes => value.as_str().is_some_and(is_base64),
            Type::Number => lax_float(value).is_some(),
            Type::Whole => lax_float(value).is_some_and(|number| number.fract() == 0.0),
            Type::Flag => is_lax_flag(value),
            Type::Dict => value.is_object(),
            Type::List(item) => return self.list(item, value, path),
            Type::DictOf(item) => return self.dict(item, value, path),
            Type::Model(model) => return self.model(model, value, path),
            Type::AuthoredParts => return self.authored_parts(value, path),
            Type::Intermediate => return self.intermediate(value, path),
            Type::Persona => return self.persona(value, path),
        };
        if !fits {
            self.refuse(path, type_name(kind), describe(value));
        }
    }

    fn list(&mut self, item: &Type, value: &Value, path: &JsonPath) {
        let Some(items) = value.as_array() else {
            return self.refuse(path, "a list", describe(value));
        };
        for (at, value) in items.iter().enumerate() {
            self.value(item, value, &path.index(at));
        }
    }

    fn dict(&mut self, item: &Type, value: &Value, path: &JsonPath) {
        let Some(map) = value.as_object() else {
            return self.refuse(path, "an object", describe(value));
        };
        for (key, value) in map {
            self.value(item, value, &path.key(key));
        }
    }

    fn model(&mut self, model: &SchemaModel, value: &Value, path: &JsonPath) {
        let Some(map) = value.as_object() else {
            return self.refuse(path, format!("an object ({})", model.name), describe(value));
        };
        for field in model.fields {
            self.field(model, field, map, path);
        }
        for key in map.keys().filter(|key| !model.knows(key)) {
            self.unknown(model, key, path);
        }
        if std::ptr::eq(model, &EVAL_CASE) {
            self.one_conversation(map, path);
        }
    }

    fn field(
        &mut self,
        model: &SchemaModel,
        field: &SchemaField,
        map: &Map<String, Value>,
        path: &JsonPath,
    ) {
        let found = match model.both_spellings {
            true => lookup(map, field.name),
            false => map.get_key_value(field.name),
        };
        match found {
            None if field.required => {
                let missing = match map.keys().find(|key| same_name(key, field.name)) {
                    Some(key) => format!("only {key:?}, which ADK does not read here"),
                    None => "none".to_string(),
                };
                self.refuse(path, format!("a key {:?}", field.name), missing);
            }
            None => {}
            Some((_, Value::Null)) if field.null => {}
            Some((key, value)) => self.value(&field.kind, value, &path.key(key)),
        }
    }

    fn unknown(&mut self, model: &SchemaModel, key: &str, path: &JsonPath) {
        let verdict = match model.unknown {
            Unknown::Kept => return,
            Unknown::Refused => SchemaVerdict::Refuses,
            Unknown::Lost => SchemaVerdict::Loses,
        };
        self.findings.push(SchemaProblem {
            verdict,
            path: path.key(key),
            expected: format!("one of the keys of {}: {}", model.name, model.keys()),
            found: format!("the unknown key {key:?}"),
        });
    }

    fn one_conversation(&mut self, map: &Map<String, Value>, path: &JsonPath) {
        let given = |name| lookup(map, name).is_some_and(|(_, value)| !value.is_null());
        match (given("conversation"), given("conversation_scenario")) {
            (true, false) | (false, true) => {}
            (true, true) => self.refuse(
                path,
                "either a conversation or a conversation_scenario",
                "both",
            ),
            (false, false) => {
                self.refuse(path, "a conversation or a conversation_scenario", "neither")
            }
        }
    }

    fn intermediate(&mut self, value: &Value, path: &JsonPath) {
        let events = value
            .as_object()
            .is_some_and(|map| lookup(map, "invocation_events").is_some());
        self.model(
            if events {
                &INVOCATION_EVENTS
            } else {
                &INTERMEDIATE_DATA
            },
            value,
            path,
        );
    }

    fn authored_parts(&mut self, value: &Value, path: &JsonPath) {
        match value.as_array().map(Vec::as_slice) {
            Some([author, parts]) => {
                self.value(&Type::Text, author, &path.index(0));
                self.value(&PARTS, parts, &path.index(1));
            }
            _ => self.refuse(
                path,
                "a list of two: the author and the list of parts",
                describe(value),
            ),
        }
    }

    fn persona(&mut self, value: &Value, path: &JsonPath) {
        match value.as_str() {
            Some("EXPERT" | "NOVICE" | "EVALUATOR") => {}
            Some(_) => self.refuse(
                path,
                "EXPERT, NOVICE, EVALUATOR or a persona object",
                describe(value),
            ),
            None => self.model(&PERSONA, value, path),
        }
    }
}

impl SchemaModel {
    fn knows(&self, key: &str) -> bool {
        self.fields.iter().any(|field| match self.both_spellings {
            true => same_name(key, field.name),
            false => key == field.name,
        })
    }

    fn keys(&self) -> String {
        self.fields
            .iter()
            .map(|field| field.name)
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// The snake_case name of a field whose camelCase spelling is `key`, if the two differ.
    pub(super) fn snake_of(&self, key: &str) -> Option<&'static str> {
        let field = self
            .fields
            .iter()
            .find(|field| camel(field.name) == key && field.name != key)?;
        Some(field.name)
    }
}

fn is_lax_flag(value: &Value) -> bool {
    const WORDS: &[&str] = &[
        "true", "false", "yes", "no", "on", "off", "y", "n", "t", "f", "1", "0",
    ];
    match value {
        Value::Bool(_) => true,
        Value::String(text) => WORDS.contains(&text.to_lowercase().as_str()),
        other => lax_float(other).is_some_and(|number| number == 0.0 || number == 1.0),
    }
}

fn type_name(kind: &Type) -> &'static str {
    match kind {
        Type::Text => "a string",
        Type::Bytes => "bytes in Base64",
        Type::Number => "a number",
        Type::Whole => "a whole number",
        Type::Flag => "true or false",
        Type::Dict => "an object",
        _ => "a value",
    }
}
