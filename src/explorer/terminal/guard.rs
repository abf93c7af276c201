//! Taking and restoring the terminal. It is restored however the process ends; restoring is idempotent and attempts
//! every step.

#![expect(
    clippy::disallowed_methods,
    reason = "it sets the terminal up and restores it"
)]

use crossterm::{cursor, event, execute, terminal};
use parking_lot::Mutex;
use std::io::{self, BufWriter, Stdout, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// Whether the explorer has the terminal.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal that frames are drawn on.
pub(crate) type TerminalScreen =
    ratatui::Terminal<ratatui::backend::CrosstermBackend<BufWriter<Stdout>>>;

/// Whether the terminal interprets escape sequences. Consoles of Windows are switched to it; those before Windows 10
/// cannot.
pub fn has_escape_sequences() -> bool {
    #[cfg(windows)]
    return crossterm::ansi_support::supports_ansi();
    #[cfg(unix)]
    true
}

/// Takes the terminal: enables raw mode, the alternate screen, bracketed paste and mouse capture.
pub(crate) fn take(mouse: bool) -> io::Result<TerminalScreen> {
    // After a stop, the shell has reset the terminal's mode, but crossterm still assumes raw mode.
    let _ = terminal::disable_raw_mode();
    terminal::enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    let mut out = BufWriter::with_capacity(64 << 10, io::stdout());
    let clear = terminal::Clear(terminal::ClearType::All);
    execute!(
        out,
        terminal::EnterAlternateScreen,
        clear,
        event::EnableBracketedPaste,
        cursor::Hide
    )?;
    if mouse {
        execute!(out, event::EnableMouseCapture)?;
    }
    ratatui::Terminal::new(ratatui::backend::CrosstermBackend::new(out))
}

/// Locked while something is written to the terminal, so that nothing is drawn after it was restored.
static WRITING: Mutex<()> = Mutex::new(());
/// How long to wait for a running write. Writing to a terminal that is gone may block forever.
const WRITES_WITHIN: Duration = Duration::from_millis(300);

/// Calls `draw`, unless the terminal was restored in the meantime.
pub(crate) fn draw_in_terminal(draw: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let _writing = WRITING.lock();
    if TAKEN.load(Ordering::SeqCst) {
        draw()
    } else {
        Ok(())
    }
}

/// Restores the terminal: first mouse and paste reports, raw mode last.
pub(crate) fn restore_terminal() {
    let _writing = WRITING.try_lock_for(WRITES_WITHIN);
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    // Errors are ignored, so that all steps are attempted.
    let _ = execute!(out, event::DisableMouseCapture);
    let _ = execute!(out, event::DisableBracketedPaste);
    let _ = execute!(out, terminal::EndSynchronizedUpdate);
    let _ = execute!(out, terminal::LeaveAlternateScreen);
    let _ = execute!(out, cursor::Show);
    let _ = out.flush();
    let _ = terminal::disable_raw_mode();
}

/// Discards input that was typed but not read yet.
#[cfg(unix)]
pub(crate) fn forget_typed() {
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
}

#[cfg(windows)]
pub(crate) fn forget_typed() {}

/// Restores the terminal when dropped.
pub(crate) struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        restore_terminal();
    }
}

/// Installs a panic hook: a panic on the screen's thread restores the terminal before it is reported. A panic in a
/// task is not printed: its attempt becomes errored, and the explorer continues.
pub(crate) fn install_panic_hook() {
    let before = std::panic::take_hook();
    let screen_thread = std::thread::current().id();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() == screen_thread {
            restore_terminal();
            before(info);
        }
    }));
}

/// Notifications of signals for the event loop.
#[derive(Clone, Default)]
pub(crate) struct SignalNotifications {
    /// The process continues after a stop that the loop may not have noticed.
    pub(crate) resumed: Arc<Notify>,
    /// The window was resized.
    pub(crate) resized: Arc<Notify>,
}

/// Handles signals on a separate thread, so that signals that end the process are handled even if the terminal is
/// gone and the loop is blocked.
#[cfg(unix)]
pub(crate) fn listen_to_signals() -> io::Result<SignalNotifications> {
    /// One thread for the whole process: a second explorer hears the same notifications.
    static LISTENING: std::sync::OnceLock<SignalNotifications> = std::sync::OnceLock::new();
    if let Some(notifications) = LISTENING.get() {
        return Ok(notifications.clone());
    }
    let notifications = SignalNotifications::default();
    let SignalNotifications { resumed, resized } = notifications.clone();
    use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
    let heard = [SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH];
    let mut signals = signal_hook::iterator::Signals::new(heard)?;
    evaltrail_engine::process::signals_are_handled();
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            for signal in signals.forever() {
                match signal {
                    SIGTSTP => {
                        let was_taken = TAKEN.load(Ordering::SeqCst);
                        restore_terminal();
                        let _ = signal_hook::low_level::raise(signal_hook::consts::SIGSTOP);
                        if was_taken {
                            resumed.notify_one();
                        }
                    }
                    // After SIGSTOP the shell has reset the terminal's mode.
                    SIGCONT if TAKEN.load(Ordering::SeqCst) => resumed.notify_one(),
                    SIGCONT => {}
                    SIGWINCH => resized.notify_one(),
                    // An editor has the terminal, and the signal is meant for it.
                    SIGINT | SIGQUIT if !TAKEN.load(Ordering::SeqCst) => {}
                    signal => {
                        restore_terminal();
                        evaltrail_engine::process::exit(128 + signal);
                    }
                }
            }
        })?;
    Ok(LISTENING.get_or_init(|| notifications).clone())
}

#[cfg(windows)]
pub(crate) fn listen_to_signals() -> io::Result<SignalNotifications> {
    Ok(SignalNotifications::default())
}

/// Stops the process group, like ctrl-z in a shell. Returns when the process continues.
#[cfg(unix)]
pub(crate) fn suspend_process_group() {
    let _ = rustix::process::kill_current_process_group(rustix::process::Signal::STOP);
}

#[cfg(windows)]
pub(crate) fn suspend_process_group() {}
