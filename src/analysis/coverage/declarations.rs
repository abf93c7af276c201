//! The tools that an agent declares, read from the forms in which protocols and libraries describe them.

use crate::domain::JsonKind;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Objects that are nested deeper contain no declarations.
const MAX_DEPTH: usize = 12;
/// The keys under which the schema of the parameters is: ADK and Gemini, OpenAI, MCP.
const SCHEMA_KEYS: [&str; 5] = [
    "parameters",
    "parameters_json_schema",
    "parametersJsonSchema",
    "inputSchema",
    "input_schema",
];
/// Lists whose elements declare tools even if they have no parameters.
const TOOL_LISTS: [&str; 3] = ["function_declarations", "functionDeclarations", "tools"];

/// What agents declare: their tools, and the agents themselves where the source names them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declarations {
    /// By name; `None` if the source has no schema of the parameters.
    pub tools: BTreeMap<String, Option<Vec<Parameter>>>,
    /// The names of the agents.
    pub agents: BTreeSet<String>,
}

/// A parameter of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameter {
    /// The name; for a parameter inside an object, with the name of the object: `address.city`.
    pub name: String,
    /// Whether every call must have it.
    pub required: bool,
    /// The kind of its values; `None` if the schema names none, or several.
    pub kind: Option<JsonKind>,
    /// Whether null is allowed.
    pub nullable: bool,
    /// The value that it has if a call does not name it.
    pub default: Option<Value>,
    /// The allowed values; empty if there is no such list.
    pub values: Vec<Value>,
    /// The smallest allowed number, or number of elements.
    pub minimum: Option<f64>,
    /// The largest allowed number.
    pub maximum: Option<f64>,
    /// The format of a text, such as `date`.
    pub format: Option<String>,
}

impl Declarations {
    /// Adds all declarations within a JSON document: ADK's app-info or `app_details`, the tools of an OpenAI request, or
    /// MCP's `tools/list`. Returns whether there is one.
    pub fn add(&mut self, document: &Value) -> bool {
        let before = self.tools.len();
        self.add_agents(document);
        self.collect(document, false, 0);
        self.tools.len() > before
    }

    /// Adds a tool with the schema of its parameters, if that is known.
    pub fn add_tool(&mut self, name: &str, schema: Option<&Value>) {
        let known = self.tools.entry(name.to_string()).or_default();
        if known.is_none() {
            *known = schema.map(parameters_of);
        }
    }

    /// The names of ADK's agents: the keys of `agent_details`, or of `agents` in app-info.
    fn add_agents(&mut self, document: &Value) {
        let by_name = ["agent_details", "agents"]
            .iter()
            .filter_map(|key| document.get(key)?.as_object());
        for agents in by_name {
            self.agents.extend(agents.keys().cloned());
        }
    }

    fn collect(&mut self, value: &Value, is_listed: bool, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match value {
            Value::Array(elements) => elements
                .iter()
                .for_each(|element| self.collect(element, is_listed, depth + 1)),
            Value::Object(members) => {
                let name = members.get("name").and_then(Value::as_str);
                let schema = SCHEMA_KEYS.iter().find_map(|key| members.get(*key));
                if let Some(name) = name.filter(|name| !name.is_empty())
                    && (schema.is_some() || is_listed)
                {
                    self.add_tool(name, schema);
                    return;
                }
                for (key, member) in members {
                    let is_listed =
                        TOOL_LISTS.contains(&key.as_str()) || key == "function" && is_listed;
                    self.collect(member, is_listed, depth + 1);
                }
            }
            _ => {}
        }
    }
}

/// The parameters of a schema, and those of its objects, one level deep.
fn parameters_of(schema: &Value) -> Vec<Parameter> {
    let mut found = Vec::new();
    for (name, property, required) in properties(schema) {
        let parameter = Parameter::from_schema(name.to_string(), property, required);
        found.push(parameter);
        for (inner, property, required) in properties(property) {
            let name = format!("{name}.{inner}");
            found.push(Parameter::from_schema(name, property, required));
        }
    }
    found
}

/// The properties of a schema, and whether each is required.
fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value, bool)> {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .map(move |(name, property)| (name, property, required.contains(&name.as_str())))
}

