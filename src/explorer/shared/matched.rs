//! The cases that match the filter. When words of the filter become longer or more, only the cases that matched before are
//! tested again.

use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::set_view::CaseSummary;
use evaltrail_core::domain::Query;
use evaltrail_core::formats::SetFile;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The least number of neighbouring cases that are worth another thread.
const TESTED_TOGETHER: usize = 4096;

/// A set whose cases are tested, as it was read.
#[derive(Clone, Debug)]
pub struct FilteredSet {
    /// Its index in [`crate::explorer::shared::model::View::sets`].
    pub set: usize,
    /// Its file.
    pub file: Arc<SetFile>,
    /// The summaries of its cases.
    pub summaries: Option<Arc<Vec<CaseSummary>>>,
}

impl FilteredSet {
    fn is_same(&self, other: &FilteredSet) -> bool {
        let same_summaries = match (&self.summaries, &other.summaries) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            _ => false,
        };
        self.set == other.set && Arc::ptr_eq(&self.file, &other.file) && same_summaries
    }
}

/// The cases of some sets that match a filter.
#[derive(Clone, Debug, Default)]
pub struct MatchedCases {
    /// The cases, in the order of the sets and of their files.
    pub cases: Vec<CaseRef>,
    sets: Vec<FilteredSet>,
    query: Query,
}

impl MatchedCases {
    /// Tests the cases of the sets; if it is certain that no other case can match, only those that matched `before`.
    pub fn new(
        sets: Vec<FilteredSet>,
        query: &Query,
        before: &MatchedCases,
        is_match: impl Fn(&FilteredSet, CaseRef) -> bool + Sync,
    ) -> MatchedCases {
        let cases = if before.contains_all(&sets, query) {
            let by_number: FxHashMap<usize, &FilteredSet> =
                sets.iter().map(|set| (set.set, set)).collect();
            let is_left = |case: &&CaseRef| {
                by_number
                    .get(&case.set)
                    .is_some_and(|set| is_match(set, **case))
            };
            let cases = before.cases.par_iter().with_min_len(TESTED_TOGETHER);
            cases.filter(is_left).copied().collect()
        } else {
            let of_set = |set: &FilteredSet| {
                let number = set.set;
                let all = (0..set.file.len())
                    .into_par_iter()
                    .with_min_len(TESTED_TOGETHER)
                    .map(|index| CaseRef { set: number, index });
                match query.is_empty() {
                    true => all.collect::<Vec<CaseRef>>(),
                    false => all.filter(|case| is_match(set, *case)).collect(),
                }
            };
            sets.iter().flat_map(of_set).collect()
        };
        MatchedCases {
            cases,
            sets,
            query: query.clone(),
        }
    }

    /// Whether all cases of these sets that match a filter are among the cases.
    fn contains_all(&self, sets: &[FilteredSet], query: &Query) -> bool {
        let is_same = || {
            self.sets.len() == sets.len()
                && self
                    .sets
                    .iter()
                    .zip(sets)
                    .all(|(one, other)| one.is_same(other))
        };
        !self.query.is_empty()
            && self.query.is_about_files()
            && query.narrows(&self.query)
            && is_same()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::Subject;
    use proptest::prelude::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn set_of(set: usize, texts: &[&str]) -> FilteredSet {
        let line =
            |text: &&str| format!("{}\n", serde_json::json!({"prompt": text, "response": "x"}));
        let lines: String = texts.iter().map(line).collect();
        let file = SetFile::open(Arc::from(lines), "s").unwrap();
        let summary = |text: &&str| CaseSummary {
            turns: 1,
            text: text.to_string(),
            ..CaseSummary::default()
        };
        let summaries = texts.iter().map(summary).collect();
        FilteredSet {
            set,
            file: Arc::new(file),
            summaries: Some(Arc::new(summaries)),
        }
    }

    fn sets() -> Vec<FilteredSet> {
        let all = |first: &[&str]| {
            first
                .iter()
                .flat_map(|a| ["b", "bc", "cb", ""].map(|b| format!("{a}{b}")))
                .collect()
        };
        [(0, &["a", "ab"][..]), (2, &["b", "c"]), (5, &["", "abc"])]
            .map(|(set, first)| {
                let texts: Vec<String> = all(first);
                set_of(set, &texts.iter().map(String::as_str).collect::<Vec<_>>())
            })
            .into()
    }

    fn matched(
        sets: &[FilteredSet],
        query: &str,
        before: &MatchedCases,
        tested: &AtomicUsize,
    ) -> MatchedCases {
        let query = Query::parse(query).unwrap();
        MatchedCases::new(sets.to_vec(), &query, before, |set, case| {
            tested.fetch_add(1, Ordering::Relaxed);
            let text = &set.summaries.as_ref().unwrap()[case.index].text;
            query.matches(&Subject {
                text,
                turns: 1,
                ..Subject::default()
            })
        })
    }

    #[test]
    fn longer_filter_tests_only_previous_matches() {
        let (sets, tested) = (sets(), AtomicUsize::new(0));
        let first = matched(&sets, "abc", &MatchedCases::default(), &tested);
        assert_eq!(tested.swap(0, Ordering::Relaxed), 24);
        let second = matched(&sets, "abcb", &first, &tested);
        assert_eq!(
            (tested.swap(0, Ordering::Relaxed), second.cases.len()),
            (first.cases.len(), 3)
        );
        matched(&sets, "ab", &second, &tested);
        assert_eq!(
            tested.swap(0, Ordering::Relaxed),
            24,
            "a shorter filter may match any case"
        );
        let read_again = set_of(2, &["abcb"]);
        let mut changed = sets.clone();
        changed[1] = read_again;
        let found = matched(&changed, "abcb", &first, &tested);
        assert_eq!(
            (tested.swap(0, Ordering::Relaxed), found.cases.len()),
            (17, 4),
            "a file was read again"
        );
    }

    proptest! {
        /// Whatever is typed, the result is that of the filter alone.
        #[test]
        fn narrowing_equals_filtering_from_scratch(
            filters in prop::collection::vec("(-?(turns:|tag:|id:)?[abc1]{0,3} ?){0,3}", 1..8),
        ) {
            let (sets, tested) = (sets(), AtomicUsize::new(0));
            let mut before = MatchedCases::default();
            for filter in filters.iter().filter(|filter| Query::parse(filter).is_ok()) {
                // As it is typed, key by key.
                for end in 0..=filter.len() {
                    if Query::parse(&filter[..end]).is_ok() {
                        before = matched(&sets, &filter[..end], &before, &tested);
                        let alone = matched(&sets, &filter[..end], &MatchedCases::default(), &tested);
                        prop_assert_eq!(&before.cases, &alone.cases, "{}", &filter[..end]);
                    }
                }
            }
        }
    }
}
