//! The words of the user, as a model wrote them, and whether they can be used.

use super::blueprint::{ArgumentSource, Blueprint, BlueprintCall};
use super::reply::{kind_text, object_in_reply, required_member};
use super::stated_values::{SearchedText, written_values};
use crate::analysis::coverage::Declarations;
use crate::domain::{JsonKind, TRANSFER_TOOL};
use serde_json::Value;
use std::collections::BTreeSet;

/// The largest number of characters of a message.
const MAX_CHARACTERS: usize = 2_000;
/// Messages that begin with one of these are not a user's.
const ROLE_WORDS: [&str; 8] = [
    "user:",
    "human:",
    "customer:",
    "assistant:",
    "agent:",
    "model:",
    "system:",
    "as an ai",
];
/// Messages that contain one of these are not a user's.
const MARKS: [&str; 2] = ["</finished>", "```"];

/// Why the words of a user cannot be used. Turns are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WordingProblem {
    /// The number of messages is not that of the turns: both.
    OtherNumber(usize, usize),
    /// The message of a turn is empty.
    Empty(usize),
    /// The message of a turn is too long: the turn, the number of characters.
    TooLong(usize, usize),
    /// The message of a turn is not written by a user: the turn, the words that show it.
    NotAUser(usize, &'static str),
    /// The message of a turn contains the name of a tool, a parameter or an agent: the turn, the name.
    NamesIdentifier(usize, String),
    /// No message up to a turn states a value that the user must state: the turn, the value.
    NotStated(usize, String),
    /// A message up to a turn states a value that the user learns from a tool: the turn, the value.
    StatesAnswer(usize, String),
}

impl WordingProblem {
    /// The kind of the problem, by which problems are counted.
    pub fn label(&self) -> &'static str {
        match self {
            WordingProblem::OtherNumber(..) => "other number of turns",
            WordingProblem::Empty(_) => "empty text",
            WordingProblem::TooLong(..) => "text too long",
            WordingProblem::NotAUser(..) => "not written as a user",
            WordingProblem::NamesIdentifier(..) => "names a tool or parameter",
            WordingProblem::NotStated(..) => "value not stated",
            WordingProblem::StatesAnswer(..) => "states an answer",
        }
    }

    /// The problem as a message.
    pub fn reason(&self) -> String {
        match self {
            WordingProblem::OtherNumber(found, turns) => {
                format!("there are {found} texts, and {turns} turns")
            }
            WordingProblem::Empty(turn) => format!("the text of turn {turn} is empty"),
            WordingProblem::TooLong(turn, length) => format!(
                "the text of turn {turn} has {length} characters, and at most {MAX_CHARACTERS} are allowed"
            ),
            WordingProblem::NotAUser(turn, words) => {
                format!("the text of turn {turn} is not written by a user: it has \"{words}\"")
            }
            WordingProblem::NamesIdentifier(turn, name) => format!(
                "the text of turn {turn} contains {name}, the name of a tool, a parameter or an agent, which a user does not know"
            ),
            WordingProblem::NotStated(turn, value) => {
                format!("no text up to turn {turn} states the value {value}")
            }
            WordingProblem::StatesAnswer(turn, value) => format!(
                "a text up to turn {turn} states the value {value}, which is from the answer of a tool"
            ),
        }
    }
}

/// Reads the messages of the user from the reply of a model, one for each turn.
///
/// # Errors
///
/// The reply has no JSON object with as many texts.
pub fn parse_wording(reply: &str, turns: usize) -> Result<Vec<String>, String> {
    let members = object_in_reply(reply)?;
    let place = "the reply";
    let texts = required_member(&members, place, "turns", JsonKind::List, Value::as_array)?;
    if texts.len() != turns {
        return Err(WordingProblem::OtherNumber(texts.len(), turns).reason());
    }
    let texts = texts.iter().enumerate().map(|(at, text)| {
        let found = text.as_str().map(|text| text.trim().to_string());
        let problem = || format!("turn {} is {}, and must be a text", at + 1, kind_text(text));
        found.ok_or_else(problem)
    });
    texts.collect()
}

/// Checks the messages of the user, one for each turn of the blueprint.
///
/// # Errors
///
/// The first problem.
pub fn check_wording(
    texts: &[String],
    blueprint: &Blueprint,
    declared: &Declarations,
) -> Result<(), WordingProblem> {
    if texts.len() != blueprint.turns.len() {
        let (found, turns) = (texts.len(), blueprint.turns.len());
        return Err(WordingProblem::OtherNumber(found, turns));
    }
    let identifiers = identifiers_of(declared);
    let own = values_from(blueprint, |source| source == ArgumentSource::User);
    for (at, text) in texts.iter().enumerate() {
        check_form(at + 1, text)?;
        check_identifiers(at + 1, text, &identifiers, &own)?;
    }
    check_stated(texts, &own)?;
    let from_answers = |source| matches!(source, ArgumentSource::Answer(_));
    check_answers(texts, &values_from(blueprint, from_answers), &own)
}

