//! The same request in other words that do not change it: an irrelevant sentence, lower case without a full stop.

use super::mutation::{Mutation, turns_mut};
use super::stated::text_of_value;
use crate::domain::{EvalCase, Invocation};
use serde_json::Value;

/// Sentences that ask for nothing and contain no value.
const SENTENCES: [&str; 5] = [
    "By the way, I had a long day.",
    "Sorry for the short message.",
    "I hope you are well.",
    "Thanks in advance for your help.",
    "My connection is slow at the moment.",
];

/// The case with an irrelevant sentence after its first message, and in lower case. A message that may contain words to pass on
/// gets no sentence, and one whose letters may matter stays as it is.
pub(super) fn mutations(case: &EvalCase, seed: u64) -> Vec<Mutation> {
    let sentence = SENTENCES[(seed % SENTENCES.len() as u64) as usize];
    let with_sentence = (!may_pass_words_on(case))
        .then(|| {
            changed(case, |at, text| match at {
                0 => with_sentence(text, sentence),
                _ => text.to_string(),
            })
        })
        .flatten();
    let careless = has_plain_letters(case)
        .then(|| changed(case, |_, text| careless(text)))
        .flatten();
    let mutation = |change: String, case: EvalCase| Mutation {
        change,
        gap: None,
        case,
    };
    with_sentence
        .map(|case| mutation(format!("with \"{sentence}\""), case))
        .into_iter()
        .chain(careless.map(|case| mutation("in lower case".into(), case)))
        .collect()
}

/// Whether a part of the first message may be something to say, translate or write down: it has a mark that begins such a text,
/// or an argument of several words.
fn may_pass_words_on(case: &EvalCase) -> bool {
    let Some(first) = case.turns().first() else {
        return true;
    };
    let has_mark = first
        .user
        .scored_text()
        .contains([':', '"', '\'', '`', '«', '“', '„', '「', '\n']);
    let has_phrase = values(case).any(|value| {
        text_of_value(value).is_none_or(|word| word.contains(char::is_whitespace))
            && !value.is_boolean()
    });
    has_mark || has_phrase || !first.trajectory.is_known()
}

/// Whether a case can be written in lower case: all its calls are known, and it has capitals only in "I" and where a sentence
/// begins, not in names, ids or code.
fn has_plain_letters(case: &EvalCase) -> bool {
    let is_plain = |turn: &Invocation| {
        let text = turn.user.scored_text();
        let mut begins = true;
        let words = text.split_whitespace();
        let mut plain = words.map(|word| {
            let letters = word.trim_matches(|c: char| !c.is_alphanumeric());
            let mut rest = letters.chars();
            let first_is_allowed = begins || !letters.starts_with(char::is_uppercase);
            rest.next();
            let is_mixed = letters.contains(|c: char| c.is_ascii_digit())
                && letters.contains(char::is_alphabetic);
            begins = word.ends_with(['.', '!', '?']);
            letters == "I" || (first_is_allowed && !rest.any(char::is_uppercase) && !is_mixed)
        });
        plain.all(|is_plain| is_plain) && turn.trajectory.is_known()
    };
    let mut texts = values(case).map(|value| value.to_string());
    case.turns().iter().all(is_plain) && !texts.any(|text| text.chars().any(char::is_uppercase))
}

/// The arguments of all calls.
fn values(case: &EvalCase) -> impl Iterator<Item = &Value> {
    let calls = case.turns().iter().flat_map(Invocation::calls);
    calls.flat_map(|call| call.args.iter().flatten().map(|(_, value)| value))
}

/// A message with a sentence behind it.
fn with_sentence(text: &str, sentence: &str) -> String {
    let text = text.trim_end();
    let stop = match text.ends_with(char::is_alphanumeric) {
        true => ".",
        false => "",
    };
    format!("{text}{stop} {sentence}")
}

/// A message in lower case, without a mark at its end.
fn careless(text: &str) -> String {
    let text = text.trim_end();
    text.strip_suffix(['.', '!']).unwrap_or(text).to_lowercase()
}

/// The case with other messages of the user; `None` if they are the same, or if a message is more than one text.
fn changed(case: &EvalCase, change: impl Fn(usize, &str) -> String) -> Option<EvalCase> {
    let is_text = |turn: &Invocation| match turn.user.parts.as_slice() {
        [part] => part.has_text(),
        _ => false,
    };
    if case.turns().is_empty() || !case.turns().iter().all(is_text) {
        return None;
    }
    let mut other = case.clone();
    for (at, turn) in turns_mut(&mut other).iter_mut().enumerate() {
        for text in turn
            .user
            .parts
            .iter_mut()
            .filter_map(|part| part.text.as_mut())
        {
            *text = change(at, text);
        }
    }
    (other.turns() != case.turns()).then_some(other)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{case, turn};
    use super::*;
    use serde_json::json;

    fn first_messages(case: &EvalCase) -> Vec<String> {
        let message = |one: Mutation| one.case.turns()[0].user.shown_text();
        mutations(case, 2).into_iter().map(message).collect()
    }

    #[test]
    fn request_stays_in_other_words() {
        let beans = || json!({"bed": "beans"});
        let of =
            |text: &str, args| first_messages(&case("a", vec![turn(text, &[("water", args)])]));
        assert_eq!(
            of("Water the beans.", beans()),
            ["Water the beans. I hope you are well.", "water the beans"]
        );
        assert_eq!(
            of("Order A-7", json!({"id": "A-7"})),
            ["Order A-7. I hope you are well."],
            "the case of an id matters"
        );
        assert_eq!(of("beans?", beans()), ["beans? I hope you are well."]);
        assert_eq!(of("浇水。", beans()), ["浇水。 I hope you are well."]);
        assert_eq!(
            of("Cancel order A-7B for Bob", beans()),
            ["Cancel order A-7B for Bob. I hope you are well."]
        );
        let late = json!({"text": "I am late"});
        for text in ["Tell Bob: I am late", "Tell Bob I am late"] {
            assert!(
                !of(text, late.clone())
                    .iter()
                    .any(|text| text.contains("hope")),
                "{text}"
            );
        }
    }

    #[test]
    fn messages_of_several_parts_stay() {
        let mut one = case("a", vec![turn("Look", &[])]);
        let part = one.turns()[0].user.parts[0].clone();
        turns_mut(&mut one)[0].user.parts.push(part);
        assert!(mutations(&one, 0).is_empty());
    }
}
