//! How often comparisons of runs report a change: without any change (false alarms), and with changes of several sizes
//! (power). 1,000 pairs of runs for each row. `cargo bench --bench comparison` prints the tables; `.ci/comparison-table` measures
//! the main rows with the program itself.

#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::unwrap_used)]

use evaltrail_core::analysis::{
    CaseChange, ComparisonRule, DEFAULT_LEVEL, PassCount, PassTable, compare_counts,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// The pairs of runs for each row.
const PAIRS: usize = 1_000;
/// The number of cases.
const CASES: usize = 100;
/// The numbers of attempts of each case in the first and the second run.
const ATTEMPTS: [(usize, usize); 7] = [(1, 1), (1, 2), (1, 5), (5, 1), (3, 3), (5, 5), (3, 10)];
/// The share of attempts that are not evaluated.
const MISSING: [f64; 3] = [0.0, 0.1, 0.3];

/// How probable it is that an attempt of a case passes, in the first and in the second run. It gets a random number between
/// 0 and 1 and the position of the case.
type Rates = fn(f64, usize) -> (f64, f64);

/// Agents that did not change.
const EQUAL: [(&str, Rates); 5] = [
    ("every case passes with 50 %", |_, _| (0.5, 0.5)),
    ("80 %", |_, _| (0.8, 0.8)),
    ("95 %", |_, _| (0.95, 0.95)),
    ("99 %", |_, _| (0.99, 0.99)),
    (
        "half of the cases always, the others with 0 to 100 %",
        |random, at| match at % 2 {
            0 => (1.0, 1.0),
            _ => (random, random),
        },
    ),
];

/// Agents that changed.
const CHANGED: [(&str, Rates); 6] = [
    ("95 % → 70 %", |_, _| (0.95, 0.7)),
    ("80 % → 70 %", |_, _| (0.8, 0.7)),
    ("70 % → 80 %", |_, _| (0.7, 0.8)),
    ("100 %, but 1 case → 0 %", |_, at| {
        (1.0, if at < 1 { 0.0 } else { 1.0 })
    }),
    ("100 %, but 3 cases → 0 %", |_, at| {
        (1.0, if at < 3 { 0.0 } else { 1.0 })
    }),
    ("80 %, but 5 cases 100 % → 0 %", |_, at| {
        if at < 5 { (1.0, 0.0) } else { (0.8, 0.8) }
    }),
];

/// What comparisons of pairs of runs reported.
#[derive(Default)]
struct Reported {
    /// Pairs whose rate fell.
    fell: usize,
    /// Pairs with a case that broke.
    broke: usize,
    /// Pairs of which either is reported, so that `--fail-on broke` fails.
    worse: usize,
    /// Pairs whose rate rose, or with a case that was fixed.
    better: usize,
    /// Cases that broke, in all pairs.
    broke_cases: usize,
}

fn main() {
    for (title, agents) in [
        ("without a change", &EQUAL[..]),
        ("with a change", &CHANGED[..]),
    ] {
        println!("\n{title}, level {DEFAULT_LEVEL}, {CASES} cases, {PAIRS} pairs each\n");
        println!(
            "| agent | attempts | not evaluated | rate fell | any broke | either | better | cases that broke |"
        );
        println!("|---|---|--:|--:|--:|--:|--:|--:|");
        for (name, rates) in agents {
            for attempts in ATTEMPTS {
                for missing in MISSING {
                    row(
                        name,
                        attempts,
                        missing,
                        &reported(attempts, missing, *rates),
                    );
                }
            }
        }
    }
}

fn row(name: &str, (first, second): (usize, usize), missing: f64, of: &Reported) {
    let percent = |count: usize| format!("{:.1} %", count as f64 * 100.0 / PAIRS as f64);
    println!(
        "| {name} | {first} → {second} | {:.0} % | {} | {} | {} | {} | {:.2} |",
        missing * 100.0,
        percent(of.fell),
        percent(of.broke),
        percent(of.worse),
        percent(of.better),
        of.broke_cases as f64 / PAIRS as f64
    );
}

fn reported(attempts: (usize, usize), missing: f64, rates: Rates) -> Reported {
    // The seed depends on the row alone, so that a row can be repeated.
    let mut random = StdRng::seed_from_u64(
        (attempts.0 * 10_000 + attempts.1 * 1_000) as u64 + (missing * 100.0) as u64,
    );
    let mut found = Reported::default();
    for _ in 0..PAIRS {
        let tables =
            (0..CASES).map(|at| table(attempts, missing, rates(random.random(), at), &mut random));
        let tables: Vec<PassTable> = tables
            .filter(|table| table.before.of.min(table.after.of) > 0)
            .collect();
        let compared = compare_counts(&tables, &ComparisonRule::default());
        let count = |fate| compared.changes.iter().filter(|one| **one == fate).count();
        let (broke, fixed) = (count(CaseChange::Broke), count(CaseChange::Fixed));
        let is_fall = compared.rate_change.map(|change| change.is_fall());
        found.fell += usize::from(is_fall == Some(true));
        found.broke += usize::from(broke > 0);
        found.worse += usize::from(broke > 0 || is_fall == Some(true));
        found.better += usize::from(fixed > 0 || is_fall == Some(false));
        found.broke_cases += broke;
    }
    found
}

fn table(
    (first, second): (usize, usize),
    missing: f64,
    (before, after): (f64, f64),
    random: &mut StdRng,
) -> PassTable {
    let mut count = |of: usize, rate: f64| {
        let evaluated = (0..of).filter(|_| !random.random_bool(missing)).count();
        let passed = (0..evaluated).filter(|_| random.random_bool(rate)).count();
        (
            PassCount {
                passed,
                of: evaluated,
            },
            of - evaluated,
        )
    };
    let ((before, missing_before), (after, missing_after)) =
        (count(first, before), count(second, after));
    PassTable {
        before,
        after,
        not_evaluated: (missing_before, missing_after),
    }
}
