//! Completion of the filter of the list: names of fields, and the values that the listed sets have.

use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::model::Model;
use evaltrail_core::domain::{Query, most_similar};
use std::collections::BTreeSet;

/// Maximum number of cases whose tools, tags, metrics and ids are known to the completion.
const MAX_SEARCHED: usize = 20_000;

/// What the last word of a filter could become.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FilterCompletion {
    /// Whole words, the best first.
    pub(crate) words: Vec<String>,
    /// Whether the word is not known and these are similar, instead of beginning with it.
    pub(crate) are_similar: bool,
}

impl FilterCompletion {
    /// The completion of the last word of a filter.
    pub(crate) fn new(model: &Model, filter: &str) -> FilterCompletion {
        let word = &filter[last_word(filter)..];
        let (sign, word) = match word.strip_prefix('-') {
            Some(word) => ("-", word),
            None => ("", word),
        };
        if word.is_empty() || filter.contains('"') {
            return FilterCompletion::default();
        }
        let Some((field, value)) = word.split_once(':') else {
            let fields = Query::FIELDS.into_iter();
            let words = fields.filter(|field| field.starts_with(word));
            return FilterCompletion {
                words: words.map(|field| format!("{sign}{field}:")).collect(),
                are_similar: false,
            };
        };
        let names = names(model, field);
        let value = value.to_lowercase();
        let contains = |name: &&String| name.to_lowercase().contains(&value);
        let mut known: Vec<&String> = names.iter().filter(contains).collect();
        known.sort_by_key(|name| !name.to_lowercase().starts_with(&value));
        let are_similar = known.is_empty();
        if are_similar {
            known.extend(
                most_similar(value.as_str(), names.iter().map(String::as_str))
                    .and_then(|similar| names.get(similar)),
            );
        }
        known.retain(|name| name.to_lowercase() != value);
        let word = |name: &String| match name.contains(char::is_whitespace) {
            true => format!("{sign}{field}:\"{name}\""),
            false => format!("{sign}{field}:{name}"),
        };
        FilterCompletion {
            words: known.into_iter().map(word).collect(),
            are_similar,
        }
    }

    /// The filter with the first word in the place of its last one; `None` if there is none.
    pub(crate) fn completed(&self, filter: &str) -> Option<String> {
        let word = self.words.first()?;
        Some(format!("{}{word}", &filter[..last_word(filter)]))
    }
}

/// Where the last word of a filter begins.
fn last_word(filter: &str) -> usize {
    let gap = filter.char_indices().rfind(|(_, c)| c.is_whitespace());
    gap.map_or(0, |(at, c)| at + c.len_utf8())
}

/// The values of a field in the sets that are listed.
fn names(model: &Model, field: &str) -> BTreeSet<String> {
    let sets = model.sets_at_cursor();
    let views = || sets.iter().map(|set| &model.view.sets[*set]);
    let cases = || {
        let all = sets.iter().flat_map(|&set| {
            let count = model.file(set).map_or(0, |file| file.len());
            (0..count).map(move |index| CaseRef { set, index })
        });
        all.take(MAX_SEARCHED)
    };
    match field {
        "status" => Query::STATUSES.map(String::from).into(),
        "agent" | "app" => views()
            .filter_map(|set| set.agent.as_ref().ok().cloned())
            .collect(),
        "set" | "file" => views().map(|set| set.path.stem.clone()).collect(),
        "id" | "case" => cases()
            .map(|case| model.eval_id(case).into_owned())
            .collect(),
        "tag" => cases()
            .filter_map(|case| model.notes(case))
            .flat_map(|notes| notes.tags.clone())
            .collect(),
        "tool" => distinct(views().flat_map(|set| {
            let summaries = set.summaries.iter().flat_map(|summaries| summaries.iter());
            summaries
                .take(MAX_SEARCHED)
                .flat_map(|summary| summary.tools.iter().map(String::as_str))
        })),
        "metric" => distinct(
            cases()
                .filter_map(|case| model.view.outcomes.get(case)?.attempts.first())
                .flat_map(|attempt| attempt.metrics.iter().map(|metric| metric.metric.as_str())),
        ),
        _ => BTreeSet::new(),
    }
}

/// Different names, each copied once.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let different: BTreeSet<&str> = names.collect();
    different.into_iter().map(String::from).collect()
}
