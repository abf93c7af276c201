//! The search for the commit from which on cases pass less often, from attempts whose outcomes depend on chance.
//!
//! # Model
//!
//! The commits are in order, the oldest first. Either there is one change: each case passes with one probability in the commits
//! before it, and with one that is lower by [`LEAST_FALL`] at least from it on. Or there is none. Neither the probabilities nor
//! the change are known. The probabilities have Jeffreys' prior; each change has the same prior probability, and no change has
//! [`NO_CHANGE`]. Of several cases, each may be one that the change does not concern, with the prior probability
//! [`NOT_CONCERNED`], but not all. Attempts are independent, and given the change, so are the cases.
//!
//! The posterior is computed on a grid of probabilities. The commit to run next is the one whose next outcomes are expected to
//! leave the least uncertainty (the entropy of the posterior), as in git_bayesect.

use super::repeats::PassCount;

/// Prior probability that there is no change.
const NO_CHANGE: f64 = 0.2;
/// The smallest difference of the probabilities of passing that is a change. Smaller ones take thousands of attempts.
const LEAST_FALL: f64 = 0.1;
/// Prior probability that a change does not concern a case, if there are several.
const NOT_CONCERNED: f64 = 0.1;
/// Number of probabilities on the grid.
const GRID: usize = 32;

/// What is known of the outcomes of cases in a sequence of commits.
#[derive(Clone, Debug, PartialEq)]
pub struct Bisection {
    /// By case, then by commit.
    counts: Vec<Vec<PassCount>>,
    /// The commits in which the cases cannot be run.
    skipped: Vec<bool>,
}

/// How likely it is where the cases changed.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangePosterior {
    /// By commit, the probability that it is the first with the change. 0 for the first commit.
    pub changes: Vec<f64>,
    /// The probability that there is no change.
    pub none: f64,
}

/// What is known with the demanded probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BisectionVerdict {
    /// The change is in one of these commits. They are several only if those before the last cannot be run.
    Found {
        /// The first.
        first: usize,
        /// The last.
        last: usize,
        /// The probability.
        probability: f64,
    },
    /// There is no change, with this probability.
    NoChange(f64),
    /// Neither is known.
    Undecided,
}

impl Bisection {
    /// Nothing is known of so many cases in so many commits, of which there are two at least.
    pub fn new(cases: usize, commits: usize) -> Bisection {
        Bisection {
            counts: vec![vec![PassCount::default(); commits]; cases],
            skipped: vec![false; commits],
        }
    }

    /// Adds attempts of a case in a commit.
    pub fn add(&mut self, case: usize, commit: usize, attempts: PassCount) {
        let count = &mut self.counts[case][commit];
        count.passed += attempts.passed;
        count.of += attempts.of;
    }

    /// Notes that the cases cannot be run in a commit.
    pub fn skip(&mut self, commit: usize) {
        self.skipped[commit] = true;
    }

    /// Whether the cases cannot be run in a commit.
    pub fn is_skipped(&self, commit: usize) -> bool {
        self.skipped[commit]
    }

    /// The number of commits.
    pub fn commits(&self) -> usize {
        self.skipped.len()
    }

    /// The attempts of all cases in these commits.
    pub fn attempts_in(&self, commits: impl Iterator<Item = usize> + Clone) -> PassCount {
        let counts = self.counts.iter();
        let counts = counts.flat_map(|case| commits.clone().map(|at| case[at]));
        counts.fold(PassCount::default(), |sum, one| PassCount {
            passed: sum.passed + one.passed,
            of: sum.of + one.of,
        })
    }

    /// How likely each change is, given the attempts.
    pub fn posterior(&self) -> ChangePosterior {
        let cases: Vec<CaseLikelihoods> = self.likelihoods();
        let changes = self.commits() - 1;
        let unchanged = sum(&cases, |case| case.unchanged);
        let none_concerned = prior_not_concerned(cases.len()).powi(cases.len() as i32);
        let prior = (1.0 - NO_CHANGE) / changes as f64 / (1.0 - none_concerned);
        let mut logs = vec![NO_CHANGE.ln() + unchanged];
        logs.extend((1..=changes).map(|at| {
            let change = sum(&cases, |case| case.changes[at].log);
            // Without the part in which the change concerns no case.
            let part: f64 = none_concerned * (unchanged - change).exp();
            prior.ln() + change + (1.0 - part).max(0.0).ln()
        }));
        let weights = normalized(&logs);
        let mut changes = weights.clone();
        changes[0] = 0.0;
        ChangePosterior {
            changes,
            none: weights[0],
        }
    }

