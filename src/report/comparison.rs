//! The comparison of two runs as text and as JSON.

use super::Paint;
use crate::analysis::{CaseFate, ChangedCondition, ComparedCase, RunComparison, RunToCompare};
use crate::domain::{RunState, Status, clean_line};
use serde_json::{Value, json};
use std::fmt::Write;

/// Maximum number of cases of a list of changes.
const LISTED: usize = 50;
/// Maximum number of cases of the other lists.
const OTHERS_LISTED: usize = 5;
/// A p-value below it counts as more than noise.
const SIGNIFICANT: f64 = 0.05;

/// Two runs and their comparison.
pub struct ComparedRuns<'a> {
    /// The first run.
    pub before: RunToCompare<'a>,
    /// The second run.
    pub after: RunToCompare<'a>,
    /// What became of the cases.
    pub found: &'a RunComparison,
}

impl ComparedRuns<'_> {
    /// The comparison for a terminal or a log.
    pub fn text(&self, paint: Paint) -> String {
        let mut out = self.heading(paint);
        for (fate, title, status) in [
            (CaseFate::Broke, "broke", Status::Failed),
            (CaseFate::Fixed, "fixed", Status::Passed),
            (CaseFate::Edited, "edited between the runs, not comparable", Status::NotEvaluated),
            (
                CaseFate::NotEvaluated,
                "not evaluated in one of the runs, not comparable",
                Status::NotEvaluated,
            ),
            (CaseFate::StillFailing, "still failing", Status::Failed),
            (CaseFate::OnlyBefore, "only in the first run", Status::Informational),
            (CaseFate::OnlyAfter, "only in the second run", Status::Informational),
        ] {
            let cases: Vec<&ComparedCase> = self.found.of(fate).collect();
            if cases.is_empty() {
                continue;
            }
            let count = paint.status(status, &format!("{} {title}", cases.len()));
            let _ = writeln!(out, "\n{}", paint.bold(&count));
            let is_change = matches!(fate, CaseFate::Broke | CaseFate::Fixed | CaseFate::Edited);
            let most = if is_change { LISTED } else { OTHERS_LISTED };
            for case in cases.iter().take(most) {
                let _ = writeln!(out, "  {}", self.case_line(case, paint));
            }
            if cases.len() > most {
                let _ = writeln!(out, "  … and {} more; --json lists all of them", cases.len() - most);
            }
        }
        out + &self.metrics_table(paint) + "\n" + &self.conclusion(paint)
    }

    /// The two runs, and the conditions that differ between them.
    fn heading(&self, paint: Paint) -> String {
        let line = |title: &str, run: &RunToCompare| {
            let id = clean_line(&run.plan.run_id).into_owned();
            let started = started_words(&run.plan.started);
            let agent = run.agent_label();
            format!("{title} {}  {started} UTC  {}\n", paint.bold(&id), paint.faint(&clean_line(&agent)))
        };
        let mut out = line("first ", &self.before) + &line("second", &self.after);
        for (title, run) in [("first", self.before), ("second", self.after)] {
            let missing = run.plan.attempts().saturating_sub(run.totals.ended());
            if missing > 0 {
                let words = format!(
                    "the {title} run is unfinished: {missing} of {} attempts missing",
                    run.plan.attempts()
                );
                let _ = writeln!(out, "{}", paint.status(Status::NotEvaluated, &words));
            }
        }
        for condition in [
            ChangedCondition::Agent,
            ChangedCondition::Criteria,
            ChangedCondition::Judge,
            ChangedCondition::Variant,
        ] {
            let count = self.found.cases.iter().filter(|case| case.changed.contains(&condition)).count();
            if count > 0 {
                let words = format!("{} changed in between for {}", condition.label(), cases(count));
                let _ = writeln!(out, "{}", paint.status(Status::NotEvaluated, &words));
            }
        }
        out
    }

    /// The name of a case, its outcomes, and the reason where it does not pass now.
    fn case_line(&self, case: &ComparedCase, paint: Paint) -> String {
        let outcome = |run: &RunState, at: Option<usize>| at.map(|at| outcome_of(run, at));
        let (before, after) = (outcome(&self.before, case.before), outcome(&self.after, case.after));
        let sign = |outcome: &Option<CaseResultWords>| {
            outcome.as_ref().map_or("·".into(), |of| paint.status(of.status, &of.sign))
        };
        let mut name = self.name_now(case);
        if case.changed.contains(&ChangedCondition::Name)
            && let Some(at) = case.before
        {
            name = format!("{name} (was {})", name_of(&self.before, at));
        }
        let reason = after.as_ref().or(before.as_ref()).map(|of| of.reason.clone()).unwrap_or_default();
        format!("{} → {} {name}  {}", sign(&before), sign(&after), paint.faint(&reason))
            .trim_end()
            .to_string()
    }

    fn name_now(&self, case: &ComparedCase) -> String {
        match (case.after, case.before) {
            (Some(at), _) => name_of(&self.after, at),
            (None, Some(at)) => name_of(&self.before, at),
            (None, None) => String::new(),
        }
    }

    fn metrics_table(&self, paint: Paint) -> String {
        let metrics = &self.found.metrics;
        if metrics.is_empty() {
            return String::new();
        }
        let width = metrics.iter().map(|of| of.metric.chars().count()).max().unwrap_or(0).max(6);
        let head = format!(
            "{:width$} {:>7} {:>8} {:>8} {:>10}  {}",
            "metric", "cases", "first", "second", "difference", "Wilcoxon, each metric by itself"
        );
        let mut out = format!("\n{}\n", paint.faint(&head));
        for of in metrics {
            let difference = of.after - of.before;
            let p = of.p.map_or("no score differs".to_string(), p_words);
            let _ = writeln!(
                out,
                "{:width$} {:>7} {:>8.3} {:>8.3} {difference:>+10.3}  {p}",
                clean_line(&of.metric),
                of.cases,
                of.before,
                of.after
            );
        }
        out
    }

    fn conclusion(&self, paint: Paint) -> String {
        let count = |fate| self.found.of(fate).count();
        let (broke, fixed) = (count(CaseFate::Broke), count(CaseFate::Fixed));
        let passing = count(CaseFate::StillPassing);
        let compared = broke + fixed + passing + count(CaseFate::StillFailing);
        let p = match broke + fixed {
            0 => "no case changed its outcome".to_string(),
            _ => format!("McNemar {}", p_words(self.found.p())),
        };
        let passed =
            format!("{} → {} of {compared} comparable cases passed", passing + broke, passing + fixed);
        format!("{} {passed}: {broke} broke, {fixed} fixed  ({p})", paint.bold("evaltrail"))
    }

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
                json!({"eval_set": set.id, "file": set.file, "eval_id": run.plan.cases[at].eval_id,
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

/// The outcome of a case in one run.
struct CaseResultWords {
    status: Status,
    /// The sign of the status; with several attempts also how many passed.
    sign: String,
    passed: usize,
    ended: usize,
    reason: String,
}

fn outcome_of(run: &RunState, case: usize) -> CaseResultWords {
    let attempts = run.attempts_of(case);
    let passed = attempts.iter().filter(|attempt| attempt.status == Status::Passed).count();
    let failed = attempts.iter().find(|attempt| attempt.status != Status::Passed);
    let status = failed.map_or(Status::Passed, |attempt| attempt.status);
    let rate = if attempts.len() > 1 { format!(" {passed}/{}", attempts.len()) } else { String::new() };
    let reason = failed.map(|attempt| clean_line(attempt.reason()).into_owned()).unwrap_or_default();
    CaseResultWords {
        status,
        sign: format!("{}{rate}", status.glyph()),
        passed,
        ended: attempts.len(),
        reason,
    }
}

fn name_of(run: &RunState, case: usize) -> String {
    let (set, id) = (&run.plan.set_of(case).id, &run.plan.cases[case].eval_id);
    format!("{} › {}", clean_line(set), clean_line(id))
}

fn cases(count: usize) -> String {
    if count == 1 { "1 case".into() } else { format!("{count} cases") }
}

/// A p-value in words: "p 0.0123" or "p 0.4000, could be noise".
pub fn p_words(p: f64) -> String {
    let number = if p < 0.0001 { "p < 0.0001".to_string() } else { format!("p {p:.4}") };
    if p < SIGNIFICANT { number } else { format!("{number}, could be noise") }
}

/// The time of a run's start, in UTC, to the minute.
pub fn started_words(started: &str) -> String {
    clean_line(started.get(..16).unwrap_or(started)).replace('T', " ")
}
