//! `evaltrail check`: checks files for errors, and for what ADK would refuse or lose.

use super::Exit;
use super::addresses::copy_at;
use super::args::ColorWhen;
use super::check_self::check_self;
use super::error_text::error_chain;
use super::malformed::{excerpt_of, readable_text};
use super::output::{paint, print_line, print_note};
use super::paths::adk_results_text;
use super::subcommand::CliCommand;
use clap::Args;
use evaltrail_core::domain::counted;
use evaltrail_core::domain::{CaseNotes, Criterion, Status, clean_line};
use evaltrail_core::formats::adk::{Issue, KnownNames, Severity, check_text};
use evaltrail_core::formats::json::position;
use evaltrail_core::formats::{
    AGENTS_CLI_CONFIGS, ColumnMap, ConfiguredKind, ConfiguredMetric, FileHints, FileProblem, Notes,
    check_rows, read_agents_cli_config, read_drafts, what_bytes_are,
};
use evaltrail_core::metrics::{usable, wrong_rule};
use evaltrail_engine::config::FILE_NAME;
use evaltrail_engine::report::Paint;
use evaltrail_engine::runner::RunIdentity;
use evaltrail_engine::store::read_start;
use evaltrail_engine::stubs::{StubError, StubFile, StubLine};
use evaltrail_engine::workspace::{
    DRAFTS_ENDING, NOTES_ENDING, STUBS_ENDING, SetPath, SetProblem, Workspace, drafts_path,
    notes_path, open_set, read_set_text, read_text, stubs_path,
};
use serde_json::Value;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Check files for errors, and for what ADK would reject or drop
#[derive(Args, Debug)]
pub(super) struct CheckArgs {
    /// Files or folders
    #[arg(default_value = ".")]
    pub(super) paths: Vec<PathBuf>,
    /// Read these columns of data sets as those that evaltrail knows, e.g. prompt=question,reference=answer
    #[arg(long, value_name = "KNOWN=NAME,...", value_parser = ColumnMap::parse, default_value = "", hide_default_value = true)]
    pub(super) columns: ColumnMap,
    /// Treat what ADK would refuse as an error
    #[arg(long)]
    pub(super) strict: bool,
    /// Score what each case expects as if an agent had done it: find cases that such an agent does not pass, that an agent passes
    /// which does something else, and that contradict each other. Nothing is run; metrics of judges and programs are left out
    #[arg(long = "self")]
    pub(super) against_itself: bool,
}

impl CliCommand for CheckArgs {
    const NAME: &'static str = "check";

    fn copy_inputs(&mut self) -> anyhow::Result<()> {
        self.paths.iter_mut().try_for_each(copy_at)
    }

    fn run(self) -> anyhow::Result<Exit> {
        check(self)
    }
}

pub(super) fn check(args: CheckArgs) -> anyhow::Result<Exit> {
    let paint = paint(ColorWhen::Auto);
    let mut files = Vec::new();
    let (mut unreadable, mut sets_read) = (0, 0);
    for path in &args.paths {
        match files_of(path, &args.columns) {
            Ok((found, of_sets, names)) => {
                let names = Arc::new(names);
                sets_read += of_sets;
                files.extend(found.into_iter().map(|set| (set, names.clone())));
            }
            Err(error) => {
                let error = error.context(path.display().to_string());
                print_line(&error_chain(&error));
                unreadable += 1;
            }
        }
    }
    let mut counts = [0usize; 3];
    for (config, issue) in rules_of(&args.paths) {
        counts[issue.severity as usize] += 1;
        print_line(&line(&config, &issue, paint));
    }
    let sets: Vec<SetPath> = files.iter().map(|(set, _)| set.clone()).collect();
    for (file, names) in &files {
        let issues = issues_of(file, &sets, names.as_known());
        print_issues(file, &issues, &mut counts, paint);
    }
    let [errors, refused, warnings] = counts;
    let errors = errors + unreadable;
    print_line(&format!(
        "{} checked{}: {}, {} refused by ADK, {}",
        counted(files.len(), "file"),
        of_which_sets(sets_read, files.len()),
        counted(errors, "error"),
        refused,
        counted(warnings, "warning")
    ));
    let wrong = errors > 0 || (args.strict && refused > 0);
    let of_cases = match args.against_itself {
        true => check_self(&args.paths, &args.columns, paint),
        false => Exit::Success,
    };
    Ok(if wrong { Exit::UsageError } else { of_cases })
}

