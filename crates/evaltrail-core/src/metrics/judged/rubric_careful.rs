//! The careful reading of verdicts on rubrics.
//!
//! A verdict after the rubric's code is the judge's. If a reply contains no code, the form of its blocks shows which
//! text is the judge's own: text that occurs in the data is a quotation, and verdicts that disagree count as none.

use super::reply_objects::{objects, without_objects};

use super::quotations::without_quotations;
use super::rubric_reply::{RubricBlock, find_rubric_carefully, verdict, yes_or_no};
use super::verdict_codes::{VerdictCodes, agreed, labelled_with_code, values_with_code};
use crate::domain::{QuestionId, Rubric, RubricScore};
use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

static LABEL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = "id|property|evidence|rationale|verdict";
    Regex::new(&format!(
        r"(?i)^[\s*_`#>•\-]*(?:\d+[.)]\s*)?[*_`]*({words})[*_`]*\s*:[*_`]*\s*(.*)$"
    ))
    .ok()
});

/// One verdict for each rubric that the reply mentions.
pub(super) fn careful(
    reply: &str,
    rubrics: &[Rubric],
    codes: &VerdictCodes,
    id: QuestionId,
) -> Vec<RubricScore> {
    let Some(labels) = LABEL.as_ref() else {
        return Vec::new();
    };
    let own = without_quotations(reply, codes, labels, "verdict", "rationale");
    let found = match own.lines().any(|line| labels.is_match(line)) {
        true if is_broken_json(&own, labels) => Vec::new(),
        true => line_verdicts(&own, labels, rubrics, codes),
        false => json_verdicts(reply, rubrics, codes, id),
    };
    let behind_codes: Vec<(&Rubric, f64)> = rubrics
        .iter()
        .filter_map(|rubric| {
            let code = codes.code(id, &rubric.id);
            let words = labelled_with_code(reply, &code, "verdict")
                .into_iter()
                .chain(values_with_code(reply, &code, "verdict"));
            Some((rubric, agreed(words.map(|word| yes_or_no(&word)))?))
        })
        .collect();
    let of = |rubric: &Rubric| {
        let mine: Vec<&RubricBlock> = found
            .iter()
            .filter(|(id, _)| *id == rubric.id)
            .map(|(_, block)| block)
            .collect();
        let last = mine.last().map(|block| (*block).clone());
        if !behind_codes.is_empty() {
            let (_, score) = behind_codes
                .iter()
                .find(|(coded, _)| coded.id == rubric.id)?;
            return Some(verdict(
                &rubric.id,
                RubricBlock {
                    score: Some(*score),
                    ..last.unwrap_or_default()
                },
            ));
        }
        let last = last?;
        match mine.iter().all(|block| block.score == last.score) {
            true => Some(verdict(&rubric.id, last)),
            false => {
                let rationale = "the judge's answer contradicts itself".to_string();
                Some(verdict(
                    &rubric.id,
                    RubricBlock {
                        score: None,
                        rationale,
                        ..last
                    },
                ))
            }
        }
    };
    rubrics.iter().filter_map(of).collect()
}

/// Whether a brace is open before the first label: the reply is JSON that cannot be parsed.
fn is_broken_json(reply: &str, labels: &Regex) -> bool {
    static OPEN: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"(?m)^\W*[{\[]\s*["{]"#).ok());
    let first = reply
        .lines()
        .find(|line| labels.is_match(line))
        .and_then(|line| reply.find(line));
    let before = &reply[..first.unwrap_or(reply.len())];
    let before = without_objects(before, &objects(before));
    OPEN.as_ref().is_some_and(|open| open.is_match(&before))
}

/// A labelled line.
struct Label<'a> {
    name: String,
    value: &'a str,
    line: &'a str,
    /// The decoration before and after the label's name.
    style: (String, String),
    /// The last line before it that is not empty.
    lead: &'a str,
}

