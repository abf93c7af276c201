//! The classes into which the values of an argument are divided: an agent may treat the values of each differently.

use super::declarations::Parameter;
use crate::diff::values_equal;
use crate::domain::{JsonKind, finite_number};
use serde_json::Value;

/// A class of values of an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgumentClass {
    /// The call does not have the argument.
    Absent,
    /// Any value.
    Given,
    /// This value: the default, or one of an enumeration.
    Is(Value),
    /// Another value than the default.
    OtherThan(Value),
    /// Null.
    Null,
    /// Zero.
    Zero,
    /// A number below zero.
    Negative,
    /// The smallest or the largest allowed number.
    Limit(f64),
    /// A positive number other than the limits and the default.
    OtherNumber {
        /// The limits and the default.
        apart_from: Vec<f64>,
    },
    /// A text that is not empty.
    Text,
    /// A text without any character but spaces.
    EmptyText,
    /// A text with a character that is not ASCII.
    NonAscii,
    /// A list with this number of elements.
    Elements(usize),
    /// A list with at least this number of elements.
    ElementsAtLeast(usize),
}

impl ArgumentClass {
    /// The classes of a parameter by its schema: those that it allows.
    pub fn of_parameter(parameter: &Parameter) -> Vec<ArgumentClass> {
        let mut classes = Vec::new();
        if !parameter.required {
            classes.push(ArgumentClass::Absent);
        }
        if let Some(default) = &parameter.default {
            classes.push(ArgumentClass::Is(default.clone()));
        }
        if parameter.nullable {
            classes.push(ArgumentClass::Null);
        }
        let by_kind = classes_of_kind(parameter);
        match (&parameter.default, by_kind.is_empty()) {
            (Some(default), true) => classes.push(ArgumentClass::OtherThan(default.clone())),
            (None, true) => classes.push(ArgumentClass::Given),
            (default, false) => {
                // A class with the default as its only value is that of the default.
                let is_default = |class: &ArgumentClass| {
                    default.as_ref().is_some_and(|default| {
                        class.has_one_value() && class.contains(Some(default))
                    })
                };
                classes.extend(by_kind.into_iter().filter(|class| !is_default(class)));
            }
        }
        classes
    }

    /// Whether all values of the class are equal for an agent.
    fn has_one_value(&self) -> bool {
        matches!(
            self,
            ArgumentClass::Is(_)
                | ArgumentClass::Zero
                | ArgumentClass::Limit(_)
                | ArgumentClass::EmptyText
                | ArgumentClass::Elements(0)
        )
    }

    /// Whether a value belongs to the class; `None` is an argument that the call does not have.
    pub fn contains(&self, value: Option<&Value>) -> bool {
        let Some(value) = value else {
            return *self == ArgumentClass::Absent;
        };
        let number = finite_number(value);
        let text = value.as_str();
        let elements = value.as_array().map(Vec::len);
        match self {
            ArgumentClass::Absent => false,
            ArgumentClass::Given => true,
            ArgumentClass::Is(one) => values_equal(one, value),
            ArgumentClass::OtherThan(one) => !values_equal(one, value),
            ArgumentClass::Null => value.is_null(),
            ArgumentClass::Zero => number == Some(0.0),
            ArgumentClass::Negative => number.is_some_and(|number| number < 0.0),
            ArgumentClass::Limit(limit) => number == Some(*limit),
            ArgumentClass::OtherNumber { apart_from } => {
                number.is_some_and(|number| number > 0.0 && !apart_from.contains(&number))
            }
            ArgumentClass::Text => text.is_some_and(|text| !text.trim().is_empty()),
            ArgumentClass::EmptyText => text.is_some_and(|text| text.trim().is_empty()),
            ArgumentClass::NonAscii => text.is_some_and(|text| !text.is_ascii()),
            ArgumentClass::Elements(count) => elements == Some(*count),
            ArgumentClass::ElementsAtLeast(count) => {
                elements.is_some_and(|elements| elements >= *count)
            }
        }
    }

