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
    /// Whether the word is not known and these are similar, instead of containing it.
    pub(crate) are_similar: bool,
}

/// The values of a field in the sets that are listed. They are looked up once while a field is typed.
#[derive(Debug, Default)]
pub(crate) struct FieldValues {
    field: String,
    names: BTreeSet<String>,
    /// Whether these are all. Otherwise a name that is not among them may exist.
    are_all: bool,
}

impl FilterCompletion {
    /// The completion of the last word of a filter that was applied to the list. `values` are those of the field that was typed
    /// before, and are replaced if it is another one.
    pub(crate) fn new(model: &Model, filter: &str, values: &mut FieldValues) -> FilterCompletion {
        let word = &filter[last_word_start(filter)..];
        let (sign, word) = match word.strip_prefix('-') {
            Some(word) => ("-", word),
            None => ("", word),
        };
        let is_quoted = word.contains('"') || filter.matches('"').count() % 2 == 1;
        if word.is_empty() || is_quoted {
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
        // A comparison with a number is complete.
        if value.contains(['<', '>', '=']) {
            return FilterCompletion::default();
        }
        if values.field != field {
            *values = FieldValues::collect(model, field);
        }
        let mut completion = values.matching(&value.to_lowercase());
        // What matches nothing may be mistyped.
        if completion.are_similar && !model.view.browse.visible.is_empty() {
            completion.words.clear();
        }
        for name in &mut completion.words {
            *name = match name.contains(char::is_whitespace) {
                true => format!("{sign}{field}:\"{name}\""),
                false => format!("{sign}{field}:{name}"),
            };
        }
        completion
    }

    /// The filter with each of the words in the place of its last one.
    pub(crate) fn completed(&self, filter: &str) -> Vec<String> {
        let before = &filter[..last_word_start(filter)];
        let words = self.words.iter();
        words.map(|word| format!("{before}{word}")).collect()
    }
}

/// Where the last word of a filter begins.
fn last_word_start(filter: &str) -> usize {
    let gap = filter.char_indices().rfind(|(_, c)| c.is_whitespace());
    gap.map_or(0, |(at, c)| at + c.len_utf8())
}

impl FieldValues {
    /// The names that contain a value in lower case, those that begin with it first; else the most similar one. None if the value
    /// is one of the names.
    fn matching(&self, value: &str) -> FilterCompletion {
        let lower = self.names.iter().map(|name| (name.to_lowercase(), name));
        let mut found: Vec<(bool, &String)> = Vec::new();
        for (lower, name) in lower {
            if lower == value {
                return FilterCompletion::default();
            }
            if lower.contains(value) {
                found.push((!lower.starts_with(value), name));
            }
        }
        found.sort();
        let similar = || {
            let similar = most_similar(value, self.names.iter().map(String::as_str));
            similar.filter(|_| self.are_all).map(str::to_string)
        };
        match found.is_empty() {
            true => FilterCompletion {
                words: similar().into_iter().collect(),
                are_similar: true,
            },
            false => FilterCompletion {
                words: found.into_iter().map(|(_, name)| name.clone()).collect(),
                are_similar: false,
            },
        }
    }

    fn collect(model: &Model, field: &str) -> FieldValues {
        let sets = model.sets_at_cursor();
        let views = || sets.iter().map(|set| &model.view.sets[*set]);
        let counts = sets
            .iter()
            .map(|set| model.file(*set).map_or(0, |file| file.len()));
        let is_read = sets.iter().all(|set| model.file(*set).is_some());
        let are_few = counts.sum::<usize>() <= MAX_SEARCHED;
        let cases = || {
            let all = sets.iter().flat_map(|&set| {
                let count = model.file(set).map_or(0, |file| file.len());
                (0..count).map(move |index| CaseRef { set, index })
            });
            all.take(MAX_SEARCHED)
        };
        let names: BTreeSet<String> = match field {
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
            "tool" => distinct(
                views()
                    .flat_map(|set| set.summaries.iter().flat_map(|summaries| summaries.iter()))
                    .take(MAX_SEARCHED)
                    .flat_map(|summary| summary.tools.iter().map(String::as_str)),
            ),
            "metric" => distinct(
                cases()
                    .filter_map(|case| model.view.outcomes.get(case)?.attempts.first())
                    .flat_map(|attempt| {
                        attempt.metrics.iter().map(|metric| metric.metric.as_str())
                    }),
            ),
            _ => BTreeSet::new(),
        };
        FieldValues {
            field: field.into(),
            names,
            are_all: is_read && are_few,
        }
    }
}

/// Different names, each copied once.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let different: BTreeSet<&str> = names.collect();
    different.into_iter().map(String::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(names: &[&str], are_all: bool) -> FieldValues {
        FieldValues {
            field: "tool".into(),
            names: names.iter().map(|name| name.to_string()).collect(),
            are_all,
        }
    }

    #[test]
    fn names_that_begin_with_the_value_are_first() {
        let tools = values(&["a_water", "water_bed", "Watering"], true);
        assert_eq!(
            tools.matching("wat").words,
            ["Watering", "water_bed", "a_water"]
        );
        assert_eq!(tools.matching("water_bed"), FilterCompletion::default());
    }

    #[test]
    fn similar_name_is_proposed_if_all_are_known() {
        let similar = |are_all| values(&["water_bed", "read_soil"], are_all).matching("watr_bed");
        assert_eq!(similar(true).words, ["water_bed"]);
        assert!(similar(true).are_similar);
        assert_eq!(similar(false).words, [""; 0]);
    }
}