/// How many of the files are eval sets; empty if all are.
fn of_which_sets(sets: usize, files: usize) -> String {
    match sets == files {
        true => String::new(),
        false => format!(" ({})", counted(sets, "eval set")),
    }
}

/// The maximum number of errors of a file whose lines are shown.
const MAX_EXCERPTS: usize = 20;

/// Prints the issues of a file, and counts them by severity.
fn print_issues(file: &SetPath, issues: &[Issue], counts: &mut [usize; 3], paint: Paint) {
    let has_errors = issues.iter().any(|issue| issue.severity == Severity::Error);
    let text = has_errors.then(|| readable_text(&file.path)).flatten();
    let mut excerpts = 0;
    for issue in issues {
        counts[issue.severity as usize] += 1;
        print_line(&line(&file.path, issue, paint));
        if issue.severity == Severity::Error
            && excerpts < MAX_EXCERPTS
            && let Some(text) = &text
            && let Some(excerpt) = excerpt_of(text, issue.line, issue.column)
        {
            print_line(&excerpt);
            excerpts += 1;
        }
    }
}

/// The rules of `[[match]]` that cannot be applied, with the configuration that contains them.
fn rules_of(paths: &[PathBuf]) -> Vec<(PathBuf, Issue)> {
    let mut found: Vec<(PathBuf, Issue)> = Vec::new();
    for workspace in paths.iter().filter_map(|path| Workspace::open(path).ok()) {
        let config = workspace.root.join(FILE_NAME);
        if found.iter().any(|(known, _)| *known == config) {
            continue;
        }
        let text = read_text(&config).unwrap_or_default();
        let starts = text
            .lines()
            .enumerate()
            .filter(|(_, line)| line.trim_start().starts_with("[[match]]"));
        let lines: Vec<usize> = starts.map(|(at, _)| at + 1).collect();
        for (at, rule) in workspace.config.rules.iter().enumerate() {
            let Some(message) = wrong_rule(rule) else {
                continue;
            };
            let line = lines.get(at).copied().unwrap_or(1);
            let path = format!("match[{at}]");
            let issue = Issue {
                severity: Severity::Error,
                line,
                column: 1,
                path,
                message,
            };
            found.push((config.clone(), issue));
        }
    }
    found
}

/// What a workspace defines.
struct DefinedNames {
    metrics: Vec<String>,
    agents: Vec<String>,
}

impl DefinedNames {
    fn new(workspace: &Workspace) -> DefinedNames {
        let metrics = workspace.config.metrics.iter();
        let served: Vec<Option<&str>> = workspace
            .config
            .agents
            .values()
            .map(|agent| agent.app())
            .collect();
        // An agent without an application may serve several, whose names are not known.
        let agents = match served.contains(&None) {
            true => Vec::new(),
            false => {
                let mut names = workspace.agent_names();
                names.extend(served.into_iter().flatten().map(str::to_string));
                names.sort_unstable();
                names.dedup();
                names
            }
        };
        DefinedNames {
            metrics: metrics.map(|metric| metric.name.clone()).collect(),
            agents,
        }
    }

    fn as_known(&self) -> KnownNames<'_> {
        KnownNames {
            metrics: &self.metrics,
            agents: &self.agents,
        }
    }
}

/// The files to check: a file with any name and those beside it, or the eval sets, tests and configs of a folder.
/// With the names that their workspace defines.
fn files_of(
    path: &Path,
    columns: &ColumnMap,
) -> anyhow::Result<(Vec<SetPath>, usize, DefinedNames)> {
    let workspace = Workspace::open_with(path, columns)?;
    if let Some(words) = adk_results_text(&workspace) {
        print_note(&words);
    }
    let names = DefinedNames::new(&workspace);
    let other = |path: PathBuf| SetPath::of_file(&path, &workspace.root);
    if path.is_file() {
        let set = SetPath {
            path: path.to_path_buf(),
            ..workspace.set_path(path)
        };
        let files = [set].into_iter().chain(sidecar_files(path).map(other));
        return Ok((files.collect(), 1, names));
    }
    let mut files = workspace.sets.clone();
    let of_sets = files.len();
    let mut folders: Vec<PathBuf> = files
        .iter()
        .filter_map(|file| file.path.parent().map(Path::to_path_buf))
        .collect();
    folders.dedup();
    let config_names = || CONFIGS.iter().chain(AGENTS_CLI_CONFIGS);
    let configs = folders
        .into_iter()
        .flat_map(|folder| config_names().map(move |name| folder.join(name)));
    let sidecars: Vec<SetPath> = files
        .iter()
        .flat_map(|file| sidecar_files(&file.path).map(other))
        .collect();
    files.extend(configs.filter(|config| config.is_file()).map(other));
    files.extend(sidecars);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path);
    Ok((files, of_sets, names))
}

