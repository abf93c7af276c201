//! Rewrites the keys of a case that ADK defines between camelCase and snake_case. All other keys stay as they are.

use super::schema::{EVAL_CASE, INTERMEDIATE_DATA, INVOCATION_EVENTS, PARTS};
use super::schema_types::{SchemaField, SchemaModel, Type};
use crate::formats::read::{camel, lookup, same_name};
use serde_json::{Map, Value};

/// A case with the keys that ADK knows in camelCase or in snake_case.
pub(in crate::formats) fn convert_key_case(case: &Value, in_camel_case: bool) -> Value {
    model(&EVAL_CASE, case, in_camel_case)
}

fn model(model: &SchemaModel, value: &Value, in_camel_case: bool) -> Value {
    let Some(map) = value.as_object() else {
        return value.clone();
    };
    let member = |(key, value): (&String, &Value)| match field_of(model, key) {
        None => (key.clone(), value.clone()),
        Some(field) => (
            spelt(model, field, map, key, in_camel_case),
            typed(&field.kind, value, in_camel_case),
        ),
    };
    map.iter().map(member).collect::<Map<_, _>>().into()
}

fn field_of(model: &SchemaModel, key: &str) -> Option<&'static SchemaField> {
    model
        .fields
        .iter()
        .find(|field| match model.both_spellings {
            true => same_name(key, field.name),
            false => key == field.name,
        })
}

/// The new spelling of a key. A key that is present in both spellings stays, since each has its own value.
fn spelt(
    model: &SchemaModel,
    field: &SchemaField,
    map: &Map<String, Value>,
    key: &str,
    in_camel_case: bool,
) -> String {
    let both = map.contains_key(field.name)
        && map.contains_key(&camel(field.name))
        && camel(field.name) != field.name;
    match (model.both_spellings && !both, in_camel_case) {
        (false, _) => key.to_string(),
        (true, true) => camel(field.name),
        (true, false) => field.name.to_string(),
    }
}

fn typed(kind: &Type, value: &Value, in_camel_case: bool) -> Value {
    match (kind, value) {
        (Type::List(item), Value::Array(list)) => list
            .iter()
            .map(|value| typed(item, value, in_camel_case))
            .collect(),
        (Type::DictOf(item), Value::Object(map)) => {
            let member =
                |(key, value): (&String, &Value)| (key.clone(), typed(item, value, in_camel_case));
            map.iter().map(member).collect::<Map<_, _>>().into()
        }
        (Type::Model(of), _) => model(of, value, in_camel_case),
        (Type::AuthoredParts, Value::Array(list)) if list.len() == 2 => {
            vec![list[0].clone(), typed(&PARTS, &list[1], in_camel_case)].into()
        }
        (Type::Intermediate, Value::Object(map)) => {
            let has_events = lookup(map, "invocation_events").is_some();
            model(
                if has_events {
                    &INVOCATION_EVENTS
                } else {
                    &INTERMEDIATE_DATA
                },
                value,
                in_camel_case,
            )
        }
        _ => value.clone(),
    }
}
