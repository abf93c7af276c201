//! What a tool declares, as JSON for a prompt.

use crate::analysis::coverage::{Declarations, Parameter, ToolSchema};
use crate::domain::JsonKind;
use serde_json::{Map, Number, Value};

/// The largest number of characters of a text within a declaration; the rest is cut.
const MAX_TEXT: usize = 500;
/// The largest number of listed values of a parameter.
const MAX_LISTED: usize = 50;
/// The largest number of characters of the parameters of a tool; the number of the others is given.
const MAX_PARAMETERS: usize = 30_000;

/// The declaration of a tool: its name, its description, and its parameters with the keywords of JSON Schema; those inside objects
/// are named as `address.city`. `None` if it is not declared. Without parameters if their schema is not known. If there is no room for
/// all parameters, that of the planned argument and required ones have priority.
pub fn declaration_json(
    declared: &Declarations,
    tool: &str,
    planned_argument: Option<&str>,
) -> Option<Value> {
    let schema = declared.tools.get(tool)?;
    let mut members = Map::new();
    members.insert("name".into(), tool.into());
    if let Some(description) = declared.descriptions.get(tool) {
        members.insert("description".into(), shortened_text(description).into());
    }
    if let Some(schema) = schema {
        let (parameters, left_out) = parameters_json(schema, planned_argument);
        members.insert("parameters".into(), parameters.into());
        if left_out > 0 {
            members.insert("more_parameters".into(), left_out.into());
        }
        if schema.is_open {
            members.insert("additional_parameters".into(), true.into());
        }
    }
    Some(Value::Object(members))
}

