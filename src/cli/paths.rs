//! Parses `PATH[:id,id]`, and finds the files and cases.

use super::addresses::title_of_copy;
use super::args::CaseArgs;
use super::output::print_note;
use super::program::program;
use anyhow::{Context, bail};
use evaltrail_core::domain::stored_path::path_below;
use evaltrail_core::domain::{clean_line, counted, most_similar};
use evaltrail_core::formats::ColumnMap;
use evaltrail_core::formats::adk::app_of_result;
use evaltrail_engine::report::shell_word;
use evaltrail_engine::runner::{Selection, app_dirs};
use evaltrail_engine::store::read_text_file;
use evaltrail_engine::workspace::{SetPath, Workspace};
use std::io::Read;
use std::path::{Path, PathBuf};

/// A path, and the cases after the colon.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CasePath {
    pub(super) path: PathBuf,
    pub(super) ids: Vec<String>,
}

/// Splits at the colon after the longest existing path. If no part is an existing path, splits at the first colon that does
/// not follow a drive letter.
pub(super) fn parse_target(text: &str) -> CasePath {
    split_target(text, |path| path.exists())
}

fn split_target(text: &str, exists: impl Fn(&Path) -> bool) -> CasePath {
    let whole = || CasePath {
        path: PathBuf::from(text),
        ids: Vec::new(),
    };
    if exists(Path::new(text)) {
        return whole();
    }
    let has_drive =
        text.as_bytes().get(1) == Some(&b':') && text.as_bytes()[0].is_ascii_alphabetic();
    let is_after_drive = |at: &usize| *at != 1 || !has_drive;
    let colons: Vec<usize> = text
        .match_indices(':')
        .map(|(at, _)| at)
        .filter(is_after_drive)
        .collect();
    // `C:x` is a drive on Windows only; elsewhere it may be a file with a case.
    let only_drive = (has_drive && !cfg!(windows)).then_some(1);
    let of_path = |at: &&usize| exists(Path::new(&text[..**at]));
    let longest = colons
        .iter()
        .rev()
        .find(of_path)
        .or(only_drive.as_ref().filter(of_path));
    match longest.or(colons.first()).or(only_drive.as_ref()) {
        None => whole(),
        Some(&at) => CasePath {
            path: PathBuf::from(&text[..at]),
            ids: text[at + 1..]
                .split(',')
                .map(str::trim)
                .filter(|id| !id.is_empty())
                .map(str::to_string)
                .collect(),
        },
    }
}

/// The targets of a command, with the ids of the cases from `--ids`. Errors: they cannot be read, or the targets select cases
/// already.
pub(super) fn targets(cases: &CaseArgs) -> anyhow::Result<Vec<CasePath>> {
    let mut targets: Vec<CasePath> = cases.paths.iter().map(|path| parse_target(path)).collect();
    let Some(file) = &cases.ids else {
        return Ok(targets);
    };
    let ids = ids_in(file).with_context(|| format!("--ids {}", file.display()))?;
    if ids.is_empty() || targets.iter().any(|target| !target.ids.is_empty()) {
        bail!(
            "--ids {}: it needs at least one id, and paths without ids",
            file.display()
        );
    }
    targets
        .iter_mut()
        .for_each(|target| target.ids = ids.clone());
    Ok(targets)
}

/// The ids in a JSON array of texts; `-` is standard input.
fn ids_in(file: &Path) -> anyhow::Result<Vec<String>> {
    match file == Path::new("-") {
        true => Ok(serde_json::from_reader(
            std::io::stdin().take(MAX_IDS_FILE),
        )?),
        false => Ok(serde_json::from_str(&read_text_file(file, MAX_IDS_FILE)?)?),
    }
}

/// The maximum length of the ids, in bytes.
const MAX_IDS_FILE: u64 = 256 << 20;

/// How commands name a workspace: as an address if it is a copy, and as a path that is relative if it is short.
pub(super) fn workspace_argument(root: &Path) -> String {
    if let Some(address) = title_of_copy(root) {
        return shell_word(&address);
    }
    let current = std::env::current_dir()
        .ok()
        .and_then(|folder| dunce::canonicalize(folder).ok());
    let root = dunce::canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
    match current {
        // From inside of a workspace, it is found.
        Some(current) if current.starts_with(&root) => ".".into(),
        Some(current) => {
            let below = root.strip_prefix(&current).unwrap_or(&root);
            path_word(below)
        }
        None => path_word(&root),
    }
}

