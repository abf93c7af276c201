//! The pass rate of several cases.

use super::repeats::PassCount;
use crate::domain::{AttemptKey, Status};
use std::collections::HashMap;

/// The mean over the cases of the share of their evaluated attempts that passed; `None` if no attempt was evaluated.
///
/// This is the definition of pass@1, and that of comparisons: a case with fewer evaluated attempts has the same weight.
pub fn pass_rate(attempts: impl IntoIterator<Item = (AttemptKey, Status)>) -> Option<f64> {
    let mut collector = PassRateCollector::default();
    attempts
        .into_iter()
        .for_each(|(key, status)| collector.add(key, status));
    collector.finish()
}

/// Collects the attempts of a run for their [`pass_rate`].
#[derive(Clone, Debug, Default)]
pub struct PassRateCollector {
    /// The case of each attempt that was evaluated, and whether it passed.
    evaluated: Vec<(u32, bool)>,
    /// Whether a case may have several attempts.
    has_repeats: bool,
}

impl PassRateCollector {
    /// Counts an attempt.
    pub fn add(&mut self, key: AttemptKey, status: Status) {
        self.has_repeats |= key.attempt > 1;
        if status.is_evaluated() {
            self.evaluated
                .push((key.case as u32, status == Status::Passed));
        }
    }

    /// The pass rate; `None` if no attempt was evaluated.
    pub fn finish(&self) -> Option<f64> {
        let all = PassCount {
            passed: self.evaluated.iter().filter(|(_, passed)| *passed).count(),
            of: self.evaluated.len(),
        };
        if !self.has_repeats {
            return all.rate();
        }
        let mut cases: HashMap<u32, PassCount> = HashMap::new();
        for (case, passed) in &self.evaluated {
            let count = cases.entry(*case).or_default();
            count.of += 1;
            count.passed += usize::from(*passed);
        }
        let mut each = cases.values();
        let first = each.next()?.of;
        if each.all(|count| count.of == first) {
            return all.rate();
        }
        // In one order, so that the sum is the same each time.
        let mut rates: Vec<f64> = cases.values().filter_map(|count| count.rate()).collect();
        rates.sort_by(f64::total_cmp);
        Some(rates.iter().sum::<f64>() / rates.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Status::{Errored, Failed, NotEvaluated, Passed};

    fn rate(cases: &[&[Status]]) -> Option<f64> {
        let of_case = |(case, statuses): (usize, &&[Status])| {
            let key = move |at: usize| AttemptKey {
                case,
                attempt: at as u32 + 1,
            };
            statuses
                .iter()
                .enumerate()
                .map(move |(at, status)| (key(at), *status))
                .collect::<Vec<_>>()
        };
        pass_rate(cases.iter().enumerate().flat_map(of_case))
    }

    #[test]
    fn every_case_counts_the_same() {
        assert_eq!(
            rate(&[&[Passed], &[Failed], &[Errored], &[Passed]]),
            Some(0.5)
        );
        assert_eq!(rate(&[&[Passed, Failed], &[Passed, Passed]]), Some(0.75));
        assert_eq!(
            rate(&[&[Passed; 3], &[Failed, NotEvaluated, NotEvaluated]]),
            Some(0.5),
            "3 of 4 attempts"
        );
        assert_eq!(
            rate(&[&[Passed, Passed], &[NotEvaluated, NotEvaluated]]),
            Some(1.0)
        );
        assert_eq!(rate(&[&[NotEvaluated], &[]]), None);
    }
}
