//! Finds cases in which the user says the same, or nearly the same, as in a new one.

use crate::domain::{EvalCase, ToolCall, finite_number};
use rustc_hash::FxHashMap;
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// From this share of common words on, two texts are nearly the same (Jaccard index).
const MIN_COMMON: f64 = 0.8;

/// Conversations, prepared so that a new one is compared with all of them quickly.
#[derive(Debug, Default)]
pub struct KnownConversations {
    /// The number of cases, those without turns included.
    count: usize,
    /// By the texts of the user: the first case.
    by_text: FxHashMap<u128, usize>,
    /// By the expected calls: the words of the cases.
    by_calls: FxHashMap<u128, Vec<ConversationWords>>,
}

/// The words of the user in a case.
#[derive(Debug)]
struct ConversationWords {
    /// The index of the case.
    index: usize,
    /// Digests of the different words, in ascending order.
    words: Box<[u64]>,
}

/// What two conversations are compared by.
struct ConversationKey {
    /// A digest of the texts of the user.
    text: u128,
    /// A digest of the calls; `None` if they are not all known.
    calls: Option<u128>,
    /// Digests of the different words of the user, in ascending order.
    words: Box<[u64]>,
}

impl KnownConversations {
    /// The conversations of some cases.
    pub fn new<'a>(cases: impl IntoIterator<Item = &'a EvalCase>) -> KnownConversations {
        let mut known = KnownConversations::default();
        cases.into_iter().for_each(|case| known.add(case));
        known
    }

    /// Adds a case. Its index is the number of cases that were added before.
    pub fn add(&mut self, case: &EvalCase) {
        let index = self.count;
        self.count += 1;
        let Some(key) = ConversationKey::new(case) else {
            return;
        };
        self.by_text.entry(key.text).or_insert(index);
        if let Some(calls) = key.calls {
            let same_calls = self.by_calls.entry(calls).or_default();
            same_calls.push(ConversationWords {
                index,
                words: key.words,
            });
        }
    }

    /// The index of a case of which another one is a duplicate: the user says the same, apart from capitals and spaces, or the same calls
    /// are expected and at least 0.8 of the different words are common. `None` for a case without turns.
    pub fn duplicate_of(&self, case: &EvalCase) -> Option<usize> {
        let key = ConversationKey::new(case)?;
        if let Some(index) = self.by_text.get(&key.text) {
            return Some(*index);
        }
        let same_calls = self.by_calls.get(&key.calls?)?;
        let near = same_calls
            .iter()
            .find(|known| are_near(&known.words, &key.words));
        near.map(|known| known.index)
    }
}

impl ConversationKey {
    /// `None` for a case without turns.
    fn new(case: &EvalCase) -> Option<ConversationKey> {
        let turns = case.turns();
        if turns.is_empty() {
            return None;
        }
        let texts = turns
            .iter()
            .map(|turn| normalized_text(&turn.user.scored_text()));
        let text = texts.collect::<Vec<_>>().join("\n");
        let are_known = turns.iter().all(|turn| turn.trajectory.is_known());
        let calls = || {
            let mut calls = String::new();
            let all = turns.iter().flat_map(|turn| turn.calls());
            all.for_each(|call| write_call(call, &mut calls));
            xxh3_128(calls.as_bytes())
        };
        let words = text.unicode_words().map(|word| xxh3_64(word.as_bytes()));
        let mut words: Vec<u64> = words.collect();
        words.sort_unstable();
        words.dedup();
        Some(ConversationKey {
            text: xxh3_128(text.as_bytes()),
            calls: are_known.then(calls),
            words: words.into(),
        })
    }
}

