//! The comparison for a pull request.

use super::{CaseResultWords, ComparedRuns, changed_text, outcome_of, reason_text, started_text};
use crate::report::markdown_cell::{cell, code};
use evaltrail_core::analysis::{ComparedCase, RunToCompare};
use evaltrail_core::domain::{RunState, difference_text, statistic_text};
use std::fmt::Write;

impl ComparedRuns<'_> {
    /// The comparison in Markdown. All external data is escaped.
    pub fn markdown(&self) -> String {
        let mut out = format!("## Comparison of two runs\n\n**{}**\n\n", self.conclusion());
        let run = |title: &str, run: &RunToCompare| {
            let (id, started) = (code(&run.plan.run_id), started_text(&run.plan.started));
            format!(
                "- {title}: {id}, {started} UTC, {}\n",
                cell(&run.agent_label())
            )
        };
        out += &run("first", &self.before);
        out += &run("second", &self.after);
        for remark in self.remarks() {
            let _ = writeln!(out, "- {}", cell(&remark));
        }
        for list in self.lists() {
            let _ = write!(out, "\n### {} {}\n\n", list.cases.len(), list.title);
            out.push_str("| first | second | case | reason |\n|---|---|---|---|\n");
            for case in list.cases.iter().take(list.shown) {
                out += &self.case_row(case);
            }
            if list.left_out() > 0 {
                let _ = writeln!(out, "\n… and {} more", list.left_out());
            }
        }
        self.write_metrics(&mut out);
        out
    }

    fn case_row(&self, case: &ComparedCase) -> String {
        let outcome = |run: &RunState, at: Option<usize>| at.and_then(|at| outcome_of(run, at));
        let (before, after) = (
            outcome(&self.before, case.before),
            outcome(&self.after, case.after),
        );
        let sign =
            |outcome: Option<&CaseResultWords>| outcome.map_or("—".into(), |of| of.sign.clone());
        let (first, second) = (sign(before.as_ref()), sign(after.as_ref()));
        let reason = changed_text(case) + &reason_text(case, before, after);
        format!(
            "| {first} | {second} | {} | {} |\n",
            cell(&self.name_with_former(case)),
            cell(&reason)
        )
    }

    fn write_metrics(&self, out: &mut String) {
        if self.found.metrics.is_empty() {
            return;
        }
        out.push_str(
            "\n| metric | cases | first | second | difference | test, each metric by itself |\n",
        );
        out.push_str("|---|--:|--:|--:|--:|---|\n");
        for of in &self.found.metrics {
            let (name, p) = (cell(&of.metric), self.metric_text(of));
            let (before, after) = (statistic_text(of.before), statistic_text(of.after));
            let difference = difference_text(of.after - of.before, 3);
            let _ = writeln!(
                out,
                "| {name} | {} | {before} | {after} | {difference} | {p} |",
                of.cases
            );
        }
    }
}
