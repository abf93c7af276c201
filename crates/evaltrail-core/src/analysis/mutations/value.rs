//! Another value of an argument: of a class that no case expects yet, or one of another case.

use super::mutation::{Mutation, turns_mut, with_calls_only};
use super::stated::{
    CaseValues, ExpectedArgument, replace_whole_words, text_of_value, whole_word_positions,
};
use crate::analysis::coverage::{ArgumentClass, Parameter};
use crate::diff::values_equal;
use crate::domain::{EvalCase, Rubric, finite_number};
use serde_json::{Number, Value};

/// Another value for each stated argument and each class of its values, and one value of another case.
pub(super) fn mutations(case: &EvalCase, known: &CaseValues, seed: u64) -> Vec<Mutation> {
    let mut found = Vec::new();
    for argument in stated_arguments(case) {
        let Some(known) = known.argument(&argument.tool, &argument.name) else {
            continue;
        };
        for (new, class) in new_values(&argument, known, seed) {
            let Some(case) = with_value(case, &argument, &new) else {
                continue;
            };
            let label = class.as_ref().map(|class| match class {
                ArgumentClass::Is(_) if known.parameter.default.as_ref() == Some(&new) => {
                    " (the default)".to_string()
                }
                ArgumentClass::Is(_) => " (an allowed value)".into(),
                class => format!(" ({})", class.label()),
            });
            let change = format!(
                "{}.{} {} → {new}{}",
                argument.tool,
                argument.name,
                argument.value,
                label.unwrap_or_default()
            );
            let gap = class.map(|class| {
                let (tool, name) = (&argument.tool, &argument.name);
                format!("{tool}.{name} {}", class.label())
            });
            found.push(Mutation { change, gap, case });
        }
    }
    found
}

/// A value that the user states in the turn whose call has it as an argument.
struct StatedArgument {
    turn: usize,
    tool: String,
    name: String,
    value: Value,
}

/// The stated arguments of a case. Of arguments with equal values, the first.
fn stated_arguments(case: &EvalCase) -> Vec<StatedArgument> {
    let mut stated: Vec<StatedArgument> = Vec::new();
    for (turn, invocation) in case.turns().iter().enumerate() {
        let text = invocation.user.scored_text();
        for call in invocation.calls() {
            for (name, value) in call.args.iter().flatten() {
                let is_stated = text_of_value(value)
                    .is_some_and(|word| whole_word_positions(&text, &word).len() == 1);
                let is_known = stated.iter().any(|one| values_equal(&one.value, value));
                if is_stated && !is_known {
                    stated.push(StatedArgument {
                        turn,
                        tool: call.name.clone(),
                        name: name.clone(),
                        value: value.clone(),
                    });
                }
            }
        }
    }
    stated
}

/// The other values that an argument could have: one of each class that no case expects, with the class, and one of another
/// case.
fn new_values(
    argument: &StatedArgument,
    known: &ExpectedArgument,
    seed: u64,
) -> Vec<(Value, Option<ArgumentClass>)> {
    let gaps = known.classes.iter().filter(|(_, is_expected)| !is_expected);
    let gaps = gaps.filter_map(|(class, _)| {
        let new = example(class, &known.parameter, &argument.value)?;
        Some((new, Some(class.clone())))
    });
    let others: Vec<&Value> = known
        .values
        .values()
        .filter(|value| !values_equal(value, &argument.value))
        .collect();
    let other = (seed as usize)
        .checked_rem(others.len())
        .and_then(|at| others.get(at));
    gaps.chain(other.map(|value| ((*value).clone(), None)))
        .collect()
}

/// A value of a class that a user can write and the parameter allows; `None` if there is none, or if it is not known which.
fn example(class: &ArgumentClass, parameter: &Parameter, instead_of: &Value) -> Option<Value> {
    let value = match class {
        ArgumentClass::Is(value) => value.clone(),
        ArgumentClass::Zero => 0.into(),
        ArgumentClass::Negative => negative(parameter, instead_of)?,
        ArgumentClass::Limit(limit) => number(*limit)?,
        ArgumentClass::OtherNumber { .. } => {
            let before = finite_number(instead_of)?;
            let near = [
                before + 1.0,
                before - 1.0,
                before * 2.0,
                (before / 2.0).ceil(),
            ];
            let allowed = near
                .into_iter()
                .filter(|near| parameter.allows_number(*near));
            let mut values = allowed.filter_map(number);
            values.find(|value| class.contains(Some(value)))?
        }
        ArgumentClass::NonAscii => Value::from(with_accent(instead_of.as_str()?)?),
        _ => return None,
    };
    let is_other = text_of_value(&value).is_some() && !values_equal(&value, instead_of);
    (is_other && class.contains(Some(&value))).then_some(value)
}

