//! Quarantine of cases: their failures are counted apart until a date.

use super::cases::chosen;
use super::notes::notes_job;
use super::set_files::shown_path;
use super::show;
use crate::explorer::authoring::proposal::{NOTHING, Proposal};
use crate::explorer::case_list::decisions::day_of;
use crate::explorer::prompts::ask;
use crate::explorer::prompts::ask::Purpose;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::dialog::follow_all;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices;
use evaltrail_core::domain::{CaseNotes, Quarantine, is_day};
use evaltrail_engine::store::FileEdit;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Days of a quarantine unless the user enters another date.
const DAYS: f64 = 14.0;

/// The line for a quarantine: the last day, and a reason.
pub(crate) const EXAMPLE: &str = "2026-12-31 the weather service is down";

/// The proposed beginning of the line: the last day.
pub(crate) fn proposed_line(model: &Model) -> String {
    format!("{} ", day_of(model.opened_at + model.now + DAYS * 86_400.0))
}

/// The last day and the reason.
pub(crate) fn day_and_reason(typed: &str) -> (&str, &str) {
    let typed = typed.trim();
    let (day, reason) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    (day, reason.trim())
}

/// Why a line cannot be used.
pub(crate) fn line_error(model: &Model, typed: &str) -> Option<String> {
    let (day, _) = day_and_reason(typed);
    if !is_day(day) {
        return Some("begin with the last day, as 2026-12-31".into());
    }
    (day < model.today().as_str()).then(|| "the date is in the past".into())
}

/// The changes of the files beside the sets that quarantine these cases: given with the last day and the reason;
/// without them, the quarantine is lifted.
pub(crate) fn quarantine_jobs(
    model: &Model,
    cases: &[(CaseRef, Option<(String, String)>)],
) -> Result<Vec<FileEdit>, String> {
    let mut by_set: BTreeMap<usize, Vec<(String, Option<Quarantine>)>> = BTreeMap::new();
    for (case, wanted) in cases {
        let quarantine = wanted.as_ref().map(|(until, why)| Quarantine {
            since: model.today(),
            until: until.clone(),
            why: why.clone(),
            by: model.author.clone(),
        });
        by_set
            .entry(case.set)
            .or_default()
            .push((model.eval_id(*case).into_owned(), quarantine));
    }
    let mut jobs = Vec::new();
    for (set, cases) in by_set {
        jobs.extend(notes_job(model, set, |notes| put(notes, cases))?);
    }
    Ok(jobs)
}

/// A quarantine that is extended keeps its first day.
fn put(notes: &mut BTreeMap<String, CaseNotes>, cases: Vec<(String, Option<Quarantine>)>) {
    for (id, wanted) in cases {
        let before = notes.get(&id).and_then(|notes| notes.quarantine.clone());
        let since = before.map(|before| before.since);
        let wanted = wanted.map(|wanted| Quarantine {
            since: since.unwrap_or(wanted.since),
            ..wanted
        });
        if wanted.is_some() || notes.contains_key(&id) {
            notes.entry(id).or_default().quarantine = wanted;
        }
    }
}

/// Asks until when, and why, the selected cases or the one under the cursor are quarantined; an empty line lifts the
/// quarantine.
pub(crate) fn ask_quarantine(model: &mut Model) -> Vec<Effect> {
    let cases = chosen(model);
    let now = cases
        .first()
        .and_then(|case| model.notes(*case)?.quarantine.clone());
    let value = match now {
        Some(now) => format!("{} {}", now.until, now.why),
        None => proposed_line(model),
    };
    ask::open(model, QuarantineLine { cases }, value)
}

#[derive(Debug)]
struct QuarantineLine {
    cases: Vec<CaseRef>,
}

impl Purpose for QuarantineLine {
    fn prompt(&self, _: &Model) -> Cow<'static, str> {
        "quarantine until (date), and why; empty ends it ".into()
    }

    fn example(&self) -> &'static str {
        EXAMPLE
    }

    fn wrong(&self, model: &Model, typed: &str) -> Option<String> {
        if typed.trim().is_empty() {
            None
        } else {
            line_error(model, typed)
        }
    }

    fn accept(&self, model: &mut Model, typed: &str) -> Vec<Effect> {
        let wanted = (!typed.trim().is_empty()).then(|| {
            let (day, reason) = day_and_reason(typed);
            (day.to_string(), reason.to_string())
        });
        let what = match self.cases.as_slice() {
            [one] => model.eval_id(*one).into_owned(),
            cases => format!("{} cases", cases.len()),
        };
        let words = match wanted {
            Some(_) => format!("quarantine {what}"),
            None => format!("end the quarantine of {what}"),
        };
        let cases: Vec<_> = self
            .cases
            .iter()
            .map(|case| (*case, wanted.clone()))
            .collect();
        match quarantine_jobs(model, &cases) {
            Ok(jobs) if jobs.is_empty() => notices::notify(model, NOTHING.into(), false),
            Ok(jobs) => {
                let proposal = Proposal::new(words, jobs, |job| shown_path(model, &job.path));
                show(model, proposal)
            }
            Err(why) => notices::notify(model, why, true),
        }
    }

    fn follow(&mut self, new: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        follow_all(&mut self.cases, new)
    }
}
