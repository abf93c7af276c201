//! The arguments of `evaltrail run` in the order of `adk eval`: the agent's folder first, then its sets.

use super::args::RunArgs;
use super::output::print_note;
use super::paths::parse_target;
use evaltrail_core::domain::clean_line;
use evaltrail_engine::workspace::is_agent;
use std::path::{Path, PathBuf};

/// The arguments with the agent's folder as `--agent`, if they begin with one and sets follow: then only these sets are
/// run, as by `adk eval`. A set can also be named by its id, if it is in the folder.
pub(super) fn with_agent(mut args: RunArgs) -> RunArgs {
    let paths = &args.cases.paths;
    let Some((agent, sets)) = paths.split_first().filter(|(_, sets)| !sets.is_empty()) else {
        return args;
    };
    let folder = Path::new(agent);
    if args.agent.is_some() || !is_agent(folder) {
        return args;
    }
    let sets: Option<Vec<String>> = sets.iter().map(|set| set_of(folder, set)).collect();
    let Some(sets) = sets else { return args };
    let shown = sets.join(" ");
    print_note(&format!(
        "only {} is run, with the agent {}",
        clean_line(&shown),
        clean_line(agent)
    ));
    args.agent = Some(agent.clone());
    args.cases.paths = sets;
    args
}

/// A set that is named by its file or by its id, with its cases; `None` if it is neither.
fn set_of(folder: &Path, named: &str) -> Option<String> {
    let target = parse_target(named);
    if target.path.is_file() {
        return Some(named.to_string());
    }
    let by_id: PathBuf = folder.join(format!("{}.evalset.json", target.path.display()));
    let cases = if target.ids.is_empty() {
        String::new()
    } else {
        format!(":{}", target.ids.join(","))
    };
    by_id
        .is_file()
        .then(|| format!("{}{cases}", by_id.display()))
}
