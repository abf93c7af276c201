//! Programs that evaltrail starts. A program and all of its descendants are terminated when its handle is dropped, and
//! when evaltrail itself ends in any way: see `keeper.rs`.

use super::keeper;
use crate::domain::ProgramSpec;
use std::io;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, Command};

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
    "SystemRoot",
    "SYSTEMROOT",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "PATHEXT",
    "COMSPEC",
];
const USUAL_PREFIXES: &[&str] = &["LC_", "XDG_"];

/// A started program. Dropping it terminates it and all of its descendants.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) child: Child,
    /// Whether the child is a keeper, which terminates the program on request.
    is_kept: bool,
}

impl Program {
    /// Starts a program with all its streams piped.
    pub(crate) fn start(spec: &ProgramSpec) -> io::Result<Program> {
        let keeper = keeper::binary();
        let is_kept = keeper.is_some();
        let mut command = match keeper {
            Some(keeper) => {
                let mut command = Command::new(keeper);
                command.args(keeper::arguments(std::process::id(), &spec.argv));
                command
            }
            None => {
                let program = spec.argv.first().ok_or(io::ErrorKind::InvalidInput)?;
                let mut command = Command::new(program);
                command.args(&spec.argv[1..]);
                command
            }
        };
        let variables = std::env::vars_os().filter(|(name, _)| {
            name.to_str().is_some_and(|name| is_usual(name) || spec.env.iter().any(|named| named == name))
        });
        command.env_clear().envs(variables).current_dir(&spec.cwd);
        command.envs(spec.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        command.process_group(0);
        Ok(Program { child: command.spawn()?, is_kept })
    }
}

fn is_usual(name: &str) -> bool {
    USUAL_VARIABLES.contains(&name) || USUAL_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

impl Drop for Program {
    fn drop(&mut self) {
        // `None` after the child was waited for: its process id may have been reused.
        if let Some(id) = self.child.id() {
            match self.is_kept {
                true => keeper::end(id),
                false => keeper::kill_group(id),
            }
        }
    }
}

/// The last part of a stream, for error messages. The rest is read and discarded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail {
    kept: std::sync::Arc<std::sync::Mutex<Vec<u8>>>,
    /// Closed when the stream has ended.
    open: Option<tokio::sync::watch::Receiver<()>>,
}

impl Tail {
    const MOST: usize = 16 << 10;

    /// Reads a stream to its end in the background.
    pub(crate) fn follow(mut stream: impl tokio::io::AsyncRead + Unpin + Send + 'static) -> Tail {
        let (ending, open) = tokio::sync::watch::channel(());
        let tail = Tail { open: Some(open), ..Tail::default() };
        let kept = tail.kept.clone();
        tokio::spawn(async move {
            let _ending = ending;
            use tokio::io::AsyncReadExt;
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut buffer).await {
                let Ok(mut kept) = kept.lock() else { return };
                kept.extend_from_slice(&buffer[..count]);
                let over = kept.len().saturating_sub(Tail::MOST);
                kept.drain(..over);
            }
        });
        tail
    }

    /// Waits until all of the stream has been read, for a second at most.
    pub(crate) async fn whole(&self) {
        if let Some(mut open) = self.open.clone() {
            let ended = async { while open.changed().await.is_ok() {} };
            let _ = tokio::time::timeout(Duration::from_secs(1), ended).await;
        }
    }

    /// The last lines of the stream, at most `most`, without blank ones.
    pub(crate) fn lines(&self, most: usize) -> String {
        let Ok(kept) = self.kept.lock() else { return String::new() };
        let text = String::from_utf8_lossy(&kept);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(most)..].join("\n")
    }
}