/// A negative number that the parameter allows: the one with the opposite sign, else one near zero.
fn negative(parameter: &Parameter, of: &Value) -> Option<Value> {
    let opposite = finite_number(of).map(|number| -number.abs());
    let near = opposite.into_iter().chain([-1.0, -0.5]);
    let mut allowed = near.filter(|near| *near < 0.0 && parameter.allows_number(*near));
    allowed.next().and_then(number)
}

/// A number as JSON, without a decimal point if it is an integer.
fn number(number: f64) -> Option<Value> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match number.fract() == 0.0 && number.abs() <= EXACT {
        true => Some(Value::from(number as i64)),
        false => Number::from_f64(number).map(Value::Number),
    }
}

/// A text whose first vowel has an accent; `None` if it has no vowel.
fn with_accent(text: &str) -> Option<String> {
    const ACCENTS: [(char, char); 10] = [
        ('a', 'á'),
        ('e', 'é'),
        ('i', 'í'),
        ('o', 'ó'),
        ('u', 'ú'),
        ('A', 'Á'),
        ('E', 'É'),
        ('I', 'Í'),
        ('O', 'Ó'),
        ('U', 'Ú'),
    ];
    let accent = |c: char| ACCENTS.iter().find(|(plain, _)| *plain == c);
    let at = text
        .char_indices()
        .find_map(|(at, c)| Some((at, accent(c)?.1)))?;
    let (at, accented) = at;
    Some(format!("{}{accented}{}", &text[..at], &text[at + 1..]))
}

/// The case with another value, wherever the user states it and calls have it. From the turn on in which it is stated first,
/// responses are not known, nor are the final state and what rubrics about the old value would be. `None` if the user states the
/// new value already.
fn with_value(case: &EvalCase, argument: &StatedArgument, new: &Value) -> Option<EvalCase> {
    let (old_word, new_word) = (text_of_value(&argument.value)?, text_of_value(new)?);
    let texts = || case.turns().iter().map(|turn| turn.user.scored_text());
    if texts().any(|text| !whole_word_positions(&text, &new_word).is_empty()) {
        return None;
    }
    let is_kept = |rubric: &Rubric| {
        let texts = [&rubric.text, &rubric.description].into_iter().flatten();
        texts
            .into_iter()
            .all(|text| whole_word_positions(text, &old_word).is_empty())
    };
    let mut case = case.clone();
    case.final_session_state = None;
    case.rubrics.retain(is_kept);
    for (at, turn) in turns_mut(&mut case).iter_mut().enumerate() {
        turn.rubrics.retain(is_kept);
        for text in turn
            .user
            .parts
            .iter_mut()
            .filter_map(|part| part.text.as_mut())
        {
            *text = replace_whole_words(text, &old_word, &new_word);
        }
        if at < argument.turn {
            continue;
        }
        with_calls_only(turn);
        turn.final_response = None;
        for call in 0..turn.calls().len() {
            turn.trajectory.change_call(call, |call| {
                let values = call.args.iter_mut().flat_map(|args| args.values_mut());
                values.for_each(|value| replace_value(value, &argument.value, new));
            });
        }
    }
    Some(case)
}

