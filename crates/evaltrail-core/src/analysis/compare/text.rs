//! A comparison in words.

use super::changes::CaseChange;
use super::conditions::ChangedCondition;
use super::overall::{OutcomeTest, OverallChange, RateChange};
use super::scores::{ComparedMetric, ScoreTest};
use super::{ComparedCase, RunComparison};
use crate::domain::counted;

/// A p-value in words: "p 0.0123" or, above the level, "p 0.4000, could be noise".
pub fn p_text(p: f64, level: f64) -> String {
    let number = if p < 0.0001 {
        "p < 0.0001".to_string()
    } else {
        format!("p {p:.4}")
    };
    if p <= level {
        number
    } else {
        format!("{number}, could be noise")
    }
}

impl OverallChange {
    /// "16 → 17 of 20 comparable cases passed", with several attempts also the rates, and only these where the numbers of
    /// attempts differ.
    pub fn passed_text(&self) -> String {
        match self.rates.filter(|_| self.is_by_rates()) {
            Some((before, after)) => format!(
                "{:.1} % → {:.1} % of attempts passed, mean over {} comparable cases{}",
                before * 100.0,
                after * 100.0,
                self.cases,
                if self.is_weighted {
                    ", weighted by their attempts"
                } else {
                    ""
                }
            ),
            None => {
                let (before, after) = self.passed;
                let words = format!(
                    "{before} → {after} of {} comparable cases passed",
                    self.cases
                );
                match self.rates.filter(|_| self.is_repeated()) {
                    Some((before, after)) => format!(
                        "{words} in all attempts, {:.1} % → {:.1} % of attempts passed",
                        before * 100.0,
                        after * 100.0
                    ),
                    None => words,
                }
            }
        }
    }

    /// "16 → 17 of 20 passed", or the rates where the numbers of attempts differ: for a place with little room.
    pub fn short_passed_text(&self) -> String {
        match self.rates.filter(|_| self.is_by_rates()) {
            Some((before, after)) => {
                format!(
                    "{:.1} % → {:.1} % of attempts passed",
                    before * 100.0,
                    after * 100.0
                )
            }
            None => {
                let all = if self.is_repeated() { " always" } else { "" };
                format!(
                    "{} → {} of {} passed{all}",
                    self.passed.0, self.passed.1, self.cases
                )
            }
        }
    }

    /// The test, and whether the difference is more than noise.
    fn test_text(&self, level: f64) -> String {
        let by_rates = |words: &str| {
            let (before, after) = (range_text(self.attempts.0), range_text(self.attempts.1));
            format!(
                "by rates, because the numbers of evaluated attempts differ: {before} and {after}; {words}"
            )
        };
        let words = match self.test {
            OutcomeTest::Rates(p) => return by_rates(&p_text(p, level)),
            OutcomeTest::Equal if self.is_by_rates() => return by_rates("no rate differs"),
            OutcomeTest::Selected => {
                "no test: only cases that failed in one of the runs are compared, and some of these pass by chance alone"
                    .to_string()
            }
            OutcomeTest::McNemar(p) => format!("McNemar {}", p_text(p, level)),
            OutcomeTest::Equal if self.is_repeated() => {
                "the same cases passed in all attempts".to_string()
            }
            OutcomeTest::Equal => "no case changed its outcome".to_string(),
        };
        match self.rates_p {
            Some(p) => format!("{words}; rates {}", p_text(p, level)),
            None => words,
        }
    }
}

impl RateChange {
    /// "the pass rate fell from 95.0 % to 70.0 % (p < 0.0001)".
    pub fn describe(self) -> String {
        let verb = if self.is_fall() { "fell" } else { "rose" };
        let (before, after) = (self.before * 100.0, self.after * 100.0);
        format!(
            "the pass rate {verb} from {before:.1} % to {after:.1} % ({})",
            p_text(self.p, 1.0)
        )
    }
}

impl ComparedCase {
    /// "other criteria, other judge": the conditions that differ between the results, beside name and file, which the line of
    /// the case says in other words; `None` if none does.
    pub fn other_conditions_text(&self) -> Option<String> {
        let is_listed =
            |of: &&ChangedCondition| !matches!(of, ChangedCondition::Name | ChangedCondition::File);
        let changed: Vec<String> = self
            .changed
            .iter()
            .filter(is_listed)
            .map(|of| format!("other {}", of.label()))
            .collect();
        (!changed.is_empty()).then(|| changed.join(", "))
    }
}

impl ComparedMetric {
    /// "other options in 3 cases"; `None` if all cases were scored with the same options.
    pub fn other_options_text(&self) -> Option<String> {
        (self.other_options > 0)
            .then(|| format!("other options in {}", counted(self.other_options, "case")))
    }
}

fn range_text((fewest, most): (usize, usize)) -> String {
    if fewest == most {
        most.to_string()
    } else {
        format!("{fewest}–{most}")
    }
}