/// A text in lower case with single spaces, and with the simplest form of equivalent characters.
fn normalized_text(text: &str) -> String {
    let lower = text.nfkc().collect::<String>().to_lowercase();
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Writes a call so that equal calls are written the same.
fn write_call(call: &ToolCall, out: &mut String) {
    out.push_str(&Value::from(call.name.as_str()).to_string());
    match &call.args {
        _ if call.args_unknown => out.push('?'),
        Some(args) => write_value(&Value::Object(args.clone()), out),
        None => {}
    }
    out.push('\n');
}

/// Writes JSON so that equal values are written the same: keys in order, 2.0 as 2.
fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (key, member) in members {
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_value(member, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(elements) => {
            out.push('[');
            for element in elements {
                write_value(element, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Number(_) => match finite_number(value) {
            // Of larger integers, a float has not all digits.
            Some(number) if number.abs() < 1e15 => out.push_str(&(number + 0.0).to_string()),
            _ => out.push_str(&value.to_string()),
        },
        other => out.push_str(&other.to_string()),
    }
}

/// Whether two sets of words, in ascending order, have so much in common that their texts are nearly the same.
fn are_near(one: &[u64], other: &[u64]) -> bool {
    let (fewer, more) = (one.len().min(other.len()), one.len().max(other.len()));
    if more == 0 || (fewer as f64) < MIN_COMMON * more as f64 {
        return false;
    }
    let (mut at, mut common) = (0, 0);
    for word in one {
        while at < other.len() && other[at] < *word {
            at += 1;
        }
        common += usize::from(other.get(at) == Some(word));
    }
    let all = one.len() + other.len() - common;
    common as f64 >= MIN_COMMON * all as f64
}

#[cfg(test)]
mod tests {
    use super::super::tests::{case, turn};
    use super::*;
    use crate::domain::{Conversation, Trajectory};
    use serde_json::json;

    /// A case with one turn that calls `water` with these arguments.
    fn watering(text: &str, args: Value) -> EvalCase {
        case("a", vec![turn(text, &[("water", args)])])
    }

    /// Whether two cases are duplicates; the same in both directions.
    fn are_same(one: &EvalCase, other: &EvalCase) -> bool {
        let found = KnownConversations::new([one]).duplicate_of(other);
        let reverse = KnownConversations::new([other]).duplicate_of(one);
        assert_eq!(found, reverse);
        found == Some(0)
    }

    const TEN: &str = "one two three four five six seven eight nine";

    #[test]
    fn equal_texts_are_duplicates() {
        let one = watering("Water the  RÖSES\nnow", json!({"bed": "a"}));
        assert!(are_same(
            &one,
            &watering("water the ro\u{308}ses now", json!({"bed": "b"}))
        ));
        let two = case("b", vec![turn("Water", &[]), turn("the röses now", &[])]);
        assert!(!are_same(&one, &two), "the turns differ");
    }

    #[test]
    fn equal_calls_with_most_words_are_duplicates() {
        let (args, more) = (|| json!({"bed": "a"}), |end: &str| format!("{TEN} {end}"));
        let one = watering(TEN, args());
        assert!(
            are_same(&one, &watering(&more("ten"), args())),
            "9 of 10 words"
        );
        assert!(
            are_same(&one, &watering(&more("ten eleven"), args())),
            "9 of 11 words"
        );
        let fewer = more("ten eleven twelve");
        assert!(!are_same(&one, &watering(&fewer, args())), "9 of 12 words");
        assert!(are_same(
            &one,
            &watering("Nine, eight: seven six five four three two one!", args())
        ));
    }

    #[test]
    fn other_calls_are_no_duplicates() {
        let one = watering(TEN, json!({"bed": "a", "litres": 2}));
        let other = |args: Value| watering(&format!("{TEN} ten"), args);
        assert!(are_same(&one, &other(json!({"litres": 2.0, "bed": "a"}))));
        for args in [
            json!({"bed": "a", "litres": 3}),
            json!({"bed": "a", "litres": "2"}),
            json!({"bed": "a"}),
            json!({"bed": "a", "litres": [2]}),
        ] {
            assert!(!are_same(&one, &other(args.clone())), "{args}");
        }
        let look = turn(
            &format!("{TEN} ten"),
            &[("look", json!({"bed": "a", "litres": 2}))],
        );
        assert!(!are_same(&one, &case("b", vec![look])));
    }

    #[test]
    fn unknown_calls_are_compared_by_text_only() {
        let unknown = |text: &str| {
            let mut one = watering(text, json!({}));
            if let Conversation::Turns(turns) = &mut one.conversation {
                turns[0].trajectory = Trajectory::Unknown;
            }
            one
        };
        assert!(are_same(&unknown(TEN), &unknown(TEN)));
        assert!(!are_same(&unknown(TEN), &unknown(&format!("{TEN} ten"))));
    }

    #[test]
    fn cases_without_turns_are_no_duplicates() {
        let empty = case("a", Vec::new());
        assert!(!are_same(&empty, &empty));
        let silent = watering("?", json!({}));
        assert!(
            !are_same(&silent, &watering("!", json!({}))),
            "no words in common"
        );
    }

    #[test]
    fn index_counts_all_cases_that_were_added() {
        let (first, second) = (watering("first", json!({})), watering("second", json!({})));
        let mut known = KnownConversations::new([&case("a", Vec::new()), &first]);
        assert_eq!(known.duplicate_of(&second), None);
        known.add(&second);
        known.add(&second);
        assert_eq!(
            (known.duplicate_of(&first), known.duplicate_of(&second)),
            (Some(1), Some(2))
        );
    }

    #[test]
    fn near_texts_are_found_among_many() {
        let text = |at: usize| {
            let words: Vec<String> = (0..12)
                .map(|word| format!("w{}x{word}", at / 2 * 7))
                .collect();
            format!("{} {at}", words.join(" "))
        };
        let talk = |at: usize| case("a", vec![turn(&text(at), &[])]);
        let cases: Vec<EvalCase> = (0..10_000).map(|at| talk(2 * at)).collect();
        let known = KnownConversations::new(&cases);
        for at in [0, 5_000, 9_999] {
            assert_eq!(known.duplicate_of(&talk(2 * at + 1)), Some(at));
        }
        assert_eq!(known.duplicate_of(&talk(20_001)), None);
    }
}
