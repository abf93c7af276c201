//! How far a judge and a person agree: counts, and Cohen's kappa (Cohen 1960, *A coefficient of agreement for
//! nominal scales*).

use crate::domain::HumanVerdict;

/// Agreement on one metric or rubric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agreement {
    /// The metric, label included.
    pub metric: String,
    /// The rubric; the metric as a whole when `None`.
    pub rubric_id: Option<String>,
    /// Both said yes.
    pub both_yes: u32,
    /// Both said no.
    pub both_no: u32,
    /// The judge said yes, the person no.
    pub judge_yes: u32,
    /// The judge said no, the person yes.
    pub judge_no: u32,
    /// The judge gave no verdict.
    pub no_verdict: u32,
}

impl Agreement {
    /// How many verdicts can be compared.
    pub fn compared(&self) -> u32 {
        self.both_yes + self.both_no + self.judge_yes + self.judge_no
    }

    /// The share on which both agree.
    pub fn share(&self) -> Option<f64> {
        let all = f64::from(self.compared());
        (all > 0.0).then(|| f64::from(self.both_yes + self.both_no) / all)
    }

    /// Cohen's kappa: agreement beyond what chance alone gives, 1 at most. `None` without verdicts to compare, and
    /// where chance alone gives full agreement because all verdicts are the same.
    pub fn kappa(&self) -> Option<f64> {
        let all = f64::from(self.compared());
        let judge_yes = f64::from(self.both_yes + self.judge_yes) / all;
        let person_yes = f64::from(self.both_yes + self.judge_no) / all;
        let chance = judge_yes * person_yes + (1.0 - judge_yes) * (1.0 - person_yes);
        self.share()
            .filter(|_| chance < 1.0)
            .map(|share| (share - chance) / (1.0 - chance))
    }
}

/// Agreement on each metric and rubric that has human verdicts, in the order in which they first appear.
pub fn agreements(verdicts: &[HumanVerdict]) -> Vec<Agreement> {
    let mut found: Vec<Agreement> = Vec::new();
    for verdict in verdicts {
        let Some(person) = verdict.verdict else {
            continue;
        };
        let same =
            |one: &Agreement| one.metric == verdict.metric && one.rubric_id == verdict.rubric_id;
        let at = found.iter().position(same).unwrap_or_else(|| {
            let (metric, rubric_id) = (verdict.metric.clone(), verdict.rubric_id.clone());
            found.push(Agreement {
                metric,
                rubric_id,
                ..Agreement::default()
            });
            found.len() - 1
        });
        let of = &mut found[at];
        *match (verdict.computed, person) {
            (Some(true), true) => &mut of.both_yes,
            (Some(false), false) => &mut of.both_no,
            (Some(true), false) => &mut of.judge_yes,
            (Some(false), true) => &mut of.judge_no,
            (None, _) => &mut of.no_verdict,
        } += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A textbook example: 20 and 15 agreements, 5 and 10 disagreements; kappa is 0.4.
    #[test]
    fn kappa_is_cohens() {
        let of = |both_yes, both_no, judge_yes, judge_no| Agreement {
            both_yes,
            both_no,
            judge_yes,
            judge_no,
            ..Agreement::default()
        };
        let kappa = of(20, 15, 5, 10).kappa().unwrap();
        assert!((kappa - 0.4).abs() < 1e-12, "{kappa}");
        assert_eq!(of(3, 3, 0, 0).kappa(), Some(1.0));
        assert_eq!(of(5, 0, 0, 0).kappa(), None);
        assert_eq!(of(0, 0, 0, 0).kappa(), None);
        assert_eq!(of(5, 0, 0, 0).share(), Some(1.0));
    }

    #[test]
    fn verdicts_are_counted_rubric_by_rubric() {
        let verdict = |rubric: &str, computed, verdict| HumanVerdict {
            metric: "m".into(),
            rubric_id: Some(rubric.into()),
            computed,
            verdict: Some(verdict),
            ..HumanVerdict::default()
        };
        let all = [
            verdict("a", Some(true), false),
            verdict("b", None, true),
            verdict("a", Some(true), true),
        ];
        let found = agreements(&all);
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].judge_yes, found[0].both_yes, found[1].no_verdict),
            (1, 1, 1)
        );
    }
}