/// A path as a word of a command of evaltrail, where a folder with the name of a subcommand is not taken for it.
pub(super) fn path_word(path: &Path) -> String {
    let shown = path.display().to_string();
    let is_subcommand = program().get_subcommands().any(|command| {
        command.get_name() == shown || command.get_all_aliases().any(|alias| alias == shown)
    });
    match is_subcommand || shown == "help" || shown.starts_with('-') {
        true => shell_word(&format!("./{shown}")),
        false => shell_word(&shown),
    }
}

/// The subcommand that a misspelled one probably means.
pub(super) fn similar_subcommand(word: &str) -> Option<String> {
    if word.contains(['.', '/', '\\', ':']) {
        return None;
    }
    let command = program();
    let names = command.get_subcommands().map(|command| command.get_name());
    // A longer word is a name of its own: `newsdesk` is not `new`.
    let names = names.filter(|name| name.len().abs_diff(word.len()) <= 1);
    most_similar(word, names).map(str::to_string)
}

/// Opens the targets as one workspace. Targets with the same file become one selection: if only one of them has cases,
/// only those are selected, as in `adk eval`. `saved`: the files are scored, not run.
pub(super) fn open_targets(
    targets: &[CasePath],
    saved: bool,
    columns: &ColumnMap,
) -> anyhow::Result<(Workspace, Vec<Selection>)> {
    let mut workspace: Option<Workspace> = None;
    let mut selections: Vec<Selection> = Vec::new();
    for target in targets {
        let opened = Workspace::open_with(&target.path, columns)?;
        opened
            .unreadable
            .iter()
            .for_each(|problem| print_note(&clean_line(problem)));
        let (unknown, known): (Vec<&SetPath>, Vec<&SetPath>) =
            opened.sets.iter().partition(|set| set.is_unknown_data);
        print_unknown(&unknown);
        if known.is_empty() {
            bail!("{}: {}", target.path.display(), no_sets_text(&opened));
        }
        let meant = choose_sets(&known, target.path.is_dir(), saved);
        print_left_out(&known, &meant, saved);
        for set in meant {
            match selections
                .iter_mut()
                .find(|selection| selection.set.path == set.path)
            {
                Some(known) => known.ids.extend(target.ids.clone()),
                None => selections.push(Selection {
                    ids: target.ids.clone(),
                    ..Selection::all(set.clone())
                }),
            }
        }
        workspace = Some(match workspace {
            None => opened,
            Some(before) => join(before, opened),
        });
    }
    let workspace = workspace.context("no path was given")?;
    if targets.len() > 1 {
        for selection in &mut selections {
            let path = &selection.set.path;
            selection.set.shown = path_below(&workspace.root, path);
        }
    }
    Ok((workspace, selections))
}

/// The message for a folder without eval sets.
pub(super) fn no_sets_text(workspace: &Workspace) -> String {
    let results = adk_results_text(workspace);
    format!(
        "no eval sets here; evaltrail looks for *.evalset.json, *.test.json and data sets (.jsonl, .csv, .json){}",
        results
            .map(|words| format!("; {words}"))
            .unwrap_or_default()
    )
}

/// How many results of ADK are in the opened folder, and where they belong. `None` if there are none, or if they are read with
/// the sets beside them.
pub(super) fn adk_results_text(workspace: &Workspace) -> Option<String> {
    let read = app_dirs(workspace);
    let app_of = |result: &PathBuf| {
        let app = app_of_result(result)?;
        read.iter().find(|known| known.as_path() == app)
    };
    let results = &workspace.adk_results;
    let (of_apps, elsewhere): (Vec<&PathBuf>, Vec<&PathBuf>) =
        results.iter().partition(|result| app_of(result).is_some());
    let mut apps: Vec<&PathBuf> = of_apps.into_iter().filter_map(app_of).collect();
    apps.dedup();
    match (elsewhere.len(), &apps[..]) {
        (0, []) => None,
        (0, _) if !workspace.sets.is_empty() => None,
        (0, [app]) => {
            let folder = match workspace_argument(app) {
                inside if inside == "." => path_word(app),
                folder => folder,
            };
            let count = counted(results.len(), "result");
            Some(format!(
                "{count} of ADK, read with the agent in {folder} (`evaltrail runs {folder}`)"
            ))
        }
        (0, apps) => Some(format!(
            "{} of ADK, read with their {} agents (`evaltrail runs`)",
            counted(results.len(), "result"),
            apps.len()
        )),
        (count, _) => Some(format!(
            "{} of ADK not read: results are read from <agent folder>/.adk/eval_history",
            counted(count, "result")
        )),
    }
}

