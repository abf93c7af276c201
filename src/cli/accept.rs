//! `evaltrail accept`: accepts what the agent did in a run as expected.

use super::Exit;
use super::addresses::copy_at;
use super::find_run::find_run;
use super::output::{print_note, print_patch};
use super::paths::{parse_target, path_word};
use super::subcommand::CliCommand;
use super::write::make_asking;
use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use evaltrail_core::diff::{AcceptablePart, accept_in_case};
use evaltrail_core::domain::counted;
use evaltrail_core::domain::{EndedAttempt, PlannedSet, RunPlan, Status, clean_line, did_you_mean};
use evaltrail_core::formats::{self, Edit, SetFile, unified};
use evaltrail_engine::history::find_case;
use evaltrail_engine::store::{FileAction, FileEdit, LoadedRun};
use evaltrail_engine::workspace::{Workspace, named_path, open_set};
use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

/// Accept what the agent did in a run as expected: shows the change, or writes it with --write
#[derive(Args, Debug)]
pub(super) struct AcceptArgs {
    /// The run: `last`, `previous`, the beginning of its id, or its folder
    pub(super) run: String,
    /// Ids of the cases, also as PATH:ID,ID; by default all that did not pass
    #[arg(value_name = "CASE")]
    pub(super) cases: Vec<String>,
    /// Write the files, instead of showing what would change
    #[arg(long)]
    pub(super) write: bool,
    /// Accept only this part
    #[arg(long, value_enum)]
    pub(super) only: Option<AcceptOnly>,
    /// Number of the attempt
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) attempt: u32,
    /// The folder of the run
    #[arg(long = "in", value_name = "FOLDER", default_value = ".")]
    pub(super) folder: PathBuf,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AcceptOnly {
    Calls,
    Intermediate,
    Response,
}

impl CliCommand for AcceptArgs {
    const NAME: &'static str = "accept";

    fn copy_inputs(&mut self) -> anyhow::Result<()> {
        copy_at(&mut self.folder)
    }

    fn run(self) -> anyhow::Result<Exit> {
        accept(self)
    }
}

pub(super) fn accept(args: AcceptArgs) -> anyhow::Result<Exit> {
    let workspace = Workspace::open(&args.folder)?;
    let run = find_run(&workspace, &args.run)?;
    let chosen = chosen(&run, &args)?;
    let mut left_out = 0;
    let mut jobs = Vec::new();
    let mut count = 0;
    for (set, attempts) in chosen {
        let path = &run.state.plan.sets[set].path;
        let set = workspace.set_path(path);
        let open = open_set(&set).with_context(|| set.shown.clone())?;
        let (edits, refused) = edits_of(&open.file, &run.state.plan, &attempts, args.only);
        left_out += refused;
        count += edits.len();
        let change = formats::plan(&open.file, &edits).with_context(|| set.shown.clone())?;
        if !change.is_empty() {
            if !args.write {
                print_patch(&unified(open.file.text(), &change, &set.shown));
            }
            jobs.push(FileEdit {
                path: set.path,
                action: FileAction::Change(open.file.shared_text(), change),
            });
        }
    }
    conclude(&workspace.root, &args, &jobs, count)?;
    Ok(if left_out > 0 {
        Exit::Failures
    } else {
        Exit::Success
    })
}

fn conclude(root: &Path, args: &AcceptArgs, jobs: &[FileEdit], count: usize) -> anyhow::Result<()> {
    let cases = counted(count, "case");
    if jobs.is_empty() {
        print_note("nothing would change: what the agent did is already expected");
        return Ok(());
    }
    if !args.write {
        print_note(&format!("{cases} would change; --write writes them"));
        return Ok(());
    }
    let words = format!("accept what the agent did in {cases}");
    let done = make_asking(root, &words, jobs)?;
    done.note.iter().for_each(|note| print_note(note));
    let first = jobs
        .first()
        .map(|job| path_word(&job.path))
        .unwrap_or_default();
    print_note(&format!(
        "{cases} changed; evaltrail edit {first} --undo reverts it"
    ));
    Ok(())
}

type Chosen = BTreeMap<usize, Vec<Arc<EndedAttempt>>>;

