//! Which cases changed between two runs, and not by chance.
//!
//! An agent gives another answer in another attempt, so that among many cases some always pass less often than before. What
//! counts as evidence is a rule with a level: the probability that a run without any change is reported as worse, because a case
//! "broke" or because the rate of all cases fell.

use super::pass_table::{LossTests, Margins, PassTable};
use super::repeats::PassCount;
use super::stratified::RateTest;
use super::sum_of_counts::SumOfCounts;
use std::collections::HashMap;

/// What counts as evidence that a case changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChangeEvidence {
    /// With one attempt in each run: another outcome. With more: all attempts passed in one run and none in the other in
    /// significantly many cases, or the rates of the case differ significantly.
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
        ChangeEvidence::NAMES
            .iter()
            .find(|(_, one)| *one == self)
            .map_or("", |(name, _)| name)
    }

    /// The evidence with this name.
    pub fn named(name: &str) -> Option<ChangeEvidence> {
        ChangeEvidence::NAMES
            .iter()
            .find(|(one, _)| *one == name)
            .map(|(_, evidence)| *evidence)
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
        ComparisonRule {
            level: DEFAULT_LEVEL,
            evidence: ChangeEvidence::default(),
        }
    }
}

impl ComparisonRule {
    /// Why a case with this many attempts in both runs cannot be reported as changed; `None` if it can.
    pub(super) fn undecidable(&self, (before, after): (usize, usize)) -> Option<Undecidable> {
        let complete_loss = PassTable {
            before: PassCount {
                passed: before,
                of: before,
            },
            after: PassCount {
                passed: 0,
                of: after,
            },
            not_evaluated: (0, 0),
        };
        let p = LossTests::default().p(complete_loss);
        match self.evidence {
            _ if p <= self.level * TOLERANCE => None,
            ChangeEvidence::Significant => Some(Undecidable::EachCase),
            ChangeEvidence::Complete if (before, after) != (1, 1) => Some(Undecidable::OneCase(p)),
            ChangeEvidence::Complete | ChangeEvidence::Any => None,
        }
    }
}

/// Why a case cannot be reported as changed: it has too few attempts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Undecidable {
    /// However many cases change.
    EachCase,
    /// Unless several cases change. With the p-value of one case that changes completely.
    OneCase(f64),
}

/// Equal probabilities may differ in their last digits.
const TOLERANCE: f64 = 1.0 + 1e-9;

/// Whether the pass rate of all cases fell. The test of it uses half of the level.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OverallFall {
    /// Whether the rate fell significantly.
    pub(super) is_significant: bool,
    /// The probability that it does so if nothing changed. The counts are discrete, so that it is less than half of the level.
    size: f64,
}

impl OverallFall {
    /// Whether the rate fell from the first run to the second.
    pub(super) fn from_test(test: Option<&RateTest>, level: f64) -> OverallFall {
        let limit = level / 2.0 * TOLERANCE;
        test.map_or_else(OverallFall::default, |test| OverallFall {
            is_significant: test.tail_of_fall() <= limit,
            size: test.largest_fall(limit),
        })
    }

    /// Whether the rate rose.
    pub(super) fn mirrored(test: Option<&RateTest>, level: f64) -> OverallFall {
        let limit = level / 2.0 * TOLERANCE;
        test.map_or_else(OverallFall::default, |test| OverallFall {
            is_significant: test.tail_of_rise() <= limit,
            size: test.largest_rise(limit),
        })
    }

    /// The level that is left for the cases: with it, the probability that a run without any change is reported as worse in
    /// any way is at most `level`. If the rate fell significantly, something changed, and each case can have the whole level
    /// (the fallback procedure of Wiens 2003).
    fn left_of(self, level: f64) -> f64 {
        if self.is_significant {
            level
        } else {
            level - self.size
        }
    }
}

/// For each case, whether there is evidence that it passes less often than before.
pub(super) fn lost(tables: &[PassTable], rule: &ComparisonRule, overall: OverallFall) -> Vec<bool> {
    let level = overall.left_of(rule.level);
    match rule.evidence {
        ChangeEvidence::Any => tables.iter().map(|table| is_any_loss(*table)).collect(),
        ChangeEvidence::Significant => {
            let mut losses = SignificantLosses::new(tables, level);
            tables.iter().map(|table| losses.contain(*table)).collect()
        }
        ChangeEvidence::Complete => complete_losses(tables, level),
    }
}