    /// The class in a word or two.
    pub fn label(&self) -> String {
        match self {
            ArgumentClass::Absent => "absent".into(),
            ArgumentClass::Given => "given".into(),
            ArgumentClass::Is(value) => value.to_string(),
            ArgumentClass::OtherThan(value) => format!("not {value}"),
            ArgumentClass::Null => "null".into(),
            ArgumentClass::Zero => "zero".into(),
            ArgumentClass::Negative => "negative".into(),
            ArgumentClass::Limit(limit) => format!("limit {limit}"),
            ArgumentClass::OtherNumber { .. } => "other number".into(),
            ArgumentClass::Text => "text".into(),
            ArgumentClass::EmptyText => "empty text".into(),
            ArgumentClass::NonAscii => "not ASCII".into(),
            ArgumentClass::Elements(1) => "1 element".into(),
            ArgumentClass::Elements(count) => format!("{count} elements"),
            ArgumentClass::ElementsAtLeast(count) => format!("{count} or more elements"),
        }
    }
}

/// Of a longer list of allowed values, the values are no classes.
const MAX_VALUES_OF_ENUMERATION: usize = 100;

fn classes_of_kind(parameter: &Parameter) -> Vec<ArgumentClass> {
    match parameter.values.len() {
        0 => {}
        1..=MAX_VALUES_OF_ENUMERATION => {
            let values = parameter.values.iter().cloned();
            return values.map(ArgumentClass::Is).collect();
        }
        _ => return Vec::new(),
    }
    match parameter.kind {
        Some(JsonKind::Boolean) => [true, false]
            .map(|value| ArgumentClass::Is(value.into()))
            .into(),
        Some(JsonKind::Number) => classes_of_number(parameter),
        // The characters of a date or an address are given by its form.
        Some(JsonKind::Text) if parameter.has_form => vec![ArgumentClass::Text],
        Some(JsonKind::Text) => {
            let empty = (parameter.length.0 == 0).then_some(ArgumentClass::EmptyText);
            [ArgumentClass::Text]
                .into_iter()
                .chain(empty)
                .chain([ArgumentClass::NonAscii])
                .collect()
        }
        Some(JsonKind::List) => {
            let (least, most) = parameter.length;
            let is_allowed = |count: u64| count >= least && most.is_none_or(|most| count <= most);
            let short = [0, 1].into_iter().filter(|count| is_allowed(*count));
            let long = most.is_none_or(|most| most >= 2);
            short
                .map(|count| ArgumentClass::Elements(count as usize))
                .chain(long.then_some(ArgumentClass::ElementsAtLeast(2)))
                .collect()
        }
        Some(JsonKind::Object) | None => Vec::new(),
    }
}

fn classes_of_number(parameter: &Parameter) -> Vec<ArgumentClass> {
    let mut limits: Vec<f64> = parameter
        .minimum
        .into_iter()
        .chain(parameter.maximum)
        .collect();
    limits.dedup();
    let allows = |number: f64| parameter.is_within_limits(number);
    let mut classes = Vec::new();
    if allows(0.0) && !limits.contains(&0.0) {
        classes.push(ArgumentClass::Zero);
    }
    let least = parameter.minimum.or(parameter.above);
    if least.is_none_or(|least| least < 0.0) {
        classes.push(ArgumentClass::Negative);
    }
    classes.extend(limits.iter().copied().map(ArgumentClass::Limit));
    let default = parameter.default.as_ref().and_then(finite_number);
    let apart_from: Vec<f64> = limits.into_iter().chain(default).collect();
    if allows_another_number(parameter, &apart_from, allows) {
        classes.push(ArgumentClass::OtherNumber { apart_from });
    }
    classes
}

