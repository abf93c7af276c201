//! `evaltrail new`: creates an eval set, or a case in one.

use super::Exit;
use super::addresses::copy_target_or_folder;
use super::output::print_note;
use super::paths::parse_target;
use super::subcommand::CliCommand;
use super::write::make_asking;
use anyhow::{Context, bail};
use clap::Args;
use evaltrail_core::domain::{
    Content, Conversation, EvalCase, Invocation, SessionInput, Trajectory, eval_id_error,
    set_id_error,
};
use evaltrail_core::formats::{Edit, blank_set, plan};
use evaltrail_engine::store::{AppFolders, EditLog, FileAction, FileEdit, check_links};
use evaltrail_engine::workspace::{SetPath, Workspace, open_set};
use std::path::{Path, PathBuf};

/// Create an eval set, or a case in one
#[derive(Args, Debug)]
pub(super) struct NewArgs {
    /// The file, and the case to create in it: lights.evalset.json:lights_off
    #[arg(value_name = "FILE[:CASE]")]
    pub(super) target: String,
    /// The user's message; once for each turn
    #[arg(long, value_name = "TEXT")]
    pub(super) user: Vec<String>,
    /// The expected response; once for each turn
    #[arg(long, value_name = "TEXT")]
    pub(super) response: Vec<String>,
    /// The application of the case's session
    #[arg(long, value_name = "NAME")]
    pub(super) app: Option<String>,
    /// Description of the set
    #[arg(long, value_name = "TEXT")]
    pub(super) description: Option<String>,
}

impl CliCommand for NewArgs {
    const NAME: &'static str = "new";

    fn copy_inputs(&mut self) -> anyhow::Result<()> {
        copy_target_or_folder(&mut self.target)
    }

    fn run(self) -> anyhow::Result<Exit> {
        new(self)
    }
}

const ENDING: &str = ".evalset.json";

pub(super) fn new(args: NewArgs) -> anyhow::Result<Exit> {
    let target = parse_target(&args.target);
    let path = with_ending(&target.path);
    match target.ids.as_slice() {
        [] if path.exists() => bail!(
            "{} already exists; FILE:CASE creates a case in it",
            path.display()
        ),
        [] => new_set(&path, &args),
        [id] => {
            if !path.exists() {
                new_set(&path, &args)?;
            }
            new_case(&path, id, &args)
        }
        _ => bail!("one case at a time"),
    }
}

/// Adds `.evalset.json` to a name without `.json`.
fn with_ending(path: &Path) -> PathBuf {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    match name.ends_with(".json") {
        true => path.to_path_buf(),
        false => path.with_file_name(format!("{name}{ENDING}")),
    }
}

fn now() -> f64 {
    jiff::Timestamp::now().as_microsecond() as f64 / 1e6
}

fn new_set(path: &Path, args: &NewArgs) -> anyhow::Result<Exit> {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let Some(id) = name.strip_suffix(ENDING) else {
        bail!(
            "{name}: ADK finds eval sets by their file extension; use {}{ENDING}",
            name.trim_end_matches(".json")
        );
    };
    if let Some(why) = set_id_error(id) {
        bail!("{why}");
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    if !folder.is_dir() {
        bail!("{}: there is no such folder", folder.display());
    }
    check_links(path).with_context(|| path.display().to_string())?;
    let text = blank_set(id, args.description.as_deref(), now());
    let jobs = [FileEdit {
        path: path.to_path_buf(),
        action: FileAction::Create(text),
    }];
    let log = EditLog::in_folder(AppFolders::find().as_ref());
    let done = log.make(None, &format!("create {name}"), &jobs)?;
    done.note.iter().for_each(|note| print_note(note));
    print_note(&format!("created {}", path.display()));
    Ok(Exit::Success)
}

fn new_case(path: &Path, id: &str, args: &NewArgs) -> anyhow::Result<Exit> {
    let root = Workspace::open(path)?.root;
    let set = SetPath::of_file(path, &root);
    let open = open_set(&set).with_context(|| set.shown.clone())?;
    if let Some(why) = eval_id_error(id, open.file.eval_ids()) {
        bail!("{}: {why}", set.shown);
    }
    if args.user.is_empty() {
        bail!("--user TEXT is required, once for each turn");
    }
    if args.response.len() > args.user.len() {
        bail!("there are more --response than --user");
    }
    let edits = [Edit::Insert(open.file.len(), Box::new(case(id, args)))];
    let change = plan(&open.file, &edits)?;
    let jobs = [FileEdit {
        path: set.path.clone(),
        action: FileAction::Change(open.file.shared_text(), change),
    }];
    let done = make_asking(&root, &format!("create {id}"), &jobs)?;
    done.note.iter().for_each(|note| print_note(note));
    print_note(&format!("created {id} in {}", path.display()));
    Ok(Exit::Success)
}

fn case(id: &str, args: &NewArgs) -> EvalCase {
    let turn = |(at, user): (usize, &String)| Invocation {
        id: uuid::Uuid::new_v4().to_string(),
        user: Content::text("user", user.as_str()),
        final_response: args
            .response
            .get(at)
            .map(|text| Content::text("model", text.as_str())),
        trajectory: Trajectory::Listed {
            calls: Vec::new(),
            responses: Vec::new(),
            texts: Vec::new(),
        },
        ..Invocation::default()
    };
    EvalCase {
        eval_id: id.to_string(),
        conversation: Conversation::Turns(args.user.iter().enumerate().map(turn).collect()),
        session_input: args.app.as_ref().map(|app| SessionInput {
            app_name: app.clone(),
            user_id: "user".into(),
            ..SessionInput::default()
        }),
        created: now(),
        ..EvalCase::default()
    }
}
