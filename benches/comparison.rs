//! How often comparisons of runs report a change: without any change (false alarms), and with changes of several sizes
//! (power). 1,000 pairs of runs for each row. `cargo bench --bench comparison` prints the tables of `docs/triage.md`.

use evaltrail::analysis::{CaseFate, ComparisonRule, DEFAULT_LEVEL, PassCount, PassTable, compare_counts};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// The pairs of runs for each row.
const PAIRS: usize = 1_000;
/// The numbers of attempts of each case in the first and the second run.
const ATTEMPTS: [(usize, usize); 5] = [(1, 1), (1, 5), (5, 1), (5, 5), (3, 10)];
/// The numbers of cases.
const CASES: [usize; 2] = [100, 200];

/// How probable it is that an attempt of a case passes, in the first and in the second run. It gets a random number between
/// 0 and 1 and the position of the case.
type Rates = fn(f64, usize) -> (f64, f64);

/// Agents that did not change.
const EQUAL: [(&str, Rates); 5] = [
    ("every case passes with 50 %", |_, _| (0.5, 0.5)),
    ("80 %", |_, _| (0.8, 0.8)),
    ("95 %", |_, _| (0.95, 0.95)),
    ("99 %", |_, _| (0.99, 0.99)),
    ("half of the cases always, the others with 0 to 100 %", |random, at| match at % 2 {
        0 => (1.0, 1.0),
        _ => (random, random),
    }),
];

/// Agents that changed.
const CHANGED: [(&str, Rates); 5] = [
    ("80 % → 70 %", |_, _| (0.8, 0.7)),
    ("80 % → 50 %", |_, _| (0.8, 0.5)),
    ("70 % → 80 %", |_, _| (0.7, 0.8)),
    ("100 %, but 3 cases → 0 %", |_, at| (1.0, if at < 3 { 0.0 } else { 1.0 })),
    ("80 %, but 5 cases 100 % → 0 %", |_, at| if at < 5 { (1.0, 0.0) } else { (0.8, 0.8) }),
];

/// What comparisons of pairs of runs reported.
#[derive(Default)]
struct Reported {
    worse: usize,
    better: usize,
    /// Pairs with a case that broke.
    broke: usize,
    /// Pairs with a case that was fixed.
    fixed: usize,
    /// Cases that broke, in all pairs.
    broke_cases: usize,
}

fn main() {
    for (title, agents) in [("without a change", EQUAL), ("with a change", CHANGED)] {
        println!("\n{title}, level {DEFAULT_LEVEL}, {PAIRS} pairs each\n");
        println!("| agent | attempts | cases | worse | better | any broke | any fixed | cases that broke |");
        println!("|---|---|--:|--:|--:|--:|--:|--:|");
        for (name, rates) in agents {
            for attempts in ATTEMPTS {
                for cases in CASES {
                    row(name, attempts, cases, &reported(attempts, cases, rates));
                }
            }
        }
    }
}

fn row(name: &str, (first, second): (usize, usize), cases: usize, of: &Reported) {
    let percent = |count: usize| format!("{:.1} %", count as f64 * 100.0 / PAIRS as f64);
    println!(
        "| {name} | {first} → {second} | {cases} | {} | {} | {} | {} | {:.2} |",
        percent(of.worse),
        percent(of.better),
        percent(of.broke),
        percent(of.fixed),
        of.broke_cases as f64 / PAIRS as f64
    );
}

fn reported(attempts: (usize, usize), cases: usize, rates: Rates) -> Reported {
    // The seed depends on the row alone, so that a row can be repeated.
    let mut random = StdRng::seed_from_u64((attempts.0 * 10_000 + attempts.1 * 1_000 + cases) as u64);
    let mut found = Reported::default();
    for _ in 0..PAIRS {
        let tables: Vec<PassTable> = (0..cases).map(|at| table(attempts, at, rates, &mut random)).collect();
        let (fates, overall) = compare_counts(&tables, &ComparisonRule::default());
        let count = |fate| fates.iter().filter(|one| **one == fate).count();
        let (broke, fixed) = (count(CaseFate::Broke), count(CaseFate::Fixed));
        let is_significant = overall.test.p().is_some_and(|p| p < DEFAULT_LEVEL);
        // The direction that the reports show.
        let fell = match overall.is_by_rates() {
            true => overall.rates.is_some_and(|(before, after)| after < before),
            false => overall.passed.1 < overall.passed.0,
        };
        found.worse += usize::from(is_significant && fell);
        found.better += usize::from(is_significant && !fell);
        found.broke += usize::from(broke > 0);
        found.fixed += usize::from(fixed > 0);
        found.broke_cases += broke;
    }
    found
}

fn table((first, second): (usize, usize), at: usize, rates: Rates, random: &mut StdRng) -> PassTable {
    let (before, after) = rates(random.random(), at);
    let mut count =
        |of: usize, rate: f64| PassCount { passed: (0..of).filter(|_| random.random_bool(rate)).count(), of };
    PassTable { before: count(first, before), after: count(second, after) }
}
