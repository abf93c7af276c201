//! Programs that evaltrail starts. A program and all of its descendants are terminated when its handle is dropped, and
//! when evaltrail itself ends in any way: see `keeper.rs`, and `job.rs` for Windows.

#[cfg(unix)]
use super::keeper as supervision;
#[cfg(windows)]
use super::windows_job as supervision;
use evaltrail_core::domain::ProgramSpec;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use supervision::Descendants;
use tokio::process::Child;

/// The environment variables that every program receives. Others, above all keys, are passed on only if the
/// configuration or the command line names them.
const USUAL_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "TMPDIR",
    "TEMP",
    "TMP",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONUNBUFFERED",
    "CONDA_PREFIX",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_LOCATION",
    "GOOGLE_GENAI_USE_VERTEXAI",
    // Windows
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "USERPROFILE",
    "USERNAME",
    "HOMEDRIVE",
    "HOMEPATH",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PATHEXT",
    "COMSPEC",
    "OS",
    "PROCESSOR_ARCHITECTURE",
    "NUMBER_OF_PROCESSORS",
];
const USUAL_PREFIXES: &[&str] = &["LC_", "XDG_"];

/// A started program. Dropping it terminates it and all of its descendants.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) child: Child,
    descendants: Descendants,
}

impl Program {
    /// Checks that the program exists. Errors: it does not, in words that say where it was searched.
    pub(crate) fn check(spec: &ProgramSpec) -> io::Result<()> {
        let name = spec.argv.first().map(String::as_str).unwrap_or_default();
        let own_path = spec
            .variables
            .iter()
            .find(|(key, _)| same_name(key, "PATH"));
        let folders = own_path
            .map(|(_, value)| value.into())
            .or_else(|| std::env::var_os("PATH"));
        if which::which_in(name, folders, &spec.cwd).is_ok() {
            return Ok(());
        }
        let is_path = name.contains(std::path::is_separator);
        let file: PathBuf = spec.cwd.join(name).components().collect();
        let why = match (is_path, file.exists()) {
            (true, true) => format!("{} is not executable", file.display()),
            (true, false) => format!("there is no file {}", file.display()),
            (false, _) => "no folder of PATH has a program of this name".to_string(),
        };
        Err(io::Error::new(io::ErrorKind::NotFound, why))
    }

    /// Starts a program with all its streams piped.
    pub(crate) fn start(spec: &ProgramSpec) -> io::Result<Program> {
        Program::check(spec)?;
        let mut command = supervision::command(&spec.argv, &spec.cwd)?;
        let variables = std::env::vars_os().filter(|(name, _)| {
            name.to_str().is_some_and(|name| {
                is_usual(name) || spec.env.iter().any(|named| same_name(named, name))
            })
        });
        command.env_clear().envs(variables).current_dir(&spec.cwd);
        command.envs(spec.variables.iter().map(|(name, value)| (name, value)));
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn()?;
        Ok(Program {
            descendants: Descendants::watch(&mut child)?,
            child,
        })
    }
}

fn is_usual(name: &str) -> bool {
    USUAL_VARIABLES.iter().any(|usual| same_name(usual, name))
        || USUAL_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether two names are those of the same variable: Windows ignores their case.
fn same_name(a: &str, b: &str) -> bool {
    if cfg!(windows) {
        a.eq_ignore_ascii_case(b)
    } else {
        a == b
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // `None` after the child was waited for: its process id may have been reused.
        if let Some(id) = self.child.id() {
            self.descendants.terminate(id);
        }
    }
}

/// The last part of a stream, for error messages. The rest is read and discarded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail {
    kept: std::sync::Arc<parking_lot::Mutex<OutputTail>>,
    /// Closed when the stream has ended.
    open: Option<tokio::sync::watch::Receiver<()>>,
}

/// The last bytes of a stream, and the number of those before them.
#[derive(Debug, Default)]
struct OutputTail {
    bytes: Vec<u8>,
    dropped: u64,
}

impl Tail {
    const MAX_BYTES: usize = 16 << 10;

    /// Reads a stream to its end in the background.
    pub(crate) fn follow(mut stream: impl tokio::io::AsyncRead + Unpin + Send + 'static) -> Tail {
        let (ending, open) = tokio::sync::watch::channel(());
        let tail = Tail {
            open: Some(open),
            ..Tail::default()
        };
        let kept = tail.kept.clone();
        tokio::spawn(async move {
            let _ending = ending;
            use tokio::io::AsyncReadExt;
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut buffer).await {
                let mut kept = kept.lock();
                kept.bytes.extend_from_slice(&buffer[..count]);
                let over = kept.bytes.len().saturating_sub(Tail::MAX_BYTES);
                kept.bytes.drain(..over);
                kept.dropped += over as u64;
            }
        });
        tail
    }

    /// Waits until all of the stream has been read, for a second at most.
    pub(crate) async fn wait_until_read(&self) {
        if let Some(mut open) = self.open.clone() {
            let ended = async { while open.changed().await.is_ok() {} };
            let _ = tokio::time::timeout(Duration::from_secs(1), ended).await;
        }
    }

    /// The last lines of the stream, at most `most`, without blank ones.
    pub(crate) fn lines(&self, most: usize) -> String {
        let text = self.text_since(0);
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        lines[lines.len().saturating_sub(most)..].join("\n")
    }

    /// The number of bytes of the stream so far.
    pub(crate) fn position(&self) -> u64 {
        let kept = self.kept.lock();
        kept.dropped + kept.bytes.len() as u64
    }

    /// The end of the stream after a position, as far as it is stored.
    pub(crate) fn text_since(&self, position: u64) -> String {
        let kept = self.kept.lock();
        let from = usize::try_from(position.saturating_sub(kept.dropped)).unwrap_or(usize::MAX);
        String::from_utf8_lossy(kept.bytes.get(from..).unwrap_or_default()).into_owned()
    }
}