/// The parameters for which there is room, in the order of the schema, and the number of the others.
fn parameters_json(schema: &ToolSchema, planned_argument: Option<&str>) -> (Vec<Value>, usize) {
    let is_planned = |parameter: &Parameter| {
        planned_argument.is_some_and(|planned| {
            let rest = planned.strip_prefix(&parameter.name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    let mut by_priority: Vec<(usize, &Parameter)> = schema.parameters.iter().enumerate().collect();
    by_priority.sort_by_key(|(_, one)| (!is_planned(one), !one.required));
    let (mut listed, mut length) = (Vec::new(), 0);
    for (at, parameter) in by_priority {
        let json = parameter_json(parameter);
        let with_this = length + json.to_string().chars().count();
        if is_planned(parameter) || with_this <= MAX_PARAMETERS {
            length = with_this;
            listed.push((at, json));
        }
    }
    listed.sort_by_key(|(at, _)| *at);
    let left_out = schema.parameters.len() - listed.len();
    (listed.into_iter().map(|(_, json)| json).collect(), left_out)
}

fn parameter_json(parameter: &Parameter) -> Value {
    let mut members = Map::new();
    members.insert("name".into(), parameter.name.as_str().into());
    if let Some(kind) = parameter.kind {
        members.insert("type".into(), type_name(kind, parameter.is_integer).into());
    }
    members.insert("required".into(), parameter.required.into());
    if parameter.nullable {
        members.insert("nullable".into(), true.into());
    }
    if !parameter.values.is_empty() {
        let listed = parameter.values.iter().take(MAX_LISTED);
        members.insert("enum".into(), listed.map(shortened_value).collect());
        let more = parameter.values.len().saturating_sub(MAX_LISTED);
        if more > 0 {
            members.insert("more_values".into(), more.into());
        }
    }
    members.extend(limits(parameter));
    if let Some(form) = &parameter.form {
        members.insert("format".into(), shortened_text(form).into());
    }
    if let Some(default) = &parameter.default {
        members.insert("default".into(), shortened_value(default));
    }
    if !parameter.description.is_empty() {
        let description = shortened_text(&parameter.description);
        members.insert("description".into(), description.into());
    }
    Value::Object(members)
}

fn type_name(kind: JsonKind, is_integer: bool) -> &'static str {
    match kind {
        JsonKind::Text => "string",
        JsonKind::Number if is_integer => "integer",
        JsonKind::Number => "number",
        JsonKind::Boolean => "boolean",
        JsonKind::List => "array",
        JsonKind::Object => "object",
    }
}

/// The limits of a parameter, by their keywords.
fn limits(parameter: &Parameter) -> impl Iterator<Item = (String, Value)> {
    let (least, most) = parameter.length;
    let of_length = match parameter.kind {
        Some(JsonKind::List) => ["minItems", "maxItems"],
        _ => ["minLength", "maxLength"],
    };
    let numbers = [
        ("minimum", parameter.minimum),
        ("maximum", parameter.maximum),
        ("exclusiveMinimum", parameter.above),
        ("exclusiveMaximum", parameter.below),
    ];
    let numbers = numbers
        .into_iter()
        .filter_map(|(keyword, limit)| Some((keyword, shortest_number(limit?)?)));
    let lengths = [
        (of_length[0], (least > 0).then_some(least)),
        (of_length[1], most),
    ];
    let lengths = lengths
        .into_iter()
        .filter_map(|(keyword, length)| Some((keyword, Value::from(length?))));
    numbers
        .chain(lengths)
        .map(|(keyword, limit)| (keyword.to_string(), limit))
}

/// A number as JSON, without a decimal point if it is an integer. `None` for infinity.
fn shortest_number(number: f64) -> Option<Value> {
    match number.fract() == 0.0 && number.abs() < 1e15 {
        true => Some(Value::from(number as i64)),
        false => Number::from_f64(number).map(Value::Number),
    }
}

/// A value in which each text is cut; one that is long without them is its beginning as a text.
fn shortened_value(value: &Value) -> Value {
    match value {
        Value::String(text) => shortened_text(text).into(),
        value => {
            let text = value.to_string();
            match text.chars().count() > MAX_TEXT {
                true => shortened_text(&text).into(),
                false => value.clone(),
            }
        }
    }
}

/// The beginning of a text, with `…` if it is longer.
fn shortened_text(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::declared;
    use super::*;
    use serde_json::json;

    #[test]
    fn declaration_has_all_that_is_known() {
        assert_eq!(
            declaration_json(&declared(), "water", None),
            Some(
                json!({"name": "water", "description": "Waters a bed.", "parameters": [
                    {"name": "bed", "type": "string", "required": true},
                    {"name": "litres", "type": "integer", "required": false, "minimum": 1, "maximum": 20, "default": 2},
                ]})
            )
        );
        let mut other = Declarations::default();
        let day =
            json!({"type": "string", "format": "date", "description": "When.", "maxLength": 10});
        let share =
            json!({"type": ["number", "null"], "exclusiveMinimum": 0, "exclusiveMaximum": 0.5});
        let names = json!({"type": "array", "minItems": 1});
        let properties = json!({"day": day, "share": share, "names": names});
        let schema = json!({"properties": properties, "additionalProperties": true});
        other.add_tool("open", Some(&schema));
        assert_eq!(
            declaration_json(&other, "open", None),
            Some(json!({"name": "open", "parameters": [
                {"name": "day", "type": "string", "required": false, "maxLength": 10, "format": "date", "description": "When."},
                {"name": "share", "type": "number", "required": false, "nullable": true,
                    "exclusiveMinimum": 0, "exclusiveMaximum": 0.5},
                {"name": "names", "type": "array", "required": false, "minItems": 1},
            ], "additional_parameters": true}))
        );
    }

    #[test]
    fn members_and_values_are_listed() {
        let found = declaration_json(&declared(), "move_pot", None).unwrap();
        let names: Vec<&Value> = found["parameters"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["name"])
            .collect();
        assert_eq!(
            names,
            ["where_to", "where_to.bedName", "where_to.row", "pots"]
        );
        assert_eq!(found["parameters"][2]["enum"], json!(["front", "back"]));
    }

    #[test]
    fn undeclared_tool_has_no_declaration() {
        assert_eq!(declaration_json(&declared(), "drain", None), None);
        let mut known = Declarations::default();
        known.add_tool("named", None);
        known.describe_tool("named", "Does it.");
        assert_eq!(
            declaration_json(&known, "named", None),
            Some(json!({"name": "named", "description": "Does it."}))
        );
    }

    #[test]
    fn parameters_without_room_are_counted() {
        let mut known = Declarations::default();
        let mut properties: Map<String, Value> = (0..5_000)
            .map(|at| (format!("p{at:04}"), json!({})))
            .collect();
        properties.insert("must".into(), json!({}));
        let inner =
            json!({"type": "object", "properties": {"z": {"description": "x".repeat(600)}}});
        properties.insert("zz".into(), inner);
        let schema = json!({"properties": properties, "required": ["must"]});
        known.add_tool("long", Some(&schema));
        let found = declaration_json(&known, "long", Some("zz.z")).unwrap();
        assert!(found.to_string().chars().count() < MAX_PARAMETERS + 1_500);
        let listed = found["parameters"].as_array().unwrap();
        let has = |name: &str| listed.iter().any(|one| one["name"] == name);
        assert!(has("p0000") && has("must") && has("zz") && has("zz.z") && !has("p4999"));
        assert_eq!(listed.last().unwrap()["name"], "zz.z");
        let left_out = found["more_parameters"].as_u64().unwrap() as usize;
        assert_eq!(listed.len() + left_out, 5_003);
        let other = declaration_json(&known, "long", None).unwrap();
        let others = other["parameters"].as_array().unwrap();
        assert!(others.iter().all(|one| one["name"] != "zz.z"));
    }

    #[test]
    fn long_texts_and_lists_are_cut() {
        let long = "é".repeat(501);
        let cut = format!("{}…", "é".repeat(500));
        let mut known = Declarations::default();
        let many: Vec<usize> = (0..60).collect();
        let properties = json!({"x": {"description": long, "default": long, "enum": [long]},
            "y": {"enum": many}, "z": {"default": {"a": long}}});
        known.add_tool("long", Some(&json!({"properties": properties})));
        known.describe_tool("long", &long);
        let found = declaration_json(&known, "long", None).unwrap();
        let x = &found["parameters"][0];
        for text in [
            &found["description"],
            &x["description"],
            &x["default"],
            &x["enum"][0],
        ] {
            assert_eq!(text, cut.as_str());
        }
        let y = &found["parameters"][1];
        assert_eq!(
            (y["enum"].as_array().unwrap().len(), &y["more_values"]),
            (50, &json!(10))
        );
        assert!(found["parameters"][2]["default"].is_string());
        let exact = "x".repeat(500);
        assert_eq!(shortened_text(&exact), exact);
    }
}
