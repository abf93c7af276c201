//! The comparison as JSON.

use super::{ComparedRuns, outcome_of};
use evaltrail_core::analysis::{
    CaseChange, ComparedCase, OutcomeTest, OverallChange, PassCount, RateChange, RunToCompare,
    ScoreTest,
};
use evaltrail_core::domain::RunState;
use serde_json::{Value, json};

impl ComparedRuns<'_> {
    /// The comparison as JSON: all cases, the counts of each change, and the metrics.
    pub fn json(&self) -> Value {
        let run = |run: &RunToCompare| json!({"run_id": run.plan.run_id, "started": run.plan.started, "agent": run.agent_label()});
        let counts: serde_json::Map<String, Value> = CaseChange::ALL
            .into_iter()
            .map(|change| {
                (
                    change.key().to_string(),
                    self.found.cases_with(change).count().into(),
                )
            })
            .collect();
        let side =
            |run: &RunState, at: Option<usize>| {
                at.map(|at| {
                let set = run.plan.set_of(at);
                let of = outcome_of(run, at);
                let count = of.as_ref().map(|of| of.count);
                let interval = count.and_then(PassCount::interval).map(|(low, high)| [low, high]);
                json!({"eval_set": set.id, "file": set.file, "eval_id": run.plan.cases.eval_id(at),
                       "status": of.as_ref().map(|of| of.status),
                       "passed": count.unwrap_or_default().passed,
                       "evaluated": count.unwrap_or_default().of,
                       "attempts": of.as_ref().map_or(0, |of| of.ended),
                       "pass_rate": count.and_then(PassCount::rate), "pass_rate_95": interval,
                       "reason": of.map(|of| of.reason)})
            })
            };
        let case = |case: &ComparedCase| {
            let changed: Vec<&str> = case
                .changed
                .iter()
                .map(|condition| condition.label())
                .collect();
            let is_removed = case.before.is_some_and(|at| self.removed.contains(&at));
            json!({"fate": case.change.key(), "changed": changed, "removed": is_removed,
                   "has_other_cause": case.has_other_cause,
                   "before": side(&self.before, case.before), "after": side(&self.after, case.after)})
        };
        let metrics = self.found.metrics.iter().map(|of| {
            json!({"metric": of.metric, "cases": of.cases, "before": of.before, "after": of.after,
                   "difference": of.after - of.before, "test": of.test.key(), "p": of.test.p(),
                   "wilcoxon_p": wilcoxon_p(of.test), "cases_with_other_options": of.other_options})
        });
        let setup = self.setup();
        let (overall, rule) = (&self.found.overall, &self.found.rule);
        json!({
            "evaltrail": env!("CARGO_PKG_VERSION"),
            "before": run(&self.before),
            "after": run(&self.after),
            "setup": {"changed": setup.changed, "not_reported": setup.not_reported},
            "counts": counts,
            "rule": {"level": rule.level, "evidence": rule.evidence.name()},
            "overall": {
                "cases": overall.cases,
                "passed": {"before": overall.passed.0, "after": overall.passed.1},
                "pass_rate": overall.rates.map(|(before, after)| json!({"before": before, "after": after})),
                "test": overall.test.key(),
                "p": overall.test.p(),
                "rates_p": overall.rates_p,
                "is_weighted": overall.is_weighted,
                "rate_change": self.found.rate_change.map(rate_change),
            },
            "mcnemar_p": mcnemar_p(overall),
            "metrics": metrics.collect::<Vec<_>>(),
            "cases": self.found.cases.iter().map(case).collect::<Vec<_>>(),
        })
    }
}

/// The significant change of the rate of all cases that are not quarantined.
fn rate_change(change: RateChange) -> Value {
    let direction = if change.is_fall() { "fell" } else { "rose" };
    json!({"direction": direction, "before": change.before, "after": change.after, "p": change.p})
}

/// The p-value of McNemar's test; `None` if the numbers of attempts differ, for which it does not hold.
fn mcnemar_p(overall: &OverallChange) -> Option<f64> {
    match overall.test {
        OutcomeTest::McNemar(p) => Some(p),
        OutcomeTest::Equal => (!overall.is_by_rates()).then_some(1.0),
        OutcomeTest::Rates(_) | OutcomeTest::Selected => None,
    }
}

fn wilcoxon_p(test: ScoreTest) -> Option<f64> {
    match test {
        ScoreTest::Wilcoxon(p) => Some(p),
        _ => None,
    }
}
