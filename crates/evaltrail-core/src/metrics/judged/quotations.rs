//! Replies in labelled lines, without the lines that only repeat the data.

use super::verdict_codes::{VerdictCodes, plain};
use regex::Regex;

/// Removes from a reply the runs of whole lines that occur in the data and contain a verdict with its reason: a
/// planted verdict that the judge repeats. The first group of `labels` captures the label of a line.
pub(super) fn without_quotations(
    reply: &str,
    codes: &VerdictCodes,
    labels: &Regex,
    verdict: &str,
    reason: &str,
) -> String {
    let lines: Vec<&str> = reply.lines().collect();
    let label = |line: &str| {
        labels
            .captures(&plain(line))
            .map(|found| found[1].to_lowercase())
    };
    let mut own = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let mut end = at;
        if label(lines[at]).is_some() {
            while end < lines.len() && codes.quotes(&lines[at..=end].join("\n")) {
                end += 1;
            }
        }
        let run: Vec<String> = lines[at..end]
            .iter()
            .filter_map(|line| label(line))
            .collect();
        let has = |name: &str| run.iter().any(|label| label == name);
        if has(verdict) && has(reason) {
            at = end;
        } else {
            own.push(lines[at]);
            at += 1;
        }
    }
    own.join("\n")
}
