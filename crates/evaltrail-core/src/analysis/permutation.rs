//! The test of scores of two runs in which cases have different numbers of attempts: every case is a stratum of its own.

use super::sum_of_counts::edgeworth_tail;

/// The number of random values that a test takes at most.
const DRAWS: usize = 4_000_000;
/// The fewest and the most permutations.
const PERMUTATIONS: (usize, usize) = (2_000, 20_000);
/// The number of cases with different scores from which the normal approximation is used, if the skewness is small.
const NORMAL_FROM: usize = 1_000;
/// The largest skewness for which the normal approximation is used.
const MAX_SKEWNESS: f64 = 0.1;
/// Scores that differ by less are equal: means of equal scores in another order may differ in their last digits.
const EQUAL: f64 = 1e-9;

/// The scores of a case in the attempts of both runs.
#[derive(Clone, Debug, Default)]
pub(super) struct CaseScores {
    /// In the first run.
    pub(super) before: Vec<f64>,
    /// In the second run.
    pub(super) after: Vec<f64>,
}

impl CaseScores {
    /// The means in both runs; `None` without a score in one of them.
    pub(super) fn means(&self) -> Option<(f64, f64)> {
        Some((mean(&self.before)?, mean(&self.after)?))
    }

    fn stratum(&self) -> Option<Stratum> {
        let (before, after) = self.means()?;
        let mut scores: Vec<f64> = self.before.iter().chain(&self.after).copied().collect();
        let middle = mean(&scores)?;
        scores.iter_mut().for_each(|score| *score -= middle);
        let (n, m) = (self.before.len(), self.after.len());
        // The scores of the smaller side are drawn; the difference is their sum, scaled.
        let scale = 1.0 / n as f64 + 1.0 / m as f64;
        let scale = if n <= m { -scale } else { scale };
        let is_varying = scores.iter().any(|score| score.abs() > EQUAL);
        is_varying.then_some(Stratum {
            difference: after - before,
            drawn: n.min(m),
            scale,
            scores,
        })
    }
}

/// A case whose scores differ.
struct Stratum {
    /// The mean of the second run less that of the first.
    difference: f64,
    /// The number of scores to draw.
    drawn: usize,
    /// The difference is this times the sum of the drawn scores.
    scale: f64,
    /// The scores of both runs less their mean.
    scores: Vec<f64>,
}

impl Stratum {
    /// The variance and the third central moment of the difference if the scores are assigned to the runs at random: those
    /// of a sum of values that are drawn without replacement.
    fn moments(&self) -> (f64, f64) {
        let (n, all) = (self.drawn as f64, self.scores.len() as f64);
        let power = |power: i32| {
            self.scores
                .iter()
                .map(|score| score.powi(power))
                .sum::<f64>()
                / all
        };
        let variance = n * (all - n) / (all - 1.0) * power(2);
        let third = match self.scores.len() {
            0..=2 => 0.0,
            _ => n * (all - n) * (all - 2.0 * n) / ((all - 1.0) * (all - 2.0)) * power(3),
        };
        (variance * self.scale.powi(2), third * self.scale.powi(3))
    }

    /// The difference if the scores are assigned to the runs at random.
    fn permuted(&mut self, random: &mut Random) -> f64 {
        let all = self.scores.len();
        for at in 0..self.drawn {
            self.scores.swap(at, at + random.below(all - at));
        }
        self.scores[..self.drawn].iter().sum::<f64>() * self.scale
    }
}

/// Whether the mean over the cases of the scores differs between the runs: a two-sided p-value, twice the smaller tail. `None`
/// if no case has different scores.
///
/// Definition: the permutation test within strata for means (Mantel 1963), by random permutations (Phipson and Smyth 2010),
/// which are the same each time; the attempts of a case are exchangeable if nothing changed. With many cases and little
/// skewness it is the normal approximation, corrected for skewness.
pub(super) fn scores<'a>(cases: impl IntoIterator<Item = &'a CaseScores>) -> Option<f64> {
    p_value(cases, PERMUTATIONS.1)
}

/// The p-value of [`scores`], with at most `most` permutations.
fn p_value<'a>(cases: impl IntoIterator<Item = &'a CaseScores>, most: usize) -> Option<f64> {
    let mut strata: Vec<Stratum> = cases.into_iter().filter_map(CaseScores::stratum).collect();
    let observed: f64 = strata.iter().map(|stratum| stratum.difference).sum();
    let moments = strata.iter().map(Stratum::moments);
    let (variance, third) = moments.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let skewness = third / variance.powf(1.5);
    match strata.len() {
        0 => None,
        NORMAL_FROM.. if skewness.abs() <= MAX_SKEWNESS => {
            let x = observed / variance.sqrt();
            let smaller = edgeworth_tail(x, skewness).min(edgeworth_tail(-x, -skewness));
            Some((2.0 * smaller).min(1.0))
        }
        _ => Some(permutation_p(&mut strata, observed, most)),
    }
}