/// Checks that a message is one of a user.
fn check_form(turn: usize, text: &str) -> Result<(), WordingProblem> {
    if text.trim().is_empty() {
        return Err(WordingProblem::Empty(turn));
    }
    let length = text.chars().count();
    if length > MAX_CHARACTERS {
        return Err(WordingProblem::TooLong(turn, length));
    }
    let lower = text.to_lowercase();
    let begin = lower.trim_start_matches(|c: char| !c.is_alphanumeric());
    // "**User:**" is written as "User:".
    let plain = begin.replace('*', "");
    let role = ROLE_WORDS.into_iter().find(|role| plain.starts_with(role));
    let mark = MARKS.into_iter().find(|mark| lower.contains(mark));
    match role.or(mark) {
        Some(words) => Err(WordingProblem::NotAUser(turn, words)),
        None => Ok(()),
    }
}

/// A value that is the argument of a call, or a part of one, and the turn of the call from 1.
type TurnValue<'a> = (usize, &'a Value);

/// The texts and numbers within the arguments of a blueprint whose source is one of these. Transfers have no arguments of the user.
fn values_from(
    blueprint: &Blueprint,
    is_source: impl Fn(ArgumentSource) -> bool,
) -> Vec<TurnValue<'_>> {
    let of_call = |call: &'_ BlueprintCall, name: &str| {
        let source = call.sources.get(name);
        source.is_some_and(|source| is_source(*source))
    };
    let mut found = Vec::new();
    for (turn, call) in blueprint
        .calls()
        .filter(|(_, call)| call.name != TRANSFER_TOOL)
    {
        for (_, value) in call.args.iter().filter(|(name, _)| of_call(call, name)) {
            let values = written_values(value).into_iter();
            found.extend(values.map(|value| (turn + 1, value)));
        }
    }
    found
}

/// The names of tools, parameters and agents that are no ordinary words: with `_` or a capital inside.
fn identifiers_of(declared: &Declarations) -> BTreeSet<&str> {
    let tools = declared.tools.keys().map(String::as_str);
    let schemas = declared.tools.values().flatten();
    let parameters = schemas.flat_map(|schema| &schema.parameters);
    let names = parameters.flat_map(|parameter| parameter.name.split('.'));
    let agents = declared.agents.iter().map(String::as_str);
    let all = tools.chain(names).chain(agents).chain([TRANSFER_TOOL]);
    all.filter(|name| is_identifier(name)).collect()
}

fn is_identifier(name: &str) -> bool {
    let has_capital_inside = name
        .chars()
        .zip(name.chars().skip(1))
        .any(|(one, next)| one.is_lowercase() && next.is_uppercase());
    name.trim_matches('_').contains('_') || has_capital_inside
}