/// Prints which files of a folder look like data and are not read.
fn print_unknown(unknown: &[&SetPath]) {
    let Some(first) = unknown.first() else { return };
    let more = if unknown.len() > 1 {
        format!(" and {} more", unknown.len() - 1)
    } else {
        String::new()
    };
    print_note(&format!(
        "not read: {}{more}; `evaltrail check` tells why",
        clean_line(&first.shown)
    ));
}

/// Prints which sets of a folder are not run, or not scored, and which command handles them.
fn print_left_out(sets: &[&SetPath], meant: &[&SetPath], saved: bool) {
    let left_out = || {
        sets.iter()
            .filter(|set| meant.iter().all(|other| other.path != set.path))
    };
    let Some(first) = left_out().next() else {
        return;
    };
    let more = match left_out().count() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let first = clean_line(&first.shown);
    print_note(&match saved {
        false => {
            format!("not run: {first}{more}, with saved responses; `evaltrail score` scores them")
        }
        true => {
            format!("not scored: {first}{more}, without saved responses; `evaltrail run` runs them")
        }
    });
}

/// The sets to use. `run` uses the eval sets of a folder, and `score` its data sets; all sets if there are none of that
/// kind. A file that is named is always used.
fn choose_sets<'a>(sets: &[&'a SetPath], folder: bool, saved: bool) -> Vec<&'a SetPath> {
    let fitting: Vec<&SetPath> = sets
        .iter()
        .copied()
        .filter(|set| set.is_data() == saved)
        .collect();
    match folder && !fitting.is_empty() {
        true => fitting,
        false => sets.to_vec(),
    }
}

/// Joins two workspaces. The root of the result contains both.
fn join(mut a: Workspace, b: Workspace) -> Workspace {
    let root = a
        .root
        .ancestors()
        .find(|folder| b.root.starts_with(folder))
        .map(Path::to_path_buf);
    a.root = root.unwrap_or(a.root);
    for agent in b.agents {
        if !a.agents.contains(&agent) {
            a.agents.push(agent);
        }
    }
    if a.config == Default::default() {
        a.config = b.config;
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_stand_after_the_colon() {
        let target = parse_target("dir/x.evalset.json:a, b,");
        assert_eq!(
            target,
            CasePath {
                path: "dir/x.evalset.json".into(),
                ids: vec!["a".into(), "b".into()]
            }
        );
        assert_eq!(parse_target("dir").ids, Vec::<String>::new());
    }

    #[test]
    fn the_longest_existing_path_is_the_file() {
        let target = |path: &str, ids: &[&str]| CasePath {
            path: path.into(),
            ids: ids.iter().map(|id| id.to_string()).collect(),
        };
        let there = [
            "C:/sets/day:1.evalset.json",
            "a:b/x.json",
            "a",
            "x.json",
            "a:b/x.json:c",
        ];
        let split =
            |text: &str| split_target(text, |path| there.iter().any(|one| path == Path::new(one)));
        assert_eq!(
            split("C:/sets/day:1.evalset.json:plain"),
            target(there[0], &["plain"])
        );
        assert_eq!(split("C:/sets/day:1.evalset.json"), target(there[0], &[]));
        assert_eq!(
            split("a:b/x.json:c:d,e"),
            target("a:b/x.json:c", &["d", "e"])
        );
        assert_eq!(split("a:b/x.json:d"), target("a:b/x.json", &["d"]));
        assert_eq!(split("x.json:case:1"), target("x.json", &["case:1"]));
        assert_eq!(
            split("C:\\sets\\x.json:case1"),
            target("C:\\sets\\x.json", &["case1"])
        );
        assert_eq!(
            split("missing.json:case1"),
            target("missing.json", &["case1"])
        );
        #[cfg(not(windows))]
        assert_eq!(split("a:case1"), target("a", &["case1"]));
    }

    #[test]
    fn folder_named_like_subcommand_gets_dot_slash() {
        crate::cli::describe();
        let word = |path: &str| path_word(Path::new(path));
        assert_eq!(
            ["agents", "run", "help", "-x"].map(word),
            ["./agents", "./run", "./help", "./-x"]
        );
        assert_eq!(
            ["desk", "agents/desk", "my agents"].map(word),
            ["desk", "agents/desk", "'my agents'"]
        );
        for command in program().get_subcommands() {
            assert_eq!(
                word(command.get_name()),
                format!("./{}", command.get_name())
            );
        }
    }
}
