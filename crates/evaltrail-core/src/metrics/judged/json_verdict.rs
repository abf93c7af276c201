//! Reading a verdict that is requested as a member of a JSON object.

use super::verdict_codes::{VerdictCodes, agreed, labelled_with_code};
use crate::metrics::judged::reply_objects::{Object, objects, without_objects};
use regex::Regex;
use serde_json::Value;
use std::ops::Range;

/// The keys under which a verdict may be given, with the patterns that find them in a reply.
pub(super) struct VerdictKeys {
    names: &'static [&'static str],
    /// Each `"key": value` as written.
    pair: Option<Regex>,
    /// A key, a colon or an equals sign, a value up to its end.
    loose: Option<Regex>,
}

impl VerdictKeys {
    pub(super) fn compile(names: &'static [&'static str]) -> VerdictKeys {
        const QUOTES: &str = r#"[\\"'“”`*]*"#;
        let keys = names.join("|");
        let value = r#"([^,\n}\];/\\"'“”`*]*)([,\n}\];/\\"'“”`*]|$)"#;
        VerdictKeys {
            names,
            pair: Regex::new(&format!(r#""({keys})"\s*:\s*("[^"]*"|[^,}}\]\s]*)"#)).ok(),
            loose: Regex::new(&format!(
                r"(?i){QUOTES}({keys}){QUOTES}\s*[:=]\s*\[?\s*{QUOTES}{value}"
            ))
            .ok(),
        }
    }
}

/// Where to look for a verdict, and how to read it.
pub(super) struct JsonVerdict<'a, T> {
    pub(super) keys: &'a VerdictKeys,
    /// Reads the value of a key; `None` when it is not a verdict.
    pub(super) read: &'a dyn Fn(&str, &Value) -> Option<T>,
}

struct FoundVerdict<T> {
    range: Range<usize>,
    verdict: Option<T>,
    is_object: bool,
}