/// The chosen attempts, by set.
fn chosen(run: &LoadedRun, args: &AcceptArgs) -> anyhow::Result<Chosen> {
    let mut chosen = Chosen::new();
    let plan = &run.state.plan;
    let mut named = Vec::new();
    for text in &args.cases {
        named.extend(named_cases(plan, text)?);
    }
    let finished = run
        .state
        .finished
        .iter()
        .filter(|attempt| attempt.key.attempt == args.attempt);
    for attempt in finished {
        let meant = match args.cases.is_empty() {
            true => !matches!(attempt.status, Status::Passed | Status::Errored),
            false => named.iter().any(|case| case.is(plan, &attempt)),
        };
        if meant {
            let set = run.state.plan.cases.set_of(attempt.key.case);
            chosen.entry(set).or_default().push(attempt);
        }
    }
    let has = |case: &&NamedCase| {
        chosen
            .values()
            .flatten()
            .any(|attempt| case.is(plan, attempt))
    };
    if let Some(missing) = named.iter().find(|case| !has(case)) {
        let ids = plan.cases.iter().map(|case| case.eval_id.into_owned());
        bail!(
            "the run has no case {:?} (attempt {}){}",
            missing.id,
            args.attempt,
            did_you_mean(&missing.id, ids)
        );
    }
    Ok(chosen)
}

/// A case as it is named in the command.
struct NamedCase {
    /// The position of its set in the plan, if its file is named.
    set: Option<usize>,
    id: String,
}

impl NamedCase {
    fn is(&self, plan: &RunPlan, attempt: &EndedAttempt) -> bool {
        let set = plan.cases.set_of(attempt.key.case);
        self.id == attempt.eval_id && self.set.is_none_or(|named| named == set)
    }
}

/// The cases that an argument names: an id, or a file with ids after a colon. Errors: the run has no case of the file.
fn named_cases(plan: &RunPlan, text: &str) -> anyhow::Result<Vec<NamedCase>> {
    let of_id = || NamedCase {
        set: None,
        id: text.to_string(),
    };
    let target = parse_target(text);
    let is_id = plan.cases.iter().any(|case| case.eval_id == text);
    if is_id || target.ids.is_empty() {
        return Ok(vec![of_id()]);
    }
    let path = named_path(&target.path).ok();
    let is_meant =
        |set: &PlannedSet| path.as_ref() == Some(&set.path) || Path::new(&set.file) == target.path;
    let set = plan.sets.iter().position(is_meant).with_context(|| {
        let files = plan.sets.iter().map(|set| set.file.as_str());
        let named = target.path.display().to_string();
        let similar = did_you_mean(&named, files);
        format!("the run has no case of {named}{similar}")
    })?;
    let named = |id: String| NamedCase { set: Some(set), id };
    Ok(target.ids.into_iter().map(named).collect())
}

/// The edits of a file, and the number of cases that are left out.
fn edits_of(
    file: &SetFile,
    plan: &RunPlan,
    attempts: &[Arc<EndedAttempt>],
    only: Option<AcceptOnly>,
) -> (Vec<Edit>, usize) {
    let piece = match only {
        None => AcceptablePart::Turn,
        Some(AcceptOnly::Calls) => AcceptablePart::Calls,
        Some(AcceptOnly::Intermediate) => AcceptablePart::Intermediate,
        Some(AcceptOnly::Response) => AcceptablePart::Response,
    };
    let (mut edits, mut left_out) = (Vec::new(), 0);
    for attempt in attempts {
        let at = find_case(
            file,
            &attempt.eval_id,
            plan.cases.content_hash(attempt.key.case),
        );
        let meant = match at {
            None => Err("the case is no longer in the file".to_string()),
            Some(at) => file
                .case(at)
                .map_err(|problem| problem.to_string())
                .and_then(|case| {
                    let meant = accept_in_case(&case, &*attempt.read()?, |_| Some(piece.clone()));
                    meant
                        .map(|meant| (at, case != meant, meant))
                        .map_err(|why| why.to_string())
                }),
        };
        match meant {
            Ok((at, true, meant)) => edits.push(Edit::Case(at, Box::new(meant))),
            Ok(_) => {}
            Err(why) => {
                left_out += 1;
                print_note(&format!(
                    "left out: {}: {}",
                    clean_line(&attempt.eval_id),
                    clean_line(&why)
                ));
            }
        }
    }
    (edits, left_out)
}