/// Checks that a message has none of these names as a whole word, unless the user's own data contain it.
fn check_identifiers(
    turn: usize,
    text: &str,
    identifiers: &BTreeSet<&str>,
    own: &[TurnValue<'_>],
) -> Result<(), WordingProblem> {
    let text = SearchedText::new(text);
    let is_own = |name: &str| {
        let mut texts = own.iter().filter_map(|(_, value)| value.as_str());
        texts.any(|text| SearchedText::new(text).has_word(name))
    };
    let mut named = identifiers.iter().filter(|name| text.has_word(name));
    match named.find(|name| !is_own(name)) {
        Some(name) => Err(WordingProblem::NamesIdentifier(turn, name.to_string())),
        None => Ok(()),
    }
}

/// The message of each turn.
fn searched(texts: &[String]) -> Vec<SearchedText> {
    texts.iter().map(|text| SearchedText::new(text)).collect()
}

/// Checks that the user states each of these values, in the message of its turn or before.
fn check_stated(texts: &[String], own: &[TurnValue<'_>]) -> Result<(), WordingProblem> {
    let texts = searched(texts);
    let is_unstated = |(turn, value): &&TurnValue<'_>| {
        let mut until = texts.iter().take(*turn);
        !until.any(|text| text.states(value))
    };
    match own.iter().find(is_unstated) {
        Some((turn, value)) => Err(WordingProblem::NotStated(*turn, value.to_string())),
        None => Ok(()),
    }
}

/// Checks that the user states none of the values from answers before the agent has them. Short values are not checked: equal ones are
/// a coincidence. Nor are those that are also the user's own.
fn check_answers(
    texts: &[String],
    answers: &[TurnValue<'_>],
    own: &[TurnValue<'_>],
) -> Result<(), WordingProblem> {
    let texts = searched(texts);
    let is_own = |value: &Value| {
        let mut stated = own
            .iter()
            .map(|(_, own)| SearchedText::new(&unquoted_text(own)));
        stated.any(|own| own.states(value))
    };
    let is_stated_too_early = |(turn, value): &&TurnValue<'_>| {
        let mut until = texts.iter().take(*turn);
        is_telling(value) && !is_own(value) && until.any(|text| text.states(value))
    };
    match answers.iter().find(is_stated_too_early) {
        Some((turn, value)) => Err(WordingProblem::StatesAnswer(*turn, value.to_string())),
        None => Ok(()),
    }
}

fn unquoted_text(value: &Value) -> String {
    value.as_str().map_or(value.to_string(), str::to_string)
}

/// Whether a text or a number is long enough that two equal ones are no coincidence.
fn is_telling(value: &Value) -> bool {
    let length = unquoted_text(value).trim().chars().count();
    match value.is_number() {
        true => length >= 3,
        false => length >= 4,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{blueprint, declared};
    use super::*;
    use serde_json::json;

    /// Two turns: roses get 2 litres, then the bed of an answer gets what the user says.
    fn two_turns() -> Blueprint {
        let turns = json!([
            {"goal": "g", "calls": [
                {"name": "transfer_to_agent", "args": {"agent_name": "roses_agent"}, "from": {"agent_name": "user"}},
                {"name": "look", "args": {"bed": "Roses"}, "from": {"bed": "user"}},
                {"name": "water", "args": {"bed": "bed-4711", "litres": 2}, "from": {"bed": "answer:1", "litres": "user"}},
            ]},
            {"goal": "h", "calls": [
                {"name": "move_pot", "args": {"pots": ["fern", 12], "where_to": {"bedName": "north"}, "now": true},
                    "from": {"pots": "user", "where_to": "user", "now": "user"}},
            ]},
        ]);
        blueprint(turns, json!({}))
    }

    const FIRST: &str = "Give the roses 2 litres.";
    const SECOND: &str = "Move the fern and pot 12 north.";

    fn check(texts: [&str; 2]) -> Result<(), WordingProblem> {
        check_wording(&texts.map(String::from), &two_turns(), &declared())
    }

    #[test]
    fn texts_are_read_from_the_reply() {
        let read = parse_wording("```json\n{\"turns\": [\" Hi \", \"Bye\"]}\n```", 2);
        assert_eq!(read, Ok(vec!["Hi".to_string(), "Bye".to_string()]));
        for (reply, problem) in [
            ("{\"turns\": [\"Hi\"]}", "there are 1 texts, and 2 turns"),
            (
                "{\"turns\": [\"Hi\", 2]}",
                "turn 2 is a number, and must be a text",
            ),
            (
                "{\"turns\": \"Hi\"}",
                "the reply: \"turns\" is a text, and must be a list",
            ),
            ("{}", "the reply: \"turns\" is missing, and must be a list"),
            ("Hi", "the reply has no JSON object"),
        ] {
            assert_eq!(parse_wording(reply, 2).unwrap_err(), problem);
        }
    }

    #[test]
    fn usual_messages_have_no_problem() {
        assert_eq!(check([FIRST, SECOND]), Ok(()));
        let earlier = "ROSES: 2 litres, and I have a fern, pot 12 and a north bed.";
        assert_eq!(check([earlier, "Move both."]), Ok(()));
    }

    #[test]
    fn number_of_texts_must_match() {
        let checked = check_wording(&[FIRST.to_string()], &two_turns(), &declared());
        assert_eq!(checked, Err(WordingProblem::OtherNumber(1, 2)));
    }

    #[test]
    fn empty_and_long_texts_are_refused() {
        assert_eq!(check([FIRST, " \n"]), Err(WordingProblem::Empty(2)));
        let with_length = |length: usize| format!("{FIRST}{}", "é".repeat(length - FIRST.len()));
        assert_eq!(check([&with_length(2_000), SECOND]), Ok(()));
        let long = check([&with_length(2_001), SECOND]);
        assert_eq!(long, Err(WordingProblem::TooLong(1, 2_001)));
    }

    #[test]
    fn words_of_other_roles_are_refused() {
        for (begin, words) in [
            ("User: ", "user:"),
            ("**User:** ", "user:"),
            ("ASSISTANT: ", "assistant:"),
            ("As an AI model, ", "as an ai"),
        ] {
            let found = check([&format!("{begin}{FIRST}"), SECOND]);
            assert_eq!(found, Err(WordingProblem::NotAUser(1, words)), "{begin}");
        }
        for (mark, end) in [("</finished>", "</Finished>"), ("```", "```sh```")] {
            let found = check([FIRST, &format!("{SECOND} {end}")]);
            assert_eq!(found, Err(WordingProblem::NotAUser(2, mark)));
        }
        assert_eq!(check([&format!("The user: {FIRST}"), SECOND]), Ok(()));
    }

    #[test]
    fn names_of_tools_and_parameters_are_refused() {
        for name in [
            "move_pot",
            "Move_Pot",
            "where_to",
            "bedName",
            "bedname",
            "roses_agent",
            "transfer_to_agent",
        ] {
            let found = check([FIRST, &format!("{SECOND} Use {name}.")]);
            let problem = found.unwrap_err();
            assert_eq!(problem.label(), "names a tool or parameter", "{name}");
        }
        // "look", "water" and "litres" are words.
        assert_eq!(check([&format!("{FIRST} Look and water."), SECOND]), Ok(()));
        assert_eq!(check([FIRST, &format!("{SECOND} my_move_pot")]), Ok(()));
    }

    #[test]
    fn identifiers_in_data_of_the_user_are_allowed() {
        let turns = |source: &str| {
            json!([{"goal": "g", "calls": [
                {"name": "look", "args": {"bed": "the move_pot bed"}, "from": {"bed": source}}]}])
        };
        let check = |source: &str| {
            let texts = ["Look at the move_pot bed".to_string()];
            let blueprint = blueprint(turns(source), json!({"bed": "the move_pot bed"}));
            check_wording(&texts, &blueprint, &declared())
        };
        assert_eq!(check("user"), Ok(()));
        let expected = WordingProblem::NamesIdentifier(1, "move_pot".into());
        assert_eq!(check("state"), Err(expected));
    }

    #[test]
    fn identifiers_have_marks_or_capitals_inside() {
        let names = ["get_weather", "getWeather", "GetWeather", "x_1"];
        assert!(names.iter().all(|name| is_identifier(name)));
        let words = ["water", "Water", "URL", "_id", "check-in", ""];
        assert!(!words.iter().any(|word| is_identifier(word)));
    }

    #[test]
    fn values_of_the_user_must_be_stated() {
        for (first, second, turn, value) in [
            ("Give them 2 litres.", SECOND, 1, "\"Roses\""),
            ("Water the roses.", SECOND, 1, "2"),
            ("Give the roses 20 litres.", SECOND, 1, "2"),
            (FIRST, "Move pot 12 north.", 2, "\"fern\""),
            (FIRST, "Move the fern north.", 2, "12"),
            (FIRST, "Move the fern and pot 12.", 2, "\"north\""),
        ] {
            let expected = WordingProblem::NotStated(turn, value.into());
            assert_eq!(check([first, second]), Err(expected));
        }
        let later = "Move the fern and pot 12 north. The roses get 2 litres.";
        let expected = WordingProblem::NotStated(1, "\"Roses\"".into());
        assert_eq!(check(["Water 2 litres.", later]), Err(expected), "too late");
    }

    #[test]
    fn values_of_answers_must_not_be_stated() {
        let found = check([&format!("{FIRST} It is BED-4711."), SECOND]);
        let expected = WordingProblem::StatesAnswer(1, "\"bed-4711\"".into());
        assert_eq!(found, Err(expected));
        // After the answer, the user may refer to it.
        assert_eq!(check([FIRST, &format!("{SECOND} And bed-4711.")]), Ok(()));
    }

    #[test]
    fn short_and_own_values_are_no_answers() {
        let check = |value: Value, own: Value| {
            let text = format!(
                "About {} and {}.",
                unquoted_text(&own),
                unquoted_text(&value)
            );
            let turns = json!([{"goal": "g", "calls": [
                {"name": "look", "args": {"bed": own}, "from": {"bed": "user"}},
                {"name": "look", "args": {"bed": value}, "from": {"bed": "answer:1"}}]}]);
            let blueprint = blueprint(turns, json!({}));
            check_wording(&[text], &blueprint, &declared()).is_ok()
        };
        assert!(check(json!(42), json!("roses")) && !check(json!(421), json!("roses")));
        assert!(check(json!("abc"), json!("roses")) && !check(json!("abcd"), json!("roses")));
        assert!(check(json!("tall roses"), json!("the tall roses")));
    }

    #[test]
    fn each_problem_is_a_message_with_its_turn() {
        let problems = [
            WordingProblem::Empty(3),
            WordingProblem::TooLong(3, 9),
            WordingProblem::NotAUser(3, "user:"),
            WordingProblem::NamesIdentifier(3, "a_b".into()),
            WordingProblem::NotStated(3, "1".into()),
            WordingProblem::StatesAnswer(3, "1".into()),
        ];
        let labels: BTreeSet<&str> = problems.iter().map(WordingProblem::label).collect();
        assert_eq!(labels.len(), problems.len());
        assert!(problems.iter().all(|one| one.reason().contains("turn 3")));
    }
}
