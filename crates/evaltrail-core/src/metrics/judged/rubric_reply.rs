//! Reading verdicts on rubrics (google-adk 2.13, `google/adk/evaluation/rubric_based_evaluator.py`).
//!
//! ADK counts labelled lines and drops a reply whose counts differ. The careful reading is in `rubric_careful`.

use crate::domain::{Rubric, RubricScore, Score};
use regex::Regex;
use std::sync::LazyLock;
use unicode_normalization::UnicodeNormalization;

/// A block of a reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RubricBlock {
    /// The rubric's id, if the judge named one.
    pub rubric_id: Option<String>,
    /// The property as the judge repeated it.
    pub property: String,
    /// The judge's reason.
    pub rationale: String,
    /// 1 for yes, 0 for no.
    pub score: Option<f64>,
}

/// The blocks of a reply, as ADK reads them.
pub fn adk_blocks(reply: &str) -> Vec<RubricBlock> {
    static LABELS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
        let patterns = [
            r"(?m)^\s*ID: (.*)",
            r"(?m)^\s*Property: (.*)",
            r"Rationale: (.*)",
            r"Verdict: (.*)",
        ];
        patterns
            .iter()
            .filter_map(|pattern| Regex::new(pattern).ok())
            .collect()
    });
    let all = |at: usize| -> Vec<(usize, &str)> {
        let found = LABELS
            .get(at)
            .into_iter()
            .flat_map(|label| label.captures_iter(reply));
        found
            .filter_map(|found| found.get(1))
            .map(|found| (found.start(), found.as_str().trim()))
            .collect()
    };
    let (ids, properties, rationales, verdicts) = (all(0), all(1), all(2), all(3));
    if properties.len() != rationales.len() || rationales.len() != verdicts.len() {
        return Vec::new();
    }
    let mut previous = 0;
    let blocks = properties.into_iter().zip(rationales).zip(verdicts);
    blocks
        .map(|(((at, property), (_, rationale)), (_, verdict))| {
            let id = ids
                .iter()
                .rfind(|(start, _)| (previous..at).contains(start));
            previous = at;
            let verdict = verdict.to_lowercase();
            RubricBlock {
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

/// ADK's verdicts of a reply, in its order; a rubric may occur more than once.
pub(super) fn adk(reply: &str, rubrics: &[Rubric]) -> Vec<RubricScore> {
    let blocks = adk_blocks(reply);
    blocks
        .into_iter()
        .filter_map(|block| Some(verdict(&find_rubric(&block, rubrics)?.id, block)))
        .collect()
}

pub(super) fn verdict(id: &str, block: RubricBlock) -> RubricScore {
    RubricScore {
        rubric_id: id.to_string(),
        score: block.score.and_then(Score::new),
        rationale: Some(block.rationale),
        votes: None,
    }
}

/// The rubric with the block's id, else the one with its text.
fn find_rubric<'a>(block: &RubricBlock, rubrics: &'a [Rubric]) -> Option<&'a Rubric> {
    let by_id = block
        .rubric_id
        .as_ref()
        .and_then(|id| rubrics.iter().find(|rubric| rubric.id == *id));
    // Of two rubrics with the same text, ADK keeps the later one.
    let by_text = || {
        let wanted = normal(&block.property);
        rubrics
            .iter()
            .rfind(|rubric| normal(rubric.text.as_deref().unwrap_or_default()) == wanted)
    };
    by_id.or_else(by_text)
}

/// A property without the differences that judges introduce when they repeat it.
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

/// Like `find_rubric`, but a block with the id of one rubric and the text of another means neither.
pub(super) fn find_rubric_carefully<'a>(
    block: &RubricBlock,
    rubrics: &'a [Rubric],
) -> Option<&'a Rubric> {
    let id = block
        .rubric_id
        .as_ref()
        .map(|id| id.trim_matches(['[', ']', '"', '`', '*', ' ']).to_string());
    let block = RubricBlock {
        rubric_id: id,
        ..block.clone()
    };
    let found = find_rubric(&block, rubrics)?;
    let text = normal(&block.property);
    let other = |rubric: &&Rubric| {
        rubric.id != found.id
            && !text.is_empty()
            && normal(rubric.text.as_deref().unwrap_or_default()) == text
    };
    let own = normal(found.text.as_deref().unwrap_or_default()) == text;
    (own || !rubrics.iter().any(|rubric| other(&rubric))).then_some(found)
}

/// Yes or no as a word; `None` for neither and for both.
pub(super) fn yes_or_no(verdict: &str) -> Option<f64> {
    let lower = verdict.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(word));
    match (has(&["yes", "true"]), has(&["no", "nope", "not", "false"])) {
        (true, false) => Some(1.0),
        // "Not applicable" and "not sure" are no verdicts.
        (false, true) if has(&["no", "nope", "false"]) => Some(0.0),
        _ => None,
    }
}
