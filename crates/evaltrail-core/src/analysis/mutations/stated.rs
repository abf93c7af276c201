//! The values of arguments that the user states: those that are in the text as whole words.

use crate::analysis::coverage::{ArgumentClass, Declarations, Parameter};
use crate::domain::{EvalCase, Invocation, JsonKind, finite_number};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// At most as many different values of an argument are used in other cases.
const MAX_VALUES: usize = 50;

/// What the expected calls of cases have as an argument.
#[derive(Debug)]
pub(super) struct ExpectedArgument {
    /// The parameter as it is declared, else by the kind of the first value.
    pub(super) parameter: Parameter,
    /// The classes of its values, and whether a case expects one.
    pub(super) classes: Vec<(ArgumentClass, bool)>,
    /// Values that a user can write, the first ones.
    pub(super) values: BTreeMap<String, Value>,
}

/// The arguments in the expected calls of cases, by tool and name.
#[derive(Debug, Default)]
pub(super) struct CaseValues(BTreeMap<String, BTreeMap<String, ExpectedArgument>>);

impl CaseValues {
    pub(super) fn collect(cases: &[EvalCase], declared: &Declarations) -> CaseValues {
        let mut values = CaseValues::default();
        let turns = cases.iter().flat_map(EvalCase::turns);
        for call in turns.flat_map(Invocation::calls) {
            let of_tool = values.0.entry(call.name.clone()).or_default();
            for (name, value) in call.args.iter().flatten() {
                let known = of_tool
                    .entry(name.clone())
                    .or_insert_with(|| ExpectedArgument::new(declared, &call.name, name, value));
                known.add(value);
            }
        }
        values
    }

    /// What is known of an argument.
    pub(super) fn argument(&self, tool: &str, argument: &str) -> Option<&ExpectedArgument> {
        self.0.get(tool)?.get(argument)
    }
}

impl ExpectedArgument {
    fn new(declared: &Declarations, tool: &str, name: &str, value: &Value) -> ExpectedArgument {
        let schema = declared.tools.get(tool).and_then(Option::as_ref);
        let mut parameters = schema.iter().flat_map(|schema| &schema.parameters);
        let parameter = parameters.find(|parameter| parameter.name == name).cloned();
        let parameter = parameter.unwrap_or_else(|| Parameter {
            kind: JsonKind::of_value(value),
            ..Parameter::default()
        });
        let classes = ArgumentClass::of_parameter(&parameter).into_iter();
        ExpectedArgument {
            classes: classes.map(|class| (class, false)).collect(),
            parameter,
            values: BTreeMap::new(),
        }
    }

    fn add(&mut self, value: &Value) {
        for (class, is_expected) in &mut self.classes {
            *is_expected = *is_expected || class.contains(Some(value));
        }
        if self.values.len() < MAX_VALUES
            && let Some(word) = text_of_value(value)
        {
            self.values.insert(word, value.clone());
        }
    }
}

/// A text or a number as a user writes it; `None` for other values, for blank texts and for those with line breaks.
pub(super) fn text_of_value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => {
            let is_usable = !text.trim().is_empty() && text.trim() == text;
            (is_usable && !text.contains(['\n', '\r'])).then(|| text.clone())
        }
        Value::Number(number) => finite_number(value).map(|_| number.to_string()),
        _ => None,
    }
}

/// Where a text contains `word` as whole words, in bytes.
pub(super) fn whole_word_positions(text: &str, word: &str) -> Vec<usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let found = text.match_indices(word).filter(|(at, _)| {
        let mut before = text[..*at].chars().rev();
        let mut after = text[at + word.len()..].chars();
        let (before, after) = ((before.next(), before.next()), (after.next(), after.next()));
        let is_number = word
            .trim_start_matches('-')
            .starts_with(|c: char| c.is_ascii_digit());
        let joins_number = |c: Option<char>| matches!(c, Some('.' | ',' | '-' | ':' | '/'));
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        let touches = before.0.is_some_and(is_part) || after.0.is_some_and(is_part);
        // Of "1.5", "10:30" and "-4", a part is not the number.
        let is_part_of_number = is_number
            && (before.0 == Some('-')
                || joins_number(before.0) && is_digit(before.1)
                || joins_number(after.0) && is_digit(after.1));
        !touches && !is_part_of_number
    });
    found.map(|(at, _)| at).collect()
}

/// A text with other whole words in the place of some.
pub(super) fn replace_whole_words(text: &str, word: &str, with: &str) -> String {
    let mut out = String::new();
    let mut end = 0;
    for at in whole_word_positions(text, word) {
        if at < end {
            continue;
        }
        out.push_str(&text[end..at]);
        out.push_str(with);
        end = at + word.len();
    }
    out.push_str(&text[end..]);
    out
}

/// The words of a text, in lower case.
pub(super) fn lower_case_tokens(text: &str) -> BTreeSet<String> {
    let split = text.split(|c: char| !c.is_alphanumeric());
    split
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_found_as_whole_words() {
        let found = |text: &str, word: &str| whole_word_positions(text, word).len();
        assert_eq!(found("4 litres and 4.", "4"), 2);
        for other in [
            "14 litres",
            "1.4 litres",
            "4.5",
            "4,000",
            "-4",
            "4:30",
            "a4",
            "4th",
        ] {
            assert_eq!(found(other, "4"), 0, "{other}");
        }
        assert_eq!(
            (found("-4.5 degrees", "-4"), found("-4 degrees", "-4")),
            (0, 1)
        );
        assert_eq!(found("the tomato-bed, tomato_x, tomatoes", "tomato"), 1);
        assert_eq!(
            replace_whole_words("4 and 14 and 4", "4", "0"),
            "0 and 14 and 0"
        );
        assert_eq!(replace_whole_words("ß4 é 4é", "é", "x"), "ß4 x 4é");
    }

    #[test]
    fn only_texts_and_numbers_are_written() {
        assert_eq!(text_of_value(&json!("a b")).as_deref(), Some("a b"));
        assert_eq!(text_of_value(&json!(0.5)).as_deref(), Some("0.5"));
        for other in [
            json!(""),
            json!(" a"),
            json!("a\nb"),
            json!(true),
            json!([1]),
            json!(null),
        ] {
            assert_eq!(text_of_value(&other), None, "{other}");
        }
    }
}
