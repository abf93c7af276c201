//! `evaltrail run --watch`: runs cases again when they, the criteria or the agent's files change.

use super::args::RunArgs;
use super::interrupts::Interrupts;
use super::output::{can_prompt, confirm, print_note};
use super::paths::{open_targets, targets};
use super::run::{run, run_selected};
use super::run_request::{give_session, options};
use super::{Exit, print_error};
use anyhow::Context;
use evaltrail_core::domain::CaseKey;
use evaltrail_engine::runner::{
    ChangedCase, FoundChanges, RunEstimate, SeenCases, Selection, changed_cases, unreadable_text,
};
use evaltrail_engine::workspace::{Watch, Workspace, watched_folders};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout;

/// Time without a further change after which files are read: editors write in steps.
const SETTLE: Duration = Duration::from_millis(200);
/// Files that are changed all the time are read after this time.
const MAX_SETTLE_TIME: Duration = Duration::from_secs(5);

/// Runs cases, and again when files change, until Ctrl-C or the system ends it. Returns the result of the last run.
pub(super) fn run_and_watch(args: &RunArgs) -> anyhow::Result<Exit> {
    let (workspace, selections) = opened(args)?;
    // One message is enough to look at everything again.
    let (sender, mut changes) = channel(1);
    let mut watched = WatchedFolders::start(&workspace, &sender)?;
    let mut runs = RepeatedRuns::start(args, &workspace, &selections)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut interrupted = Interrupts::listen()?;
    print_note("watching the cases, the criteria and the agent's files; Ctrl-C stops");
    while runs.exit != Exit::Interrupted
        && runtime.block_on(next_change(&mut changes, &mut interrupted))?
    {
        // Watching continues after the file is repaired.
        let (workspace, selections) = match opened(args) {
            Ok(opened) => opened,
            Err(error) => {
                runs.problems.print_new([format!("{error:#}")].into());
                continue;
            }
        };
        if watched.folders != watched_folders(&workspace) {
            watched = WatchedFolders::start(&workspace, &sender)?;
        }
        let changed = runs.unseen_changes(&workspace, &selections);
        let estimate = RunEstimate::from_cases(
            changed.iter().flatten().flatten(),
            &options(args, &workspace),
        );
        if estimate.cases == 0 {
            continue;
        }
        // An agent that changes its own files while it runs must not run again and again.
        let may_start = estimate.is_small() && !runs.may_be_of_agent(&selections, &changed);
        note(&mut runs.seen, &selections, &changed);
        match runtime.block_on(is_wanted(&estimate, may_start, &mut interrupted))? {
            Wanted::Run => runs.run_again(args, &workspace, narrowed(selections, changed)),
            Wanted::Skip => {}
            Wanted::Stop => break,
        }
    }
    // A question may still be waiting for its answer.
    runtime.shutdown_background();
    print_note("no longer watching");
    Ok(runs.exit)
}

/// The runs of watched cases, and what was read before the last one.
struct RepeatedRuns {
    /// The cases that ran, as they were.
    seen: SeenCases,
    problems: Problems,
    /// The result of the last run.
    exit: Exit,
    /// When the last run began and ended.
    last_run: (f64, f64),
}

impl RepeatedRuns {
    /// Runs the selected cases for the first time.
    fn start(
        args: &RunArgs,
        workspace: &Workspace,
        selections: &[Selection],
    ) -> anyhow::Result<RepeatedRuns> {
        let mut seen = SeenCases::default();
        let found = changed_cases(workspace, selections);
        found
            .unreadable
            .iter()
            .for_each(|error| print_note(&unreadable_text(error)));
        // The run reports files that cannot be opened.
        let problems = Problems(problems_in(&found));
        let began = unix_now();
        let exit = run(args)?;
        // A file that stopped the run before its first case is repaired, and then all cases are new.
        if exit != Exit::UsageError {
            note(&mut seen, selections, &found.of_selections);
        }
        Ok(RepeatedRuns {
            seen,
            problems,
            exit,
            last_run: (began, unix_now()),
        })
    }

    /// The changed cases of each selection that did not run as they are now. Prints new problems.
    fn unseen_changes(
        &mut self,
        workspace: &Workspace,
        selections: &[Selection],
    ) -> Vec<Option<Vec<ChangedCase>>> {
        let found = changed_cases(workspace, selections);
        self.problems.print_new(problems_in(&found));
        let mut changed = found.of_selections;
        for (selection, cases) in selections.iter().zip(&mut changed) {
            let is_new = |case: &ChangedCase| !self.seen.contains(&selection.set.path, case);
            cases.iter_mut().for_each(|cases| cases.retain(is_new));
        }
        changed
    }

