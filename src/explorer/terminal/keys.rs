//! Keys and other events of the terminal.
//!
//! crossterm's event stream reads on its own thread, which may still be reading after an editor used the terminal: a
//! key could then be lost, or be reported only with the next one. Here one thread reads for as long as the explorer
//! runs, and only while the explorer has the terminal. When an escape sequence arrives in pieces, this thread waits
//! for the rest without blocking the event loop.

use crossterm::event::{self, Event};
use parking_lot::{Condvar, Mutex};
use std::io;
use std::sync::Arc;
use tokio::sync::{Notify, mpsc};

/// Capacity of the channel to the event loop.
const WAITING: usize = 256;

pub(crate) struct KeyInput {
    events: mpsc::Receiver<io::Result<Event>>,
    /// Notified when the window was resized.
    resized: Arc<Notify>,
    gate: Arc<ReaderGate>,
}

/// Decides whether the reader may read the terminal.
#[derive(Default)]
struct ReaderGate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum GateState {
    #[default]
    Open,
    /// Another program has the terminal.
    Paused,
    /// The explorer ended: whatever is typed now is for what follows it.
    Ended,
}

impl ReaderGate {
    fn set(&self, state: GateState) {
        *self.state.lock() = state;
        self.changed.notify_all();
    }

    /// Waits while another program has the terminal. Errors if the explorer ended.
    fn wait(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        self.changed
            .wait_while(&mut state, |state| *state == GateState::Paused);
        match *state {
            GateState::Ended => Err(io::ErrorKind::Interrupted.into()),
            _ => Ok(()),
        }
    }
}

impl Drop for KeyInput {
    fn drop(&mut self) {
        self.gate.set(GateState::Ended);
    }
}

impl KeyInput {
    pub(crate) fn open(resized: Arc<Notify>) -> io::Result<KeyInput> {
        let (sender, events) = mpsc::channel(WAITING);
        let gate = Arc::new(ReaderGate::default());
        let of_reader = gate.clone();
        let mut reader = Reader::open()?;
        std::thread::Builder::new()
            .name("keys".into())
            .spawn(move || {
                loop {
                    let read = reader.read(&of_reader);
                    let is_gone = read.is_err();
                    let read = read.map_or_else(
                        |error| vec![Err(error)],
                        |events| events.into_iter().map(Ok).collect(),
                    );
                    if read
                        .into_iter()
                        .any(|event| sender.blocking_send(event).is_err())
                        || is_gone
                    {
                        return;
                    }
                }
            })?;
        Ok(KeyInput {
            events,
            resized,
            gate,
        })
    }

    /// The next event. Cancel-safe. Errors if the terminal is gone.
    pub(crate) async fn next(&mut self) -> io::Result<Event> {
        tokio::select! {
            biased;
            event = self.events.recv() => event.unwrap_or_else(|| Err(io::ErrorKind::UnexpectedEof.into())),
            () = self.resized.notified() => {
                crossterm::terminal::size().map(|(width, height)| Event::Resize(width, height))
            }
        }
    }

    /// Pauses reading while another program has the terminal.
    pub(crate) fn pause(&self) {
        self.gate.set(GateState::Paused);
    }

    /// Continues reading.
    pub(crate) fn go_on(&self) {
        self.gate.set(GateState::Open);
    }

    /// Discards events that are not handled yet. A discarded resize is not lost: it is also reported through
    /// `resized`.
    pub(crate) fn forget(&mut self) {
        crate::explorer::terminal::guard::forget_typed();
        while self.events.try_recv().is_ok() {}
    }
}

/// Reads the terminal on the thread for keys.
#[cfg(unix)]
struct Reader {
    terminal: std::fs::File,
}

#[cfg(unix)]
impl Reader {
    fn open() -> io::Result<Reader> {
        use std::io::IsTerminal;
        use std::os::fd::AsFd;
        let input = io::stdin();
        let terminal = match input.is_terminal() {
            true => input.as_fd().try_clone_to_owned()?.into(),
            false => std::fs::File::open("/dev/tty")?,
        };
        Ok(Reader { terminal })
    }

    /// The next events; empty if there was no complete one. Waits while another program has the terminal.
    fn read(&mut self, gate: &ReaderGate) -> io::Result<Vec<Event>> {
        use rustix::event::{PollFd, PollFlags, poll};
        gate.wait()?;
        let mut fds = [PollFd::new(&self.terminal, PollFlags::IN)];
        match poll(&mut fds, None) {
            Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
            Ok(_) if !fds[0].revents().contains(PollFlags::IN) => {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            Ok(_) => {}
        }
        // Another program may have been given the terminal while nothing was typed, or the explorer may have ended.
        gate.wait()?;
        Reader::all()
    }

    /// Reads until nothing is left in the terminal or in crossterm, which returns one of its buffered events at a
    /// time.
    fn all() -> io::Result<Vec<Event>> {
        use std::time::{Duration, Instant};
        /// Timeout of a poll. With a timeout of zero crossterm does not read the terminal.
        const POLL_TIMEOUT: Duration = Duration::from_millis(1);
        let mut events = Vec::new();
        loop {
            let began = Instant::now();
            if event::poll(POLL_TIMEOUT)? {
                events.push(event::read()?);
            } else if began.elapsed() < 2 * POLL_TIMEOUT || events.is_empty() {
                return Ok(events);
            }
            // Otherwise the timeout may have expired before crossterm read anything, on a busy machine: poll again.
        }
    }
}

#[cfg(windows)]
struct Reader;

#[cfg(windows)]
impl Reader {
    fn open() -> io::Result<Reader> {
        Ok(Reader)
    }

    fn read(&mut self, gate: &ReaderGate) -> io::Result<Vec<Event>> {
        /// Time after which the gate is looked at again.
        const POLL_TIMEOUT: std::time::Duration = std::time::Duration::from_millis(100);
        gate.wait()?;
        if !event::poll(POLL_TIMEOUT)? {
            return Ok(Vec::new());
        }
        gate.wait()?;
        event::read().map(|event| vec![event])
    }
}