fn permutation_p(strata: &mut [Stratum], observed: f64, most: usize) -> f64 {
    let draws: usize = strata.iter().map(|stratum| stratum.drawn).sum();
    let permutations = (DRAWS / draws.max(1)).clamp(PERMUTATIONS.0, most);
    let mut random = Random(0);
    let (mut above, mut below) = (1, 1);
    for _ in 0..permutations {
        let sum: f64 = strata
            .iter_mut()
            .map(|stratum| stratum.permuted(&mut random))
            .sum();
        above += usize::from(sum >= observed - EQUAL);
        below += usize::from(sum <= observed + EQUAL);
    }
    (2.0 * above.min(below) as f64 / (permutations + 1) as f64).min(1.0)
}

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    /// A number below `limit`. The limit is far below 2^32, so that all are practically equally probable.
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        ((u128::from(bits) * limit as u128) >> 64) as usize
    }
}

fn mean(scores: &[f64]) -> Option<f64> {
    (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn only_different_means_are_significant() {
        let case = |at: usize, shift: f64| {
            let score = |of: usize| ((at * 31 + of * 17) % 10) as f64 / 10.0;
            CaseScores {
                before: vec![score(1)],
                after: (2..7).map(|of| score(of) + shift).collect(),
            }
        };
        let run =
            |count: usize, shift: f64| (0..count).map(|at| case(at, shift)).collect::<Vec<_>>();
        for cases in [8, 60, 2_000] {
            assert!(scores(&run(cases, 0.0)).unwrap() > 0.05, "{cases}");
            assert!(scores(&run(cases, 0.8)).unwrap() < 0.01, "{cases}");
        }
        assert_eq!(
            scores(&[CaseScores {
                before: vec![1.0],
                after: vec![1.0; 5]
            }]),
            None
        );
    }

    /// Counted over all assignments: 1 of the 6 of the first case and 1 of the 3 of the second have the largest difference.
    #[test]
    fn few_cases_are_tested_exactly() {
        let cases = [
            CaseScores {
                before: vec![1.0, 1.0],
                after: vec![0.0, 0.0],
            },
            CaseScores {
                before: vec![1.0],
                after: vec![0.0, 0.0],
            },
        ];
        let p = scores(&cases).unwrap();
        assert!((p - 2.0 / 18.0).abs() < 0.01, "{p} is not {}", 2.0 / 18.0);
        let won = cases.map(|case| CaseScores {
            before: case.after,
            after: case.before,
        });
        let p = scores(&won).unwrap();
        assert!((p - 2.0 / 18.0).abs() < 0.01, "{p} is not {}", 2.0 / 18.0);
        // No permutation is as extreme, so only the observed assignment counts.
        let extreme = vec![
            CaseScores {
                before: vec![1.0],
                after: vec![0.0; 5]
            };
            20
        ];
        assert_eq!(scores(&extreme), Some(2.0 / (PERMUTATIONS.1 + 1) as f64));
    }

    /// The differences of the means of a case for all assignments of its scores to the runs.
    fn all_differences(case: &CaseScores) -> Vec<f64> {
        let all: Vec<f64> = case.before.iter().chain(&case.after).copied().collect();
        let assignments =
            (0u32..1 << all.len()).filter(|drawn| drawn.count_ones() as usize == case.before.len());
        let difference = |drawn: u32| {
            let of_run = |is_first: bool| -> Vec<f64> {
                (0..all.len())
                    .filter(|at| (drawn >> at & 1 == 1) == is_first)
                    .map(|at| all[at])
                    .collect()
            };
            mean(&of_run(false)).unwrap() - mean(&of_run(true)).unwrap()
        };
        assignments.map(difference).collect()
    }

    /// Cases whose numbers of attempts differ: more in the second run, more in the first one, and as many.
    fn unequal_cases() -> [CaseScores; 4] {
        [
            CaseScores {
                before: vec![0.9, 0.2],
                after: vec![0.1, 0.4, 0.3, 0.0],
            },
            CaseScores {
                before: vec![0.7],
                after: vec![0.2, 0.5, 0.1],
            },
            CaseScores {
                before: vec![1.0, 0.5, 0.6],
                after: vec![0.3, 0.9],
            },
            CaseScores {
                before: vec![0.4],
                after: vec![0.1],
            },
        ]
    }

    #[test]
    fn p_value_is_share_of_all_assignments() {
        let cases = unequal_cases();
        let mut sums = vec![0.0];
        for differences in cases.iter().map(all_differences) {
            sums = sums
                .iter()
                .flat_map(|sum| differences.iter().map(move |one| sum + one))
                .collect();
        }
        let observed: f64 = cases
            .iter()
            .map(|case| case.means().unwrap())
            .map(|(a, b)| b - a)
            .sum();
        let share = |is_it: &dyn Fn(f64) -> bool| {
            sums.iter().filter(|sum| is_it(**sum)).count() as f64 / sums.len() as f64
        };
        let (below, above) = (
            share(&|sum| sum <= observed + EQUAL),
            share(&|sum| sum >= observed - EQUAL),
        );
        let expected = 2.0 * below.min(above);
        let p = scores(&cases).unwrap();
        assert!((p - expected).abs() < 0.01, "{p} is not {expected}");
        let other = |case: &CaseScores| CaseScores {
            before: case.after.clone(),
            after: case.before.clone(),
        };
        let p = scores(&cases.each_ref().map(other)).unwrap();
        assert!(
            (p - expected).abs() < 0.01,
            "{p} is not {expected} in the other direction"
        );
    }

    #[test]
    fn moments_equal_those_of_all_assignments() {
        for case in unequal_cases() {
            let differences = all_differences(&case);
            let power = |power: i32| -> f64 {
                differences.iter().map(|one| one.powi(power)).sum::<f64>()
                    / differences.len() as f64
            };
            let (variance, third) = case.stratum().unwrap().moments();
            assert!(
                (variance - power(2)).abs() < 1e-12,
                "{case:?}: {variance} is not {}",
                power(2)
            );
            assert!(
                (third - power(3)).abs() < 1e-12,
                "{case:?}: {third} is not {}",
                power(3)
            );
        }
    }

    /// With many cases the normal approximation is used: its p-value is nearly that of random permutations, in both directions.
    #[test]
    fn normal_approximation_matches_permutations() {
        for shift in [0.014, -0.014] {
            let case = |at: usize| {
                let score = |of: usize| ((at * 31 + of * 17 + at * at * 7) % 23) as f64 / 22.0;
                CaseScores {
                    before: vec![score(1)],
                    after: (2..4).map(|of| score(of) + shift).collect(),
                }
            };
            let cases: Vec<CaseScores> = (0..NORMAL_FROM).map(case).collect();
            let mut strata: Vec<Stratum> = cases.iter().filter_map(CaseScores::stratum).collect();
            assert_eq!(strata.len(), NORMAL_FROM);
            let observed = strata.iter().map(|stratum| stratum.difference).sum();
            let (p, expected) = (
                scores(&cases).unwrap(),
                permutation_p(&mut strata, observed, PERMUTATIONS.1),
            );
            assert!((p - expected).abs() < 0.03, "{p} is not {expected}");
            assert!((0.1..0.9).contains(&p), "{p}");
        }
    }

    /// In each case one of the scores is 1: the number of cases in which it is that of the first run is binomial.
    fn with_one_pass(of: usize, in_first: usize) -> Vec<CaseScores> {
        let case = |at: usize| {
            let mut after = vec![0.0; of];
            after[0] = f64::from(u8::from(at >= in_first));
            CaseScores {
                before: vec![f64::from(u8::from(at < in_first))],
                after,
            }
        };
        (0..NORMAL_FROM).map(case).collect()
    }

    #[test]
    fn little_skewness_uses_corrected_normal() {
        let (share, count) = (1.0 / 6.0, NORMAL_FROM as f64);
        let deviation = (count * share * (1.0 - share)).sqrt();
        let (x, skewness) = (
            (180.0 - count * share) / deviation,
            (1.0 - 2.0 * share) / deviation,
        );
        let p = scores(&with_one_pass(5, 180)).unwrap();
        assert!((p - 2.0 * edgeworth_tail(x, skewness)).abs() < 1e-9, "{p}");
    }

    #[test]
    fn much_skewness_uses_permutations() {
        let cases = with_one_pass(20, 60);
        let mut strata: Vec<Stratum> = cases.iter().filter_map(CaseScores::stratum).collect();
        let observed = strata.iter().map(|stratum| stratum.difference).sum();
        assert_eq!(
            scores(&cases),
            Some(permutation_p(&mut strata, observed, PERMUTATIONS.1))
        );
    }

    /// The outputs of the published generator (`splitmix64.c` of Vigna) with the seed 0.
    #[test]
    fn random_numbers_equal_splitmix() {
        let mut random = Random(0);
        for bits in [
            0xe220_a839_7b1d_cdaf_u64,
            0x6e78_9e6a_a1b9_65f4,
            0x06c4_5d18_8009_454f,
        ] {
            assert_eq!(random.below(1 << 63) as u64, bits >> 1);
        }
    }

    /// One attempt and 20 of an agent that passes 99 % of them: the distribution of the difference is skewed. A normal one has
    /// 1.9 % below the level 0.01.
    #[test]
    fn skewed_scores_stay_below_the_level() {
        let mut random = StdRng::seed_from_u64(7);
        let mut alarms = 0;
        for _ in 0..600 {
            let mut scores_of = |count: usize| {
                (0..count)
                    .map(|_| f64::from(u8::from(random.random_bool(0.99))))
                    .collect()
            };
            let cases: Vec<CaseScores> = (0..100)
                .map(|_| CaseScores {
                    before: scores_of(1),
                    after: scores_of(20),
                })
                .collect();
            // With the minimum number of permutations, because the test is slow in a debug build.
            let p = p_value(&cases, PERMUTATIONS.0);
            alarms += usize::from(p.is_some_and(|p| p <= 0.01));
        }
        // The mean is 6 at the level; 600 · 0.019 is 11.4.
        assert!(alarms <= 9, "{alarms}");
    }
}
