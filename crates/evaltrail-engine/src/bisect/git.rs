//! The commits of a repository, and worktrees of them. Hooks and monitors of the repository are not run, and the user's checkout
//! and index are not touched.

use crate::process::Program;
use evaltrail_core::domain::ProgramSpec;
use std::io;
use std::path::{Path, PathBuf};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Maximum size of what git prints, in bytes.
const MAX_OUTPUT: u64 = 64 << 20;
/// Maximum number of commits that are searched.
const MAX_COMMITS: usize = 20_000;

/// Why git could not do something.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct GitError(pub String);

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The id, in hexadecimal.
    pub id: String,
    /// The author's name.
    pub author: String,
    /// The day it was written on, as `2026-11-29`.
    pub day: String,
    /// The first line of its message.
    pub subject: String,
    /// The files that it changed, relative to the repository's top folder, against its first parent.
    pub files: Vec<String>,
}

/// A repository of git.
#[derive(Clone, Debug)]
pub struct GitRepository {
    /// The top folder of the user's checkout.
    pub root: PathBuf,
}

impl GitRepository {
    /// The repository of a folder. Errors: it is in none, or git is missing.
    pub async fn open(folder: &Path) -> Result<GitRepository, GitError> {
        let shown = run_git(folder, &["rev-parse", "--show-toplevel"]).await?;
        let root = PathBuf::from(shown.trim_end());
        Ok(GitRepository {
            root: dunce::canonicalize(&root).unwrap_or(root),
        })
    }

    /// The id of the commit that a name means. Errors: it means none.
    pub async fn commit_id(&self, name: &str) -> Result<String, GitError> {
        let named = format!("{name}^{{commit}}");
        let found = run_git(
            &self.root,
            &["rev-parse", "--verify", "--end-of-options", &named],
        )
        .await;
        let found = found
            .ok()
            .map(|id| id.trim().to_string())
            .filter(|id| is_id(id));
        found.ok_or_else(|| GitError(format!("{name}: git knows no such commit")))
    }

    /// The commits from a good one to a bad one, both included, the oldest first, along first parents. Errors: the good one is
    /// not among the ancestors of the bad one by first parents, or there are too many.
    pub async fn commits(&self, good: &str, bad: &str) -> Result<Vec<Commit>, GitError> {
        let range = format!("{good}..{bad}");
        let most = format!("--max-count={}", MAX_COMMITS + 1);
        let listed = [
            &LOG[..],
            &["--first-parent", "-m", "--name-only", &most, &range],
        ]
        .concat();
        let mut commits = read_commits(&run_git(&self.root, &listed).await?)?;
        if commits.len() > MAX_COMMITS {
            let why = format!("there are more than {MAX_COMMITS} commits between them");
            return Err(GitError(why));
        }
        commits.reverse();
        let first = read_commits(&run_git(&self.root, &[&LOG[..], &["-1", good]].concat()).await?)?;
        let follows = match commits.first() {
            Some(next) => self.parent(&next.id).await?.as_deref() == Some(good),
            None => false,
        };
        match first.first() {
            Some(first) if follows => Ok([vec![first.clone()], commits].concat()),
            _ => Err(GitError(format!(
                "{} does not follow {} in the history of first parents",
                short_commit(bad),
                short_commit(good)
            ))),
        }
    }

    async fn parent(&self, commit: &str) -> Result<Option<String>, GitError> {
        let text = run_git(&self.root, &["rev-list", "--parents", "-n", "1", commit]).await?;
        Ok(text.split_whitespace().nth(1).map(str::to_string))
    }

    /// Whether a commit has a file or folder, by its path relative to the top folder.
    pub async fn has_path(&self, commit: &str, path: &Path) -> Result<bool, GitError> {
        let path = path.to_string_lossy().replace('\\', "/");
        let listed = run_git(&self.root, &["ls-tree", "-z", commit, "--", &path]).await?;
        Ok(!listed.is_empty())
    }
}

