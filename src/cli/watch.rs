//! `evaltrail run --watch`: runs cases again when they, the criteria or the agent's files change.

use super::Exit;
use super::args::RunArgs;
use super::live_run::Interrupts;
use super::output::{can_prompt, confirm, tell};
use super::paths::{open_targets, parse_target};
use super::run::{options, run, run_selected};
use crate::domain::CaseKey;
use crate::runner::{CaseVersion, ChangedCase, RunEstimate, Selection, changed_cases};
use crate::workspace::{Watch, Workspace, watched_folders};
use anyhow::Context;
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Time without a further change after which files are read: editors write in steps.
const SETTLE: Duration = Duration::from_millis(200);

/// The versions of changed cases that were run, or were not to be run.
type Seen = HashMap<(PathBuf, CaseKey), CaseVersion>;

/// Runs cases, and again when files change, until Ctrl-C. Returns the result of the last run.
pub(super) fn run_and_watch(args: &RunArgs) -> anyhow::Result<Exit> {
    let mut exit = run(args)?;
    let (workspace, selections) = opened(args)?;
    // One message is enough to look at everything again.
    let (sender, mut changes) = channel(1);
    let mut watched = Watched::start(&workspace, &sender)?;
    let mut seen = Seen::new();
    note(&mut seen, &selections, &changed_cases(&workspace, &selections));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut changed_meanwhile = false;
    tell("watching the cases, the criteria and the agent's files; Ctrl-C stops");
    while runtime.block_on(next_change(&mut changes))? {
        // A file may be half written: then the next change is waited for.
        let Ok((workspace, selections)) = opened(args) else { continue };
        if watched.folders != watched_folders(&workspace) {
            watched = Watched::start(&workspace, &sender)?;
        }
        let mut changed = changed_cases(&workspace, &selections);
        for (selection, cases) in selections.iter().zip(&mut changed) {
            let key = |case: &ChangedCase| (selection.set.path.clone(), case.key.clone());
            let is_new = |case: &ChangedCase| seen.get(&key(case)) != Some(&case.version);
            cases.iter_mut().for_each(|cases| cases.retain(is_new));
        }
        let estimate = RunEstimate::of(changed.iter().flatten().flatten(), &options(args, &workspace));
        if estimate.cases == 0 {
            continue;
        }
        note(&mut seen, &selections, &changed);
        match runtime.block_on(is_wanted(&estimate, changed_meanwhile))? {
            Wanted::Run => {
                exit = run_selected(args, &workspace, narrowed(selections, changed))?;
                // An agent that changes its own files while it runs must not run again and again.
                changed_meanwhile = !changes.is_empty();
                tell("watching; Ctrl-C stops");
            }
            Wanted::Skip => {}
            Wanted::Stop => break,
        }
    }
    // A question may still be waiting for its answer.
    runtime.shutdown_background();
    Ok(exit)
}

/// The folders of a workspace, which are watched until this is dropped.
struct Watched {
    folders: Vec<PathBuf>,
    _watch: Watch,
}

impl Watched {
    fn start(workspace: &Workspace, changed: &Sender<()>) -> anyhow::Result<Watched> {
        let (folders, changed) = (watched_folders(workspace), changed.clone());
        let watch = Watch::start(&folders, move || {
            // If a message is waiting already, it is about this change, too.
            let _ = changed.try_send(());
        });
        Ok(Watched { folders, _watch: watch.context("the folder cannot be watched")? })
    }
}

fn opened(args: &RunArgs) -> anyhow::Result<(Workspace, Vec<Selection>)> {
    let targets: Vec<_> = args.cases.paths.iter().map(|path| parse_target(path)).collect();
    open_targets(&targets, false)
}

/// Waits for a change, and until no further one follows. Returns `false` after Ctrl-C.
async fn next_change(changes: &mut Receiver<()>) -> anyhow::Result<bool> {
    let mut interrupted = Interrupts::listen()?;
    tokio::select! {
        biased;
        () = interrupted.next() => return Ok(false),
        change = changes.recv() => {
            change.context("the folder is no longer watched")?;
        }
    }
    while tokio::time::timeout(SETTLE, changes.recv()).await.is_ok_and(|change| change.is_some()) {}
    Ok(true)
}

fn note(seen: &mut Seen, selections: &[Selection], changed: &[Option<Vec<ChangedCase>>]) {
    for (selection, cases) in selections.iter().zip(changed) {
        for case in cases.iter().flatten() {
            seen.insert((selection.set.path.clone(), case.key.clone()), case.version.clone());
        }
    }
}

/// The selections with only these cases; those without a case are left out.
fn narrowed(selections: Vec<Selection>, changed: Vec<Option<Vec<ChangedCase>>>) -> Vec<Selection> {
    let of = |(selection, cases): (Selection, Option<Vec<ChangedCase>>)| {
        let cases: Vec<CaseKey> = cases?.into_iter().map(|case| case.key).collect();
        (!cases.is_empty()).then_some(Selection { cases: Some(cases), ..selection })
    };
    selections.into_iter().zip(changed).filter_map(of).collect()
}

/// What to do about changed cases.
enum Wanted {
    Run,
    Skip,
    Stop,
}

/// Says what a run would take. A run that takes long or may cost something is asked about, and so is one of files that
/// were changed during the run before.
async fn is_wanted(estimate: &RunEstimate, changed_meanwhile: bool) -> anyhow::Result<Wanted> {
    let words = estimate.words();
    if estimate.is_small() && !changed_meanwhile {
        tell(&format!("{words}; running"));
        return Ok(Wanted::Run);
    }
    if !can_prompt() {
        tell(&format!("{words}; not run, because nobody can be asked: use evaltrail run --changed"));
        return Ok(Wanted::Skip);
    }
    let mut interrupted = Interrupts::listen()?;
    let question = format!("{words}. Run?");
    tokio::select! {
        biased;
        () = interrupted.next() => Ok(Wanted::Stop),
        answer = tokio::task::spawn_blocking(move || confirm(&question)) => {
            Ok(if answer?? { Wanted::Run } else { Wanted::Skip })
        }
    }
}