fn is_any_loss(table: PassTable) -> bool {
    let (before, after) = table.passed_all();
    before == Some(true) && after == Some(false)
}

/// With one attempt in each run nothing is known about chance: every case that passed and does not pass now is lost. Of the
/// others, half of the level is for significant losses, and what these do not use for complete ones.
fn complete_losses(tables: &[PassTable], level: f64) -> Vec<bool> {
    let several: Vec<PassTable> = tables
        .iter()
        .copied()
        .filter(|table| !table.is_of_single_attempts())
        .collect();
    let mut significant = SignificantLosses::new(&several, level / 2.0);
    let are_more_than_chance =
        are_complete_losses_more_than_chance(&several, level - significant.size);
    let mut is_lost = |table: &PassTable| match table.is_of_single_attempts() {
        true => is_any_loss(*table),
        false => (are_more_than_chance && table.is_complete_loss()) || significant.contain(*table),
    };
    tables.iter().map(&mut is_lost).collect()
}

/// Whether there are more cases in which all attempts passed and now none does than chance explains. Their number is
/// compared with that of the cases in which as many attempts passed, but in both runs or in the other one: if nothing
/// changed, each arrangement of the attempts of a case is equally probable.
fn are_complete_losses_more_than_chance(tables: &[PassTable], level: f64) -> bool {
    let mut counts: HashMap<Margins, usize> = HashMap::new();
    for table in tables
        .iter()
        .filter(|table| table.margins().allow_complete_loss())
    {
        *counts.entry(table.margins()).or_default() += 1;
    }
    let mut counts: Vec<(Margins, usize)> = counts.into_iter().collect();
    counts.sort_unstable();
    let mut sum = SumOfCounts::default();
    for (margins, count) in counts {
        // The last of the possible numbers is that of a complete loss.
        sum.add_events(margins.chances().last().copied().unwrap_or(1.0), count);
    }
    let losses = tables
        .iter()
        .filter(|table| table.is_complete_loss())
        .count();
    sum.at_least(losses) <= level * TOLERANCE
}

/// The cases whose rates fell significantly. With probability at most the level a run without any change has such a case,
/// however many cases there are.
///
/// Definition: Fisher's exact test for each case. A p-value is significant if the sum of the probabilities with which each case
/// of the run has a p-value as small is at most the level: Bonferroni's correction for discrete tests (Tarone 1990; Westfall and
/// Wolfinger 1997, "Multiple Tests with Discrete Distributions"). Cases that always or never pass cannot have a small p-value,
/// so that they do not count.
struct SignificantLosses {
    tests: LossTests,
    /// The largest p-value that is significant; 0 if none is.
    limit: f64,
    /// The sum of the probabilities with which each case has a significant p-value.
    size: f64,
}

impl SignificantLosses {
    fn new(tables: &[PassTable], level: f64) -> SignificantLosses {
        let mut tests = LossTests::default();
        let mut counts: HashMap<Margins, usize> = HashMap::new();
        tables
            .iter()
            .for_each(|table| *counts.entry(table.margins()).or_default() += 1);
        let mut counts: Vec<(Margins, usize)> = counts.into_iter().collect();
        counts.sort_unstable();
        let mut values: Vec<f64> = counts
            .iter()
            .flat_map(|(margins, _)| tests.values(*margins).to_vec())
            .collect();
        values.retain(|p| *p <= level * TOLERANCE);
        values.sort_unstable_by(f64::total_cmp);
        let mut size_at = |p: f64| -> f64 {
            let of = |(margins, count): &(Margins, usize)| {
                *count as f64 * tests.attainable(*margins, p * TOLERANCE)
            };
            counts.iter().map(of).sum()
        };
        let end = values.partition_point(|p| size_at(*p) <= level * TOLERANCE);
        let limit = if end > 0 { values[end - 1] } else { 0.0 };
        let size = if end > 0 { size_at(limit) } else { 0.0 };
        SignificantLosses {
            tests,
            limit: limit * TOLERANCE,
            size,
        }
    }

