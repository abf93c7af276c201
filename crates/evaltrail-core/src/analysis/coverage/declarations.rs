//! The tools that an agent declares, read from the forms in which protocols and libraries describe them.

use crate::diff::values_equal;
use crate::domain::{JsonKind, finite_number};
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
    /// By name; `None` if the source has no schemas of parameters.
    pub tools: BTreeMap<String, Option<ToolSchema>>,
    /// By name of the tool: what it is for. Tools without a description are left out.
    pub descriptions: BTreeMap<String, String>,
    /// The names of the agents.
    pub agents: BTreeSet<String>,
    /// The agent with which conversations begin, if it is known.
    pub root_agent: Option<String>,
}

/// What a tool declares about its arguments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolSchema {
    /// The parameters, and those inside objects one level deep.
    pub parameters: Vec<Parameter>,
    /// Whether other arguments are allowed as well, or may be.
    pub is_open: bool,
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
    /// The smallest allowed number.
    pub minimum: Option<f64>,
    /// The largest allowed number.
    pub maximum: Option<f64>,
    /// The exclusive lower bound of numbers.
    pub above: Option<f64>,
    /// The exclusive upper bound of numbers.
    pub below: Option<f64>,
    /// Whether numbers must be integers.
    pub is_integer: bool,
    /// The smallest and the largest allowed number of elements or characters.
    pub length: (u64, Option<u64>),
    /// Whether a format, such as `date`, or a pattern says which characters a text has.
    pub has_form: bool,
    /// The format or the pattern.
    pub form: Option<String>,
    /// What the parameter is for; may be empty.
    pub description: String,
    /// Whether the schema has alternatives, apart from null: the limits and values above are those of any of them.
    pub has_alternatives: bool,
}

impl Parameter {
    /// Whether a number is within the limits.
    pub fn is_within_limits(&self, number: f64) -> bool {
        self.minimum.is_none_or(|least| number >= least)
            && self.maximum.is_none_or(|most| number <= most)
            && self.above.is_none_or(|limit| number > limit)
            && self.below.is_none_or(|limit| number < limit)
    }

    /// Whether a number is within the limits, and an integer if it must be one.
    pub fn allows_number(&self, number: f64) -> bool {
        self.is_within_limits(number) && (!self.is_integer || number.fract() == 0.0)
    }
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

    /// Adds a tool with the schema of its parameters; `None` if that is not known.
    pub fn add_tool(&mut self, name: &str, schema: Option<&Value>) {
        let known = self.tools.entry(name.to_string()).or_default();
        if known.is_none() {
            *known = schema.map(ToolSchema::read);
        }
    }

    /// Adds what a tool is for, if that is not known. A blank description is none.
    pub fn describe_tool(&mut self, name: &str, description: &str) {
        let description = description.trim();
        if !description.is_empty() && !self.descriptions.contains_key(name) {
            let (name, description) = (name.to_string(), description.to_string());
            self.descriptions.insert(name, description);
        }
    }

    /// The names of ADK's agents: the keys of `agent_details`, or of `agents` in app-info.
    fn add_agents(&mut self, document: &Value) {
        let root = document.get("rootAgentName").and_then(Value::as_str);
        if let Some(root) = root.filter(|_| self.root_agent.is_none()) {
            self.root_agent = Some(root.to_string());
        }
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
                let schema = SCHEMA_KEYS
                    .iter()
                    .filter_map(|key| members.get(*key))
                    .find(|schema| schema.is_object());
                if let Some(name) = name.filter(|name| !name.is_empty())
                    && (schema.is_some() || is_listed)
                {
                    // Without a schema, the tool has no parameters.
                    self.add_tool(name, Some(schema.unwrap_or(&Value::Null)));
                    let description = members.get("description").and_then(Value::as_str);
                    self.describe_tool(name, description.unwrap_or_default());
                    return;
                }
                let is_openai = members.get("type").is_some_and(|kind| kind == "function");
                for (key, member) in members {
                    let is_listed =
                        TOOL_LISTS.contains(&key.as_str()) || key == "function" && is_openai;
                    self.collect(member, is_listed, depth + 1);
                }
            }
            _ => {}
        }
    }
}