/// The beginning of an id, for display.
pub fn short_commit(id: &str) -> &str {
    id.get(..10).unwrap_or(id)
}

/// How commits are listed: the fields of each between NUL, which no message contains, then the names of its files. A renamed file is
/// one that was removed and one that was added, and no signature is checked, which would start a program.
const LOG: [&str; 4] = [
    "log",
    "--no-show-signature",
    "--no-renames",
    "--format=%x00%H%x00%an%x00%as%x00%s%x00",
];

/// Reads commits, as git lists them by [`LOG`]. Errors: the list is none.
fn read_commits(text: &str) -> Result<Vec<Commit>, GitError> {
    let mut fields = text.split('\0').skip(1);
    let mut commits = Vec::new();
    while let Some(id) = fields.next() {
        let mut field = || fields.next().map(str::to_string);
        let commit = (field(), field(), field(), field());
        let (true, (Some(author), Some(day), Some(subject), Some(files))) = (is_id(id), commit)
        else {
            return Err(GitError("git log: its output cannot be read".into()));
        };
        commits.push(Commit {
            id: id.to_string(),
            author,
            day,
            subject,
            files: files
                .lines()
                .filter(|line| !line.is_empty())
                .map(str::to_string)
                .collect(),
        });
    }
    Ok(commits)
}

/// Whether a text is the id of a commit: a hash of 40 or 64 hexadecimal digits.
fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Worktrees of commits below a folder of evaltrail's own. They stay until [`Worktrees::remove`].
#[derive(Clone, Debug)]
pub struct Worktrees {
    repository: GitRepository,
    folder: PathBuf,
}

impl Worktrees {
    /// Worktrees below a folder, which exists and is the user's own.
    pub fn new(repository: GitRepository, folder: PathBuf) -> Worktrees {
        Worktrees { repository, folder }
    }

    /// The top folder of the worktree of a commit.
    pub fn path(&self, commit: &str) -> PathBuf {
        self.folder.join(short_commit(commit))
    }

    /// Checks a commit out, unless its worktree is there.
    pub async fn check_out(&self, commit: &str) -> Result<(), GitError> {
        let path = self.path(commit);
        if self.has_mark(commit, CHECKED_OUT) && path.is_dir() {
            return Ok(());
        }
        // What an interrupted checkout left.
        self.remove_one(&path).await;
        let shown = path.display().to_string();
        let root = &self.repository.root;
        let add = [
            "worktree", "add", "--quiet", "--detach", "--force", "--", &shown, commit,
        ];
        run_git(root, &add).await?;
        self.write_mark(commit, CHECKED_OUT)
    }

    /// Whether the worktree of a commit was prepared.
    pub fn is_prepared(&self, commit: &str) -> bool {
        self.has_mark(commit, PREPARED)
    }

    /// Notes that the worktree of a commit was prepared. Errors: it cannot be written.
    pub fn mark_prepared(&self, commit: &str) -> Result<(), GitError> {
        self.write_mark(commit, PREPARED)
    }

    fn has_mark(&self, commit: &str, mark: &str) -> bool {
        self.path(commit).with_extension(mark).is_file()
    }

    fn write_mark(&self, commit: &str, mark: &str) -> Result<(), GitError> {
        let file = self.path(commit).with_extension(mark);
        let written = crate::store::write_whole(&file, b"");
        written.map_err(|error| GitError(format!("{}: {error}", file.display())))
    }

    /// Removes all worktrees, also from the list of the repository. Returns the folders that could not be removed.
    pub async fn remove(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten();
        let folders = entries.flatten().map(|entry| entry.path());
        let mut left = Vec::new();
        for path in folders.filter(|path| path.is_dir()) {
            self.remove_one(&path).await;
            left.extend(path.exists().then_some(path));
        }
        left
    }

    async fn remove_one(&self, path: &Path) {
        for mark in [CHECKED_OUT, PREPARED] {
            let _ = std::fs::remove_file(path.with_extension(mark));
        }
        let _ = std::fs::remove_dir_all(path);
        let shown = path.display().to_string();
        let remove = ["worktree", "remove", "--force", "--force", "--", &shown];
        // It takes the worktree from the list, also without its folder. One that is not listed is none.
        let _ = run_git(&self.repository.root, &remove).await;
    }
}