impl RunComparison {
    /// The numbers of cases that broke, were fixed, are unclear, and were scored with other criteria in the second run. The
    /// last two are left out if they are 0.
    pub fn changes_text(&self) -> String {
        let count = |change| self.cases_with(change).count();
        let mut words = format!(
            "{} broke, {} fixed",
            count(CaseChange::Broke),
            count(CaseChange::Fixed)
        );
        if let unclear @ 1.. = count(CaseChange::Unclear) {
            words += &format!(", {unclear} unclear");
        }
        if let other @ 1.. = self.changed_in(ChangedCondition::Criteria) {
            words += &format!(", {} with other criteria", counted(other, "case"));
        }
        words
    }

    /// "still failing", and how many of these cases fail for another reason now: the heading of a list of this many cases
    /// after their number.
    pub fn heading_text(&self, change: CaseChange) -> String {
        let heading = change.heading();
        let other = self.cases_with(change).filter(|case| case.has_other_cause);
        match other.count() {
            0 => heading.to_string(),
            count => format!("{heading}, {count} for another reason"),
        }
    }

    /// The numbers of cases with a result in only one of the runs; `None` if every case has results in both.
    pub fn unpaired_text(&self) -> Option<String> {
        let counts = [
            (CaseChange::OnlyBefore, "first"),
            (CaseChange::OnlyAfter, "second"),
        ];
        let texts = counts.into_iter().filter_map(|(change, run)| {
            let count = self.cases_with(change).count();
            (count > 0).then(|| format!("{count} only in the {run} run"))
        });
        let texts: Vec<String> = texts.collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    /// A sentence for runs without a common case, of which nothing is compared.
    pub fn nothing_compared_text(&self) -> Option<&'static str> {
        let is_in_both = |case: &ComparedCase| case.before.is_some() && case.after.is_some();
        let is_empty = !self.cases.iter().any(is_in_both);
        is_empty.then_some(
            "no case has results in both runs: they are of different data sets or selections",
        )
    }

    /// The number of cases with results in both runs for which a condition differs.
    pub fn changed_in(&self, condition: ChangedCondition) -> usize {
        self.cases
            .iter()
            .filter(|case| case.changed.contains(&condition))
            .count()
    }

    /// Whether the difference of the outcomes is more than noise.
    pub fn test_text(&self) -> String {
        let words = self.overall.test_text(self.rule.level);
        let Some(points) = self.unseen_difference() else {
            return words;
        };
        let (changed, cases) = (self.changed_outcomes(), self.overall.cases);
        // A difference cannot be larger than the share of the outcomes that changed.
        match points <= 100.0 * changed as f64 / cases as f64 {
            true => format!(
                "{words}; with {changed} of {cases} outcomes changed, a difference below {points:.0} points is mostly not seen"
            ),
            false => format!(
                "{words}; {changed} of {cases} outcomes changed, too few to see any difference"
            ),
        }
    }

    /// The number of cases with another outcome.
    fn changed_outcomes(&self) -> usize {
        let changed = [CaseChange::Broke, CaseChange::Fixed, CaseChange::Unclear];
        changed
            .map(|change| self.cases_with(change).count())
            .iter()
            .sum()
    }

    /// [`visible_difference`] of this comparison; `None` if the difference was seen, if no outcome changed, and with several attempts
    /// of a case.
    fn unseen_difference(&self) -> Option<f64> {
        let OutcomeTest::McNemar(p) = self.overall.test else {
            return None;
        };
        let is_single = !self.overall.is_repeated() && !self.overall.is_by_rates();
        let (changed, cases) = (self.changed_outcomes() as f64, self.overall.cases as f64);
        let is_unseen = is_single && p > self.rule.level && changed > 0.0;
        is_unseen.then(|| visible_difference(changed, cases))
    }

    /// Whether the difference of a metric is more than noise.
    pub fn score_text(&self, test: ScoreTest) -> String {
        match test {
            ScoreTest::Equal => "no score differs".into(),
            ScoreTest::Selected => "not tested".into(),
            ScoreTest::Wilcoxon(p) => p_text(p, self.rule.level),
            ScoreTest::WithinCases(p) => format!("within cases, {}", p_text(p, self.rule.level)),
        }
    }
}

/// The smallest true difference of the pass rates, in percentage points, that 80 % of the comparisons of this many cases show at a
/// level of 0.05, with one attempt of each case and if as many outcomes change.
///
/// Definition: the sample size of McNemar's test (Connor 1987) in its usual approximation, solved for the difference:
/// (1.96 + 0.84) · √(share of changed outcomes / cases).
fn visible_difference(changed: f64, cases: f64) -> f64 {
    const QUANTILES: f64 = 1.959_964 + 0.841_621;
    100.0 * QUANTILES * (changed / cases / cases).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sample sizes for a power of 80 % that are known from tables: with 10 % changed outcomes 312 cases for 5 points and 77 for 10,
    /// with 20 % 626 and 155.
    #[test]
    fn visible_difference_agrees_with_sample_sizes() {
        for (share, cases, points) in [
            (0.1, 312.0, 5.0),
            (0.1, 77.0, 10.0),
            (0.2, 626.0, 5.0),
            (0.2, 155.0, 10.0),
        ] {
            let found = visible_difference(share * cases, cases);
            assert!((found - points).abs() < 0.15, "{share} {cases}: {found}");
        }
    }
}