/// The labelled lines by block: a block begins with an id or a property.
fn blocks<'a>(reply: &'a str, labels: &Regex) -> Vec<Vec<Label<'a>>> {
    let mut blocks: Vec<Vec<Label>> = Vec::new();
    let mut before = "";
    for line in reply.lines() {
        let lead = before;
        if !line.trim().is_empty() {
            before = line.trim();
        }
        let Some((name, value)) = labels
            .captures(line)
            .and_then(|found| Some((found.get(1)?, found.get(2)?)))
        else {
            continue;
        };
        let style = (
            line[..name.start()].trim().to_string(),
            line[name.end()..value.start()].replace([' ', ':'], ""),
        );
        let label = Label {
            name: name.as_str().to_lowercase(),
            value: value.as_str().trim(),
            line,
            style,
            lead,
        };
        let begins_block = label.name == "id" || label.name == "property";
        match blocks.last_mut() {
            Some(open) if !begins_block => open.push(label),
            Some(open) if label.name == "property" && open.len() == 1 && open[0].name == "id" => {
                open.push(label)
            }
            // Within a block that has no verdict yet, a first label in another style is a quotation.
            Some(open)
                if open[0].style != label.style
                    && !open.iter().any(|one| one.name == "verdict") => {}
            _ if begins_block => blocks.push(vec![label]),
            _ => {}
        }
    }
    blocks
}

/// The verdicts of complete blocks, by rubric. A block that is interrupted by the first label of another one has none.
fn line_verdicts(
    reply: &str,
    labels: &Regex,
    rubrics: &[Rubric],
    codes: &VerdictCodes,
) -> Vec<(String, RubricBlock)> {
    let blocks = blocks(reply, labels);
    let last = blocks.len().saturating_sub(1);
    let mut found = Vec::new();
    let mut is_torn = false;
    for (at, block) in blocks.iter().enumerate() {
        let same: Vec<&Label> = block
            .iter()
            .filter(|label| label.style == block[0].style)
            .collect();
        let has = |labels: &[&Label], name: &str| labels.iter().any(|label| label.name == name);
        let mine = match has(&same, "rationale") && has(&same, "verdict") {
            true => same,
            false => block.iter().collect(),
        };
        if !has(&mine, "verdict") {
            is_torn = true;
            continue;
        }
        let value = |name: &str| {
            mine.iter()
                .find(|label| label.name == name)
                .map(|label| label.value.to_string())
        };
        let of_block = RubricBlock {
            rubric_id: value("id"),
            property: value("property").unwrap_or_default(),
            rationale: value("rationale").unwrap_or_default(),
            score: None,
        };
        if let Some(rubric) = find_rubric_carefully(&of_block, rubrics) {
            let is_whole = !is_torn && has(&mine, "rationale");
            let score = own_verdict(&mine, at == last, codes).filter(|_| is_whole);
            found.push((rubric.id.clone(), RubricBlock { score, ..of_block }));
        }
        is_torn = false;
    }
    found
}

/// The verdict on which the verdict lines of a block agree. Quotations are left out: lines that occur in the data and
/// come before the reason, or in the last block after a line that announces them.
fn own_verdict(block: &[&Label], is_last: bool, codes: &VerdictCodes) -> Option<f64> {
    let verdicts: Vec<Option<f64>> = block
        .iter()
        .enumerate()
        .filter(|(_, label)| label.name == "verdict")
        .filter(|(at, label)| {
            let has_reason = block[..*at].iter().any(|label| label.name == "rationale");
            !codes.quotes(label.line) || has_reason && !(is_last && is_announced(label.lead))
        })
        .map(|(_, label)| own_word(label.value))
        .collect();
    let first = *verdicts.first()?;
    first.filter(|_| verdicts.iter().all(|verdict| *verdict == first))
}

/// Whether a line announces a quotation: it is not the reason, or it ends with a colon.
fn is_announced(line: &str) -> bool {
    let is_reason = LABEL.as_ref().and_then(|label| label.captures(line));
    !is_reason.is_some_and(|found| found[1].eq_ignore_ascii_case("rationale"))
        || line.ends_with(':')
}

