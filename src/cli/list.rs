//! `evaltrail list`: lists the agents, eval sets and cases of a folder.

use super::Exit;
use super::addresses::copy_target;
use super::args::ColorWhen;
use super::output::{json_output, paint, print_line, print_note};
use super::paths::{CasePath, adk_results_text, no_sets_text, parse_target};
use super::result_text::{count_other_in_adk, has_mixed_criteria, newest_of_adk, result_text};
use super::subcommand::CliCommand;
use clap::Args;
use evaltrail_core::domain::{InMemory, Status, clean_line, did_you_mean};
use evaltrail_core::formats::ColumnMap;
use evaltrail_core::formats::SetFile;
use evaltrail_engine::history::{CaseResult, History, PastResult, PastResults, case_results};
use evaltrail_engine::report::Paint;
use evaltrail_engine::runner::{history_of, past_results, unreadable_text};
use evaltrail_engine::workspace::{
    OpenSet, SetPath, SetProblem, Workspace, named_path, open_full_set, read_notes,
};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::path::Path;
use unicode_width::UnicodeWidthStr;

/// List eval sets, cases, agents and the latest results
#[derive(Args, Debug)]
pub(super) struct ListArgs {
    /// Folder or file; PATH:id,id lists only these cases
    #[arg(default_value = ".", value_name = "PATH[:ID,ID]")]
    pub(super) path: String,
    /// Read these columns of data sets as those that evaltrail knows, e.g. prompt=question,reference=answer
    #[arg(long, value_name = "KNOWN=NAME,...", value_parser = ColumnMap::parse, default_value = "", hide_default_value = true)]
    pub(super) columns: ColumnMap,
    /// List the cases as well
    #[arg(long)]
    pub(super) cases: bool,
    /// Print the list as JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl CliCommand for ListArgs {
    const NAME: &'static str = "list";

    fn copy_inputs(&mut self) -> anyhow::Result<()> {
        copy_target(&mut self.path)
    }

    fn run(self) -> anyhow::Result<Exit> {
        list(self)
    }
}

/// A set, and its content or why it cannot be read.
type SetOrProblem<'a> = (&'a SetPath, Result<OpenSet, SetProblem>);

/// The sets of a workspace with their latest results.
struct ListedSets<'a> {
    sets: Vec<SetOrProblem<'a>>,
    past: PastResults,
    history: History,
}

impl<'a> ListedSets<'a> {
    /// Errors: an id in `target` is not that of a case.
    fn read(workspace: &'a Workspace, target: &CasePath) -> anyhow::Result<ListedSets<'a>> {
        let open = |set: &'a SetPath| (set, open_full_set(set));
        let sets: Vec<SetOrProblem> = workspace.sets.iter().map(open).collect();
        check_ids(&sets, target)?;
        let files: Vec<(&SetPath, &SetFile)> = sets
            .iter()
            .filter_map(|(set, open)| Some((*set, &open.as_ref().ok()?.file)))
            .collect();
        let past = past_results(workspace, &files, InMemory::Summary);
        Ok(ListedSets {
            sets,
            past,
            history: history_of(workspace),
        })
    }

    /// An error if a file that must be a set cannot be read.
    fn exit(&self) -> Exit {
        let is_unreadable = |(set, open): &SetOrProblem| open.is_err() && !set.is_unknown_data;
        match self.sets.iter().any(is_unreadable) {
            true => Exit::UsageError,
            false => Exit::Success,
        }
    }
}

pub(super) fn list(args: ListArgs) -> anyhow::Result<Exit> {
    let target = parse_target(&args.path);
    let workspace = Workspace::open_with(&target.path, &args.columns)?;
    let opened = named_path(&target.path).unwrap_or_else(|_| workspace.root.clone());
    let is_listed = |path: &Path| path.starts_with(&opened) || opened.starts_with(path);
    let listing = ListedSets::read(&workspace, &target)?;
    if args.json {
        return list_json(&args, &target, &workspace, &listing, is_listed);
    }
    let paint = paint(ColorWhen::Auto);
    if list_agents(&workspace, &listing.history, is_listed, paint) {
        list_sets(&args, &target, &workspace, &listing, paint);
        return Ok(listing.exit());
    }
    Ok(Exit::Success)
}

fn list_sets(
    args: &ListArgs,
    target: &CasePath,
    workspace: &Workspace,
    listing: &ListedSets,
    paint: Paint,
) {
    for problem in &workspace.unreadable {
        print_note(&clean_line(problem));
    }
    for error in &listing.past.unreadable {
        print_note(&unreadable_text(error));
    }
    let widths = Widths::of_sets(&listing.sets);
    if !listing.sets.is_empty() {
        print_line(&paint.bold("eval sets"));
    }
    for (set, open) in &listing.sets {
        match open {
            Ok(open) => list_set(
                set,
                open,
                &listing.past.results,
                &listing.history,
                cases_of(args, target),
                paint,
                widths,
            ),
            Err(error) => {
                let why = paint.status(Status::Errored, &clean_line(&error.to_string()));
                let name = pad_to_width(&set.shown, widths.name);
                print_line(&format!("  {name}  {why}"));
            }
        }
    }
    match adk_results_text(workspace) {
        _ if workspace.sets.is_empty() => {
            print_line(&no_sets_text(workspace));
        }
        Some(words) => print_note(&words),
        None => {}
    }
}

/// The widths of the columns of sets.
#[derive(Clone, Copy)]
struct Widths {
    /// Of the file, in columns.
    name: usize,
    /// Of the number of cases, in digits.
    count: usize,
}

impl Widths {
    fn of_sets(opened: &[SetOrProblem]) -> Widths {
        /// A longer name shifts only its own line.
        const MAX_NAME: usize = 60;
        let names = opened
            .iter()
            .map(|(set, _)| clean_line(&set.shown).width())
            .filter(|width| *width <= MAX_NAME);
        let counts = opened
            .iter()
            .filter_map(|(_, open)| Some(open.as_ref().ok()?.file.len().to_string().len()));
        Widths {
            name: names.max().unwrap_or(0),
            count: counts.max().unwrap_or(0),
        }
    }
}

/// A text with spaces up to a width.
fn pad_to_width(text: &str, width: usize) -> String {
    let text = clean_line(text);
    let missing = width.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(missing))
}

