//! All comparable cases of two runs together.

use crate::analysis::pass_table::PassTable;
use crate::analysis::statistics::mcnemar;
use crate::analysis::stratified;

/// The outcomes of all comparable cases, in both runs: (first, second).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OverallChange {
    /// The number of comparable cases.
    pub cases: usize,
    /// In how many cases all attempts passed.
    pub passed: (usize, usize),
    /// The mean over the cases of the share of attempts that passed; `None` without cases.
    pub rates: Option<(f64, f64)>,
    /// The fewest and the most attempts of a case that were evaluated.
    pub attempts: ((usize, usize), (usize, usize)),
    /// Whether the difference is more than noise.
    pub test: OutcomeTest,
    /// Where cases have several attempts, whether the difference of the rates is: the two-sided p-value of the exact test of
    /// rates within cases; `None` if no rate differs.
    pub rates_p: Option<f64>,
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
    /// The exact test of rates within cases, for other numbers of attempts: the more attempts a case has, the rarer it is that
    /// all of them pass.
    Rates(f64),
}

impl OutcomeTest {
    /// The p-value, if an outcome differs.
    pub fn p(self) -> Option<f64> {
        match self {
            OutcomeTest::McNemar(p) | OutcomeTest::Rates(p) => Some(p),
            OutcomeTest::Equal => None,
        }
    }

    /// The name of the test in JSON.
    pub fn key(self) -> Option<&'static str> {
        match self {
            OutcomeTest::McNemar(_) => Some("mcnemar"),
            OutcomeTest::Rates(_) => Some("rates"),
            OutcomeTest::Equal => None,
        }
    }
}

impl OverallChange {
    /// Compares the outcomes of the comparable cases.
    pub(super) fn of(tables: &[PassTable]) -> OverallChange {
        let count = |is_it: fn(&PassTable) -> bool| tables.iter().filter(|table| is_it(table)).count();
        let passed_before = |table: &PassTable| table.before.passed == table.before.of;
        let passed_after = |table: &PassTable| table.after.passed == table.after.of;
        let passed = (count(passed_before), count(passed_after));
        let both = tables.iter().filter(|table| passed_before(table) && passed_after(table)).count();
        let (lost, won) = (passed.0 - both, passed.1 - both);
        let is_repeated = tables.iter().any(|table| table.before.of.max(table.after.of) > 1);
        let rates_p = is_repeated.then(|| stratified::rates(tables.iter().copied())).flatten();
        let test = match tables.iter().all(|table| table.before.of == table.after.of) {
            true if lost + won == 0 => OutcomeTest::Equal,
            true => OutcomeTest::McNemar(mcnemar(lost, won)),
            false => rates_p.map_or(OutcomeTest::Equal, OutcomeTest::Rates),
        };
        OverallChange {
            cases: tables.len(),
            passed,
            rates: mean(tables.iter().filter_map(|table| table.before.rate()))
                .zip(mean(tables.iter().filter_map(|table| table.after.rate()))),
            attempts: (
                range(tables.iter().map(|table| table.before.of)),
                range(tables.iter().map(|table| table.after.of)),
            ),
            test,
            rates_p,
        }
    }

    /// Whether a case has another number of attempts in the second run, so that rates are compared.
    pub fn is_by_rates(&self) -> bool {
        self.attempts.0 != self.attempts.1 || matches!(self.test, OutcomeTest::Rates(_))
    }

    /// Whether a case has several attempts.
    pub fn is_repeated(&self) -> bool {
        self.attempts.0.1.max(self.attempts.1.1) > 1
    }
}

fn mean(rates: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = rates.fold((0, 0.0), |(count, sum), rate| (count + 1, sum + rate));
    (count > 0).then(|| sum / f64::from(count))
}

fn range(counts: impl Iterator<Item = usize> + Clone) -> (usize, usize) {
    (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0))
}
