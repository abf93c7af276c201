//! The comparison for a terminal or a log.

use super::{CaseResultWords, ComparedRuns, changed_text, outcome_of, reason_text, started_text};
use crate::report::Paint;
use evaltrail_core::analysis::{ComparedCase, RunToCompare};
use evaltrail_core::domain::{RunState, Status, clean_line, difference_text, statistic_text};
use std::fmt::Write;

impl ComparedRuns<'_> {
    /// The comparison for a terminal or a log.
    pub fn text(&self, paint: Paint) -> String {
        let mut out = self.heading(paint);
        for list in self.lists() {
            let count = paint.status(list.status, &format!("{} {}", list.cases.len(), list.title));
            let _ = writeln!(out, "\n{}", paint.bold(&count));
            for case in list.cases.iter().take(list.shown) {
                let _ = writeln!(out, "  {}", self.case_line(case, paint));
            }
            if list.left_out() > 0 {
                let _ = writeln!(
                    out,
                    "  … and {} more; --json lists all of them",
                    list.left_out()
                );
            }
        }
        out + &self.metrics_table(paint)
            + &format!("\n{} {}", paint.bold("evaltrail"), self.conclusion())
    }

    /// The two runs, and the conditions that differ between them.
    fn heading(&self, paint: Paint) -> String {
        let line = |title: &str, run: &RunToCompare| {
            let id = clean_line(&run.plan.run_id).into_owned();
            let started = started_text(&run.plan.started);
            let agent = run.agent_label();
            format!(
                "{title} {}  {started} UTC  {}\n",
                paint.bold(&id),
                paint.faint(&clean_line(&agent))
            )
        };
        let mut out = line("first ", &self.before) + &line("second", &self.after);
        for remark in self.remarks() {
            let _ = writeln!(out, "{}", paint.status(Status::NotEvaluated, &remark));
        }
        out
    }

    /// The name of a case, its outcomes, and the reason where it does not pass now.
    fn case_line(&self, case: &ComparedCase, paint: Paint) -> String {
        let outcome = |run: &RunState, at: Option<usize>| at.and_then(|at| outcome_of(run, at));
        let (before, after) = (
            outcome(&self.before, case.before),
            outcome(&self.after, case.after),
        );
        let sign = |outcome: &Option<CaseResultWords>| {
            outcome
                .as_ref()
                .map_or("·".into(), |of| paint.status(of.status, &of.sign))
        };
        let name = self.name_with_former(case);
        let (first, second) = (sign(&before), sign(&after));
        let (changed, reason) = (changed_text(case), reason_text(case, before, after));
        format!(
            "{first} → {second} {name}  {changed}{}",
            paint.faint(&reason)
        )
        .trim_end()
        .to_string()
    }

    fn metrics_table(&self, paint: Paint) -> String {
        let metrics = &self.found.metrics;
        if metrics.is_empty() {
            return String::new();
        }
        let width = metrics
            .iter()
            .map(|of| of.metric.chars().count())
            .max()
            .unwrap_or(0)
            .max(6);
        let header = format!(
            "{:width$} {:>7} {:>8} {:>8} {:>10}  {}",
            "metric", "cases", "first", "second", "difference", "test, each metric by itself"
        );
        let mut out = format!("\n{}\n", paint.faint(&header));
        for of in metrics {
            let _ = writeln!(
                out,
                "{:width$} {:>7} {:>8} {:>8} {:>10}  {}",
                clean_line(&of.metric),
                of.cases,
                statistic_text(of.before),
                statistic_text(of.after),
                difference_text(of.after - of.before, 3),
                self.metric_text(of)
            );
        }
        out
    }
}