impl ToolSchema {
    fn read(schema: &Value) -> ToolSchema {
        let root = schema;
        let schema = resolved(schema, root);
        let mut parameters = Vec::new();
        for (name, property, required) in properties(schema) {
            let property = resolved(property, root);
            parameters.push(Parameter::from_schema(
                name.clone(),
                property,
                root,
                required,
            ));
            let inner = variants(property, root)
                .into_iter()
                .find(|one| one.get("properties").is_some());
            // The members of the first of several alternatives say nothing about the others.
            let is_one_of_several = has_alternatives(&variants(property, root));
            for (member, property, required) in inner.into_iter().flat_map(properties) {
                let name = format!("{name}.{member}");
                let property = resolved(property, root);
                let required = required && !is_one_of_several;
                let member = Parameter::from_schema(name, property, root, required);
                parameters.push(Parameter {
                    has_alternatives: is_one_of_several || member.has_alternatives,
                    ..member
                });
            }
        }
        let others = schema
            .get("additionalProperties")
            .or(schema.get("additional_properties"));
        let is_composed = ["anyOf", "oneOf", "allOf", "$ref"]
            .iter()
            .any(|key| schema.get(*key).is_some());
        ToolSchema {
            parameters,
            is_open: is_composed
                || others.is_some_and(|others| *others == true || others.is_object()),
        }
    }
}

/// A schema, or the one to which its reference within the document leads.
fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    /// References that lead to references.
    const MAX_STEPS: usize = 8;
    let mut schema = schema;
    for _ in 0..MAX_STEPS {
        let reference = schema.get("$ref").and_then(Value::as_str);
        let target = reference.and_then(|path| root.pointer(path.strip_prefix('#')?));
        let only = schema
            .get("allOf")
            .and_then(Value::as_array)
            .filter(|all| all.len() == 1);
        match target.or(only.and_then(|all| all.first())) {
            Some(next) => schema = next,
            None => return schema,
        }
    }
    schema
}

/// A schema and its alternatives.
fn variants<'a>(schema: &'a Value, root: &'a Value) -> Vec<&'a Value> {
    let alternatives = ["anyOf", "any_of", "oneOf"]
        .iter()
        .filter_map(|key| schema.get(*key)?.as_array())
        .flatten()
        .map(|one| resolved(one, root));
    [schema].into_iter().chain(alternatives).collect()
}

