//! `evaltrail causes`: why cases fail, over the runs of a folder: what is new, came back, goes on, and is gone.

use super::Exit;
use super::addresses::copy_at;
use super::args::ColorWhen;
use super::output::{paint, print_json, print_line, print_note};
use super::subcommand::CliCommand;
use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use evaltrail_core::analysis::{CauseState, CauseTrend, block};
use evaltrail_core::domain::{Decision, DecisionKind, Status, clean_line, counted};
use evaltrail_engine::history::{CaseTrends, RunSummary};
use evaltrail_engine::report::{Paint, shell_word, started_text};
use evaltrail_engine::runner::case_trends;
use evaltrail_engine::store::read_decisions;
use evaltrail_engine::workspace::{Workspace, open_set};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The maximum number of runs in the line of blocks.
const RUNS_SHOWN: usize = 12;
/// The number of columns to the left of the blocks of a cause.
const BEFORE_BLOCKS: usize = 24;
/// The number of characters of a commit that are shown.
const COMMIT_SHOWN: usize = 12;

/// Show why cases fail over the runs: new causes first, then those that came back, go on, and are gone
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  evaltrail causes                        of the runs of this folder
  evaltrail causes --since 7f3a1c09d2e4   only what is new, came back or went after this run
  evaltrail causes --fail-on news         for CI: exit code 1 if a cause is new or came back

A cause contains no values and no positions, so that it is the same in every run. A case has a cause from the run in which an attempt failed for it until a later run in which the case was evaluated and no attempt did. new: seen in one run only. back: seen again, in one run, after no case had it any more. ongoing: seen in more than one run without an end in between. gone: no case has it any more. +N: so many of its cases did not have it before the latest run. The blocks show the numbers of cases in the latest runs; a run without the cause has a dot. Runs of one turn and runs that you did not record are left out.")]
pub(super) struct CausesArgs {
    /// Folder
    #[arg(default_value = ".")]
    pub(super) folder: PathBuf,
    /// Only causes that are new, came back or are gone since a later run than this one: an id, the beginning of one, last or
    /// previous. What is new or back is that since this run
    #[arg(long, value_name = "RUN")]
    pub(super) since: Option<String>,
    /// List the causes that were gone before the latest run, too
    #[arg(long)]
    pub(super) all: bool,
    /// Exit code 1 if there is such a cause; news: new or back (repeatable)
    #[arg(long, value_name = "STATE")]
    pub(super) fail_on: Vec<CauseGate>,
    /// Print the causes as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Which causes fail the command.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CauseGate {
    /// A cause that is new or came back
    News,
    /// A new cause
    New,
    /// A cause that came back
    Back,
    /// A cause that goes on
    Ongoing,
}

impl CauseGate {
    fn is_about(self, state: CauseState) -> bool {
        match self {
            CauseGate::News => state.is_new_or_back(),
            CauseGate::New => state == CauseState::New,
            CauseGate::Back => state == CauseState::Back,
            CauseGate::Ongoing => state == CauseState::Ongoing,
        }
    }
}

impl CliCommand for CausesArgs {
    const NAME: &'static str = "causes";

    fn copy_inputs(&mut self) -> anyhow::Result<()> {
        copy_at(&mut self.folder)
    }

    fn run(self) -> anyhow::Result<Exit> {
        causes(&self)
    }
}

fn causes(args: &CausesArgs) -> anyhow::Result<Exit> {
    let workspace = Workspace::open(&args.folder)?;
    let trends = case_trends(&workspace, || {
        let open = |set| Some((set, open_set(set).ok()?.file));
        workspace.sets.iter().filter_map(open).collect()
    });
    for error in &trends.unreadable {
        print_note(&format!("a run cannot be read: {}", clean_line(error)));
    }
    if !trends.is_complete {
        print_note("there are too many results: the oldest runs are left out");
    }
    let since = args.since.as_deref();
    let since = since.map(|named| run_named(&trends, named)).transpose()?;
    let listed: Vec<ListedCause> = listed(&trends, since, args.all)
        .into_iter()
        .map(|trend| ListedCause {
            trend,
            state: since.map_or_else(|| trend.state(), |run| trend.state_since(run)),
        })
        .collect();
    let decided = DecidedCauses::new(&workspace.root);
    if args.json {
        print_json(&serde_json::to_string_pretty(&causes_json(
            &trends, &listed, &decided,
        ))?);
    } else {
        print_causes(&trends, &listed, &decided, &args.folder);
    }
    let fails = |one: &ListedCause| args.fail_on.iter().any(|gate| gate.is_about(one.state));
    Ok(match listed.iter().any(fails) {
        true => Exit::Failures,
        false => Exit::Success,
    })
}

