//! Watch mode: cases that change are run again, and those that changed can be run with one key. A run that takes long or
//! may cost something is asked about first.

use crate::explorer::prompts::confirm;
use crate::explorer::running::start;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::command_names::{RUN_CHANGED, WATCH_FILES};
use crate::explorer::shared::context::Context;
use crate::explorer::shared::effect::{Effect, RunEffect, ScreenRequest};
use crate::explorer::shared::enabled::Enabled;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices;
use crate::explorer::shared::ticket::Ticket;
use crate::explorer::shared::watching::{CasesToRunAgain, ChangedInFile, Watching};
use evaltrail_core::domain::unix_seconds;
use evaltrail_engine::history::find_case;
use evaltrail_engine::runner::{RunEstimate, SeenCases};
use std::collections::BTreeSet;

pub(crate) fn can_watch(model: &Model) -> Enabled {
    if model.view.sets.is_empty() {
        Err("there are no eval sets here")
    } else {
        Ok(())
    }
}

pub(crate) fn can_run_changed(model: &Model) -> Enabled {
    can_watch(model)?;
    if model.live_run().is_some() {
        Err("a run is in progress")
    } else {
        Ok(())
    }
}

/// Begins to watch, or stops.
pub(crate) fn toggle(model: &mut Model) -> Vec<Effect> {
    let last_run = model.watching.last_run;
    if model.watching.is_on {
        model.watching = Watching {
            last_run,
            ..Watching::default()
        };
        return notices::notify(
            model,
            "no longer watching; nothing is run by itself".into(),
            false,
        );
    }
    model.watching = Watching {
        is_on: true,
        last_run,
        ..Watching::default()
    };
    search(model, false)
}

/// Searches for all changed cases, to run them.
pub(crate) fn run_changed(model: &mut Model) -> Vec<Effect> {
    search(model, true)
}

/// Begins a search. One that is under way is replaced; its reply is ignored.
fn search(model: &mut Model, is_for_all: bool) -> Vec<Effect> {
    let ticket = model.ticket();
    let replaced = model.watching.search.replace((ticket, is_for_all));
    model.watching.look_again = replaced.is_some();
    vec![Effect::Run(RunEffect::FindChanged(ticket))]
}

/// Files changed, or were read again.
pub(crate) fn files_changed(model: &mut Model) -> Vec<Effect> {
    if !model.watching.is_on {
        return Vec::new();
    }
    if model.watching.search.is_some() || is_run_in_progress(model) {
        model.watching.look_again = true;
        return Vec::new();
    }
    search(model, false)
}

fn is_run_in_progress(model: &Model) -> bool {
    model.watching.is_starting || model.live_run().is_some()
}

/// Searches again if something changed since the last search began.
fn look_again(model: &mut Model) -> Vec<Effect> {
    if model.watching.look_again {
        files_changed(model)
    } else {
        Vec::new()
    }
}

/// A run began at this time, in RFC 3339. Returns whether the user did not start it.
pub(crate) fn on_run_started(model: &mut Model, started: &str) -> bool {
    let began = unix_seconds(started).unwrap_or(model.opened_at + model.now);
    model.watching.last_run = (began, began);
    std::mem::take(&mut model.watching.is_starting)
}

/// The run ended.
pub(crate) fn run_ended(model: &mut Model) -> Vec<Effect> {
    model.watching.last_run.1 = model.opened_at + model.now;
    look_again(model)
}

/// The run that was requested does not begin. Returns whether the user did not start it.
pub(crate) fn run_refused(model: &mut Model) -> bool {
    std::mem::take(&mut model.watching.is_starting)
}

/// The changed cases arrived.
pub(crate) fn found(model: &mut Model, ticket: Ticket, changed: CasesToRunAgain) -> Vec<Effect> {
    let Some((_, is_for_all)) = model
        .watching
        .search
        .filter(|(awaited, _)| *awaited == ticket)
    else {
        return Vec::new();
    };
    model.watching.search = None;
    let mut effects = match (is_for_all, model.watching.seen.is_some()) {
        (true, _) => ask(model, &changed),
        (false, false) => begin(model, &changed),
        (false, true) => run_again(model, changed),
    };
    effects.extend(look_again(model));
    effects
}

/// Begins to watch: what changed before is not run.
fn begin(model: &mut Model, changed: &CasesToRunAgain) -> Vec<Effect> {
    model.watching.seen = Some(SeenCases::default());
    note(model, changed.cases.iter());
    let stop = WATCH_FILES.key();
    let before = match changed.cases.len() {
        0 => String::new(),
        1 => format!(
            "; 1 case is new or changed before ({} runs it)",
            RUN_CHANGED.key()
        ),
        count => format!(
            "; {count} cases are new or changed before ({} runs them)",
            RUN_CHANGED.key()
        ),
    };
    let words = format!("watching: cases that change are run again{before}; {stop} stops");
    notices::notify(model, words, false)
}