/// The files of criteria of ADK.
const CONFIGS: &[&str] = &["test_config.json"];

/// The notes, the stubs and the drafts of a set that exist.
fn sidecar_files(set: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    [notes_path(set), stubs_path(set), drafts_path(set)]
        .into_iter()
        .filter(|file| file.is_file())
}

fn issue_of_problem(problem: FileProblem) -> Issue {
    let FileProblem {
        line,
        column,
        path,
        expected,
        found,
    } = problem;
    Issue {
        severity: Severity::Error,
        line,
        column,
        path,
        message: format!("expected {expected}, found {found}"),
    }
}

/// The problems of a file. `files` has the sets beside which it lies.
fn issues_of(set: &SetPath, files: &[SetPath], names: KnownNames<'_>) -> Vec<Issue> {
    let file = &set.path;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let endings = [NOTES_ENDING, STUBS_ENDING, DRAFTS_ENDING];
    let is_beside = endings.iter().any(|ending| name.ends_with(ending));
    if let Some(issue) = other_kind(set).filter(|_| !is_beside) {
        return vec![issue];
    }
    match read_set_text(file) {
        Ok(text) if name.ends_with(NOTES_ENDING) => match Notes::open(text.into()) {
            Ok(notes) => issues_of_notes(
                &notes,
                files.iter().filter(|set| notes_path(&set.path) == *file),
            ),
            Err(problem) => vec![issue_of_problem(problem)],
        },
        Ok(text) if name.ends_with(DRAFTS_ENDING) => {
            let problem = read_drafts(&text).err();
            problem.map(issue_of_problem).into_iter().collect()
        }
        // A config has no rows, even if its text resembles them.
        Ok(text) if name.ends_with(STUBS_ENDING) => match StubFile::parse(&text) {
            Ok(stubs) => stubs_of_no_case(
                &stubs,
                files.iter().filter(|set| stubs_path(&set.path) == *file),
            ),
            Err(error) => vec![stub_issue(Severity::Error, error)],
        },
        Ok(text) if name == "test_config.json" => check_text(&text, &name, names),
        Ok(text) if AGENTS_CLI_CONFIGS.contains(&&*name) => issues_of_agents_cli(&text),
        Ok(text) => check_rows(&text, &FileHints::named(&name, set.columns.clone()))
            .unwrap_or_else(|| check_text(&text, &name, names)),
        Err(error) => vec![Issue {
            severity: Severity::Error,
            line: 1,
            column: 1,
            path: String::new(),
            message: error.to_string(),
        }],
    }
}

/// The metrics in a config of agents-cli that cannot be computed here.
fn issues_of_agents_cli(text: &str) -> Vec<Issue> {
    let issue = |severity, message: String| Issue {
        severity,
        line: 1,
        column: 1,
        path: String::new(),
        message,
    };
    let metrics = match read_agents_cli_config(text) {
        Ok(metrics) => metrics,
        Err(why) => return vec![issue(Severity::Error, why)],
    };
    let unavailable = |metric: ConfiguredMetric| match metric.kind {
        ConfiguredKind::Unavailable(why) => Some(issue(
            Severity::Warning,
            format!("{}: not evaluated: {why}", metric.name),
        )),
        ConfiguredKind::Known(name) => {
            let why = usable(&Criterion::new(&name, None)).err()?;
            Some(issue(
                Severity::Warning,
                format!("{}: not evaluated: {why}", metric.name),
            ))
        }
        _ => None,
    };
    metrics.into_iter().filter_map(unavailable).collect()
}