/// A cause, and what became of it by the latest run, or since the run that `--since` names.
struct ListedCause<'a> {
    trend: &'a CauseTrend,
    state: CauseState,
}

/// The position of a run. Errors: there is none with this id, or several.
fn run_named(trends: &CaseTrends, named: &str) -> anyhow::Result<usize> {
    let count = trends.runs.len();
    let back = match named {
        "last" => Some(1),
        "previous" => Some(2),
        _ => None,
    };
    if let Some(at) = back.and_then(|back| count.checked_sub(back)) {
        return Ok(at);
    }
    let is_it = |(_, run): &(usize, &RunSummary)| run.run_id.starts_with(named);
    let mut found = trends.runs.iter().enumerate().filter(is_it);
    let (at, _) = found.next().with_context(|| {
        format!("--since: there is no run {named:?}; `evaltrail runs` lists all")
    })?;
    if found.next().is_some() {
        bail!("--since: {named:?} is the beginning of several ids");
    }
    Ok(at)
}

/// The causes to list. `since` is the run after which something must have happened.
fn listed(trends: &CaseTrends, since: Option<usize>, all: bool) -> Vec<&CauseTrend> {
    let latest = trends.runs.len().saturating_sub(1);
    let is_listed = |trend: &&CauseTrend| match (since, trend.gone) {
        (Some(since), Some(gone)) => gone > since,
        (Some(since), None) => trend.since > since,
        (None, Some(gone)) => all || gone == latest,
        (None, None) => true,
    };
    trends.causes.all().into_iter().filter(is_listed).collect()
}