impl Parameter {
    fn from_schema(name: String, schema: &Value, required: bool) -> Parameter {
        let variants: Vec<&Value> = ["anyOf", "any_of", "oneOf"]
            .iter()
            .filter_map(|key| schema.get(*key)?.as_array())
            .flatten()
            .collect();
        let types = || [schema].into_iter().chain(variants.iter().copied());
        let is_null = |schema: &Value| named_types(schema).any(|name| name == "null");
        let kinds: BTreeSet<JsonKind> = types().flat_map(kinds_of).collect();
        let main = types().find(|schema| kinds_of(schema).next().is_some());
        let field = |key: &str| {
            schema
                .get(key)
                .or_else(|| main.and_then(|main| main.get(key)))
        };
        let number = |key: &str| field(key).and_then(Value::as_f64);
        Parameter {
            name,
            required,
            kind: kinds.first().copied().filter(|_| kinds.len() == 1),
            nullable: schema.get("nullable") == Some(&Value::Bool(true)) || types().any(is_null),
            default: field("default").filter(|value| !value.is_null()).cloned(),
            values: field("enum")
                .and_then(Value::as_array)
                .map(|values| {
                    values
                        .iter()
                        .filter(|value| !value.is_null())
                        .cloned()
                        .collect()
                })
                .unwrap_or_default(),
            minimum: number("minimum").or_else(|| number("minItems")),
            maximum: number("maximum"),
            format: field("format").and_then(Value::as_str).map(String::from),
        }
    }
}

/// The types that a schema names, in lower case, as Gemini's API writes them in upper case.
fn named_types(schema: &Value) -> impl Iterator<Item = String> {
    let named = schema.get("type");
    let several = named.and_then(Value::as_array).into_iter().flatten();
    named
        .into_iter()
        .filter(|named| named.is_string())
        .chain(several)
        .filter_map(Value::as_str)
        .map(str::to_ascii_lowercase)
}

fn kinds_of(schema: &Value) -> impl Iterator<Item = JsonKind> {
    named_types(schema).filter_map(|name| JsonKind::of_schema(&serde_json::json!({ "type": name })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn declared(document: Value) -> Declarations {
        let mut found = Declarations::default();
        assert!(found.add(&document), "{document}");
        found
    }

    fn schema() -> Value {
        json!({"type": "object", "required": ["bed"], "properties": {
            "bed": {"type": "STRING"}, "litres": {"type": ["number", "null"], "default": 2}}})
    }

    #[test]
    fn declarations_of_every_protocol_are_read() {
        let documents = [
            json!({"agent_details": {"home": {"name": "home", "instructions": "", "tool_declarations":
                [{"function_declarations": [{"name": "water", "parameters_json_schema": schema()}]}]}}}),
            json!({"agents": {"home": {"tools": [{"functionDeclarations": [{"name": "water", "parameters": schema()}]}]}}}),
            json!([{"type": "function", "function": {"name": "water", "parameters": schema()}}]),
            json!({"tools": [{"name": "water", "inputSchema": schema()}]}),
        ];
        for document in documents {
            let found = declared(document.clone());
            let parameters = found.tools["water"].as_ref().unwrap();
            let names: Vec<&str> = parameters.iter().map(|one| one.name.as_str()).collect();
            assert_eq!(names, ["bed", "litres"], "{document}");
            assert!(parameters[0].required && !parameters[1].required);
            assert_eq!(parameters[0].kind, Some(JsonKind::Text));
            assert_eq!(
                (
                    parameters[1].kind,
                    parameters[1].nullable,
                    &parameters[1].default
                ),
                (Some(JsonKind::Number), true, &Some(json!(2)))
            );
        }
    }

    #[test]
    fn tool_without_parameters_is_declared() {
        let found = declared(json!({"tools": [{"name": "now", "description": "the time"}]}));
        assert_eq!(found.tools["now"], None);
        assert!(!Declarations::default().add(&json!({"name": "no tool", "eval_cases": []})));
    }

    #[test]
    fn members_of_objects_are_read_one_level_deep() {
        let found = declared(
            json!([{"name": "send", "parameters": {"properties": {"to": {"type": "object",
            "properties": {"city": {"type": "string", "enum": ["Oslo"]}, "more": {"properties": {"deep": {}}}}}}}}]),
        );
        let parameters = found.tools["send"].as_ref().unwrap();
        let names: Vec<&str> = parameters.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["to", "to.city", "to.more"]);
        assert_eq!(parameters[1].values, [json!("Oslo")]);
    }

    #[test]
    fn optional_types_of_pydantic_are_nullable() {
        let parameter = Parameter::from_schema(
            "n".into(),
            &json!({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": null}),
            false,
        );
        assert_eq!(
            (parameter.kind, parameter.minimum),
            (Some(JsonKind::Number), Some(1.0))
        );
        assert!(parameter.nullable && parameter.default.is_none());
    }
}