impl<T: PartialEq + Copy> JsonVerdict<'_, T> {
    /// The judge's own verdict. One after the code takes precedence. Without a code, text that occurs in the data is
    /// a quotation, and verdicts that disagree count as none. The error says why there is none.
    pub(super) fn verdict(
        &self,
        reply: &str,
        codes: &VerdictCodes,
        code: &str,
    ) -> Result<T, String> {
        let objects = objects(reply);
        if let Some(verdict) = self.behind_code(reply, &objects, code) {
            return verdict.ok_or_else(contradiction);
        }
        let mut found = self.in_objects(reply, &objects, codes, code);
        found.extend(self.loose(reply, &objects, codes));
        found.sort_by_key(|one| one.range.start);
        let Some(last) = found.last() else {
            return Err("no verdict in the judge's answer".into());
        };
        let verdict = last
            .verdict
            .ok_or("the verdict in the judge's answer cannot be read")?;
        let counts = |one: &&FoundVerdict<T>| match last.is_object {
            false => true,
            true if is_own_frame(reply, &objects, &last.range) => one.is_object,
            true => one.is_object || one.verdict.is_some(),
        };
        match found
            .iter()
            .filter(counts)
            .all(|one| one.verdict == Some(verdict))
        {
            true => Ok(verdict),
            false => Err(contradiction()),
        }
    }

    /// The verdict after the code; the inner `None` when such verdicts contradict each other.
    fn behind_code(&self, reply: &str, objects: &[Object], code: &str) -> Option<Option<T>> {
        let word = |key: &&'static str| -> Vec<Option<T>> {
            labelled_with_code(reply, code, key)
                .into_iter()
                .map(|word| (self.read)(key, &Value::String(word)))
                .collect()
        };
        let mut found: Vec<Option<T>> = self
            .keys
            .names
            .iter()
            .flat_map(word)
            .flatten()
            .map(Some)
            .collect();
        if found.is_empty() {
            // The keys may come in another order.
            let coded = objects
                .iter()
                .map(|(.., value)| value)
                .filter(|value| value["code"] == *code);
            found = coded
                .flat_map(|value| self.read_all(value))
                .filter(Option::is_some)
                .collect();
        }
        (!found.is_empty()).then(|| agreed(found))
    }

    fn read_all(&self, object: &Value) -> Vec<Option<T>> {
        self.keys
            .names
            .iter()
            .filter_map(|key| Some((self.read)(key, object.get(*key)?)))
            .collect()
    }

    fn in_objects(
        &self,
        reply: &str,
        objects: &[Object],
        codes: &VerdictCodes,
        code: &str,
    ) -> Vec<FoundVerdict<T>> {
        let of = |(start, end, value): &Object| {
            if value["code"]
                .as_str()
                .is_some_and(|word| VerdictCodes::is_forged(word, code))
            {
                return None;
            }
            let mut said = self.read_all(value);
            if said.is_empty() {
                return None;
            }
            let pairs = self.pairs(&reply[*start..*end]);
            let unquoted = pairs.iter().filter(|(_, word)| !word.starts_with('['));
            // A duplicate key has two values, of which the parser keeps one.
            said.extend(unquoted.map(|(range, word)| {
                let key =
                    self.keys.names.iter().find(|key| {
                        reply[start + range.start..].starts_with(&format!("\"{key}\""))
                    });
                (self.read)(key?, &Value::String(word.trim_matches('"').to_string()))
            }));
            let first = said[0];
            let verdict = first.filter(|_| said.iter().all(|one| *one == first));
            let is_quoted = codes.quotes(&reply[*start..*end])
                || pairs.last().is_some_and(|(range, _)| {
                    let pair = start + range.start..start + range.end;
                    codes.quotes_on(&reply[*start..pair.start], &reply[pair])
                });
            (!is_quoted).then_some(FoundVerdict {
                range: *start..*end,
                verdict,
                is_object: true,
            })
        };
        objects.iter().filter_map(of).collect()
    }

    /// Each `"key": value` as written, unless a backslash precedes it.
    fn pairs(&self, object: &str) -> Vec<(Range<usize>, String)> {
        let Some(pattern) = &self.keys.pair else {
            return Vec::new();
        };
        let found = pattern.captures_iter(object).filter_map(|found| {
            let whole = found.get(0)?;
            let is_escaped = object[..whole.start()].ends_with('\\');
            (!is_escaped).then(|| (whole.range(), found[2].to_string()))
        });
        found.collect()
    }

    /// Verdicts outside of objects.
    fn loose(&self, reply: &str, objects: &[Object], codes: &VerdictCodes) -> Vec<FoundVerdict<T>> {
        let Some(pattern) = &self.keys.loose else {
            return Vec::new();
        };
        let is_inside = |at: usize| {
            objects
                .iter()
                .any(|(start, end, _)| (*start..*end).contains(&at))
        };
        let of = |found: regex::Captures| {
            let (whole, word) = (found.get(0)?, found.get(2)?);
            let first = word.as_str().trim_start();
            let first_length = first
                .find(|c: char| !(c.is_alphanumeric() || "_-".contains(c)))
                .unwrap_or(first.len());
            let end = word.end() - first.len() + first_length;
            if is_inside(whole.start()) || codes.quotes(&reply[whole.start()..end]) {
                return None;
            }
            let has_end = !found[3].is_empty();
            let read = || {
                (self.read)(
                    &found[1].to_lowercase(),
                    &Value::String(word.as_str().trim().to_string()),
                )
            };
            let verdict = if has_end { read() } else { None };
            Some(FoundVerdict {
                range: whole.range(),
                verdict,
                is_object: false,
            })
        };
        pattern.captures_iter(reply).filter_map(of).collect()
    }
}

fn contradiction() -> String {
    "the judge's answer contradicts itself".into()
}

/// Whether an object is the reply itself: it begins a line, ends the reply, and is not inside an open brace.
fn is_own_frame(reply: &str, objects: &[Object], range: &Range<usize>) -> bool {
    let before: Vec<Object> = objects
        .iter()
        .filter(|(_, end, _)| *end <= range.start)
        .cloned()
        .collect();
    let before = without_objects(&reply[..range.start], &before);
    let line = before.rsplit('\n').next().unwrap_or_default().trim();
    ["", "```", "```json"].contains(&line)
        && ["", "```"].contains(&reply[range.end..].trim())
        && !before.contains('{')
}
