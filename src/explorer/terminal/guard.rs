//! The terminal, taken and given back: step by step, whatever ends us. Giving back is idempotent and
//! does every step.

use crossterm::{cursor, event, execute, terminal};
use std::io::{self, BufWriter, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Whether the terminal is ours now.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// What we draw on.
pub(crate) type Screen = ratatui::Terminal<ratatui::backend::CrosstermBackend<BufWriter<Stdout>>>;

/// Takes the terminal: raw mode, the alternate screen, paste and mouse reports.
pub(crate) fn take(mouse: bool) -> io::Result<Screen> {
    // After a stop the shell has set the terminal as it likes it, while crossterm remembers that it is raw.
    let _ = terminal::disable_raw_mode();
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

/// Held while something is written to the terminal, so that nothing is drawn after it was given back.
static WRITING: Mutex<()> = Mutex::new(());
/// A terminal that is gone may take nothing any more, and then the writer never ends.
const WRITES_WITHIN: Duration = Duration::from_millis(300);

/// Draws, unless the terminal was given back meanwhile.
pub(crate) fn while_taken(draw: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let _writing = WRITING.lock();
    if TAKEN.load(Ordering::SeqCst) { draw() } else { Ok(()) }
}

/// Gives the terminal back as it was: reports off first, raw mode last.
pub(crate) fn give_back() {
    let deadline = Instant::now() + WRITES_WITHIN;
    let mut writing = WRITING.try_lock();
    while matches!(writing, Err(TryLockError::WouldBlock)) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
        writing = WRITING.try_lock();
    }
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

/// Forgets what was typed and not read yet.
#[cfg(unix)]
pub(crate) fn forget_typed() {
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
}

#[cfg(not(unix))]
pub(crate) fn forget_typed() {}

/// Gives the terminal back when dropped.
pub(crate) struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        give_back();
    }
}

/// A panic on the thread of the screen gives the terminal back before it is reported. A panic in a
/// task is that task's: its attempt errors, and the screen stays.
pub(crate) fn install_panic_hook() {
    let before = std::panic::take_hook();
    let screen_thread = std::thread::current().id();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() == screen_thread {
            give_back();
            before(info);
        }
    }));
}

/// What the loop is told of signals.
#[derive(Clone, Default)]
pub(crate) struct Told {
    /// We go on after a stop that the loop may know nothing of.
    pub(crate) resumed: Arc<Notify>,
    /// The window has another size.
    pub(crate) resized: Arc<Notify>,
}

/// Signals are heard on a thread of their own, so that those that end us are heard even when the terminal is gone and
/// the loop cannot wake.
#[cfg(unix)]
pub(crate) fn listen_to_signals(Told { resumed, resized }: Told) -> io::Result<()> {
    use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
    let heard = [SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH];
    let mut signals = signal_hook::iterator::Signals::new(heard)?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            match signal {
                SIGTSTP => {
                    let was_taken = TAKEN.load(Ordering::SeqCst);
                    give_back();
                    let _ = signal_hook::low_level::raise(signal_hook::consts::SIGSTOP);
                    if was_taken {
                        resumed.notify_one();
                    }
                }
                // After SIGSTOP the shell has set the terminal as it likes it.
                SIGCONT if TAKEN.load(Ordering::SeqCst) => resumed.notify_one(),
                SIGCONT => {}
                SIGWINCH => resized.notify_one(),
                // An editor has the terminal, and the interrupt is meant for it.
                SIGINT | SIGQUIT if !TAKEN.load(Ordering::SeqCst) => {}
                signal => {
                    give_back();
                    std::process::exit(128 + signal);
                }
            }
        }
    })?;
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn listen_to_signals(_: Told) -> io::Result<()> {
    Ok(())
}

/// Stops us, as the shell does on ctrl-z; returns when we go on.
#[cfg(unix)]
pub(crate) fn stop_ourselves() {
    let _ = rustix::process::kill_current_process_group(rustix::process::Signal::STOP);
}

#[cfg(not(unix))]
pub(crate) fn stop_ourselves() {}