    /// Whether the agent may have made one of these changes during the last run.
    fn may_be_of_agent(
        &self,
        selections: &[Selection],
        changed: &[Option<Vec<ChangedCase>>],
    ) -> bool {
        selections.iter().zip(changed).any(|(selection, cases)| {
            let path = &selection.set.path;
            cases
                .iter()
                .flatten()
                .any(|case| self.seen.may_be_of_agent(path, case, self.last_run))
        })
    }

    fn run_again(&mut self, args: &RunArgs, workspace: &Workspace, selections: Vec<Selection>) {
        let began = unix_now();
        match run_selected(args, None, workspace, selections) {
            Ok(ended) => self.exit = ended,
            Err(error) => print_error(&error),
        }
        self.last_run = (began, unix_now());
        print_note("watching; Ctrl-C stops");
    }
}

fn problems_in(found: &FoundChanges) -> BTreeSet<String> {
    let unreadable = found.unreadable.iter().map(unreadable_text);
    found.unopened.iter().cloned().chain(unreadable).collect()
}

/// What cannot be read now, as sentences.
struct Problems(BTreeSet<String>);

impl Problems {
    /// Prints the problems that are new since the last call.
    fn print_new(&mut self, problems: BTreeSet<String>) {
        let new = problems.difference(&self.0);
        new.for_each(|problem| print_note(problem));
        self.0 = problems;
    }
}

fn unix_now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}

/// The folders of a workspace, which are watched until this is dropped.
struct WatchedFolders {
    folders: Vec<PathBuf>,
    _watch: Watch,
}

impl WatchedFolders {
    fn start(workspace: &Workspace, changed: &Sender<()>) -> anyhow::Result<WatchedFolders> {
        let (folders, changed) = (watched_folders(workspace), changed.clone());
        let watch = Watch::workspace(&folders, move || {
            // If a message is waiting already, it is about this change, too.
            let _ = changed.try_send(());
        });
        Ok(WatchedFolders {
            folders,
            _watch: watch.context("the folder cannot be watched")?,
        })
    }
}

fn opened(args: &RunArgs) -> anyhow::Result<(Workspace, Vec<Selection>)> {
    let (workspace, mut selections) =
        open_targets(&targets(&args.cases)?, false, &args.cases.columns)?;
    give_session(&args.cases, &mut selections)?;
    Ok((workspace, selections))
}

/// Waits for a change, and until no further one follows. Returns `false` if evaltrail must end.
async fn next_change(
    changes: &mut Receiver<()>,
    interrupted: &mut Interrupts,
) -> anyhow::Result<bool> {
    let settled = async {
        changes
            .recv()
            .await
            .context("the folder is no longer watched")?;
        let more = async {
            while timeout(SETTLE, changes.recv())
                .await
                .is_ok_and(|change| change.is_some())
            {}
        };
        let _ = timeout(MAX_SETTLE_TIME, more).await;
        anyhow::Ok(true)
    };
    tokio::select! {
        biased;
        _ = interrupted.next() => Ok(false),
        settled = settled => settled,
    }
}

fn note(seen: &mut SeenCases, selections: &[Selection], changed: &[Option<Vec<ChangedCase>>]) {
    for (selection, cases) in selections.iter().zip(changed) {
        cases
            .iter()
            .flatten()
            .for_each(|case| seen.add(&selection.set.path, case));
    }
}

/// The selections with only these cases; those without a case are left out.
fn narrowed(selections: Vec<Selection>, changed: Vec<Option<Vec<ChangedCase>>>) -> Vec<Selection> {
    let of = |(selection, cases): (Selection, Option<Vec<ChangedCase>>)| {
        let cases: Vec<CaseKey> = cases?.into_iter().map(|case| case.key).collect();
        (!cases.is_empty()).then_some(Selection {
            cases: Some(cases),
            ..selection
        })
    };
    selections.into_iter().zip(changed).filter_map(of).collect()
}

/// What to do about changed cases.
enum Wanted {
    Run,
    Skip,
    Stop,
}

/// Says what a run would take, and asks whether to start it, unless it may start by itself.
async fn is_wanted(
    estimate: &RunEstimate,
    may_start: bool,
    interrupted: &mut Interrupts,
) -> anyhow::Result<Wanted> {
    let words = estimate.describe();
    if may_start {
        print_note(&format!("{words}; running"));
        return Ok(Wanted::Run);
    }
    if !can_prompt() {
        print_note(&format!(
            "{words}; not run, because there is no terminal on which to ask; evaltrail run --changed runs them"
        ));
        return Ok(Wanted::Skip);
    }
    let question = format!("{words}. Run?");
    tokio::select! {
        biased;
        _ = interrupted.next() => Ok(Wanted::Stop),
        answer = tokio::task::spawn_blocking(move || confirm(&question)) => {
            Ok(if answer?? { Wanted::Run } else { Wanted::Skip })
        }
    }
}