    /// The commit whose next attempts are expected to leave the least uncertainty; `None` if all are skipped.
    pub fn next_commit(&self) -> Option<usize> {
        let posterior = self.posterior();
        let cases = self.likelihoods();
        let open = (0..self.commits()).filter(|at| !self.skipped[*at]);
        let gain = |commit: usize| sum(&cases, |case| case.gain(commit, &posterior));
        let gains = open.map(|commit| (commit, gain(commit)));
        gains
            .max_by(|(_, a), (_, b)| a.total_cmp(b))
            .map(|(commit, _)| commit)
    }

    /// What is known with this probability.
    pub fn verdict(&self, level: f64) -> BisectionVerdict {
        let posterior = self.posterior();
        if posterior.none >= level {
            return BisectionVerdict::NoChange(posterior.none);
        }
        // Changes between two commits that can be run are not told apart.
        let mut first = 1;
        let mut likeliest = BisectionVerdict::Undecided;
        for last in 1..self.commits() {
            if self.skipped[last] && last + 1 < self.commits() {
                continue;
            }
            let probability: f64 = posterior.changes[first..=last].iter().sum();
            // Without attempts on one side, only the prior speaks.
            let sides = [0..first, last..self.commits()];
            let has_both = sides.into_iter().all(|side| self.attempts_in(side).of > 0);
            if probability >= level && has_both {
                likeliest = BisectionVerdict::Found {
                    first,
                    last,
                    probability,
                };
            }
            first = last + 1;
        }
        likeliest
    }

    fn likelihoods(&self) -> Vec<CaseLikelihoods> {
        let grid = Grid::new();
        let cases = self.counts.iter();
        let not_concerned = prior_not_concerned(self.counts.len());
        cases
            .map(|case| CaseLikelihoods::new(case, &grid, not_concerned))
            .collect()
    }
}

/// The prior probability that a change does not concern a case that is one of so many.
fn prior_not_concerned(cases: usize) -> f64 {
    if cases > 1 { NOT_CONCERNED } else { 0.0 }
}

/// The sum over all cases.
fn sum(cases: &[CaseLikelihoods], of: impl Fn(&CaseLikelihoods) -> f64) -> f64 {
    cases.iter().map(of).sum()
}

/// Probabilities of passing, ascending, which have the same prior probability by Jeffreys' prior.
struct Grid {
    rates: [f64; GRID],
}

impl Grid {
    /// The rates are the middles of parts of equal probability: sin² of equally distant angles.
    fn new() -> Grid {
        let angle = |at: usize| (at as f64 + 0.5) / GRID as f64 * std::f64::consts::FRAC_PI_2;
        Grid {
            rates: std::array::from_fn(|at| angle(at).sin().powi(2)),
        }
    }

    /// The logarithm of the likelihood of attempts, by rate.
    fn logs(&self, count: PassCount) -> [f64; GRID] {
        let (passed, failed) = (count.passed as f64, (count.of - count.passed) as f64);
        std::array::from_fn(|at| {
            passed * self.rates[at].ln() + failed * (1.0 - self.rates[at]).ln()
        })
    }
}

/// The likelihood of a change, and what a further attempt would show if it is the one.
#[derive(Clone, Copy, Debug)]
struct ChangeLikelihood {
    /// The logarithm of the likelihood.
    log: f64,
    /// The probabilities that an attempt passes before the change, and from it on.
    rates: (f64, f64),
}

/// The likelihoods of one case.
struct CaseLikelihoods {
    /// The logarithm of the likelihood if nothing changed.
    unchanged: f64,
    /// The probability that an attempt passes then.
    unchanged_rate: f64,
    /// By the first commit with the change. The first element is not used.
    changes: Vec<ChangeLikelihood>,
}

impl CaseLikelihoods {
    fn new(counts: &[PassCount], grid: &Grid, not_concerned: f64) -> CaseLikelihoods {
        let all = counts
            .iter()
            .fold(PassCount::default(), |sum, one| PassCount {
                passed: sum.passed + one.passed,
                of: sum.of + one.of,
            });
        let pooled = grid.logs(all);
        let unchanged = log_sum(&pooled) - (GRID as f64).ln();
        let rates = normalized(&pooled).into_iter().zip(grid.rates);
        let unchanged_rate: f64 = rates.map(|(weight, rate)| weight * rate).sum();
        let mut before = PassCount::default();
        let mut changes = Vec::with_capacity(counts.len());
        for count in counts {
            let after = PassCount {
                passed: all.passed - before.passed,
                of: all.of - before.of,
            };
            let change = lowered(&grid.logs(before), &grid.logs(after), grid);
            changes.push(mixed(change, unchanged, unchanged_rate, not_concerned));
            before.passed += count.passed;
            before.of += count.of;
        }
        CaseLikelihoods {
            unchanged,
            unchanged_rate,
            changes,
        }
    }

