//! Secret values, and their replacement in texts.

use super::escaped::{self, has_escapes, replace_escaped, unescaped};
use super::spelling::spellings;
use parking_lot::RwLock;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// What takes the place of a secret.
pub const REDACTED: &str = "[redacted]";
/// A shorter value is not replaced, because it occurs in other texts, too. In bytes.
const SHORTEST: usize = 6;

/// Secret values in all their spellings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Secrets {
    /// The longest first.
    spellings: Vec<Spelling>,
}

/// A spelling of a secret that may occur in a text with escapes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Spelling {
    text: String,
    /// The text without escapes.
    plain: Vec<u8>,
}

impl Secrets {
    /// The secrets with these values; short ones are left out.
    pub fn new(values: impl IntoIterator<Item = String>) -> Secrets {
        let mut secrets = Secrets::default();
        secrets.add(values);
        secrets
    }

    /// Adds values; short ones are left out.
    pub fn add(&mut self, values: impl IntoIterator<Item = String>) {
        let values = values
            .into_iter()
            .filter(|value| value.trim().len() >= SHORTEST);
        let new: BTreeSet<String> = values.flat_map(|value| spellings(value.trim())).collect();
        self.spellings.extend(new.into_iter().map(|text| Spelling {
            plain: unescaped(&text),
            text,
        }));
        self.spellings
            .sort_by(|a, b| (Reverse(a.text.len()), a).cmp(&(Reverse(b.text.len()), b)));
        self.spellings.dedup();
    }

    /// A text without the secrets.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for Spelling { text: secret, .. } in &self.spellings {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), REDACTED).into();
            }
        }
        if self.spellings.is_empty() || !has_escapes(&text) {
            return text;
        }
        let plain = unescaped(&text);
        for secret in self
            .spellings
            .iter()
            .filter(|secret| escaped::contains(&plain, &secret.plain))
        {
            text = replace_escaped(&text, &secret.plain, REDACTED).into();
        }
        text
    }

    /// Replaces the secrets in all texts and numbers of a value; names of members stay as they are.
    pub fn mask_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.mask_text(text),
            Value::Number(number) => {
                let text = number.to_string();
                if self.spellings.iter().any(|secret| secret.text == text) {
                    *value = REDACTED.into();
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_value(item)),
            Value::Object(members) => members
                .values_mut()
                .for_each(|member| self.mask_value(member)),
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Replaces the secrets in a value that somebody else wrote, in the names of members as well.
    pub fn mask_foreign(&self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_foreign(item)),
            Value::Object(members) => self.mask_members(members),
            other => self.mask_value(other),
        }
    }

    /// The same for the members of an object.
    pub fn mask_members(&self, members: &mut Map<String, Value>) {
        members
            .values_mut()
            .for_each(|member| self.mask_foreign(member));
        if members
            .keys()
            .any(|name| matches!(self.mask(name), Cow::Owned(_)))
        {
            let named = std::mem::take(members).into_iter();
            *members = named
                .map(|(name, member)| (self.mask(&name).into_owned(), member))
                .collect();
        }
    }

    /// Replaces the secrets in a text.
    pub fn mask_text(&self, text: &mut String) {
        if let Cow::Owned(masked) = self.mask(text) {
            *text = masked;
        }
    }

    /// Where the end of a text begins that may be the beginning of a secret, in bytes; the length if none does.
    pub fn partial_match_start(&self, text: &str) -> usize {
        let longest = |Spelling { text: secret, .. }: &Spelling| {
            let most = secret.len().saturating_sub(1).min(text.len());
            (1..=most)
                .rev()
                .find(|&length| text.as_bytes().ends_with(&secret.as_bytes()[..length]))
        };
        let end = text.len() - self.spellings.iter().filter_map(longest).max().unwrap_or(0);
        if !has_escapes(text) {
            return end;
        }
        let escaped = |secret: &Spelling| escaped::partial_match_start(text, &secret.plain);
        self.spellings.iter().map(escaped).fold(end, usize::min)
    }
}

/// The secrets that were sent to agents. All places that send one share it, and all that receive something from an agent.
#[derive(Debug, Default)]
pub struct SentSecrets {
    secrets: RwLock<Secrets>,
}

impl SentSecrets {
    /// The secrets with these values.
    pub fn new(values: impl IntoIterator<Item = String>) -> SentSecrets {
        SentSecrets {
            secrets: RwLock::new(Secrets::new(values)),
        }
    }

    /// Adds values before they are sent.
    pub fn add(&self, values: impl IntoIterator<Item = String>) {
        self.secrets.write().add(values);
    }

    /// The secrets as they are now.
    pub fn now(&self) -> Secrets {
        self.secrets.read().clone()
    }

    /// A text without the secrets.
    pub fn mask(&self, text: &str) -> String {
        self.secrets.read().mask(text).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_masked_in_texts_and_numbers() {
        let known = Secrets::new(["a\"b/c+d \\e", "12345678", "expected"].map(String::from));
        let mut value = json!({
            "expected": {"text": "a\"b/c+d \\e", "order": 12345678, "other": 1.5},
            "address": "?key=a%22b%2Fc%2Bd+%5Ce",
            "path": "/a%22b%2Fc%2Bd%20%5Ce/",
            "json": "{\"p\": \"a\\\"b/c+d \\\\e\"}",
            "base64": "YSJiL2MrZCBcZQ==",
        });
        let mut foreign = value.clone();
        known.mask_value(&mut value);
        let mut shown = json!({
            "expected": {"text": "[redacted]", "order": "[redacted]", "other": 1.5},
            "address": "?key=[redacted]",
            "path": "/[redacted]/",
            "json": "{\"p\": \"[redacted]\"}",
            "base64": "[redacted]==",
        });
        assert_eq!(value, shown);
        known.mask_foreign(&mut foreign);
        let renamed = shown.as_object_mut().unwrap().remove("expected").unwrap();
        shown["[redacted]"] = renamed;
        assert_eq!(foreign, shown);
    }

    #[test]
    fn end_of_text_can_begin_a_secret() {
        let known = Secrets::new(["canary-1".to_string()]);
        for (text, end) in [
            ("the can", "can"),
            ("the canary", "canary"),
            ("the cat", ""),
            ("", ""),
            ("é c", "c"),
            ("% c%61n%6", "c%61n%6"),
        ] {
            assert_eq!(&text[known.partial_match_start(text)..], end, "{text}");
        }
    }
}
