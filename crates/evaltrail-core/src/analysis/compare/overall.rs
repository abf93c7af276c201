//! All comparable cases of two runs together.

use crate::analysis::evidence::OverallFall;
use crate::analysis::pass_table::PassTable;
use crate::analysis::statistics::mcnemar;
use crate::analysis::stratified::RateTest;

/// The outcomes of all comparable cases, in both runs: (first, second).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OverallChange {
    /// The number of comparable cases.
    pub cases: usize,
    /// In how many cases all attempts passed.
    pub passed: (usize, usize),
    /// The mean over the cases of the share of attempts that passed; `None` without cases. A case with n and m attempts has the
    /// weight nm/(n + m), so that the difference of the means is what [`OverallChange::rates_p`] tests.
    pub rates: Option<(f64, f64)>,
    /// Whether cases have other weights than others.
    pub is_weighted: bool,
    /// Whether each case has equally many attempts in both runs, all of which were evaluated.
    is_balanced: bool,
    /// The fewest and the most attempts of a case that were evaluated.
    pub attempts: ((usize, usize), (usize, usize)),
    /// Whether the difference is more than noise.
    pub test: OutcomeTest,
    /// Where cases have several attempts, whether the difference of the rates is: the two-sided p-value of the exact test of
    /// rates within cases; `None` if no rate differs.
    pub rates_p: Option<f64>,
}

/// A significant change of the rate of all comparable cases that are not quarantined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateChange {
    /// The rate in the first run: [`OverallChange::rates`].
    pub before: f64,
    /// The rate in the second run.
    pub after: f64,
    /// The two-sided p-value of the exact test of rates within cases.
    pub p: f64,
}

impl RateChange {
    /// The change, if it is significant.
    pub(super) fn new(
        tables: &[PassTable],
        test: Option<&RateTest>,
        level: f64,
    ) -> Option<RateChange> {
        let is_significant = OverallFall::from_test(test, level).is_significant
            || OverallFall::mirrored(test, level).is_significant;
        let (before, after) = mean_rates(tables).filter(|_| is_significant)?;
        Some(RateChange {
            before,
            after,
            p: test?.p(),
        })
    }

    /// Whether the agent passes less often.
    pub fn is_fall(self) -> bool {
        self.after < self.before
    }
}

/// The test of the difference of the outcomes. Two-sided p-values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum OutcomeTest {
    /// No outcome differs.
    #[default]
    Equal,
    /// McNemar's exact test over the cases in which all attempts passed in one of the runs only. Every case has equally many
    /// attempts in both runs.
    McNemar(f64),
    /// The exact test of rates within cases, for other numbers of attempts, and where some were not evaluated: the more attempts
    /// a case has, the rarer it is that all of them pass.
    Rates(f64),
    /// There is no test: the compared cases were chosen by their outcome in one of the runs, as those that are run again because
    /// they failed. Their rate rises by chance alone.
    Selected,
}

impl OutcomeTest {
    /// The p-value, if an outcome differs.
    pub fn p(self) -> Option<f64> {
        match self {
            OutcomeTest::McNemar(p) | OutcomeTest::Rates(p) => Some(p),
            OutcomeTest::Equal | OutcomeTest::Selected => None,
        }
    }

    /// The name of the test in JSON.
    pub fn key(self) -> Option<&'static str> {
        match self {
            OutcomeTest::McNemar(_) => Some("mcnemar"),
            OutcomeTest::Rates(_) => Some("rates"),
            OutcomeTest::Selected => Some("selected"),
            OutcomeTest::Equal => None,
        }
    }
}

impl OverallChange {
    /// Compares the outcomes of the comparable cases, with the test of their rates.
    pub(super) fn new(tables: &[PassTable], test: Option<&RateTest>) -> OverallChange {
        let known = |is_it: fn((Option<bool>, Option<bool>)) -> bool| {
            tables
                .iter()
                .filter(|table| is_it(table.passed_all()))
                .count()
        };
        let passed = (
            known(|(before, _)| before == Some(true)),
            known(|(_, after)| after == Some(true)),
        );
        let both = known(|passed| passed == (Some(true), Some(true)));
        let (lost, won) = (passed.0 - both, passed.1 - both);
        let is_repeated = tables
            .iter()
            .any(|table| table.before.of.max(table.after.of) > 1);
        let rates_p = test.filter(|_| is_repeated).map(RateTest::p);
        let test = match tables.iter().all(|table| table.is_balanced()) {
            true if lost + won == 0 => OutcomeTest::Equal,
            true => OutcomeTest::McNemar(mcnemar(lost, won)),
            false => rates_p.map_or(OutcomeTest::Equal, OutcomeTest::Rates),
        };
        let range_of = |of: fn(&PassTable) -> usize| range(tables.iter().map(of));
        OverallChange {
            cases: tables.len(),
            passed,
            rates: mean_rates(tables),
            is_weighted: tables
                .iter()
                .any(|table| table.weight() != tables[0].weight()),
            is_balanced: tables.iter().all(|table| table.is_balanced()),
            attempts: (
                range_of(|table| table.before.of),
                range_of(|table| table.after.of),
            ),
            test,
            rates_p,
        }
    }

    /// Whether a case has another number of attempts in the second run, or some were not evaluated, so that rates are
    /// compared.
    pub fn is_by_rates(&self) -> bool {
        self.cases > 0 && !self.is_balanced
    }

    /// Whether a case has several attempts.
    pub fn is_repeated(&self) -> bool {
        self.attempts.0.1.max(self.attempts.1.1) > 1
    }
}

/// The mean over the cases of the share of attempts that passed, in both runs. The difference has the sign of the test of
/// rates: each case has [`PassTable::weight`].
fn mean_rates(tables: &[PassTable]) -> Option<(f64, f64)> {
    let all: f64 = tables.iter().map(|table| table.weight()).sum();
    let mean = |rate: fn(&PassTable) -> Option<f64>| -> f64 {
        tables
            .iter()
            .filter_map(|table| Some(rate(table)? * table.weight()))
            .sum::<f64>()
            / all
    };
    (all > 0.0).then(|| {
        (
            mean(|table| table.before.rate()),
            mean(|table| table.after.rate()),
        )
    })
}

fn range(counts: impl Iterator<Item = usize> + Clone) -> (usize, usize) {
    (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0))
}
