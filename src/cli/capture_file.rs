//! The file that captured cases are added to.

use super::output::{print_note, print_patch};
use super::write::make_asking;
use anyhow::{Context, bail};
use evaltrail_core::domain::{EvalCase, SessionInput, counted, set_id_error};
use evaltrail_core::formats::{SetFile, append_cases, blank_set, created, unified};
use evaltrail_engine::store::{FileAction, FileEdit};
use evaltrail_engine::workspace::{SetPath, Workspace, app_of_first_case, has_agent, open_set};
use std::path::{Path, PathBuf};

/// The file that cases are added to.
pub(super) struct CaptureFile {
    pub(super) path: PathBuf,
    pub(super) workspace: Workspace,
    pub(super) set: SetPath,
    /// The file as it is, or a set without cases.
    pub(super) file: SetFile,
    is_new: bool,
}

impl CaptureFile {
    /// Opens a file alone.
    pub(super) fn open(path: PathBuf) -> anyhow::Result<CaptureFile> {
        let opened = if path.exists() {
            &path
        } else {
            folder_of(&path)
        };
        let workspace = Workspace::open(opened)?;
        CaptureFile::of_workspace(path, workspace)
    }

    /// Opens a file with the others in its folder.
    pub(super) fn open_with_folder(path: PathBuf) -> anyhow::Result<CaptureFile> {
        let workspace = Workspace::open(folder_of(&path))?;
        CaptureFile::of_workspace(path, workspace)
    }

    fn of_workspace(path: PathBuf, workspace: Workspace) -> anyhow::Result<CaptureFile> {
        let is_new = !path.exists();
        let set = workspace.set_path(&path);
        let file = match is_new {
            true => blank(&path)?,
            false => open_set(&set).with_context(|| set.shown.clone())?.file,
        };
        Ok(CaptureFile {
            path,
            workspace,
            set,
            file,
            is_new,
        })
    }

    /// Appends cases, or only prints the change. Returns whether they are saved.
    pub(super) fn save(
        &self,
        cases: &[EvalCase],
        words: &str,
        dry_run: bool,
    ) -> anyhow::Result<bool> {
        let change = append_cases(&self.file, cases)?;
        if let Some(words) = self.missing_app(cases) {
            print_note(&words);
        }
        let text = self.file.text();
        if dry_run {
            print_patch(&match self.is_new {
                true => created(&change.apply(text).unwrap_or_default(), &self.set.shown),
                false => unified(text, &change, &self.set.shown),
            });
            return Ok(false);
        }
        let action = match self.is_new {
            true => FileAction::Create(change.apply(text).unwrap_or_default()),
            false => FileAction::Change(self.file.shared_text(), change),
        };
        let jobs = [FileEdit {
            path: self.path.clone(),
            action,
        }];
        let done = make_asking(&self.workspace.root, words, &jobs)?;
        done.note.iter().for_each(|note| print_note(note));
        Ok(true)
    }

    /// What to say about new cases of which nothing tells the agent; `None` if there are none.
    fn missing_app(&self, cases: &[EvalCase]) -> Option<String> {
        let app_of = |case: &EvalCase| {
            let app = case
                .session_input
                .as_ref()
                .map(|input| input.app_name.clone());
            app.filter(|app| !app.is_empty())
        };
        let without = cases.iter().filter(|case| app_of(case).is_none()).count();
        let app = app_of_first_case(&self.file).filter(|app| !app.is_empty());
        let app = app.or_else(|| cases.iter().find_map(app_of));
        let is_known = has_agent(&self.workspace, &self.set, app.as_deref());
        (without > 0 && !is_known).then(|| {
            format!(
                "{} without an application, so that `evaltrail run` needs --agent: the recording names none, --app NAME sets it",
                counted(without, "case")
            )
        })
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// A new set for a file that does not exist yet.
fn blank(path: &Path) -> anyhow::Result<SetFile> {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let Some(id) = name.strip_suffix(".evalset.json") else {
        bail!(
            "{}: there is no such file; a new set needs a name that ends in .evalset.json",
            path.display()
        );
    };
    if let Some(why) = set_id_error(id) {
        bail!("{why}");
    }
    Ok(SetFile::open(blank_set(id, None, now()).into(), id)?)
}

/// The time in Unix seconds.
pub(super) fn now() -> f64 {
    jiff::Timestamp::now().as_microsecond() as f64 / 1e6
}

/// The session of a case: the one that was recorded, with the application that `--app` names.
pub(super) fn session_input(
    found: Option<SessionInput>,
    app: Option<&str>,
) -> Option<SessionInput> {
    match (found, app.map(str::to_string)) {
        (Some(input), Some(app_name)) => Some(SessionInput { app_name, ..input }),
        (None, Some(app_name)) => Some(SessionInput {
            app_name,
            user_id: "user".into(),
            ..SessionInput::default()
        }),
        (found, None) => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_without_application_are_reported() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let target = || CaptureFile::open_with_folder(folder.path().join("new.evalset.json"));
        let case = |app: Option<&str>| EvalCase {
            session_input: session_input(None, app),
            ..EvalCase::default()
        };
        let words = target()?.missing_app(&[case(None), case(Some("dice"))]);
        assert!(
            words.as_ref().is_some_and(
                |words| words.starts_with("1 case without") && words.contains("--app NAME")
            ),
            "{words:?}"
        );
        assert_eq!(target()?.missing_app(&[case(Some("dice"))]), None);
        // The only agent runs it.
        std::fs::create_dir(folder.path().join("dice"))?;
        std::fs::write(folder.path().join("dice/agent.py"), "root_agent = 1")?;
        assert_eq!(target()?.missing_app(&[case(None)]), None);
        Ok(())
    }
}