/// Prints the agents of the configuration, then those in folders. Returns whether they could be printed.
fn list_agents(
    workspace: &Workspace,
    history: &History,
    is_listed: impl Fn(&Path) -> bool,
    paint: Paint,
) -> bool {
    let configured = workspace
        .config
        .agents
        .iter()
        .map(|(name, spec)| (name.as_str(), clean_line(&spec.label()).into_owned()));
    let in_folders = workspace
        .agents
        .iter()
        .filter(|agent| is_listed(&agent.path))
        .map(|agent| {
            let newest = newest_of_adk(history, &agent.path);
            let newest = newest.map(|words| format!("; {words}")).unwrap_or_default();
            let folder = SetPath::of_file(&agent.path, &workspace.root).shown;
            let label = format!("ADK agent in {}{newest}", clean_line(&folder));
            (agent.name.as_str(), label)
        });
    let agents: Vec<(&str, String)> = configured.chain(in_folders).collect();
    if agents.is_empty() {
        return true;
    }
    let width = agents.iter().map(|(name, _)| clean_line(name).width());
    let width = width.max().unwrap_or(0);
    let lines = agents
        .iter()
        .map(|(name, label)| format!("  {}  {}", pad_to_width(name, width), paint.faint(label)));
    print_line(&paint.bold("agents")) && lines.into_iter().all(|line| print_line(&line))
}

/// Which cases are listed: those that the target names, all with `--cases`, or none.
fn cases_of<'t>(args: &ListArgs, target: &'t CasePath) -> Option<&'t [String]> {
    (args.cases || !target.ids.is_empty()).then_some(target.ids.as_slice())
}

/// Whether a case is listed, of those with these ids or, if there are none, of all.
fn is_listed_id(ids: &[String], eval_id: &str) -> bool {
    ids.is_empty() || ids.iter().any(|id| id == eval_id)
}

/// An error if no set has a case that the target names.
fn check_ids(opened: &[SetOrProblem], target: &CasePath) -> anyhow::Result<()> {
    let files = || {
        opened
            .iter()
            .filter_map(|(_, open)| Some(&open.as_ref().ok()?.file))
    };
    let is_known = |id: &&String| files().any(|file| file.positions_of(id).next().is_some());
    match target.ids.iter().find(|id| !is_known(id)) {
        Some(id) => anyhow::bail!(
            "{}: there is no case {id:?}{}",
            target.path.display(),
            did_you_mean(id, files().flat_map(|file| file.eval_ids()))
        ),
        None => Ok(()),
    }
}