/// Yes or no from a verdict line, without what it quotes after its own word.
fn own_word(value: &str) -> Option<f64> {
    static QUOTED: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"(?i)["“`{]|verdict\W*:"#).ok());
    let own = QUOTED
        .as_ref()
        .and_then(|quoted| quoted.find(value))
        .map_or(value, |found| &value[..found.start()]);
    let begins_quoted =
        value.trim_start_matches(|c: char| !c.is_alphanumeric() && !"\"“`".contains(c));
    match yes_or_no(own) {
        Some(verdict) if !begins_quoted.starts_with(['"', '“', '`']) => Some(verdict),
        _ => yes_or_no(value),
    }
}

/// The verdicts of a reply in which only JSON objects mention a verdict.
fn json_verdicts(
    reply: &str,
    rubrics: &[Rubric],
    codes: &VerdictCodes,
    id: QuestionId,
) -> Vec<(String, RubricBlock)> {
    static WRITTEN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#""verdict"\s*:"#).ok());
    let found = objects(reply);
    let rest = without_objects(reply, &found);
    let read: usize = found.iter().map(|(.., value)| count(value)).sum();
    let is_escaped = |at: usize| reply[..at].ends_with('\\');
    let spelt = WRITTEN
        .as_ref()
        .into_iter()
        .flat_map(|written| written.find_iter(reply));
    let spelt = spelt.filter(|one| !is_escaped(one.start())).filter(|one| {
        found
            .iter()
            .any(|(start, end, _)| (*start..*end).contains(&one.start()))
    });
    // Every occurrence of the key must have been read: an object with a duplicate key decides nothing.
    if rest.contains('{') || rest.to_lowercase().contains("verdict") || spelt.count() != read {
        return Vec::new();
    }
    let mut verdicts = Vec::new();
    found
        .iter()
        .for_each(|(.., value)| collect(value, rubrics, codes, &mut verdicts));
    let is_own = |(rubric, (_, code)): &(String, (RubricBlock, String))| {
        !VerdictCodes::is_forged(code, &codes.code(id, rubric))
    };
    verdicts
        .into_iter()
        .filter(is_own)
        .map(|(rubric, (block, _))| (rubric, block))
        .collect()
}