/// Whether a schema, which is the first of its variants, has several alternatives, apart from null alone.
fn has_alternatives(variants: &[&Value]) -> bool {
    let is_only_null = |schema: &&&Value| {
        let names: Vec<String> = named_types(schema).collect();
        names == ["null"]
    };
    let alternatives = variants.iter().skip(1);
    alternatives.filter(|one| !is_only_null(one)).count() > 1
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
    fn from_schema(name: String, schema: &Value, root: &Value, required: bool) -> Parameter {
        let variants = variants(schema, root);
        let is_null = |schema: &Value| named_types(schema).any(|name| name == "null");
        let kinds: BTreeSet<JsonKind> = variants.iter().flat_map(|one| kinds_of(one)).collect();
        let field = |names: [&str; 2]| {
            let of = |schema: &&Value| -> Option<Value> {
                let values = names.iter().filter_map(|name| schema.get(*name));
                let mut given = values.filter(|value| !value.is_null());
                given.next().cloned()
            };
            variants.iter().find_map(of)
        };
        let number = |names: [&str; 2]| field(names).as_ref().and_then(finite_number);
        let count = |names: [&str; 2]| field(names).and_then(|value| value.as_u64());
        let listed = field(["enum", "enum"]).and_then(|values| values.as_array().cloned());
        let listed: Vec<Value> = listed
            .or(field(["const", "const"]).map(|value| vec![value]))
            .unwrap_or_default();
        let kind = kinds.first().copied().filter(|_| kinds.len() == 1);
        let kind = kind.or(JsonKind::of_value(listed.first().unwrap_or(&Value::Null)));
        let names_type = |name: &str| {
            let mut names = variants.iter().flat_map(|one| named_types(one));
            names.any(|named| named == name)
        };
        let text = |name: &'static str| {
            let given = field([name, name]);
            given.and_then(|value| value.as_str().map(|text| text.trim().to_string()))
        };
        let has = |name: &str| {
            variants
                .iter()
                .any(|one| one.get(name).is_some_and(|it| !it.is_null()))
        };
        Parameter {
            name,
            required,
            kind,
            nullable: schema.get("nullable") == Some(&Value::Bool(true))
                || variants.iter().any(|one| is_null(one))
                || listed.contains(&Value::Null),
            default: field(["default", "default"]),
            values: listed
                .into_iter()
                .filter(|value| !value.is_null())
                .collect(),
            minimum: number(["minimum", "minimum"]),
            maximum: number(["maximum", "maximum"]),
            above: number(["exclusiveMinimum", "exclusive_minimum"]),
            below: number(["exclusiveMaximum", "exclusive_maximum"]),
            is_integer: names_type("integer") && !names_type("number"),
            length: match kind {
                Some(JsonKind::List) => (
                    count(["minItems", "min_items"]).unwrap_or(0),
                    count(["maxItems", "max_items"]),
                ),
                _ => (
                    count(["minLength", "min_length"]).unwrap_or(0),
                    count(["maxLength", "max_length"]),
                ),
            },
            has_form: has("format") || has("pattern"),
            form: text("format").or_else(|| text("pattern")),
            description: text("description").unwrap_or_default(),
            has_alternatives: has_alternatives(&variants),
        }
    }

    /// Whether the schema certainly does not allow a value. Null, which libraries often leave out of schemas, and values of
    /// schemas with alternatives or with several types are allowed; formats and patterns are not checked.
    pub fn forbids(&self, value: &Value) -> bool {
        let (false, Some(kind)) = (self.has_alternatives || value.is_null(), self.kind) else {
            return false;
        };
        if !self.values.is_empty() {
            // Gemini's schemas list numbers as texts.
            let is_text_of = |listed: &Value| {
                kind == JsonKind::Number && listed.as_str() == Some(&value.to_string())
            };
            let is_listed = |one: &Value| values_equal(one, value) || is_text_of(one);
            return !self.values.iter().any(is_listed);
        }
        JsonKind::of_value(value) != Some(kind)
            || finite_number(value).is_some_and(|number| self.forbids_number(number))
            || self.forbids_length(value)
    }

    fn forbids_number(&self, number: f64) -> bool {
        self.minimum.is_some_and(|least| number < least)
            || self.maximum.is_some_and(|most| number > most)
            || self.above.is_some_and(|limit| number <= limit)
            || self.below.is_some_and(|limit| number >= limit)
            || self.is_integer && number.fract() != 0.0
    }

    fn forbids_length(&self, value: &Value) -> bool {
        let (least, most) = self.length;
        let is_outside = |length: usize| {
            let length = length as u64;
            length < least || most.is_some_and(|most| length > most)
        };
        match value {
            Value::String(text) => is_outside(text.chars().count()),
            Value::Array(elements) => is_outside(elements.len()),
            _ => false,
        }
    }
}

