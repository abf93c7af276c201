//! Which cases changed between two runs, and not by chance.
//!
//! An agent gives another answer in another attempt, so that among many cases some always pass less often than before. What
//! counts as evidence is a rule with a level: the probability that a run without any change has a case that "broke".

use super::pass_table::{LossTests, Margins, PassTable};
use super::repeats::PassCount;
use super::sum_of_counts::SumOfCounts;
use std::collections::HashMap;

/// What counts as evidence that a case changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChangeEvidence {
    /// All attempts passed in one run and none in the other, unless chance explains that many such cases; or the rates of
    /// the case differ significantly.
    #[default]
    Complete,
    /// The rates of the case differ significantly. With few attempts no case can.
    Significant,
    /// All attempts passed in one run and not all in the other. Flaky cases change without any change of the agent.
    Any,
}

impl ChangeEvidence {
    /// All, with their names in options and in JSON.
    pub const NAMES: [(&'static str, ChangeEvidence); 3] = [
        ("complete", ChangeEvidence::Complete),
        ("significant", ChangeEvidence::Significant),
        ("any", ChangeEvidence::Any),
    ];

    /// The name in options and in JSON.
    pub fn name(self) -> &'static str {
        ChangeEvidence::NAMES.iter().find(|(_, one)| *one == self).map_or("", |(name, _)| name)
    }

    /// The evidence with this name.
    pub fn named(name: &str) -> Option<ChangeEvidence> {
        ChangeEvidence::NAMES.iter().find(|(one, _)| *one == name).map(|(_, evidence)| *evidence)
    }
}

/// The level up to which p-values are significant, unless another is set.
pub const DEFAULT_LEVEL: f64 = 0.05;

/// How runs are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComparisonRule {
    /// The maximum probability of a false alarm, between 0 and 1: a p-value of at most this is significant.
    pub level: f64,
    /// What counts as evidence that a case changed.
    pub evidence: ChangeEvidence,
}

impl Default for ComparisonRule {
    fn default() -> ComparisonRule {
        ComparisonRule { level: DEFAULT_LEVEL, evidence: ChangeEvidence::default() }
    }
}

impl ComparisonRule {
    /// Whether some outcome of a case with this many attempts in both runs is evidence of a change.
    pub(super) fn can_decide(&self, (before, after): (usize, usize)) -> bool {
        let complete_loss = || PassTable {
            before: PassCount { passed: before, of: before },
            after: PassCount { passed: 0, of: after },
        };
        self.evidence != ChangeEvidence::Significant
            || LossTests::default().p(complete_loss()) <= self.level * TOLERANCE
    }
}

/// Equal probabilities may differ in their last digits.
const TOLERANCE: f64 = 1.0 + 1e-9;

/// For each case, whether there is evidence that it passes less often than before.
pub(super) fn lost(tables: &[PassTable], rule: &ComparisonRule) -> Vec<bool> {
    match rule.evidence {
        ChangeEvidence::Any => tables.iter().map(|table| is_any_loss(*table)).collect(),
        ChangeEvidence::Significant => significant_losses(tables, rule.level),
        ChangeEvidence::Complete => complete_losses(tables, rule.level),
    }
}

fn is_any_loss(table: PassTable) -> bool {
    let passed_all = |count: PassCount| count.passed == count.of;
    passed_all(table.before) && !passed_all(table.after)
}

/// With one attempt in each run nothing is known about chance: every case that passed and does not pass now is lost. Of the
/// others, half of the level is for significant losses, and half for complete ones.
fn complete_losses(tables: &[PassTable], level: f64) -> Vec<bool> {
    let several: Vec<PassTable> =
        tables.iter().copied().filter(|table| !table.is_of_single_attempts()).collect();
    let significant = significant_losses(&several, level / 2.0);
    let are_more_than_chance = are_complete_losses_more_than_chance(&several, level / 2.0);
    let mut significant = significant.into_iter();
    let is_lost = |table: &PassTable| match table.is_of_single_attempts() {
        true => is_any_loss(*table),
        false => significant.next().unwrap_or(false) || (are_more_than_chance && table.is_complete_loss()),
    };
    tables.iter().map(is_lost).collect()
}

/// Whether there are more cases in which all attempts passed and now none does than chance explains. Their number is
/// compared with that of the cases in which as many attempts passed, but in both runs or in the other one: if nothing
/// changed, each arrangement of the attempts of a case is equally probable. Without such other cases nothing in the runs
/// suggests chance.
fn are_complete_losses_more_than_chance(tables: &[PassTable], level: f64) -> bool {
    let (mut sum, mut losses, mut others) = (SumOfCounts::default(), 0, 0);
    for table in tables.iter().filter(|table| table.margins().allow_complete_loss()) {
        match table.is_complete_loss() {
            true => losses += 1,
            false => others += 1,
        }
        // The last of the possible numbers is that of a complete loss.
        sum.add_event(table.margins().chances().last().copied().unwrap_or(1.0));
    }
    losses > 0 && (others == 0 || sum.at_least(losses) <= level * TOLERANCE)
}

