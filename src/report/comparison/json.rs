//! The comparison as JSON.

use super::{ComparedRuns, outcome_of};
use crate::analysis::{CaseFate, ComparedCase, RunToCompare};
use crate::domain::RunState;
use serde_json::{Value, json};

impl ComparedRuns<'_> {
    /// The comparison as JSON: all cases, the counts of each fate, and the metrics.
    pub fn json(&self) -> Value {
        let run = |run: &RunToCompare| json!({"run_id": run.plan.run_id, "started": run.plan.started, "agent": run.agent_label()});
        let counts: serde_json::Map<String, Value> = CaseFate::ALL
            .into_iter()
            .map(|fate| (fate.key().to_string(), self.found.of(fate).count().into()))
            .collect();
        let side = |run: &RunState, at: Option<usize>| {
            at.map(|at| {
                let set = run.plan.set_of(at);
                let of = outcome_of(run, at);
                json!({"eval_set": set.id, "file": set.file, "eval_id": run.plan.cases.eval_id(at),
                       "status": of.status, "passed": of.passed, "attempts": of.ended, "reason": of.reason})
            })
        };
        let case = |case: &ComparedCase| {
            let changed: Vec<&str> = case.changed.iter().map(|condition| condition.label()).collect();
            json!({"fate": case.fate.key(), "changed": changed,
                   "before": side(&self.before, case.before), "after": side(&self.after, case.after)})
        };
        let metrics = self.found.metrics.iter().map(|of| {
            json!({"metric": of.metric, "cases": of.cases, "before": of.before, "after": of.after,
                   "difference": of.after - of.before, "wilcoxon_p": of.p})
        });
        json!({
            "evaltrail": env!("CARGO_PKG_VERSION"),
            "before": run(&self.before),
            "after": run(&self.after),
            "counts": counts,
            "mcnemar_p": self.found.p(),
            "metrics": metrics.collect::<Vec<_>>(),
            "cases": self.found.cases.iter().map(case).collect::<Vec<_>>(),
        })
    }
}
