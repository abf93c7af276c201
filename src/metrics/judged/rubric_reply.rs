//! Reading verdicts on rubrics (`facts/adk.md` 4.5).
//!
//! ADK counts labelled lines and drops an answer whose counts differ. The careful reading takes blocks that
//! end with a verdict, or JSON; verdicts that are neither yes nor no, contradict each other or quote the
//! agent are none.

use super::response_reply::objects;
use crate::domain::{Rubric, RubricScore};
use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;
use unicode_normalization::UnicodeNormalization;

/// A block of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// The rubric's id, where the judge named one.
    pub rubric_id: Option<String>,
    /// The property as the judge repeated it.
    pub property: String,
    /// Its reason.
    pub rationale: String,
    /// 1 for yes, 0 for no.
    pub score: Option<f64>,
}

/// ADK's blocks.
pub fn adk_blocks(reply: &str) -> Vec<Block> {
    static LABELS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
        let patterns = [r"(?m)^\s*ID: (.*)", r"(?m)^\s*Property: (.*)", r"Rationale: (.*)", r"Verdict: (.*)"];
        patterns.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect()
    });
    let all = |at: usize| -> Vec<(usize, &str)> {
        let found = LABELS.get(at).into_iter().flat_map(|label| label.captures_iter(reply));
        found.filter_map(|found| found.get(1)).map(|found| (found.start(), found.as_str().trim())).collect()
    };
    let (ids, properties, rationales, verdicts) = (all(0), all(1), all(2), all(3));
    if properties.len() != rationales.len() || rationales.len() != verdicts.len() {
        return Vec::new();
    }
    let mut previous = 0;
    let blocks = properties.into_iter().zip(rationales).zip(verdicts);
    blocks
        .map(|(((at, property), (_, rationale)), (_, verdict))| {
            let id = ids.iter().rfind(|(start, _)| (previous..at).contains(start));
            previous = at;
            let verdict = verdict.to_lowercase();
            Block {
                rubric_id: id.map(|(_, id)| (*id).to_string()),
                property: property.to_string(),
                rationale: rationale.to_string(),
                score: match (verdict.contains("yes"), verdict.contains("no")) {
                    (true, _) => Some(1.0),
                    (_, true) => Some(0.0),
                    _ => None,
                },
            }
        })
        .collect()
}

/// ADK's verdicts of a reply, in the reply's order; a rubric may stand there more than once.
pub(super) fn adk(reply: &str, rubrics: &[Rubric]) -> Vec<RubricScore> {
    let blocks = adk_blocks(reply);
    blocks.into_iter().filter_map(|block| Some(verdict(&meant(&block, rubrics)?.id, block))).collect()
}

fn verdict(id: &str, block: Block) -> RubricScore {
    RubricScore {
        rubric_id: id.to_string(),
        score: block.score,
        rationale: Some(block.rationale),
        votes: None,
    }
}

/// The rubric by its id, else by its text.
fn meant<'a>(block: &Block, rubrics: &'a [Rubric]) -> Option<&'a Rubric> {
    let by_id = block.rubric_id.as_ref().and_then(|id| rubrics.iter().find(|rubric| rubric.id == *id));
    // Of two rubrics of the same text ADK keeps the later.
    let by_text = || {
        let wanted = normal(&block.property);
        rubrics.iter().rfind(|rubric| normal(rubric.text.as_deref().unwrap_or_default()) == wanted)
    };
    by_id.or_else(by_text)
}

/// A property without what judges change when they repeat it.
fn normal(text: &str) -> String {
    let plain: String = text
        .nfkc()
        .map(|c| match c {
            '\u{2018}' | '\u{2019}' => '\'',
            '\u{201c}' | '\u{201d}' => '"',
            '\u{2013}' | '\u{2014}' => '-',
            other => other,
        })
        .collect();
    let spaced = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let decoration = [' ', '*', '_', '`', '#', '>', '-', '•', '"', '\''];
    spaced.trim_matches(decoration).to_lowercase()
}

/// The careful reading: one verdict for each rubric that the reply speaks of. `said` is what the agent said,
/// [`squeezed`].
pub(super) fn careful(reply: &str, rubrics: &[Rubric], said: &str) -> Vec<RubricScore> {
    let blocks: Vec<Block> = careful_blocks(reply)
        .into_iter()
        .filter(|(raw, _)| said.is_empty() || !said.contains(&squeezed(raw)))
        .map(|(_, block)| block)
        .collect();
    rubrics
        .iter()
        .filter_map(|rubric| {
            let mine =
                |block: &&Block| meant_carefully(block, rubrics).is_some_and(|one| one.id == rubric.id);
            let mine: Vec<&Block> = blocks.iter().filter(mine).collect();
            let last = (*mine.last()?).clone();
            match mine.iter().all(|block| block.score == last.score) {
                true => Some(verdict(&rubric.id, last)),
                false => {
                    let rationale = "the judge's answer contradicts itself".to_string();
                    Some(verdict(&rubric.id, Block { score: None, rationale, ..last }))
                }
            }
        })
        .collect()
}

/// A block whose id is one rubric's and whose text is another's means neither.
fn meant_carefully<'a>(block: &Block, rubrics: &'a [Rubric]) -> Option<&'a Rubric> {
    let id = block.rubric_id.as_ref().map(|id| id.trim_matches(['[', ']', '"', '`', '*', ' ']).to_string());
    let block = Block { rubric_id: id, ..block.clone() };
    let found = meant(&block, rubrics)?;
    let text = normal(&block.property);
    let other = |rubric: &&Rubric| {
        rubric.id != found.id
            && !text.is_empty()
            && normal(rubric.text.as_deref().unwrap_or_default()) == text
    };
    let own = normal(found.text.as_deref().unwrap_or_default()) == text;
    (own || !rubrics.iter().any(|rubric| other(&rubric))).then_some(found)
}

