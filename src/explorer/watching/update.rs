//! Updates of watch mode.

use crate::explorer::case_ref::CaseRef;
use crate::explorer::commands::enabled::Enabled;
use crate::explorer::commands::{RUN_CHANGED, WATCH_FILES};
use crate::explorer::effect::{Effect, RunEffect};
use crate::explorer::global;
use crate::explorer::model::Model;
use crate::explorer::overlays::confirm::{self, Confirmed};
use crate::explorer::screens::run;
use crate::explorer::ticket::Ticket;
use crate::explorer::watching::state::{CasesToRunAgain, ChangedInFile, Watching};
use crate::history::place;
use crate::runner::RunEstimate;

pub(crate) fn can_watch(model: &Model) -> Enabled {
    if model.sets.is_empty() { Err("there are no eval sets here") } else { Ok(()) }
}

pub(crate) fn can_run_changed(model: &Model) -> Enabled {
    can_watch(model)?;
    if model.live_run().is_some() { Err("a run is in progress") } else { Ok(()) }
}

/// Begins to watch, or stops.
pub(crate) fn toggle(model: &mut Model) -> Vec<Effect> {
    if model.watching.is_on {
        model.watching = Watching::default();
        return global::notify(model, "no longer watching; nothing is run by itself".into(), false);
    }
    let ticket = model.ticket();
    model.watching = Watching { is_on: true, search: Some((ticket, true)), ..Watching::default() };
    vec![Effect::Run(RunEffect::FindChanged(ticket))]
}

/// Searches for all changed cases, to run them.
pub(crate) fn run_changed(model: &mut Model) -> Vec<Effect> {
    let ticket = model.ticket();
    model.watching.search_all = Some(ticket);
    vec![Effect::Run(RunEffect::FindChanged(ticket))]
}

/// Files changed, or were read again.
pub(crate) fn files_changed(model: &mut Model) -> Vec<Effect> {
    if !model.watching.is_on {
        return Vec::new();
    }
    if model.live_run().is_some() {
        model.watching.changed_meanwhile = true;
        return Vec::new();
    }
    // The first search is not repeated, because it says what is not run.
    if model.watching.search.is_some_and(|(_, is_first)| is_first) {
        return Vec::new();
    }
    let ticket = model.ticket();
    model.watching.search = Some((ticket, false));
    vec![Effect::Run(RunEffect::FindChanged(ticket))]
}

/// The run ended: what changed meanwhile is asked about.
pub(crate) fn run_ended(model: &mut Model) -> Vec<Effect> {
    if model.watching.changed_meanwhile { files_changed(model) } else { Vec::new() }
}

/// The changed cases arrived.
pub(crate) fn found(model: &mut Model, ticket: Ticket, changed: CasesToRunAgain) -> Vec<Effect> {
    if model.watching.search_all == Some(ticket) {
        model.watching.search_all = None;
        return ask(model, &changed);
    }
    let Some((_, is_first)) = model.watching.search.filter(|(awaited, _)| *awaited == ticket) else {
        return Vec::new();
    };
    model.watching.search = None;
    match is_first {
        true => begin(model, &changed),
        false => run_again(model, changed),
    }
}

/// Begins to watch: what changed before is not run.
fn begin(model: &mut Model, changed: &CasesToRunAgain) -> Vec<Effect> {
    note(model, changed.cases.iter());
    let stop = WATCH_FILES.key();
    let before = match changed.cases.len() {
        0 => String::new(),
        1 => format!("; 1 case changed before ({} runs it)", RUN_CHANGED.key()),
        count => format!("; {count} cases changed before ({} runs them)", RUN_CHANGED.key()),
    };
    let words = format!("watching: cases that change are run again{before}; {stop} stops");
    global::notify(model, words, false)
}

/// Runs the cases that changed since they were run last or seen.
fn run_again(model: &mut Model, changed: CasesToRunAgain) -> Vec<Effect> {
    if model.live_run().is_some() {
        model.watching.changed_meanwhile = true;
        return Vec::new();
    }
    let CasesToRunAgain { cases, options } = changed;
    let is_unseen = |(file, case): &&ChangedInFile| {
        model.watching.seen.get(&(file.clone(), case.key.clone())) != Some(&case.version)
    };
    // A case whose file is still being read again is found by the next search.
    let unseen: Vec<(CaseRef, &ChangedInFile)> =
        cases.iter().filter(is_unseen).filter_map(|one| Some((case_ref(model, one)?, one))).collect();
    if unseen.is_empty() {
        return Vec::new();
    }
    let estimate = RunEstimate::of(unseen.iter().map(|(_, (_, case))| case), &options);
    let refs: Vec<CaseRef> = unseen.iter().map(|(at, _)| *at).collect();
    let seen: Vec<ChangedInFile> = unseen.into_iter().map(|(_, one)| one.clone()).collect();
    note(model, seen.iter());
    let may_start = estimate.is_small() && !std::mem::take(&mut model.watching.changed_meanwhile);
    if may_start {
        global::notify(model, format!("{}; running", estimate.words()), false);
        model.watching.is_starting = true;
        let against = run::against_of(model, &refs);
        return run::start(model, refs, against);
    }
    if model.overlay.is_some() {
        let words = format!("{}; {} runs them", estimate.words(), RUN_CHANGED.key());
        return global::notify(model, words, false);
    }
    confirm_run(model, &estimate, refs)
}

/// Asks whether to run all changed cases.
fn ask(model: &mut Model, changed: &CasesToRunAgain) -> Vec<Effect> {
    let refs: Vec<CaseRef> = changed.cases.iter().filter_map(|one| case_ref(model, one)).collect();
    if refs.is_empty() {
        return global::notify(model, "no case changed since its latest result".into(), false);
    }
    let estimate = RunEstimate::of(changed.cases.iter().map(|(_, case)| case), &changed.options);
    note(model, changed.cases.iter());
    confirm_run(model, &estimate, refs)
}

fn confirm_run(model: &mut Model, estimate: &RunEstimate, cases: Vec<CaseRef>) -> Vec<Effect> {
    let lines = vec![
        estimate.words(),
        "Changed are cases without a result, those that were edited, and all whose criteria or agent changed.".into(),
    ];
    let title =
        if cases.len() == 1 { "Run 1 case?".to_string() } else { format!("Run {} cases?", cases.len()) };
    confirm::open(model, title, lines, Confirmed::RunCases(cases))
}

/// The case in the file as it was read; `None` if it is not in it.
fn case_ref(model: &Model, (file, case): &ChangedInFile) -> Option<CaseRef> {
    let set = model.sets.iter().position(|set| set.path.path == *file)?;
    let read = model.file(set)?;
    let index = place(read, &case.key.eval_id, &case.key.content)?;
    (read.content_hash(index) == case.key.content).then_some(CaseRef { set, index })
}

fn note<'a>(model: &mut Model, cases: impl Iterator<Item = &'a ChangedInFile>) {
    for (file, case) in cases {
        model.watching.seen.insert((file.clone(), case.key.clone()), case.version.clone());
    }
}
