//! The clipboard. On a desktop a helper program is used, otherwise the terminal's escape sequence OSC 52, which works
//! over ssh. Text that is too long for OSC 52 is written to a file.

#![expect(
    clippy::disallowed_methods,
    reason = "programs of the clipboard, and the escape sequence for it"
)]

use evaltrail_engine::process::FILE_FOR_USER;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Maximum number of bytes that terminals accept.
const MAX_OSC52: usize = 74_000;

/// Copies a text. Returns a message that says how.
pub(crate) fn copy(text: &str) -> io::Result<String> {
    if let Some(helper) = helper()
        && run_helper(&helper, text).is_ok()
    {
        return Ok(format!("copied {} bytes", text.len()));
    }
    if text.len() <= MAX_OSC52 {
        let mut out = io::stdout();
        crossterm::execute!(
            out,
            crossterm::clipboard::CopyToClipboard::to_clipboard_from(text)
        )?;
        return Ok(format!("copied {} bytes through the terminal", text.len()));
    }
    let file = to_file(text)?;
    Ok(format!(
        "too long for the terminal's clipboard: written to {}",
        file.display()
    ))
}

fn helper() -> Option<Vec<&'static str>> {
    if std::env::var_os("SSH_CONNECTION").is_some() {
        return None;
    }
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let candidates: &[(bool, &[&'static str])] = &[
        (cfg!(target_os = "macos"), &["pbcopy"]),
        (cfg!(windows), &["clip.exe"]),
        (set("WAYLAND_DISPLAY"), &["wl-copy"]),
        (set("DISPLAY"), &["xclip", "-selection", "clipboard"]),
    ];
    let exists = |name: &str| which::which_global(name).is_ok();
    candidates
        .iter()
        .find(|(fits, argv)| *fits && exists(argv[0]))
        .map(|(_, argv)| argv.to_vec())
}

fn run_helper(argv: &[&str], text: &str) -> io::Result<()> {
    let mut child = Command::new(argv[0])
        .args(&argv[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(&encoded(text))?;
    }
    let status = child.wait()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("{} failed", argv[0])))
    }
}

/// The text as the helper reads it: `clip.exe` reads UTF-16 with a byte order mark, or the system's own encoding.
fn encoded(text: &str) -> Vec<u8> {
    match cfg!(windows) {
        true => std::iter::once(0xfeff)
            .chain(text.encode_utf16())
            .flat_map(u16::to_le_bytes)
            .collect(),
        false => text.as_bytes().to_vec(),
    }
}

fn to_file(text: &str) -> io::Result<PathBuf> {
    let mut file = tempfile::Builder::new()
        .prefix(&format!("{FILE_FOR_USER}copy-"))
        .suffix(".json")
        .tempfile()?;
    file.write_all(text.as_bytes())?;
    Ok(file.into_temp_path().keep()?)
}
