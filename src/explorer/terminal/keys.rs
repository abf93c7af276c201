//! Keys and other events of the terminal, as they come.
//!
//! crossterm's own stream of events reads on a thread of its own, which may still hold the reader when the terminal was
//! given to an editor and taken back: a key could then be lost, or stay unseen until the next one. Here one thread reads
//! for as long as the explorer runs, and only while the terminal is ours. When an escape sequence
//! arrives in pieces, this thread waits for the rest, and the explorer's loop goes on.

use crossterm::event::{self, Event};
use std::io;
use std::sync::{Arc, Condvar, Mutex};
use tokio::sync::{Notify, mpsc};

/// Events on their way to the loop.
const WAITING: usize = 256;

pub(crate) struct Keys {
    events: mpsc::Receiver<io::Result<Event>>,
    /// Told when the window has another size.
    resized: Arc<Notify>,
    is_ours: Arc<Gate>,
}

/// Whether the terminal is ours, so that it may be read.
#[derive(Default)]
struct Gate {
    is_closed: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn set(&self, is_closed: bool) {
        if let Ok(mut closed) = self.is_closed.lock() {
            *closed = is_closed;
        }
        self.opened.notify_all();
    }

    fn wait(&self) {
        if let Ok(closed) = self.is_closed.lock() {
            drop(self.opened.wait_while(closed, |closed| *closed));
        }
    }
}

impl Keys {
    pub(crate) fn open(resized: Arc<Notify>) -> io::Result<Keys> {
        let (sender, events) = mpsc::channel(WAITING);
        let is_ours = Arc::new(Gate::default());
        let gate = is_ours.clone();
        let mut reader = Reader::open()?;
        std::thread::Builder::new().name("keys".into()).spawn(move || {
            loop {
                let read = reader.read(&gate);
                let is_gone = read.is_err();
                let read =
                    read.map_or_else(|error| vec![Err(error)], |events| events.into_iter().map(Ok).collect());
                if read.into_iter().any(|event| sender.blocking_send(event).is_err()) || is_gone {
                    return;
                }
            }
        })?;
        Ok(Keys { events, resized, is_ours })
    }

    /// The next event. Cancel-safe. An error when the terminal is gone.
    pub(crate) async fn next(&mut self) -> io::Result<Event> {
        tokio::select! {
            biased;
            event = self.events.recv() => event.unwrap_or_else(|| Err(io::ErrorKind::UnexpectedEof.into())),
            () = self.resized.notified() => {
                crossterm::terminal::size().map(|(width, height)| Event::Resize(width, height))
            }
        }
    }

    /// Stops reading, for as long as another program has the terminal.
    pub(crate) fn pause(&self) {
        self.is_ours.set(true);
    }

    /// The terminal is ours again.
    pub(crate) fn go_on(&self) {
        self.is_ours.set(false);
    }

    /// Forgets what was typed and is not taken yet. Other events are told by their own ways, or come again.
    pub(crate) fn forget(&mut self) {
        crate::explorer::terminal::guard::forget_typed();
        while self.events.try_recv().is_ok() {}
    }
}

/// Reads the terminal, on a thread of its own.
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

    /// The next events; none where there was nothing whole. Waits while the terminal is not ours.
    fn read(&mut self, gate: &Gate) -> io::Result<Vec<Event>> {
        use rustix::event::{PollFd, PollFlags, poll};
        gate.wait();
        let mut fds = [PollFd::new(&self.terminal, PollFlags::IN)];
        match poll(&mut fds, None) {
            Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
            Ok(_) if !fds[0].revents().contains(PollFlags::IN) => {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            Ok(_) => {}
        }
        // It may have been given away while nothing was typed.
        gate.wait();
        Reader::all()
    }

    /// Reads until nothing is left, neither in the terminal nor in crossterm, which hands on one event of what it read
    /// at a time.
    fn all() -> io::Result<Vec<Event>> {
        use std::time::{Duration, Instant};
        /// How long a look takes when nothing is there. Without any time crossterm does not look.
        const A_LOOK: Duration = Duration::from_millis(1);
        let mut events = Vec::new();
        loop {
            let began = Instant::now();
            if event::poll(A_LOOK)? {
                events.push(event::read()?);
            } else if began.elapsed() < 2 * A_LOOK || events.is_empty() {
                return Ok(events);
            }
            // Else the time may have been over before crossterm looked at all: the machine is busy.
        }
    }
}

#[cfg(not(unix))]
struct Reader;

#[cfg(not(unix))]
impl Reader {
    fn open() -> io::Result<Reader> {
        Ok(Reader)
    }

    fn read(&mut self, gate: &Gate) -> io::Result<Vec<Event>> {
        gate.wait();
        event::read().map(|event| vec![event])
    }
}