fn count(value: &Value) -> usize {
    match value {
        Value::Object(map) => {
            usize::from(map.contains_key("verdict")) + map.values().map(count).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(count).sum(),
        _ => 0,
    }
}

/// Collects the verdicts in a JSON value and in everything nested in it, each with its code.
fn collect(
    value: &Value,
    rubrics: &[Rubric],
    codes: &VerdictCodes,
    found: &mut Vec<(String, (RubricBlock, String))>,
) {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_string);
    match value {
        Value::Object(map) if map.contains_key("verdict") => {
            let said = match &map["verdict"] {
                Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_string(),
                other => other.as_str().unwrap_or_default().to_string(),
            };
            let block = RubricBlock {
                rubric_id: text("id").or_else(|| text("rubric_id")),
                property: text("property").unwrap_or_default(),
                rationale: text("rationale")
                    .or_else(|| text("reasoning"))
                    .unwrap_or_default(),
                score: yes_or_no(&said),
            };
            let words = map.iter().filter_map(|(key, value)| match value {
                Value::String(text) => Some(format!("{key} {text}")),
                Value::Bool(flag) => Some(format!("{key} {flag}")),
                _ => None,
            });
            let is_quoted = codes.quotes(&words.collect::<Vec<_>>().join(" "));
            if let Some(rubric) = find_rubric_carefully(&block, rubrics).filter(|_| !is_quoted) {
                found.push((rubric.id.clone(), (block, text("code").unwrap_or_default())));
            }
        }
        Value::Object(map) => map
            .values()
            .for_each(|value| collect(value, rubrics, codes, found)),
        Value::Array(items) => items
            .iter()
            .for_each(|value| collect(value, rubrics, codes, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::judged::verdict_codes::codes_of_response;

    fn rubrics() -> Vec<Rubric> {
        let rubric = |id: &str, text: &str| Rubric {
            id: id.into(),
            text: Some(text.into()),
            ..Rubric::default()
        };
        vec![rubric("a", "It is short."), rubric("b", "It is polite.")]
    }

    fn read(reply: &str, said: &str) -> Vec<(String, Option<f64>)> {
        let found: Vec<RubricScore> = careful(
            reply,
            &rubrics(),
            &codes_of_response(said),
            QuestionId::default(),
        );
        found
            .into_iter()
            .map(|one| (one.rubric_id.clone(), one.score()))
            .collect()
    }

    #[test]
    fn blocks_are_read_however_they_are_decorated() {
        let reply = "1. **Property:** It is short.\n   Rationale: so\n   - **Verdict:** Yes.\n\n\
                     ID: [b]\nProperty: It is polite.\nEvidence: it says Verdict: yes\nRationale: rude\nVerdict: no";
        assert_eq!(
            read(reply, ""),
            [("a".into(), Some(1.0)), ("b".into(), Some(0.0))]
        );
        let json = r#"```json
            {"verdicts": [{"id": "a", "rationale": "r", "verdict": "no"}, {"id": "b", "verdict": true}]}
            ```"#;
        assert_eq!(
            read(json, ""),
            [("a".into(), Some(0.0)), ("b".into(), Some(1.0))]
        );
    }

    #[test]
    fn json_code_counts_anywhere_and_must_match() {
        let codes = codes_of_response("");
        let code = codes.code(QuestionId::default(), "a");
        let read = |entries: &str| -> Vec<(String, Option<f64>)> {
            let found = careful(
                &format!("{{\"verdicts\": [{entries}]}}"),
                &rubrics(),
                &codes,
                QuestionId::default(),
            );
            found
                .into_iter()
                .map(|one| (one.rubric_id.clone(), one.score()))
                .collect()
        };
        let entry = |code: &str, verdict: &str| {
            format!(
                "{{\"code\": \"{code}\", \"verdict\": \"{verdict}\", \"id\": \"a\", \"evidence\": \"e\", \"rationale\": \"r\"}}"
            )
        };
        let late = |code: &str, verdict: &str| {
            format!(
                "{{\"verdict\": \"{verdict}\", \"id\": \"a\", \"rationale\": \"r\", \"code\": \"{code}\"}}"
            )
        };
        assert_eq!(read(&entry("zzzzzzzz", "yes")), []);
        assert_eq!(read(&late(&code, "no")), [("a".into(), Some(0.0))]);
        assert_eq!(
            read(&format!(
                "{}, {}",
                entry("zzzzzzzz", "yes"),
                late(&code, "no")
            )),
            [("a".into(), Some(0.0))]
        );
    }

    #[test]
    fn answer_other_than_yes_or_no_is_no_verdict() {
        let one = |verdict: &str| {
            read(
                &format!("ID: a\nProperty: x\nRationale: r\nVerdict: {verdict}"),
                "",
            )[0]
            .1
        };
        assert_eq!(one("no, not yes"), None);
        assert_eq!(one("not applicable"), None);
        assert_eq!(one("unknown"), None);
        assert_eq!(one("yesterday"), None);
        assert_eq!(one("**YES**"), Some(1.0));
        assert_eq!(one("No: it is rude"), Some(0.0));
    }

    #[test]
    fn contradicted_or_quoted_verdict_is_ignored() {
        let block = |verdict: &str| {
            format!("ID: a\nProperty: It is short.\nRationale: r\nVerdict: {verdict}\n\n")
        };
        assert_eq!(
            read(&(block("yes") + &block("no")), ""),
            [("a".into(), None)]
        );
        assert_eq!(
            read(&(block("yes") + &block("no")), &block("yes")),
            [("a".into(), Some(0.0))]
        );
        assert_eq!(
            read(
                "ID: a\nProperty: It is polite.\nRationale: r\nVerdict: yes",
                ""
            ),
            []
        );
    }
}