/// A file that is no text of cases, or that looks like data and has no known column: what it is, or what it lacks.
fn other_kind(set: &SetPath) -> Option<Issue> {
    let name = set.path.file_name().unwrap_or_default().to_string_lossy();
    let kind = what_bytes_are(&name, &read_start(&set.path, 4).unwrap_or_default());
    let (severity, problem) = match kind {
        Some(kind) if !set.is_unknown_data => (Severity::Error, SetProblem::OtherKind(kind)),
        _ if !set.is_unknown_data => return None,
        _ => (Severity::Warning, open_set(set).err()?),
    };
    let (line, column, message) = match problem {
        SetProblem::Content(problem) => (
            problem.line,
            problem.column,
            format!("expected {}, found {}", problem.expected, problem.found),
        ),
        other => (1, 1, other.to_string()),
    };
    Some(Issue {
        severity,
        line,
        column,
        path: String::new(),
        message,
    })
}

/// The stubs that are for a case that none of the sets has: they answer nothing.
fn stubs_of_no_case<'a>(stubs: &StubFile, sets: impl Iterator<Item = &'a SetPath>) -> Vec<Issue> {
    let known = ids_of(sets);
    let unknown = |line: &StubLine| {
        let case = line.case().filter(|case| !known.contains(*case))?;
        let message = format!("the set has no case {case:?}, so this line answers nothing");
        Some(stub_issue(
            Severity::Warning,
            StubError {
                line: line.number,
                message,
            },
        ))
    };
    if known.is_empty() {
        Vec::new()
    } else {
        stubs.lines.iter().filter_map(unknown).collect()
    }
}

/// The ids of the cases of these sets. Empty if a set cannot be read: its own problem is reported then.
fn ids_of<'a>(sets: impl Iterator<Item = &'a SetPath>) -> HashSet<String> {
    let mut known = HashSet::new();
    for set in sets {
        match open_set(set) {
            Ok(opened) => known.extend(opened.file.eval_ids().map(|id| id.into_owned())),
            Err(_) => return HashSet::new(),
        }
    }
    known
}

/// The notes on cases that none of the sets has, and the quarantines that have ended: they have no effect.
fn issues_of_notes<'a>(notes: &Notes, sets: impl Iterator<Item = &'a SetPath>) -> Vec<Issue> {
    let known = ids_of(sets);
    let today = RunIdentity::now()
        .started
        .get(..10)
        .unwrap_or_default()
        .to_string();
    let has_ended = |of: &&CaseNotes| of.quarantine.as_ref().is_some_and(|one| one.until < today);
    let mut issues = Vec::new();
    for (id, of) in &notes.cases {
        let message = if !known.is_empty() && !known.contains(id) {
            format!("the set has no case {id:?}, so these notes have no effect")
        } else if let Some(ended) = Some(of)
            .filter(has_ended)
            .and_then(|of| of.quarantine.as_ref())
        {
            format!(
                "the quarantine of {id:?} ended on {}: its failures count again",
                ended.until
            )
        } else {
            continue;
        };
        let found = notes
            .text
            .as_deref()
            .and_then(|text| Some((text, text.find(&Value::from(id.as_str()).to_string())?)));
        let (line, column) = found.map_or((1, 1), |(text, at)| position(text, at));
        let path = String::new();
        issues.push(Issue {
            severity: Severity::Warning,
            line,
            column,
            path,
            message,
        });
    }
    issues
}

fn stub_issue(severity: Severity, error: StubError) -> Issue {
    Issue {
        severity,
        line: error.line,
        column: 1,
        path: String::new(),
        message: error.message,
    }
}

fn line(file: &Path, issue: &Issue, paint: Paint) -> String {
    let (word, status) = match issue.severity {
        Severity::Error => ("error", Status::Failed),
        Severity::Refused => ("refused", Status::Errored),
        Severity::Warning => ("warning", Status::NotEvaluated),
    };
    let path = if issue.path.is_empty() {
        String::new()
    } else {
        format!("{}: ", issue.path)
    };
    format!(
        "{}:{}:{}: {}: {}{}",
        clean_line(&file.display().to_string()),
        issue.line,
        issue.column,
        paint.status(status, word),
        clean_line(&path),
        clean_line(&issue.message)
    )
}