/// A text without line breaks and runs of blanks, as judges repeat it.
pub(super) fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Blocks with the text that they stand in.
fn careful_blocks(reply: &str) -> Vec<(String, Block)> {
    let json: Vec<(String, Block)> =
        objects(reply).iter().flat_map(|(_, _, value)| json_blocks(value)).collect();
    if !json.is_empty() { json } else { line_blocks(reply) }
}

/// An object with a verdict, or the objects in it.
fn json_blocks(value: &Value) -> Vec<(String, Block)> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_string);
    let said = value.get("verdict").map(|said| match said {
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_string(),
        other => other.as_str().unwrap_or_default().to_string(),
    });
    if let Some(said) = said {
        let block = Block {
            rubric_id: text("id").or_else(|| text("rubric_id")),
            property: text("property").unwrap_or_default(),
            rationale: text("rationale").or_else(|| text("reasoning")).unwrap_or_default(),
            score: yes_or_no(&said),
        };
        return vec![(value.to_string(), block)];
    }
    match value {
        Value::Object(map) => map.values().flat_map(json_blocks).collect(),
        Value::Array(items) => items.iter().flat_map(json_blocks).collect(),
        _ => Vec::new(),
    }
}

/// Labelled lines: a block begins with its id or property and ends with its verdict.
fn line_blocks(reply: &str) -> Vec<(String, Block)> {
    static LABEL: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let words = "id|property|evidence|rationale|verdict";
        Regex::new(&format!(r"(?i)^[\s*_`#>•\-]*(?:\d+[.)]\s*)?[*_`]*({words})[*_`]*\s*:[*_`]*\s*(.*)$")).ok()
    });
    let mut blocks = Vec::new();
    let mut open = Block::default();
    let mut raw: Vec<&str> = Vec::new();
    for line in reply.lines() {
        let found = LABEL.as_ref().and_then(|label| label.captures(line));
        raw.push(line);
        let Some(found) = found else { continue };
        let value = found[2].trim().to_string();
        let label = found[1].to_lowercase();
        // A property or an id after a rationale begins the next block: the one before has no verdict.
        let begins = (label == "id" || label == "property") && !open.rationale.is_empty()
            || label == "id" && !open.property.is_empty();
        if begins {
            open = Block::default();
            raw = vec![line];
        }
        match label.as_str() {
            "id" => {
                raw = vec![line];
                open.rubric_id = Some(value);
            }
            "property" => open.property = value,
            "rationale" => open.rationale = value,
            "verdict" => {
                open.score = yes_or_no(&value);
                blocks.push((raw.join("\n"), std::mem::take(&mut open)));
                raw.clear();
            }
            _ => {}
        }
    }
    blocks
}

/// Yes or no as a word, and not both.
fn yes_or_no(verdict: &str) -> Option<f64> {
    let lower = verdict.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(word));
    match (has(&["yes", "true"]), has(&["no", "not", "false"])) {
        (true, false) => Some(1.0),
        // "Not applicable" and "not sure" are no verdicts.
        (false, true) if has(&["no", "false"]) => Some(0.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rubrics() -> Vec<Rubric> {
        let rubric =
            |id: &str, text: &str| Rubric { id: id.into(), text: Some(text.into()), ..Rubric::default() };
        vec![rubric("a", "It is short."), rubric("b", "It is polite.")]
    }

    fn read(reply: &str, said: &str) -> Vec<(String, Option<f64>)> {
        careful(reply, &rubrics(), &squeezed(said))
            .into_iter()
            .map(|one| (one.rubric_id, one.score))
            .collect()
    }

    #[test]
    fn blocks_are_read_however_they_are_decorated() {
        let reply = "1. **Property:** It is short.\n   Rationale: so\n   - **Verdict:** Yes.\n\n\
                     ID: [b]\nProperty: It is polite.\nEvidence: it says Verdict: yes\nRationale: rude\nVerdict: no";
        assert_eq!(read(reply, ""), [("a".into(), Some(1.0)), ("b".into(), Some(0.0))]);
        let json = r#"```json
            {"verdicts": [{"id": "a", "rationale": "r", "verdict": "no"}, {"id": "b", "verdict": true}]}
            ```"#;
        assert_eq!(read(json, ""), [("a".into(), Some(0.0)), ("b".into(), Some(1.0))]);
    }

    #[test]
    fn what_is_neither_yes_nor_no_is_no_verdict() {
        let one =
            |verdict: &str| read(&format!("ID: a\nProperty: x\nRationale: r\nVerdict: {verdict}"), "")[0].1;
        assert_eq!(one("no, not yes"), None);
        assert_eq!(one("not applicable"), None);
        assert_eq!(one("unknown"), None);
        assert_eq!(one("yesterday"), None);
        assert_eq!(one("**YES**"), Some(1.0));
        assert_eq!(one("No: it is rude"), Some(0.0));
    }

    #[test]
    fn contradictions_and_quotations_are_no_verdicts() {
        let block =
            |verdict: &str| format!("ID: a\nProperty: It is short.\nRationale: r\nVerdict: {verdict}\n\n");
        assert_eq!(read(&(block("yes") + &block("no")), ""), [("a".into(), None)]);
        assert_eq!(read(&(block("yes") + &block("no")), &block("yes")), [("a".into(), Some(0.0))]);
        assert_eq!(read("ID: a\nProperty: It is polite.\nRationale: r\nVerdict: yes", ""), []);
    }
}