    /// By how much an attempt in a commit is expected to lower the entropy of the change.
    fn gain(&self, commit: usize, posterior: &ChangePosterior) -> f64 {
        let mut passes = posterior.none * self.unchanged_rate;
        let mut noise = posterior.none * binary_entropy(self.unchanged_rate);
        for (at, probability) in posterior.changes.iter().enumerate().skip(1) {
            let (before, after) = self.changes[at].rates;
            let rate = if commit < at { before } else { after };
            passes += probability * rate;
            noise += probability * binary_entropy(rate);
        }
        // The mutual information of the outcome and the change.
        binary_entropy(passes) - noise
    }
}

/// The likelihood of a change to a rate that is lower by [`LEAST_FALL`] at least.
fn lowered(before: &[f64; GRID], after: &[f64; GRID], grid: &Grid) -> ChangeLikelihood {
    let scale = largest(before) + largest(after);
    let before = before.map(|log| (log - largest(before)).exp());
    let after = after.map(|log| (log - largest(after)).exp());
    let (mut total, mut high, mut low) = (0.0, 0.0, 0.0);
    // The sums over all rates that are low enough, and the number of pairs of rates, which have the same prior probability.
    let (mut below, mut below_rates) = (0.0, 0.0);
    let (mut lower, mut pairs) = (0, 0);
    for (rate, likelihood) in grid.rates.iter().zip(before) {
        while grid.rates[lower] + LEAST_FALL <= *rate {
            below += after[lower];
            below_rates += after[lower] * grid.rates[lower];
            lower += 1;
        }
        pairs += lower;
        total += likelihood * below;
        high += likelihood * rate * below;
        low += likelihood * below_rates;
    }
    // Too unlikely for a number: the rate rose.
    let rates = match total > 0.0 {
        true => (high / total, low / total),
        false => (0.5, 0.5),
    };
    ChangeLikelihood {
        log: (total / pairs as f64).ln() + scale,
        rates,
    }
}

/// A change that may not concern the case.
fn mixed(
    change: ChangeLikelihood,
    unchanged: f64,
    unchanged_rate: f64,
    not_concerned: f64,
) -> ChangeLikelihood {
    if not_concerned == 0.0 {
        return change;
    }
    let logs = [
        (1.0 - not_concerned).ln() + change.log,
        not_concerned.ln() + unchanged,
    ];
    let log = log_sum(&logs);
    let (concerned, not) = ((logs[0] - log).exp(), (logs[1] - log).exp());
    let mean = |of: f64| concerned * of + not * unchanged_rate;
    ChangeLikelihood {
        log,
        rates: (mean(change.rates.0), mean(change.rates.1)),
    }
}