/// The ending of the file beside a worktree that says that it is complete.
const CHECKED_OUT: &str = "out";
/// The ending of the file beside a worktree that says that it was prepared.
const PREPARED: &str = "prepared";

/// Runs git in a folder, without hooks, monitors, pagers and questions. Returns what it prints.
async fn run_git(folder: &Path, arguments: &[&str]) -> Result<String, GitError> {
    const SETTINGS: [&str; 7] = [
        "--no-pager",
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.quotePath=false",
    ];
    let argv = ["git"].iter().chain(&SETTINGS).chain(arguments);
    let is_read = i32::from(arguments.first() != Some(&"worktree"));
    let spec = ProgramSpec {
        variables: vec![
            ("GIT_TERMINAL_PROMPT".into(), "0".into()),
            // The index of the user's checkout is not refreshed.
            ("GIT_OPTIONAL_LOCKS".into(), "0".into()),
            // Nothing is fetched to list commits.
            ("GIT_NO_LAZY_FETCH".into(), is_read.to_string()),
        ],
        ..ProgramSpec::new(
            argv.map(|part| part.to_string()).collect(),
            folder.to_path_buf(),
        )
    };
    let failed = |why: String| {
        let what = arguments.first().copied().unwrap_or_default();
        GitError(format!("git {what}: {}", why.trim()))
    };
    let ended = run(&spec)
        .await
        .map_err(|error| failed(error.to_string()))?;
    match ended.succeeded {
        true => Ok(ended.output),
        false => Err(failed(ended.error)),
    }
}

/// Runs the command that prepares a worktree. Errors: it fails, with the end of what it printed.
pub async fn run_setup(spec: &ProgramSpec) -> Result<(), GitError> {
    let ended = run(spec).await;
    let ended = ended.map_err(|error| GitError(format!("{}: {error}", spec.argv.join(" "))))?;
    match ended.succeeded {
        true => Ok(()),
        false => {
            let last = ended.error.lines().last().unwrap_or_default().trim();
            Err(GitError(format!("{} failed: {last}", spec.argv.join(" "))))
        }
    }
}

/// A program that ended.
struct EndedProgram {
    succeeded: bool,
    output: String,
    error: String,
}

async fn run(spec: &ProgramSpec) -> io::Result<EndedProgram> {
    let mut program = Program::start(spec)?;
    drop(program.child.stdin.take());
    let (output, error) = (program.child.stdout.take(), program.child.stderr.take());
    let (output, error) = tokio::join!(text_of(output), text_of(error));
    let status = program.child.wait().await?;
    Ok(EndedProgram {
        succeeded: status.success(),
        output: output?,
        error: error?,
    })
}

async fn text_of(stream: Option<impl AsyncRead + Unpin>) -> io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.take(MAX_OUTPUT + 1).read_to_end(&mut bytes).await?;
    }
    match bytes.len() as u64 > MAX_OUTPUT {
        true => Err(io::Error::other("it prints too much")),
        false => Ok(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_read_with_their_files() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let text = format!(
            "\0{a}\0Ann\x002026-11-29\0Shorter prompt\0\n\nagent.py\nprompts/a b.txt\n\0{b}\0Bo\x002026-11-30\0\u{1}/home\u{2}\0\n"
        );
        let commits = read_commits(&text).unwrap();
        assert_eq!(commits.len(), 2);
        assert_eq!(commits[0].subject, "Shorter prompt");
        assert_eq!(commits[0].files, ["agent.py", "prompts/a b.txt"]);
        assert!(commits[1].files.is_empty());
        assert!(
            read_commits("\0/home/ann\0x\0x\0x\0").is_err(),
            "an id is a hash"
        );
        assert!(read_commits(&format!("\0{a}\0Ann")).is_err());
    }
}
