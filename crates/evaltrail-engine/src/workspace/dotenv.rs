//! The `.env` file that ADK loads for an agent.

use super::root::{above, same_owner};
use super::sets::read_text;
use std::fs;
use std::path::{Path, PathBuf};

const NAME: &str = ".env";
/// Largest file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The nearest `.env` in a folder and those above it, with its text. ADK searches up to the root of the file system;
/// here the search ends where that for a workspace ends. A link and a file of another owner are not read. `None` if
/// loading is disabled for ADK or python-dotenv.
pub fn dotenv_near(folder: &Path) -> Option<(PathBuf, String)> {
    if is_on("ADK_DISABLE_LOAD_DOTENV", &["1", "true", "yes", "on"])
        || is_on("PYTHON_DOTENV_DISABLED", &["1", "true", "t", "yes", "y"])
    {
        return None;
    }
    let mut files = above(folder).into_iter().map(|folder| folder.join(NAME));
    let (file, meta) = files.find_map(|file| {
        let meta = fs::symlink_metadata(&file)
            .ok()
            .filter(|meta| !meta.is_dir())?;
        Some((file, meta))
    })?;
    let is_usable = meta.is_file() && meta.len() <= MAX_BYTES && same_owner(&file, folder);
    let text = is_usable.then(|| read_text(&file).ok()).flatten()?;
    Some((file, text))
}

fn is_on(variable: &str, words: &[&str]) -> bool {
    std::env::var(variable).is_ok_and(|value| words.contains(&value.trim().to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_dotenv_in_repository_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (root, agent) = (folder.path(), folder.path().join("repository/agents/home"));
        fs::create_dir_all(&agent).unwrap();
        fs::create_dir(root.join("repository/.git")).unwrap();
        fs::write(root.join(".env"), "A=outside").unwrap();
        assert_eq!(dotenv_near(&agent), None, "it is above the repository");
        fs::write(root.join("repository/.env"), "A=root").unwrap();
        assert_eq!(dotenv_near(&agent).unwrap().1, "A=root");
        fs::write(agent.join(".env"), "A=agent").unwrap();
        assert_eq!(
            dotenv_near(&agent),
            Some((agent.join(".env"), "A=agent".into()))
        );
        fs::remove_file(agent.join(".env")).unwrap();
        fs::create_dir(agent.join(".env")).unwrap();
        assert_eq!(
            dotenv_near(&agent).unwrap().1,
            "A=root",
            "a virtual environment of that name is skipped"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("secrets"), "A=1").unwrap();
        std::os::unix::fs::symlink(folder.path().join("secrets"), folder.path().join(".env"))
            .unwrap();
        assert_eq!(dotenv_near(folder.path()), None);
    }
}