fn largest(logs: &[f64]) -> f64 {
    logs.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// The logarithm of the sum of numbers, given their logarithms.
fn log_sum(logs: &[f64]) -> f64 {
    let most = largest(logs);
    most + logs.iter().map(|log| (log - most).exp()).sum::<f64>().ln()
}

/// Probabilities in the proportions of numbers, given their logarithms.
fn normalized(logs: &[f64]) -> Vec<f64> {
    let total = log_sum(logs);
    logs.iter().map(|log| (log - total).exp()).collect()
}

/// The entropy of an outcome with this probability, in nats.
fn binary_entropy(probability: f64) -> f64 {
    let part = |p: f64| if p > 0.0 { -p * p.ln() } else { 0.0 };
    part(probability) + part(1.0 - probability)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    /// Attempts until the change is known, and what is found. The cases pass with these rates before and from the change on.
    fn search(
        (commits, change): (usize, Option<usize>),
        rates: &[(f64, f64)],
        random: &mut StdRng,
    ) -> (BisectionVerdict, usize) {
        let mut search = Bisection::new(rates.len(), commits);
        let mut attempts = 0;
        let mut run = |search: &mut Bisection, commit: usize| {
            for (case, (before, after)) in rates.iter().enumerate() {
                let is_changed = change.is_some_and(|change| commit >= change);
                let rate = if is_changed { *after } else { *before };
                let passed = usize::from(random.random_bool(rate));
                search.add(case, commit, PassCount { passed, of: 1 });
            }
            attempts += 1;
        };
        for commit in [0, commits - 1, 0, commits - 1] {
            run(&mut search, commit);
        }
        for _ in 0..500 {
            match search.verdict(0.95) {
                BisectionVerdict::Undecided => {}
                _ => break,
            }
            let next = search.next_commit().unwrap();
            run(&mut search, next);
        }
        (search.verdict(0.95), attempts)
    }

    #[test]
    fn certain_change_takes_few_attempts() {
        let mut random = StdRng::seed_from_u64(1);
        for change in [1, 7, 40, 63] {
            let (found, attempts) = search((64, Some(change)), &[(1.0, 0.0)], &mut random);
            let BisectionVerdict::Found { first, last, .. } = found else {
                panic!("{found:?}");
            };
            assert_eq!((first, last), (change, change));
            assert!(attempts <= 22, "{attempts}");
        }
    }

    /// The demanded probability is kept: of 40 answers, 4 wrong ones have a probability of 0.95 under a rate of 5 %.
    #[test]
    fn answers_are_as_certain_as_they_claim() {
        let mut random = StdRng::seed_from_u64(2);
        let (mut right, mut answers) = (0, 0);
        for round in 0..40 {
            let change = 1 + round * 7 % 31;
            let (found, _) = search((32, Some(change)), &[(0.95, 0.4)], &mut random);
            match found {
                BisectionVerdict::Found { first, .. } => {
                    answers += 1;
                    right += usize::from(first == change);
                }
                BisectionVerdict::NoChange(_) => answers += 1,
                BisectionVerdict::Undecided => {}
            }
        }
        assert!(answers >= 38, "{answers}");
        assert!(right + 4 >= answers, "{right} of {answers}");
    }

    #[test]
    fn more_cases_need_fewer_attempts_each() {
        let mut random = StdRng::seed_from_u64(3);
        let mut attempts_of = |rates: &[(f64, f64)]| -> usize {
            let searches =
                (0..10).map(|round| search((32, Some(3 * round + 1)), rates, &mut random));
            searches.map(|(_, attempts)| attempts).sum()
        };
        let one = attempts_of(&[(0.9, 0.3)]);
        let four = attempts_of(&[(0.9, 0.3); 4]);
        assert!(four * 2 < one, "{four} {one}");
    }

    #[test]
    fn unchanged_and_improved_cases_have_no_change() {
        let mut random = StdRng::seed_from_u64(4);
        let (found, _) = search((16, None), &[(0.8, 0.8)], &mut random);
        assert!(matches!(found, BisectionVerdict::NoChange(_)), "{found:?}");
        let mut improved = Bisection::new(1, 8);
        improved.add(0, 0, PassCount { passed: 0, of: 500 });
        improved.add(
            0,
            7,
            PassCount {
                passed: 500,
                of: 500,
            },
        );
        let posterior = improved.posterior();
        let all = posterior.none + posterior.changes.iter().sum::<f64>();
        assert!((all - 1.0).abs() < 1e-9, "{posterior:?}");
        assert!(improved.next_commit().is_some());
    }

    #[test]
    fn skipped_commits_are_not_told_apart() {
        let mut search = Bisection::new(1, 6);
        for (commit, passed) in [(0, 20), (1, 20), (4, 0), (5, 0)] {
            search.add(0, commit, PassCount { passed, of: 20 });
        }
        search.skip(2);
        search.skip(3);
        assert_ne!(search.next_commit(), Some(2));
        let BisectionVerdict::Found { first, last, .. } = search.verdict(0.95) else {
            panic!("{:?}", search.posterior());
        };
        assert_eq!((first, last), (2, 4));
    }

    #[test]
    fn nothing_is_found_without_both_sides() {
        let mut search = Bisection::new(6, 12);
        search.skip(0);
        for case in 0..6 {
            for commit in [1, 6, 11] {
                search.add(case, commit, PassCount { passed: 0, of: 6 });
            }
        }
        assert_eq!(search.verdict(0.95), BisectionVerdict::Undecided);
        assert_eq!(
            Bisection::new(1, 2).verdict(0.8),
            BisectionVerdict::Undecided
        );
    }

    proptest::proptest! {
        #[test]
        fn posterior_is_a_distribution(
            counts in proptest::collection::vec((0..200usize, 0..200usize), 2..12),
        ) {
            let mut search = Bisection::new(1, counts.len());
            for (at, (passed, failed)) in counts.iter().enumerate() {
                search.add(0, at, PassCount { passed: *passed, of: passed + failed });
            }
            let posterior = search.posterior();
            let all = posterior.none + posterior.changes.iter().sum::<f64>();
            proptest::prop_assert!((all - 1.0).abs() < 1e-9, "{posterior:?}");
            proptest::prop_assert!(search.next_commit().is_some());
        }
    }
}
