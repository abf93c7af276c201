//! The terminal, taken and given back: step by step, whatever ends us. Giving back is idempotent and
//! does every step.

use crossterm::{cursor, event, execute, terminal};
use std::io::{self, BufWriter, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the terminal is ours now.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// What we draw on.
pub(super) type Screen = ratatui::Terminal<ratatui::backend::CrosstermBackend<BufWriter<Stdout>>>;

/// Takes the terminal: raw mode, the alternate screen, paste and mouse reports.
pub(super) fn take(mouse: bool) -> io::Result<Screen> {
    terminal::enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    let mut out = BufWriter::with_capacity(64 << 10, io::stdout());
    let clear = terminal::Clear(terminal::ClearType::All);
    execute!(out, terminal::EnterAlternateScreen, clear, event::EnableBracketedPaste, cursor::Hide)?;
    if mouse {
        execute!(out, event::EnableMouseCapture)?;
    }
    ratatui::Terminal::new(ratatui::backend::CrosstermBackend::new(out))
}

/// Gives the terminal back as it was: reports off first, raw mode last.
pub(super) fn give_back() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    // Each step on its own: one that fails must not keep the others from happening.
    let _ = execute!(out, event::DisableMouseCapture);
    let _ = execute!(out, event::DisableBracketedPaste);
    let _ = execute!(out, terminal::EndSynchronizedUpdate);
    let _ = execute!(out, terminal::LeaveAlternateScreen);
    let _ = execute!(out, cursor::Show);
    let _ = out.flush();
    let _ = terminal::disable_raw_mode();
}

/// Gives the terminal back when dropped.
pub(super) struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        give_back();
    }
}

/// A panic on the thread of the screen gives the terminal back before it is reported. A panic in a
/// task is that task's: its attempt errors, and the screen stays.
pub(super) fn install_panic_hook() {
    let before = std::panic::take_hook();
    let screen_thread = std::thread::current().id();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() == screen_thread {
            give_back();
            before(info);
        }
    }));
}

/// Signals that end us are heard on a thread of their own, so that they are heard even when the
/// terminal is gone and the loop cannot wake.
#[cfg(unix)]
pub(super) fn end_on_signals() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGHUP, SIGINT, SIGQUIT])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            give_back();
            std::process::exit(128 + signal);
        }
    })?;
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn end_on_signals() -> io::Result<()> {
    Ok(())
}

/// Stops us, as the shell does on ctrl-z; returns when we go on.
#[cfg(unix)]
pub(super) fn stop_ourselves() {
    let _ = rustix::process::kill_current_process_group(rustix::process::Signal::STOP);
}

#[cfg(not(unix))]
pub(super) fn stop_ourselves() {}
