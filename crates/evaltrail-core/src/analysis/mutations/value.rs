//! Another value of an argument: of a class that no case expects yet, or one of another case.

use super::mutation::{Mutation, turns_mut, with_calls_only};
use super::stated::{
    CaseValues, ExpectedArgument, replace_whole_words, text_of_value, whole_word_positions,
};
use super::unchanged::unchanged_text;
use crate::analysis::coverage::{ArgumentClass, Parameter};
use crate::diff::values_equal;
use crate::domain::{EvalCase, Invocation, Rubric, finite_number};
use serde_json::{Number, Value};

/// Another value for each stated argument and each class of its values, and one value of another case.
pub(super) fn mutations(case: &EvalCase, known: &CaseValues, seed: u64) -> Vec<Mutation> {
    let mut found = Vec::new();
    for mut argument in stated_arguments(case) {
        let Some(known) = known.argument(&argument.tool, &argument.name) else {
            continue;
        };
        let default = known.parameter.default.as_ref();
        argument.is_default = default.is_some_and(|default| values_equal(default, &argument.value));
        for (new, class) in new_values(&argument, known, seed) {
            let Some(case) = with_value(case, &argument, &new) else {
                continue;
            };
            let change = format!(
                "{}.{} {} → {new}{}{}",
                argument.tool,
                argument.name,
                argument.value,
                class_label(class.as_ref(), known, &new),
                unchanged_text(&case, &argument.value, &new)
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

/// The class of a new value, as ` (the default)`; empty for a value that another case has.
fn class_label(class: Option<&ArgumentClass>, known: &ExpectedArgument, new: &Value) -> String {
    match class {
        None => String::new(),
        Some(ArgumentClass::Is(_)) if known.parameter.default.as_ref() == Some(new) => {
            " (the default)".into()
        }
        Some(ArgumentClass::Is(_)) => " (an allowed value)".into(),
        Some(class) => format!(" ({})", class.label()),
    }
}

/// A value that the user states in the turn whose call has it as an argument.
struct StatedArgument {
    turn: usize,
    tool: String,
    name: String,
    value: Value,
    /// Whether the tool uses this value if a call has none.
    is_default: bool,
}

/// The stated arguments of a case. Of arguments with equal names and values, the first.
fn stated_arguments(case: &EvalCase) -> Vec<StatedArgument> {
    let mut stated: Vec<StatedArgument> = Vec::new();
    for (turn, invocation) in case.turns().iter().enumerate() {
        let text = invocation.user.scored_text();
        for call in invocation.calls() {
            for (name, value) in call.args.iter().flatten() {
                let is_stated = text_of_value(value)
                    .is_some_and(|word| whole_word_positions(&text, &word).len() == 1);
                let mut known = stated.iter().filter(|one| one.name == *name);
                let is_known = known.any(|one| values_equal(&one.value, value));
                if is_stated && !is_known {
                    stated.push(StatedArgument {
                        turn,
                        tool: call.name.clone(),
                        name: name.clone(),
                        value: value.clone(),
                        is_default: false,
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

/// The case with another value. It replaces the old one in the message that states it, in the argument, and in arguments of the same
/// name and value from that turn on (see [`is_same_value`]); an equal value elsewhere may mean something else. Responses of these
/// turns, the final state and rubrics that contain the old value are removed: they are not known. `None` if a message contains the
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
        if at < argument.turn {
            continue;
        }
        turn.rubrics.retain(is_kept);
        with_calls_only(turn);
        turn.final_response = None;
        if is_same_value(turn, argument, &old_word) {
            let parts = turn.user.parts.iter_mut();
            for text in parts.filter_map(|part| part.text.as_mut()) {
                *text = replace_whole_words(text, &old_word, &new_word);
            }
            replace_argument(turn, argument, new);
        }
    }
    Some(case)
}

/// Whether the arguments of a turn with the name and the value of a stated one are the stated value as well: the message of the
/// turn states the value, once; or it does not contain it at all, so that it refers to an earlier message, and the value is not
/// the default. A turn without such an argument has none.
fn is_same_value(turn: &Invocation, argument: &StatedArgument, old_word: &str) -> bool {
    let calls = turn.calls();
    let mut values = calls
        .iter()
        .filter_map(|call| call.args.as_ref()?.get(&argument.name));
    let text = turn.user.scored_text();
    let is_stated = whole_word_positions(&text, old_word).len() == 1;
    let is_contained = text.to_lowercase().contains(&old_word.to_lowercase());
    let is_referred = !argument.is_default && !is_contained;
    (is_stated || is_referred) && values.any(|value| values_equal(value, &argument.value))
}

/// Replaces the value of the arguments of a turn that have the name and the value of a stated one.
fn replace_argument(turn: &mut Invocation, argument: &StatedArgument, new: &Value) {
    for call in 0..turn.calls().len() {
        turn.trajectory.change_call(call, |call| {
            let value = call
                .args
                .as_mut()
                .and_then(|args| args.get_mut(&argument.name));
            if let Some(value) = value.filter(|value| values_equal(value, &argument.value)) {
                *value = new.clone();
            }
        });
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
    fn value_changes_in_later_turns_and_answers_go() {
        let (first, second) = (json!({"bed": "beans"}), json!({"bed": "beans"}));
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
        assert_eq!(args(2), Some(json!({"bed": "roses"})));
        assert_eq!(unchanged_text(&changed, &argument.value, &json!("new")), "");
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
    fn equal_values_of_other_arguments_stay() {
        let turns = vec![
            turn("Roll a die with 6 sides", &[("roll", json!({"sides": 6}))]),
            turn("Once more", &[("roll", json!({"sides": 6, "count": 6}))]),
            turn(
                "Add up 4, 5 and 6",
                &[("add", json!({"values": [4, 5, 6]}))],
            ),
            turn("Roll a d6", &[("roll", json!({"sides": 6}))]),
        ];
        let one = case("a", turns);
        let argument = &stated_arguments(&one)[0];
        let changed = with_value(&one, argument, &json!(8)).unwrap();
        let calls = changed.turns().iter().flat_map(Invocation::calls);
        let args: Vec<_> = calls
            .map(|call| Value::Object(call.args.clone().unwrap()))
            .collect();
        assert_eq!(
            args,
            [
                json!({"sides": 8}),
                json!({"sides": 8, "count": 6}),
                json!({"values": [4, 5, 6]}),
                json!({"sides": 6}),
            ]
        );
        assert_eq!(changed.turns()[2].user.scored_text(), "Add up 4, 5 and 6");
        let changes = changes(&one, &Declarations::default());
        let unchanged = "; not changed: roll.count of turn 2, the message of turn 3, add.values of turn 3, roll.sides of turn 4";
        assert!(
            changes.contains(&format!("roll.sides 6 → -6 (negative){unchanged}")),
            "{changes:?}"
        );
    }

    #[test]
    fn defaults_that_no_message_states_stay() {
        let turns = vec![
            turn(
                "Water the beans with 4 litres",
                &[("water", json!({"litres": 4}))],
            ),
            turn("Water the roses", &[("water", json!({"litres": 4}))]),
        ];
        let changes = changes(&case("a", turns), &declared());
        let first = changes
            .iter()
            .find(|change| change.contains("→ 1 "))
            .unwrap();
        assert!(
            first.ends_with("; not changed: water.litres of turn 2"),
            "{first}"
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