/// Runs the cases that changed since they were run last or seen.
fn run_again(model: &mut Model, changed: CasesToRunAgain) -> Vec<Effect> {
    if is_run_in_progress(model) {
        model.watching.look_again = true;
        return Vec::new();
    }
    let CasesToRunAgain { cases, options } = changed;
    let Some(seen) = &model.watching.seen else {
        return Vec::new();
    };
    let is_unseen = |(file, case): &&ChangedInFile| !seen.contains(file, case);
    // A case whose file is still being read again is found by the next search.
    let unseen: Vec<(CaseRef, ChangedInFile)> = cases
        .iter()
        .filter(is_unseen)
        .filter_map(|one| Some((case_ref(model, one)?, one.clone())))
        .collect();
    if unseen.is_empty() {
        return Vec::new();
    }
    let estimate = RunEstimate::from_cases(unseen.iter().map(|(_, (_, case))| case), &options);
    // An agent that changes its own files while it runs must not run again and again.
    let last_run = model.watching.last_run;
    let may_be_of_agent =
        |(_, (file, case)): &(CaseRef, ChangedInFile)| seen.may_be_of_agent(file, case, last_run);
    let may_start = estimate.is_small() && !unseen.iter().any(may_be_of_agent);
    note(model, unseen.iter().map(|(_, one)| one));
    let refs: Vec<CaseRef> = unseen.into_iter().map(|(at, _)| at).collect();
    if !may_start {
        return confirm_run(model, &estimate, refs, confirm::open_refusing_enter);
    }
    notices::notify(model, format!("{}; running", estimate.describe()), false);
    model.watching.is_starting = true;
    let against = start::against_of(model, &refs);
    start::start(model, refs, against)
}

/// Asks whether to run all changed cases that an agent can run.
fn ask(model: &mut Model, changed: &CasesToRunAgain) -> Vec<Effect> {
    let in_files = changed.cases.iter();
    let (refs, cases): (Vec<CaseRef>, Vec<&ChangedInFile>) = in_files
        .filter_map(|one| Some((case_ref(model, one)?, one)))
        .unzip();
    let can_run: BTreeSet<CaseRef> = start::with_agent(model, &refs).into_iter().collect();
    let (refs, cases): (Vec<CaseRef>, Vec<&ChangedInFile>) = refs
        .into_iter()
        .zip(cases)
        .filter(|(case, _)| can_run.contains(case))
        .unzip();
    if refs.is_empty() {
        return notices::notify(
            model,
            "no case changed since its latest result".into(),
            false,
        );
    }
    let estimate =
        RunEstimate::from_cases(cases.into_iter().map(|(_, case)| case), &changed.options);
    note(model, changed.cases.iter());
    confirm_run(model, &estimate, refs, confirm::open)
}

/// A function that opens a question.
type OpenQuestion = fn(&mut Model, String, Vec<String>, ScreenRequest) -> Vec<Effect>;

/// Asks whether to run these cases. Where the user may be typing, they are only named.
fn confirm_run(
    model: &mut Model,
    estimate: &RunEstimate,
    cases: Vec<CaseRef>,
    open: OpenQuestion,
) -> Vec<Effect> {
    if model.view.open_dialog.is_some()
        || matches!(model.screen_context(), Context::Edit | Context::Chat)
    {
        let words = format!(
            "{}; not run, {} runs what changed",
            estimate.describe(),
            RUN_CHANGED.key()
        );
        return notices::notify(model, words, false);
    }
    let lines = vec![
        estimate.describe(),
        "Changed are cases that were edited, and all whose criteria or agent changed, since their latest result."
            .into(),
    ];
    let title = if cases.len() == 1 {
        "Run 1 case?".to_string()
    } else {
        format!("Run {} cases?", cases.len())
    };
    open(model, title, lines, ScreenRequest::RunCases(cases))
}

/// The case in the file as it was read; `None` if it is not in it.
fn case_ref(model: &Model, (file, case): &ChangedInFile) -> Option<CaseRef> {
    let set = model
        .view
        .sets
        .iter()
        .position(|set| set.path.path == *file)?;
    let read = model.file(set)?;
    let index = find_case(read, &case.key.eval_id, &case.key.content)?;
    (read.content_hash(index) == case.key.content).then_some(CaseRef { set, index })
}

fn note<'a>(model: &mut Model, cases: impl Iterator<Item = &'a ChangedInFile>) {
    if let Some(seen) = &mut model.watching.seen {
        cases.for_each(|(file, case)| seen.add(file, case));
    }
}
