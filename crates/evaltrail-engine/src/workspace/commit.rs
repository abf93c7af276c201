//! The version-control commit of a folder, read from the files of git. No program is run.

use crate::store::read_text_file;
use std::path::{Component, Path, PathBuf};

/// Maximum size of the files that are read, in bytes.
const MAX_BYTES: u64 = 16 << 20;
/// Maximum size of the files that contain one line, in bytes.
const MAX_LINE: u64 = 4 << 10;

/// The commit that is checked out in the repository of a folder, in hexadecimal. `None` if the folder is in no
/// repository, if nothing was committed yet, and if git stores its references in another format.
pub fn current_commit(folder: &Path) -> Option<String> {
    let folder = dunce::canonicalize(folder).ok()?;
    let found = folder
        .ancestors()
        .map(|folder| folder.join(".git"))
        .find(|path| path.exists())?;
    let git = if found.is_dir() {
        found
    } else {
        linked_folder(&found)?
    };
    let head = line_of(&git.join("HEAD"))?;
    match head.strip_prefix("ref:") {
        None => commit(&head),
        Some(name) => commit_of(&git, name.trim()),
    }
}

/// The folder that a `.git` file of a worktree or submodule names.
fn linked_folder(file: &Path) -> Option<PathBuf> {
    let path = line_of(file)?.strip_prefix("gitdir:")?.trim().to_string();
    Some(file.parent()?.join(path))
}

/// The commit of a reference, from its own file or from the file of packed references.
fn commit_of(git: &Path, name: &str) -> Option<String> {
    let is_plain = |part: Component| matches!(part, Component::Normal(_));
    if !name.starts_with("refs/") || !Path::new(name).components().all(is_plain) {
        return None;
    }
    // A worktree has its own HEAD, and shares the references.
    let shared = line_of(&git.join("commondir")).map(|path| git.join(path));
    let shared = shared.as_deref().unwrap_or(git);
    let own = [git, shared]
        .into_iter()
        .find_map(|folder| line_of(&folder.join(name)));
    if let Some(line) = own {
        return commit(&line);
    }
    let packed = read_text_file(&shared.join("packed-refs"), MAX_BYTES).ok()?;
    let of_line = |line: &str| {
        let (id, packed_name) = line.split_once(' ')?;
        (packed_name.trim() == name).then(|| commit(id)).flatten()
    };
    packed.lines().find_map(of_line)
}

fn line_of(file: &Path) -> Option<String> {
    Some(
        read_text_file(file, MAX_LINE)
            .ok()?
            .lines()
            .next()?
            .trim()
            .to_string(),
    )
}

/// The text, if it is the id of a commit: a hash of 40 or 64 hexadecimal digits.
fn commit(text: &str) -> Option<String> {
    let is_id = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const A: &str = "1111111111111111111111111111111111111111";
    const B: &str = "2222222222222222222222222222222222222222";

    fn write(path: PathBuf, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn the_commit_is_found_in_each_layout_of_git() {
        let folder = tempfile::tempdir().unwrap();
        let (root, git) = (folder.path().join("repo"), folder.path().join("repo/.git"));
        let evals = root.join("agents/evals");
        fs::create_dir_all(&evals).unwrap();
        write(git.join("HEAD"), "ref: refs/heads/main\n");
        assert_eq!(current_commit(&evals), None, "nothing was committed yet");
        write(
            git.join("packed-refs"),
            &format!("# pack-refs\n{B} refs/heads/other\n{A} refs/heads/main\n"),
        );
        assert_eq!(current_commit(&evals).as_deref(), Some(A));
        write(git.join("refs/heads/main"), &format!("{B}\n"));
        assert_eq!(
            current_commit(&evals).as_deref(),
            Some(B),
            "its own file is newer"
        );
        // A worktree.
        let tree = folder.path().join("tree");
        write(
            tree.join(".git"),
            &format!("gitdir: {}\n", git.join("worktrees/tree").display()),
        );
        write(git.join("worktrees/tree/HEAD"), "ref: refs/heads/other\n");
        write(git.join("worktrees/tree/commondir"), "../..\n");
        assert_eq!(current_commit(&tree).as_deref(), Some(B));
        write(git.join("worktrees/tree/HEAD"), A);
        assert_eq!(current_commit(&tree).as_deref(), Some(A), "a detached head");
    }

    #[test]
    fn a_reference_cannot_name_another_file() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path().join("secret"), A);
        for name in ["refs/../../secret", "/etc/passwd", "secret"] {
            write(folder.path().join(".git/HEAD"), &format!("ref: {name}\n"));
            assert_eq!(current_commit(folder.path()), None, "{name}");
        }
        write(folder.path().join(".git/HEAD"), "not a commit\n");
        assert_eq!(current_commit(folder.path()), None);
    }
}