/// Replaces a value by another one, also inside lists and objects.
fn replace_value(value: &mut Value, old: &Value, new: &Value) {
    match value {
        Value::Array(elements) => elements
            .iter_mut()
            .for_each(|element| replace_value(element, old, new)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|member| replace_value(member, old, new)),
        value if values_equal(value, old) => *value = new.clone(),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{case, declared, turn};
    use super::*;
    use crate::analysis::coverage::Declarations;
    use serde_json::json;

    fn changes(case: &EvalCase, declared: &Declarations) -> Vec<String> {
        let known = CaseValues::collect(std::slice::from_ref(case), declared);
        let mutated = mutations(case, &known, 0);
        mutated.into_iter().map(|one| one.change).collect()
    }

    #[test]
    fn classes_without_a_case_get_a_value() {
        let args = json!({"bed": "tomatoes", "litres": 6});
        let one = case(
            "a",
            vec![turn("6 litres for the tomatoes", &[("water", args)])],
        );
        assert_eq!(
            changes(&one, &declared()),
            [
                "water.bed \"tomatoes\" → \"tómatoes\" (not ASCII)",
                "water.litres 6 → 4 (the default)",
                "water.litres 6 → 1 (limit 1)",
                "water.litres 6 → 20 (limit 20)",
            ]
        );
        // Without declarations, the classes are those of the kind of the value.
        let inferred = changes(&one, &Declarations::default());
        assert!(
            inferred.contains(&"water.litres 6 → 0 (zero)".to_string()),
            "{inferred:?}"
        );
        assert!(inferred.contains(&"water.litres 6 → -6 (negative)".to_string()));
    }

    #[test]
    fn new_values_are_within_the_limits() {
        let example_of = |class: ArgumentClass, parameter: Parameter, stated: Value| {
            example(&class, &parameter, &stated)
        };
        let limited = |minimum: f64, maximum: f64| Parameter {
            minimum: Some(minimum),
            maximum: Some(maximum),
            ..Parameter::default()
        };
        let other = || ArgumentClass::OtherNumber {
            apart_from: vec![1.0, 20.0],
        };
        assert_eq!(
            example_of(other(), limited(1.0, 20.0), json!(20)),
            Some(json!(19))
        );
        assert_eq!(example_of(other(), limited(0.0, 1.0), json!(1)), None);
        let negative = ArgumentClass::Negative;
        assert_eq!(
            example_of(negative.clone(), limited(-1.0, 9.0), json!(5)),
            Some(json!(-1))
        );
        assert_eq!(example_of(negative, limited(-0.2, 9.0), json!(5)), None);
    }

    #[test]
    fn value_changes_everywhere_and_answers_go() {
        let (first, second) = (json!({"bed": "beans"}), json!({"beds": ["beans"]}));
        let turns = vec![
            turn("Hello", &[]),
            turn("Water the beans", &[("water", first)]),
            turn("And weed the beans too", &[("weed", second)]),
        ];
        let mut one = case("a", turns);
        one.final_session_state = Some(json!({"wet": "beans"}));
        let rubric = |text: &str| Rubric {
            id: text.into(),
            text: Some(text.into()),
            ..Rubric::default()
        };
        one.rubrics = vec![rubric("waters the beans"), rubric("is polite")];
        let argument = &stated_arguments(&one)[0];
        let changed = with_value(&one, argument, &json!("roses")).unwrap();
        let texts: Vec<String> = changed
            .turns()
            .iter()
            .map(|turn| turn.user.shown_text())
            .collect();
        assert_eq!(
            texts,
            ["Hello", "Water the roses", "And weed the roses too"]
        );
        let args = |turn: usize| {
            changed.turns()[turn].calls()[0]
                .args
                .clone()
                .map(Value::Object)
        };
        assert_eq!(args(1), Some(json!({"bed": "roses"})));
        assert_eq!(args(2), Some(json!({"beds": ["roses"]})));
        let answered: Vec<bool> = changed
            .turns()
            .iter()
            .map(|turn| turn.final_response.is_some())
            .collect();
        assert_eq!(answered, [true, false, false]);
        assert_eq!(changed.final_session_state, None);
        assert_eq!(changed.rubrics, [rubric("is polite")]);
        assert!(
            with_value(&one, argument, &json!("Hello")).is_none(),
            "it is stated already"
        );
    }

    #[test]
    fn values_that_are_not_stated_once_stay() {
        for (text, args) in [
            ("Water it", json!({"bed": "beans"})),
            ("beans, beans", json!({"bed": "beans"})),
            ("true", json!({"now": true})),
        ] {
            let one = case("a", vec![turn(text, &[("water", args)])]);
            assert_eq!(changes(&one, &Declarations::default()), [""; 0], "{text}");
        }
    }
}
