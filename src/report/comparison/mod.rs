//! The comparison of two runs as text, JSON and Markdown.

mod json;
mod markdown;
mod text;

use crate::analysis::{
    CaseFate, ChangedCondition, ComparedCase, ComparedMetric, RunComparison, RunToCompare,
};
use crate::domain::{RunState, Status, clean_line};

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

/// The cases of one fate, as a report lists them.
struct FateList<'a> {
    title: &'static str,
    status: Status,
    cases: Vec<&'a ComparedCase>,
    /// Maximum number of cases that are listed.
    shown: usize,
}

impl FateList<'_> {
    fn left_out(&self) -> usize {
        self.cases.len().saturating_sub(self.shown)
    }
}

impl ComparedRuns<'_> {
    /// The lists that are not empty, in the order of a report. Cases that still pass are in none.
    fn lists(&self) -> Vec<FateList<'_>> {
        let list = |(fate, title, status)| {
            let is_change = matches!(fate, CaseFate::Broke | CaseFate::Fixed | CaseFate::Edited);
            let shown = if is_change { LISTED } else { OTHERS_LISTED };
            FateList { title, status, cases: self.found.of(fate).collect(), shown }
        };
        [
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
        ]
        .map(list)
        .into_iter()
        .filter(|list| !list.cases.is_empty())
        .collect()
    }

    /// What makes the comparison less than it seems: unfinished runs, and conditions that differ.
    fn remarks(&self) -> Vec<String> {
        let unfinished =
            [("first", &self.before), ("second", &self.after)].into_iter().filter_map(|(title, run)| {
                let all = run.plan.attempts();
                let missing = all.saturating_sub(run.totals.ended());
                (missing > 0)
                    .then(|| format!("the {title} run is unfinished: {missing} of {all} attempts missing"))
            });
        let changed = [
            ChangedCondition::Agent,
            ChangedCondition::Tools,
            ChangedCondition::Criteria,
            ChangedCondition::Judge,
            ChangedCondition::Variant,
        ]
        .into_iter()
        .filter_map(|condition| {
            let count = self.found.cases.iter().filter(|case| case.changed.contains(&condition)).count();
            (count > 0).then(|| format!("{} changed in between for {}", condition.label(), cases(count)))
        });
        unfinished.chain(changed).collect()
    }

    /// The name of a case; of a renamed one also the name before.
    fn name_with_former(&self, case: &ComparedCase) -> String {
        let name = self.name_now(case);
        match case.before.filter(|_| case.changed.contains(&ChangedCondition::Name)) {
            Some(before) => format!("{name} (was {})", name_of(&self.before, before)),
            None => name,
        }
    }

    fn name_now(&self, case: &ComparedCase) -> String {
        match (case.after, case.before) {
            (Some(at), _) => name_of(&self.after, at),
            (None, Some(at)) => name_of(&self.before, at),
            (None, None) => String::new(),
        }
    }

    /// "16 → 17 of 20 comparable cases passed: 1 broke, 2 fixed  (McNemar p 1.0000, could be noise)".
    fn conclusion(&self) -> String {
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
        format!("{passed}: {broke} broke, {fixed} fixed  ({p})")
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
    let (set, id) = (&run.plan.set_of(case).id, run.plan.cases.eval_id(case));
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

/// The significance of a metric's difference, in words.
fn wilcoxon_words(of: &ComparedMetric) -> String {
    of.p.map_or("no score differs".to_string(), p_words)
}