/// The types that a schema names, in lower case. Gemini's API writes them in upper case.
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

    #[test]
    fn ambiguous_schema_forbids_no_value() {
        let parameter = |schema: Value| Parameter::from_schema("x".into(), &schema, &schema, true);
        for (schema, allowed, forbidden) in [
            (
                json!({"type": "string"}),
                vec![json!("a"), json!(null)],
                vec![json!(1), json!(["a"])],
            ),
            (
                json!({"type": "INTEGER"}),
                vec![json!(2), json!(2.0)],
                vec![json!("2"), json!(2.5)],
            ),
            (
                json!({"enum": ["a", "b"]}),
                vec![json!("a")],
                vec![json!("c"), json!(1)],
            ),
            (
                json!({"type": "number", "minimum": 1, "exclusiveMaximum": 3}),
                vec![json!(1), json!(2.9)],
                vec![json!(0.9), json!(3)],
            ),
            (
                json!({"type": "number", "exclusiveMinimum": 0, "maximum": 5}),
                vec![json!(0.1), json!(5)],
                vec![json!(0), json!(5.1)],
            ),
            (
                json!({"type": "array", "minItems": 1, "maxItems": 2}),
                vec![json!([1])],
                vec![json!([]), json!([1, 2, 3])],
            ),
            (
                json!({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}),
                vec![json!(1), json!(null)],
                vec![json!(0), json!("a")],
            ),
            (
                json!({"anyOf": [{"enum": ["a"]}, {"type": "string", "pattern": "^b"}]}),
                vec![json!("a"), json!("b"), json!(1)],
                vec![],
            ),
            (
                json!({"type": ["string", "integer"]}),
                vec![json!("a"), json!(1)],
                vec![],
            ),
            (json!({}), vec![json!("a"), json!(1)], vec![]),
        ] {
            let parameter = parameter(schema.clone());
            for value in &allowed {
                assert!(!parameter.forbids(value), "{schema} allows {value}");
            }
            for value in &forbidden {
                assert!(parameter.forbids(value), "{schema} forbids {value}");
            }
        }
    }

    fn schema() -> Value {
        json!({"type": "object", "required": ["bed"], "properties": {
            "bed": {"type": "STRING"}, "litres": {"type": ["number", "null"], "default": 2}}})
    }

    #[test]
    fn declarations_of_every_protocol_are_read() {
        let documents = [
            json!({"agent_details": {"home": {"name": "home", "instructions": "", "tool_declarations":
                [{"function_declarations": [{"name": "water", "parameters": null, "parameters_json_schema": schema()}]}]}}}),
            json!({"agents": {"home": {"tools": [{"functionDeclarations": [{"name": "water", "parameters": schema()}]}]}}}),
            json!([{"type": "function", "function": {"name": "water", "parameters": schema()}}]),
            json!({"tools": [{"name": "water", "inputSchema": schema()}]}),
        ];
        for document in documents {
            let found = declared(document.clone());
            let parameters = &found.tools["water"].as_ref().unwrap().parameters;
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
        assert_eq!(found.tools["now"], Some(ToolSchema::default()));
        assert!(!Declarations::default().add(&json!({"name": "no tool", "eval_cases": []})));
    }

    #[test]
    fn members_of_objects_are_read_one_level_deep() {
        let found = declared(
            json!([{"name": "send", "parameters": {"properties": {"to": {"type": "object",
            "properties": {"city": {"type": "string", "enum": ["Oslo"]}, "more": {"properties": {"deep": {}}}}}}}}]),
        );
        let parameters = &found.tools["send"].as_ref().unwrap().parameters;
        let names: Vec<&str> = parameters.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["to", "to.city", "to.more"]);
        assert_eq!(parameters[1].values, [json!("Oslo")]);
    }

    #[test]
    fn schemas_of_pydantic_are_read() {
        let found = declared(json!([{"name": "set", "parameters": {
        "$defs": {"Mode": {"enum": ["a", "b"]}, "Place": {"type": "object", "properties": {"city": {"type": "string"}}}},
        "properties": {
            "n": {"anyOf": [{"type": "integer", "exclusiveMinimum": 0}, {"type": "null"}], "default": null},
            "mode": {"allOf": [{"$ref": "#/$defs/Mode"}]},
            "place": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}]},
        }}}]));
        let schema = found.tools["set"].as_ref().unwrap();
        let names: Vec<&str> = schema
            .parameters
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        assert_eq!(names, ["n", "mode", "place", "place.city"]);
        let [n, mode, ..] = &schema.parameters[..] else {
            panic!("{schema:?}")
        };
        assert_eq!(
            (n.kind, n.above, n.is_integer),
            (Some(JsonKind::Number), Some(0.0), true)
        );
        assert!(n.nullable && n.default.is_none());
        assert_eq!(mode.values, [json!("a"), json!("b")]);
        assert!(!schema.is_open);
    }

    #[test]
    fn descriptions_and_forms_are_read() {
        let properties = json!({"day": {"type": "string", "format": "date", "description": " When. "},
            "code": {"anyOf": [{"type": "string", "pattern": "^b"}, {"type": "null"}]}});
        let found = declared(json!({"tools": [
            {"name": "water", "description": "Waters a bed.\n", "inputSchema": {"properties": properties}},
            {"name": "now", "description": " "},
        ]}));
        let expected = [("water".to_string(), "Waters a bed.".to_string())];
        assert_eq!(found.descriptions, expected.into());
        let parameters = &found.tools["water"].as_ref().unwrap().parameters;
        let read = parameters
            .iter()
            .map(|one| (one.description.as_str(), one.form.as_deref()));
        assert_eq!(
            read.collect::<Vec<_>>(),
            [("When.", Some("date")), ("", Some("^b"))]
        );
    }

    #[test]
    fn openai_tools_without_parameters_are_read() {
        let found = declared(json!([{"type": "function", "function": {"name": "now"}}]));
        assert_eq!(found.tools["now"], Some(ToolSchema::default()));
        let open = declared(
            json!([{"name": "any", "parameters": {"type": "object", "additionalProperties": true}}]),
        );
        assert!(open.tools["any"].as_ref().unwrap().is_open);
    }
}