/// Whether a number above zero is allowed that is none of these.
fn allows_another_number(
    parameter: &Parameter,
    apart_from: &[f64],
    allows: impl Fn(f64) -> bool,
) -> bool {
    let is_another = |number: f64| number > 0.0 && allows(number) && !apart_from.contains(&number);
    let first = parameter
        .minimum
        .or(parameter.above)
        .unwrap_or(0.0)
        .max(0.0)
        .floor();
    // Among more integers than numbers that are excluded, there is another one.
    let integers = (0..=apart_from.len() as u32 + 2).map(|step| first + f64::from(step));
    let last = parameter.maximum.or(parameter.below).unwrap_or(f64::MAX);
    let between = (!parameter.is_integer).then(|| (first + last.min(first + 1.0)) / 2.0 + 1e-9);
    integers.chain(between).any(is_another)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn labels(parameter: Parameter) -> Vec<String> {
        ArgumentClass::of_parameter(&parameter)
            .iter()
            .map(ArgumentClass::label)
            .collect()
    }

    fn required(kind: JsonKind) -> Parameter {
        Parameter {
            required: true,
            kind: Some(kind),
            ..Parameter::default()
        }
    }

    #[test]
    fn classes_follow_from_the_schema() {
        assert_eq!(labels(required(JsonKind::Boolean)), ["true", "false"]);
        assert_eq!(
            labels(required(JsonKind::Text)),
            ["text", "empty text", "not ASCII"]
        );
        assert_eq!(
            labels(required(JsonKind::List)),
            ["0 elements", "1 element", "2 or more elements"]
        );
        assert_eq!(labels(required(JsonKind::Object)), ["given"]);
        let limited = Parameter {
            minimum: Some(1.0),
            maximum: Some(9.0),
            ..required(JsonKind::Number)
        };
        assert_eq!(labels(limited), ["limit 1", "limit 9", "other number"]);
        let optional = Parameter {
            default: Some(json!("en")),
            values: vec![json!("en"), json!("no")],
            required: false,
            nullable: true,
            ..required(JsonKind::Text)
        };
        assert_eq!(labels(optional), ["absent", "\"en\"", "null", "\"no\""]);
    }

    #[test]
    fn classes_excluded_by_schema_are_left_out() {
        let number = |parameter: Parameter| {
            labels(Parameter {
                required: true,
                kind: Some(JsonKind::Number),
                is_integer: true,
                ..parameter
            })
        };
        let positive = Parameter {
            above: Some(0.0),
            ..Parameter::default()
        };
        assert_eq!(number(positive), ["other number"]);
        let between = |minimum: f64, maximum: f64| Parameter {
            minimum: Some(minimum),
            maximum: Some(maximum),
            ..Parameter::default()
        };
        assert_eq!(number(between(0.0, 1.0)), ["limit 0", "limit 1"]);
        assert_eq!(number(between(3.0, 3.0)), ["limit 3"]);
        assert_eq!(
            number(between(-9.0, -1.0)),
            ["negative", "limit -9", "limit -1"]
        );
        let zero = Parameter {
            default: Some(json!(0)),
            ..Parameter::default()
        };
        assert_eq!(number(zero), ["0", "negative", "other number"]);
        let text = Parameter {
            length: (1, None),
            ..required(JsonKind::Text)
        };
        assert_eq!(labels(text), ["text", "not ASCII"]);
        let one = Parameter {
            length: (1, Some(1)),
            ..required(JsonKind::List)
        };
        assert_eq!(labels(one), ["1 element"]);
    }

    #[test]
    fn each_value_is_in_its_classes() {
        let parameter = Parameter {
            required: false,
            default: Some(json!(2)),
            ..required(JsonKind::Number)
        };
        let classes = ArgumentClass::of_parameter(&parameter);
        let of = |value: Option<Value>| -> Vec<String> {
            let within = classes
                .iter()
                .filter(|class| class.contains(value.as_ref()));
            within.map(ArgumentClass::label).collect()
        };
        assert_eq!(of(None), ["absent"]);
        assert_eq!(of(Some(json!(0))), ["zero"]);
        assert_eq!(of(Some(json!(-1.5))), ["negative"]);
        assert_eq!(of(Some(json!(2.0))), ["2"]);
        assert_eq!(of(Some(json!(3))), ["other number"]);
        assert_eq!(of(Some(json!("2"))), Vec::<String>::new());
    }
}
