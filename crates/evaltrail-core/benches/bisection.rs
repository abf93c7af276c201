//! How often `evaltrail bisect` names the right commit, and how many attempts it takes, beside `git bisect run` with a fixed
//! number of attempts in each commit. `.ci/bayesect-table` does the same histories with git_bayesect.

#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::unwrap_used)]

use evaltrail_core::analysis::{Bisection, BisectionVerdict, PassCount};

const HISTORIES: u64 = 200;
const COMMITS: usize = 128;
const LEVEL: f64 = 0.95;
const MAX_ATTEMPTS: usize = 1000;

/// The pass rates before a change and from it on.
const RATES: [(f64, f64); 4] = [(1.0, 0.0), (0.98, 0.5), (0.9, 0.5), (0.95, 0.7)];

fn main() {
    println!("| pass rate | search | answers | right | attempts: median | p90 |");
    println!("|---|---|--:|--:|--:|--:|");
    for rates in RATES {
        row(rates, "evaltrail", search);
        row(rates, "git bisect, all of 5 pass", |history| {
            git_bisect(history, 5)
        });
        row(rates, "git bisect, all of 10 pass", |history| {
            git_bisect(history, 10)
        });
    }
    row((0.9, 0.9), "evaltrail, no change", search);
}

/// A history with a change: the outcome of each attempt depends only on its number, the commit and the history.
struct SimulatedHistory {
    number: u64,
    rates: (f64, f64),
    /// Attempts by commit.
    attempts: Vec<u64>,
}

impl SimulatedHistory {
    fn change(&self) -> usize {
        1 + (mixed(self.number) % (COMMITS as u64 - 1)) as usize
    }

    /// Whether the next attempt in a commit passes.
    fn attempt(&mut self, commit: usize) -> bool {
        let rate = if commit < self.change() {
            self.rates.0
        } else {
            self.rates.1
        };
        let attempt = self.attempts[commit];
        self.attempts[commit] += 1;
        let key = (self.number << 40) | ((commit as u64) << 20) | (attempt + 1);
        ((mixed(key) >> 11) as f64) / ((1u64 << 53) as f64) < rate
    }

    fn all_attempts(&self) -> usize {
        self.attempts.iter().sum::<u64>() as usize
    }
}

/// SplitMix64.
fn mixed(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The commit that a search names; `None` if it names none.
type Search = fn(&mut SimulatedHistory) -> Option<usize>;

fn row(rates: (f64, f64), name: &str, search: Search) {
    let (mut answers, mut right) = (0, 0);
    let mut attempts: Vec<usize> = (0..HISTORIES)
        .map(|number| {
            let attempts = vec![0; COMMITS];
            let mut history = SimulatedHistory {
                number,
                rates,
                attempts,
            };
            if let Some(found) = search(&mut history) {
                answers += 1;
                right += usize::from(found == history.change());
            }
            history.all_attempts()
        })
        .collect();
    attempts.sort_unstable();
    let share = |at: usize| attempts[attempts.len() * at / 100];
    println!(
        "| {} → {} | {name} | {answers} | {right} | {} | {} |",
        rates.0,
        rates.1,
        share(50),
        share(90)
    );
}

fn search(history: &mut SimulatedHistory) -> Option<usize> {
    let mut search = Bisection::new(1, COMMITS);
    let run = |search: &mut Bisection, history: &mut SimulatedHistory, commit: usize| {
        let passed = usize::from(history.attempt(commit));
        search.add(0, commit, PassCount { passed, of: 1 });
    };
    for commit in [0, COMMITS - 1] {
        run(&mut search, history, commit);
    }
    while history.all_attempts() < MAX_ATTEMPTS {
        match search.verdict(LEVEL) {
            BisectionVerdict::Found { first, .. } => return Some(first),
            BisectionVerdict::NoChange(_) => return None,
            BisectionVerdict::Undecided => {}
        }
        let next = search.next_commit().unwrap();
        run(&mut search, history, next);
    }
    None
}

/// A binary search in which a commit is good if all of its attempts pass.
fn git_bisect(history: &mut SimulatedHistory, repeat: usize) -> Option<usize> {
    let (mut good, mut bad) = (0, COMMITS - 1);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        let all_pass = (0..repeat).all(|_| history.attempt(middle));
        match all_pass {
            true => good = middle,
            false => bad = middle,
        }
    }
    Some(bad)
}