fn print_causes(
    trends: &CaseTrends,
    listed: &[ListedCause<'_>],
    decided: &DecidedCauses,
    folder: &Path,
) {
    if trends.runs.is_empty() {
        print_line("no runs here yet; evaltrail run . starts one");
        return;
    }
    let paint = paint(ColorWhen::Auto);
    let indent = BEFORE_BLOCKS + trends.runs.len().min(RUNS_SHOWN) + 2;
    for one in listed {
        print_line(&cause_line(trends, one, paint));
        for line in facts(trends, one, decided, folder) {
            print_line(&paint.faint(&format!("{:indent$}{}", "", clean_line(&line))));
        }
    }
    let count = |state| listed.iter().filter(|one| one.state == state).count();
    let states = [
        CauseState::New,
        CauseState::Back,
        CauseState::Ongoing,
        CauseState::Gone,
    ];
    let counts = states.map(|state| format!("{} {}", count(state), state.name()));
    print_line(&format!(
        "{} over {}: {}",
        counted(listed.len(), "cause"),
        counted(trends.runs.len(), "run"),
        counts.join(", ")
    ));
}

/// "ongoing  12 cases +3   ·▂█  set_light.level differs  7 of 13 runs, since run 7f3a1c09d2e4". What is known of a cause that goes on
/// is in this line.
fn cause_line(
    trends: &CaseTrends,
    ListedCause {
        trend,
        state: cause_state,
    }: &ListedCause<'_>,
    paint: Paint,
) -> String {
    let state = format!("{:<8}", cause_state.name());
    let state = match *cause_state {
        CauseState::New | CauseState::Back => paint.status(Status::Failed, &state),
        CauseState::Ongoing => state,
        CauseState::Gone => paint.status(Status::Passed, &state),
    };
    let cases = match trend.cases {
        0 => String::new(),
        count => counted(count, "case"),
    };
    let joined = match trend.joined {
        joined if *cause_state == CauseState::Ongoing && joined > 0 && is_latest(trends, trend) => {
            format!("+{joined}")
        }
        _ => String::new(),
    };
    let since = match *cause_state {
        CauseState::Ongoing => format!(
            "  {} of {} runs, since run {}",
            trend.seen.len(),
            trends.runs.len(),
            trends.runs[trend.since].short_name()
        ),
        _ => String::new(),
    };
    format!(
        "{state} {cases:>9} {joined:<4} {}  {}{}",
        paint.faint(&blocks(trends, trend)),
        paint.bold(&clean_line(&trend.cause.describe())),
        paint.faint(&since)
    )
}

/// Whether a cause was seen in the latest run.
fn is_latest(trends: &CaseTrends, trend: &CauseTrend) -> bool {
    trend.last_seen() + 1 == trends.runs.len()
}

/// The numbers of cases in the latest runs, as blocks.
fn blocks(trends: &CaseTrends, trend: &CauseTrend) -> String {
    let most = trend.seen.iter().map(|one| one.cases).max().unwrap_or(0);
    let first = trends.runs.len().saturating_sub(RUNS_SHOWN);
    let shown = |run: usize| match trend.seen.iter().find(|one| one.run == run) {
        None => '·',
        Some(seen) => block(f64::from(seen.cases), (0.0, f64::from(most))),
    };
    (first..trends.runs.len()).map(shown).collect()
}

/// Since when a cause is there, or gone, and what changed then; what was decided about it.
fn facts(
    trends: &CaseTrends,
    ListedCause { trend, state }: &ListedCause<'_>,
    decided: &DecidedCauses,
    folder: &Path,
) -> Vec<String> {
    let run = |at: usize| run_text(&trends.runs[at]);
    let seen = counted(trend.seen.len(), "run");
    let mut lines = Vec::new();
    match (trend.gone, trend.gone_before) {
        (Some(gone), _) => {
            lines.push(format!("gone since {}", run(gone)));
            lines.push(format!(
                "seen in {seen}, last in {}",
                run(trend.last_seen())
            ));
            let changed = trends.changes_at(trend);
            if !changed.is_empty() {
                lines.push(format!("changed since: {}", changed.join(", ")));
            }
        }
        (None, _) if *state == CauseState::Ongoing => {}
        (None, None) => lines.push(format!("first seen in {}", run(trend.since))),
        (None, Some(gone)) => {
            lines.push(format!("again since {}", run(trend.since)));
            lines.push(format!("was gone since {}, seen in {seen}", run(gone)));
        }
    }
    let without = trend.last_without.filter(|_| state.is_new_or_back());
    if let Some(before) = without {
        let changed = trends.changes_at(trend);
        if !changed.is_empty() {
            let changed = changed.join(", ");
            lines.push(format!("changed since {}: {changed}", run(before)));
        } else if trend.gone_before != Some(before) {
            lines.push(format!("its cases did not have it in {}", run(before)));
        }
    }
    lines.extend(without.and_then(|before| bisect_text(trends, trend, before, folder)));
    lines.extend(decided.describe(trend));
    lines
}

/// The command that finds the commit between the run `before` and the one since which a cause is there; `None` if there is none
/// between them.
fn bisect_text(
    trends: &CaseTrends,
    trend: &CauseTrend,
    before: usize,
    folder: &Path,
) -> Option<String> {
    let commit = |run: usize| trends.runs[run].commit.as_deref();
    let (good, bad) = (commit(before)?, commit(trend.since)?);
    let cause = trend.cause.describe();
    // A filter has no sign for a quotation mark in its texts.
    let is_findable = good != bad && !cause.contains('"');
    let short = |commit: &str| commit.chars().take(COMMIT_SHOWN).collect::<String>();
    is_findable.then(|| {
        let filter = shell_word(&clean_line(&format!("cause:\"{cause}\"")));
        let folder = shell_word(&clean_line(&folder.display().to_string()));
        format!(
            "find the commit: evaltrail bisect {folder} --filter {filter} --good {} --bad {}",
            short(good),
            short(bad)
        )
    })
}

/// "run 7f3a1c09d2e4 (2026-01-02 08:00, commit 16a6187b39cb)".
fn run_text(run: &RunSummary) -> String {
    let commit = run.commit.as_ref().map(|commit| {
        let short: String = commit.chars().take(COMMIT_SHOWN).collect();
        format!(", commit {short}")
    });
    format!(
        "run {} ({}{})",
        run.short_name(),
        started_text(&run.started),
        commit.unwrap_or_default()
    )
}

/// What was decided about the failures of cases, by the first cause of each.
struct DecidedCauses {
    by_cause: BTreeMap<String, Vec<Decision>>,
}

impl DecidedCauses {
    /// The decisions of a workspace.
    fn new(root: &Path) -> DecidedCauses {
        let mut by_cause: BTreeMap<String, Vec<Decision>> = BTreeMap::new();
        for decision in read_decisions(root) {
            by_cause
                .entry(decision.finding.clone())
                .or_default()
                .push(decision);
        }
        DecidedCauses { by_cause }
    }

    /// The decisions about a cause: "quarantine 2, comment 3: known bug".
    fn describe(&self, trend: &CauseTrend) -> Option<String> {
        let decisions = self.about(trend)?;
        let mut counts: BTreeMap<DecisionKind, usize> = BTreeMap::new();
        for kind in decisions.iter().filter_map(|decision| decision.kind) {
            *counts.entry(kind).or_default() += 1;
        }
        let counts: Vec<String> = counts
            .iter()
            .map(|(kind, count)| format!("{} {count}", kind.label()))
            .collect();
        let notes: BTreeSet<&str> = decisions.iter().map(|one| one.note.as_str()).collect();
        let note = notes.into_iter().find(|note| !note.is_empty());
        let note = note.map(|note| format!(": {note}")).unwrap_or_default();
        (!counts.is_empty()).then(|| format!("decided: {}{note}", counts.join(", ")))
    }

    fn about(&self, trend: &CauseTrend) -> Option<&Vec<Decision>> {
        self.by_cause.get(&trend.cause.describe())
    }
}

fn causes_json(trends: &CaseTrends, listed: &[ListedCause<'_>], decided: &DecidedCauses) -> Value {
    let run = |at: usize| {
        let run = &trends.runs[at];
        json!({"run_id": run.run_id, "started": run.started, "commit": run.commit})
    };
    let cause = |ListedCause { trend, state }: &ListedCause<'_>| {
        let seen = trend.seen.iter().map(|one| {
            json!({"run_id": trends.runs[one.run].run_id, "cases": one.cases, "attempts": one.attempts})
        });
        let changed = trend.last_without.map(|_| trends.changes_at(trend));
        let decisions = decided.about(trend).into_iter().flatten().map(|one| {
            json!({"file": one.file, "eval_id": one.eval_id, "kind": one.kind, "note": one.note, "until": one.until, "author": one.author, "at": one.at})
        });
        json!({
            "cause": trend.cause.describe(),
            "state": state.name(),
            "cases": trend.cases,
            // Those that did not have it before the latest run in which it was seen.
            "new_cases": trend.joined,
            "first_seen": run(trend.first_seen()),
            "last_seen": run(trend.last_seen()),
            // The first run since which it is there without an end in between.
            "since": run(trend.since),
            "gone": trend.gone.map(run),
            "gone_before": trend.gone_before.map(run),
            // The last run before `since` that evaluated one of its cases.
            "last_without": trend.last_without.map(run),
            "changed": changed,
            "runs": seen.collect::<Vec<_>>(),
            "decisions": decisions.collect::<Vec<_>>(),
        })
    };
    json!({
        "evaltrail": env!("CARGO_PKG_VERSION"),
        "runs": trends.runs.len(),
        "is_complete": trends.is_complete,
        "causes": listed.iter().map(cause).collect::<Vec<_>>(),
    })
}