/// The cases whose rates fell significantly. With probability at most `level` a run without any change has such a case,
/// however many cases there are.
///
/// Definition: Fisher's exact test for each case. Its p-value is significant if the sum of the probabilities with which each
/// case of the run has a p-value as small is at most `level`: Bonferroni's correction for discrete tests (Tarone 1990;
/// Westfall and Wolfinger 1997, "Multiple Tests with Discrete Distributions"). Cases that always or never pass cannot have a
/// small p-value, so that they do not count.
fn significant_losses(tables: &[PassTable], level: f64) -> Vec<bool> {
    let mut tests = LossTests::default();
    let mut counts: HashMap<Margins, usize> = HashMap::new();
    tables.iter().for_each(|table| *counts.entry(table.margins()).or_default() += 1);
    let mut known: HashMap<u64, bool> = HashMap::new();
    let is_significant = |table: &PassTable| {
        let p = tests.p(*table);
        p <= level * TOLERANCE
            && *known.entry(p.to_bits()).or_insert_with(|| {
                let limit = p * TOLERANCE;
                let of =
                    |(margins, count): (&Margins, &usize)| *count as f64 * tests.attainable(*margins, limit);
                counts.iter().map(of).sum::<f64>() <= level * TOLERANCE
            })
    };
    tables.iter().map(is_significant).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table((passed, of): (usize, usize), after: (usize, usize)) -> PassTable {
        let after = PassCount { passed: after.0, of: after.1 };
        PassTable { before: PassCount { passed, of }, after }
    }

    fn rule(evidence: ChangeEvidence) -> ComparisonRule {
        ComparisonRule { evidence, ..ComparisonRule::default() }
    }

    /// The numbers of lost cases with each kind of evidence: complete, significant, any.
    fn losses(tables: &[PassTable]) -> [usize; 3] {
        ChangeEvidence::NAMES
            .map(|(_, evidence)| lost(tables, &rule(evidence)).into_iter().filter(|is_lost| *is_lost).count())
    }

    #[test]
    fn a_case_that_passed_always_and_now_never_is_lost() {
        let steady = |of: (usize, usize)| vec![table((of.0, of.0), (of.1, of.1)); 50];
        for of in [(1, 5), (5, 1), (3, 3), (5, 5), (3, 10)] {
            let mut tables = steady(of);
            tables.push(table((of.0, of.0), (0, of.1)));
            assert_eq!(losses(&tables)[0], 1, "{of:?}");
        }
        let mut tables = steady((5, 5));
        tables.push(table((5, 5), (0, 5)));
        assert_eq!(losses(&tables), [1, 1, 1]);
        assert_eq!(losses(&[table((1, 1), (0, 1)), table((0, 1), (1, 1))]), [1, 0, 1]);
    }

    #[test]
    fn a_flaky_case_is_not_lost() {
        let mut tables = vec![table((5, 5), (4, 5)), table((4, 5), (5, 5)), table((3, 5), (4, 5))];
        assert_eq!(losses(&tables), [0, 0, 1]);
        // One attempt that did not pass, among cases of which some attempts did not pass before.
        tables = vec![table((5, 5), (0, 1)), table((4, 5), (1, 1)), table((4, 5), (1, 1))];
        assert_eq!(losses(&tables), [0, 0, 1]);
        // Many more of them than chance explains.
        tables.extend(vec![table((5, 5), (0, 1)); 6]);
        assert_eq!(losses(&tables), [7, 0, 7]);
    }

    #[test]
    fn the_more_cases_could_be_lost_by_chance_the_more_evidence_a_loss_needs() {
        let lost_with = |flaky: usize| {
            let mut tables = vec![table((2, 5), (3, 5)); flaky];
            tables.push(table((5, 5), (0, 5)));
            losses(&tables)
        };
        // 1/252 for each case in which 5 of 10 attempts passed: 12 of them are below 0.05, and 6 below 0.025.
        assert_eq!((lost_with(5), lost_with(11), lost_with(12)), ([1, 1, 1], [0, 1, 1], [0, 0, 1]));
    }

    #[test]
    fn significant_evidence_needs_enough_attempts() {
        let significant = rule(ChangeEvidence::Significant);
        let can = [(1, 1), (1, 5), (2, 5), (3, 3), (1, 19), (1, 18)]
            .map(|attempts| significant.can_decide(attempts));
        assert_eq!(can, [false, false, true, true, true, false]);
        assert!(rule(ChangeEvidence::Complete).can_decide((1, 1)));
    }

    #[test]
    fn a_case_that_passed_sometimes_can_be_lost() {
        let mut tables = vec![table((10, 10), (10, 10)); 200];
        tables.push(table((8, 10), (1, 10)));
        assert_eq!(losses(&tables), [1, 1, 0]);
        let level = |level: f64| ComparisonRule { level, evidence: ChangeEvidence::Significant };
        let count = |level_of: f64| lost(&tables, &level(level_of)).into_iter().filter(|is| *is).count();
        assert_eq!((count(0.01), count(0.001)), (1, 0));
    }
}