    fn contain(&mut self, table: PassTable) -> bool {
        self.tests.p(table) <= self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table((passed, of): (usize, usize), after: (usize, usize)) -> PassTable {
        let after = PassCount {
            passed: after.0,
            of: after.1,
        };
        PassTable {
            before: PassCount { passed, of },
            after,
            not_evaluated: (0, 0),
        }
    }

    fn lost_in(tables: &[PassTable], rule: &ComparisonRule) -> usize {
        let overall = OverallFall::from_test(RateTest::prepare(tables).as_ref(), rule.level);
        lost(tables, rule, overall)
            .into_iter()
            .filter(|is_lost| *is_lost)
            .count()
    }

    fn rule(evidence: ChangeEvidence) -> ComparisonRule {
        ComparisonRule {
            evidence,
            ..ComparisonRule::default()
        }
    }

    /// The numbers of lost cases with each kind of evidence: complete, significant, any.
    fn losses(tables: &[PassTable]) -> [usize; 3] {
        ChangeEvidence::NAMES.map(|(_, evidence)| lost_in(tables, &rule(evidence)))
    }

    #[test]
    fn case_from_always_to_never_passing_is_lost() {
        let steady = |of: (usize, usize)| vec![table((of.0, of.0), (of.1, of.1)); 50];
        for (of, needed) in [
            ((1, 2), 3),
            ((1, 5), 2),
            ((5, 1), 2),
            ((2, 2), 2),
            ((3, 3), 1),
            ((5, 5), 1),
            ((3, 10), 1),
        ] {
            let mut tables = steady(of);
            for lost in 1..=3 {
                tables.push(table((of.0, of.0), (0, of.1)));
                let expected = if lost < needed { 0 } else { lost };
                assert_eq!(losses(&tables)[0], expected, "{lost} of {of:?}");
            }
        }
        let mut tables = steady((5, 5));
        tables.push(table((5, 5), (0, 5)));
        assert_eq!(losses(&tables), [1, 1, 1]);
        assert_eq!(
            losses(&[table((1, 1), (0, 1)), table((0, 1), (1, 1))]),
            [1, 0, 1]
        );
    }

    #[test]
    fn a_flaky_case_is_not_lost() {
        let mut tables = vec![
            table((5, 5), (4, 5)),
            table((4, 5), (5, 5)),
            table((3, 5), (4, 5)),
        ];
        assert_eq!(losses(&tables), [0, 0, 1]);
        // One attempt that did not pass, among cases of which some attempts did not pass before.
        tables = vec![
            table((5, 5), (0, 1)),
            table((4, 5), (1, 1)),
            table((4, 5), (1, 1)),
        ];
        assert_eq!(losses(&tables), [0, 0, 1]);
        // Many more of them than chance explains.
        tables.extend(vec![table((5, 5), (0, 1)); 6]);
        assert_eq!(losses(&tables), [7, 0, 7]);
    }

    #[test]
    fn loss_needs_more_evidence_among_flaky_cases() {
        let lost_with = |flaky: usize| {
            let mut tables = vec![table((2, 5), (3, 5)); flaky];
            tables.push(table((5, 5), (0, 5)));
            losses(&tables)
        };
        // scipy 1.17.1: 1/252 for each case in which 5 of 10 attempts passed. Of the level 0.05, the test of the rate of all takes
        // 0.0092 with 8 cases, and 0.0219 with 9.
        assert_eq!(
            (lost_with(5), lost_with(7), lost_with(8)),
            ([1, 1, 1], [1, 1, 1], [0, 0, 1])
        );
    }

    /// scipy 1.17.1: `fisher_exact([[7, 3], [0, 4]], alternative="greater").pvalue` is 0.035: above half of the level.
    #[test]
    fn significant_losses_use_half_of_level() {
        assert_eq!(losses(&[table((7, 7), (3, 7))]), [0, 1, 1]);
    }

    /// Two cases passed in all attempts before and in none now, which has a probability of 0.0293 if nothing changed. Of the
    /// level 0.05, the test of the overall rate uses 0.0186 and the significant losses of five cases use 0.0054, so 0.0260
    /// remains.
    #[test]
    fn complete_losses_use_remaining_level() {
        let lost = vec![table((2, 2), (0, 2)); 2];
        let with = |others: usize| [lost.clone(), vec![table((3, 6), (3, 6)); others]].concat();
        assert_eq!(losses(&with(5))[0], 0);
    }

    /// A p-value equal to the level is significant, even if rounding changed its last digits.
    #[test]
    fn p_value_equal_to_level_is_significant() {
        // 1/252 for the case, whose rate is that of all cases, too.
        let lost = [table((5, 5), (0, 5))];
        for nearly in [1.0 - 1e-12, 1.0, 1.0 + 1e-12] {
            let level = nearly / 252.0;
            let significant = ComparisonRule {
                level,
                evidence: ChangeEvidence::Significant,
            };
            assert_eq!(lost_in(&lost, &significant), 1, "{level}");
            assert_eq!(significant.undecidable((5, 5)), None);
            let test = RateTest::prepare(&lost);
            assert!(OverallFall::from_test(test.as_ref(), 2.0 * level).is_significant);
            assert_eq!(
                OverallFall::from_test(test.as_ref(), 2.0 * level).size,
                test.as_ref().unwrap().tail_of_fall()
            );
            let won = RateTest::prepare(&[lost[0].mirrored()]);
            assert!(OverallFall::mirrored(won.as_ref(), 2.0 * level).is_significant);
            assert!(!OverallFall::from_test(test.as_ref(), 1.9 * level).is_significant);
            assert!(!OverallFall::mirrored(won.as_ref(), 1.9 * level).is_significant);
        }
    }

    #[test]
    fn evidence_has_one_name() {
        for (name, evidence) in ChangeEvidence::NAMES {
            assert_eq!(
                (evidence.name(), ChangeEvidence::named(name)),
                (name, Some(evidence))
            );
        }
        assert_eq!(ChangeEvidence::named("none"), None);
    }

    #[test]
    fn fixed_needs_the_evidence_of_broke() {
        let won_with = |flaky: usize| {
            let mut tables = vec![table((2, 5), (3, 5)); flaky];
            tables.push(table((5, 5), (0, 5)));
            let runs: Vec<PassTable> = tables.iter().map(|table| table.mirrored()).collect();
            let test = RateTest::prepare(&runs);
            ChangeEvidence::NAMES.map(|(_, evidence)| {
                let overall = OverallFall::mirrored(test.as_ref(), DEFAULT_LEVEL);
                lost(&tables, &rule(evidence), overall)
                    .into_iter()
                    .filter(|is_won| *is_won)
                    .count()
            })
        };
        assert_eq!(
            (won_with(5), won_with(7), won_with(8)),
            ([1, 1, 1], [1, 1, 1], [0, 0, 1])
        );
    }

    #[test]
    fn significant_evidence_needs_enough_attempts() {
        let significant = rule(ChangeEvidence::Significant);
        let can = [(1, 1), (1, 5), (2, 5), (3, 3), (1, 19), (1, 18)]
            .map(|attempts| significant.undecidable(attempts).is_none());
        assert_eq!(can, [false, false, true, true, true, false]);
        let complete = rule(ChangeEvidence::Complete);
        assert_eq!(
            (complete.undecidable((1, 1)), complete.undecidable((3, 3))),
            (None, None)
        );
        assert!(
            matches!(complete.undecidable((1, 3)), Some(Undecidable::OneCase(p)) if (p - 0.25).abs() < 1e-9)
        );
    }

    #[test]
    fn a_case_that_passed_sometimes_can_be_lost() {
        let mut tables = vec![table((10, 10), (10, 10)); 200];
        tables.push(table((8, 10), (1, 10)));
        assert_eq!(losses(&tables), [1, 1, 0]);
        let level = |level: f64| ComparisonRule {
            level,
            evidence: ChangeEvidence::Significant,
        };
        let count = |level_of: f64| lost_in(&tables, &level(level_of));
        assert_eq!((count(0.01), count(0.001)), (1, 0));
    }
}