/// Prints the list as JSON: agents, and sets with the counts of their latest results; with `--cases` also each case.
fn list_json(
    args: &ListArgs,
    target: &CasePath,
    workspace: &Workspace,
    listing: &ListedSets,
    is_listed: impl Fn(&Path) -> bool,
) -> anyhow::Result<Exit> {
    let of_adk = workspace
        .agents
        .iter()
        .filter(|agent| is_listed(&agent.path));
    let of_adk = of_adk.map(|agent| json!({"name": agent.name, "kind": "ADK agent"}));
    let configured = workspace.config.agents.iter();
    let configured = configured.map(|(name, spec)| json!({"name": name, "kind": spec.label()}));
    let sets = listing.sets.iter().map(|(set, open)| match open {
        Ok(open) => set_json(
            set,
            open,
            &listing.past.results,
            &listing.history,
            cases_of(args, target),
        ),
        Err(error) => json!({"file": set.shown, "eval_set": set.stem, "error": error.to_string()}),
    });
    let unreadable = listing.past.unreadable.iter().chain(&workspace.unreadable);
    let list = json!({
        "evaltrail": env!("CARGO_PKG_VERSION"),
        "agents": of_adk.chain(configured).collect::<Vec<_>>(),
        "sets": sets.collect::<Vec<_>>(),
        "unreadable": unreadable.collect::<Vec<_>>(),
        "adk_results": workspace.adk_results.len(),
    });
    let mut out = json_output();
    serde_json::to_writer_pretty(&mut out, &list)?;
    out.write_all(b"\n")?;
    out.end()?;
    Ok(listing.exit())
}

fn set_json(
    set: &SetPath,
    open: &OpenSet,
    past: &[PastResult],
    history: &History,
    cases: Option<&[String]>,
) -> Value {
    let file = &open.file;
    let notes = read_notes(&set.path).unwrap_or_default();
    let results = case_results((&open.file, Some(&open.digest)), &set.path, &notes, past);
    let count = |status: Status| {
        results
            .iter()
            .filter(|result| result.status() == status)
            .count()
    };
    let runs: BTreeSet<&str> = results
        .iter()
        .map(|result| result.run.id.as_str())
        .collect();
    let mut listed = json!({
        "file": set.shown,
        "eval_set": set.stem,
        "cases": file.len(),
        "passed": count(Status::Passed),
        "failed": count(Status::Failed),
        "errored": count(Status::Errored),
        "not_evaluated": count(Status::NotEvaluated),
        "not_run": file.len().saturating_sub(results.len()),
        "edited_since": results.iter().filter(|result| result.edited).count(),
        "other_status_in_adk": count_other_in_adk(&results, file),
        "foreign": results.iter().filter(|result| result.is_foreign()).count(),
        "runs": runs,
        "different_criteria": has_mixed_criteria(history, set, &results),
        "error": null,
    });
    if let Some(ids) = cases {
        let by_case: HashMap<usize, &CaseResult> = results
            .iter()
            .map(|result| (result.index, result))
            .collect();
        let case = |(at, eval_id): (usize, std::borrow::Cow<'_, str>)| {
            let result = by_case.get(&at);
            json!({
                "eval_id": eval_id,
                "status": result.map(|result| result.status()),
                "run_id": result.map(|result| &result.run.id),
                "edited_since": result.is_some_and(|result| result.edited),
                "error": file.case(at).err().map(|problem| problem.to_string()),
            })
        };
        let chosen = file
            .eval_ids()
            .enumerate()
            .filter(|(_, eval_id)| is_listed_id(ids, eval_id));
        listed["eval_cases"] = chosen.map(case).collect();
    }
    listed
}

fn list_set(
    set: &SetPath,
    open: &OpenSet,
    past: &[PastResult],
    history: &History,
    cases: Option<&[String]>,
    paint: Paint,
    widths: Widths,
) {
    let file = &open.file;
    let notes = read_notes(&set.path).unwrap_or_default();
    let results = case_results((&open.file, Some(&open.digest)), &set.path, &notes, past);
    let count = file.len();
    let cases_word = if count == 1 { "case " } else { "cases" };
    let words = result_text(&results, file, has_mixed_criteria(history, set, &results));
    print_line(&format!(
        "  {}  {count:>width$} {cases_word}  {}",
        pad_to_width(&set.shown, widths.name),
        paint.faint(&words),
        width = widths.count
    ));
    if let Some(ids) = cases {
        let by_case: HashMap<usize, &CaseResult> = results
            .iter()
            .map(|result| (result.index, result))
            .collect();
        for (at, eval_id) in file
            .eval_ids()
            .enumerate()
            .filter(|(_, eval_id)| is_listed_id(ids, eval_id))
        {
            let result = by_case.get(&at);
            let status = result.map(|result| result.status());
            let reason = result
                .and_then(|result| {
                    result
                        .attempts
                        .iter()
                        .find(|one| one.status != Status::Passed)
                })
                .map(|attempt| paint.faint(&format!("  {}", clean_line(&attempt.reason()))))
                .unwrap_or_default();
            let glyph = status.map_or(" ".into(), |status| paint.status(status, status.glyph()));
            let problem = file
                .case(at)
                .err()
                .map(|problem| format!("  unreadable: {problem}"));
            let problem = problem
                .map(|words| paint.status(Status::Errored, &words))
                .unwrap_or_default();
            print_line(&format!(
                "    {glyph} {}{problem}{reason}",
                clean_line(&eval_id)
            ));
        }
    }
}
