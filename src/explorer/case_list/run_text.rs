//! Text about runs: which run a result is from.

use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::model::Model;
use evaltrail_core::domain::{InFlight, RunBy, RunRef, RunState, unix_seconds};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Formats a time relative to now, for example "3 min ago". A time more than a month ago is shown as its date.
fn ago(then: f64, now: f64, date: &str) -> String {
    let seconds = (now - then).max(0.0);
    let of = |unit: f64, words: &str| format!("{} {words} ago", (seconds / unit) as u64);
    match seconds {
        s if s < 60.0 => "just now".into(),
        s if s < 3600.0 => of(60.0, "min"),
        s if s < 86_400.0 => of(3600.0, "h"),
        s if s < 172_800.0 => "1 day ago".into(),
        s if s < 31.0 * 86_400.0 => of(86_400.0, "days"),
        _ => date.get(..10).unwrap_or(date).to_string(),
    }
}

/// Of more sets than this, the criteria are not looked at: the text is made for each frame.
const MAX_LOOKED_AT: usize = 20;

impl Model {
    /// When a run started, relative to now.
    pub fn started_text(&self, started: &str) -> String {
        match unix_seconds(started) {
            Some(then) => ago(then, self.opened_at + self.now, started),
            None => String::new(),
        }
    }

    /// Which run a result is from: "run 3 min ago", "ADK run 2 days ago".
    pub fn run_text(&self, run: &RunRef) -> String {
        let when = run
            .started_at()
            .map(|then| ago(then, self.opened_at + self.now, &run.started));
        let by = match run.by {
            RunBy::File => return "scores in the file".into(),
            RunBy::Adk => "ADK run",
            RunBy::Foreign => "foreign run",
            RunBy::Evaltrail => "run",
        };
        match when {
            Some(when) => format!("{by} {when}"),
            None => format!("{by} {}", run.id),
        }
    }

    /// The runs that the results of some sets are from. `None` if there are no results.
    pub fn runs_text(&self, sets: &[usize]) -> Option<String> {
        let runs: BTreeSet<(Option<i64>, &str)> = sets
            .iter()
            .flat_map(|set| self.view.outcomes.runs(*set))
            .map(|(run, _)| {
                (
                    run.started_at().map(|time| (time * 1e6) as i64),
                    run.id.as_str(),
                )
            })
            .collect();
        let (_, newest) = runs.last()?;
        let mut all = sets
            .iter()
            .flat_map(|set| self.view.outcomes.runs(*set))
            .map(|(run, _)| run);
        let newest = self.run_text(all.find(|run| run.id == *newest)?);
        let mut looked_at = sets.iter().take(MAX_LOOKED_AT);
        let older = match looked_at.any(|set| self.has_older_criteria(*set)) {
            true => ", with other criteria than now",
            false => "",
        };
        Some(match runs.len() {
            1 => format!("{newest}{older}"),
            count if sets.iter().any(|set| self.has_mixed_criteria(*set)) => {
                format!("{count} runs with different criteria, newest: {newest}")
            }
            count => format!("{count} runs{older}, newest: {newest}"),
        })
    }

    /// Whether a result of a set is from a run with other criteria than those of now, as far as both are known.
    fn has_older_criteria(&self, set: usize) -> bool {
        let Some(view) = self
            .view
            .sets
            .get(set)
            .filter(|_| self.opened_run.is_none())
        else {
            return false;
        };
        let then = |(run, _): (&Arc<RunRef>, usize)| {
            let mut known = self.trends.runs.iter();
            let summary = known.rfind(|summary| summary.run_id == run.id)?;
            summary.criteria_of(&view.path.path)
        };
        let mut runs = self.view.outcomes.runs(set).filter_map(then);
        view.criteria
            .is_some_and(|now| runs.any(|then| then != now))
    }

    /// Whether the results of a set are from runs with different criteria, as far as the runs are known.
    fn has_mixed_criteria(&self, set: usize) -> bool {
        let Some(path) = self.view.sets.get(set).map(|set| &set.path.path) else {
            return false;
        };
        let summary = |id: &str| self.trends.runs.iter().find(|summary| summary.run_id == id);
        let mut summaries = self
            .view
            .outcomes
            .runs(set)
            .filter_map(|(run, _)| summary(&run.id));
        let Some(first) = summaries.next() else {
            return false;
        };
        summaries.any(|summary| summary.has_other_criteria(first, path))
    }

    /// The live run, if the workspace is shown: its cases are not those of a past run that is open.
    pub fn live_run(&self) -> Option<&RunState> {
        self.run
            .as_ref()
            .filter(|run| run.is_live() && self.opened_run.is_none())
    }

    /// Whether the live run will replace the result that is shown for a case: the case is part of the run and has no
    /// new result yet.
    pub fn is_superseded(&self, case: CaseRef) -> bool {
        let Some(run) = self.live_run() else {
            return false;
        };
        let shown = self
            .view
            .outcomes
            .get(case)
            .map(|outcome| outcome.run.id.as_str());
        shown != Some(run.plan.run_id.as_str()) && self.planned_in_run(case).is_some()
    }

    /// The progress of a case in the live run, if it is in flight.
    pub fn in_flight(&self, case: CaseRef) -> Option<&InFlight> {
        let run = self.live_run()?;
        let at = self.planned_in_run(case)?;
        run.in_flight
            .iter()
            .find(|(key, _)| key.case == at)
            .map(|(_, flight)| flight)
    }

    /// Position of a case in the plan of the current run.
    fn planned_in_run(&self, case: CaseRef) -> Option<usize> {
        let run = self.run.as_ref()?;
        let path = &self.view.sets.get(case.set)?.path.path;
        let eval_id = self.eval_id(case);
        run.plan.cases.iter().position(|planned| {
            planned.eval_id == eval_id && run.plan.sets[planned.set].path == *path
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_for_reading() {
        let date = "2026-01-02T03:04:05Z";
        let words: Vec<String> = [5.0, 150.0, 7300.0, 90_000.0, 400_000.0, 4e7]
            .iter()
            .map(|s| ago(1e9 - s, 1e9, date))
            .collect();
        assert_eq!(
            words,
            [
                "just now",
                "2 min ago",
                "2 h ago",
                "1 day ago",
                "4 days ago",
                "2026-01-02"
            ]
        );
    }
}
