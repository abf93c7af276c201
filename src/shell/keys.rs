//! Keys and other events of the terminal, as they come.
//!
//! crossterm's own stream of events reads on a thread of its own, which may still hold the reader when the terminal was
//! given to an editor and taken back: a key could then be lost, or stay unseen until the next one. Here the loop itself
//! reads, when the system says that there is something to read.

use crossterm::event::{self, Event};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

pub(super) struct Keys {
    terminal: Readable,
    /// Told when the window has another size.
    resized: Arc<Notify>,
    /// What was read and not taken yet.
    read: VecDeque<Event>,
}

impl Keys {
    pub(super) fn open(resized: Arc<Notify>) -> io::Result<Keys> {
        Ok(Keys { terminal: Readable::open()?, resized, read: VecDeque::new() })
    }

    /// The next event. Cancel-safe. An error when the terminal is gone.
    pub(super) async fn next(&mut self) -> io::Result<Event> {
        loop {
            if let Some(event) = self.read.pop_front() {
                return Ok(event);
            }
            tokio::select! {
                ready = self.terminal.wait() => ready?,
                () = self.resized.notified() => {}
            }
            self.read_all()?;
        }
    }

    /// Forgets the events that are there already.
    pub(super) fn forget(&mut self) {
        let _ = self.read_all();
        self.read.clear();
    }

    /// Reads until nothing is left, neither in the terminal nor in crossterm, which hands on one event of what it read
    /// at a time.
    fn read_all(&mut self) -> io::Result<()> {
        loop {
            let began = Instant::now();
            if event::poll(A_LOOK)? {
                self.read.push_back(event::read()?);
            } else if began.elapsed() < 2 * A_LOOK {
                return Ok(());
            }
            // Else the time may have been over before crossterm looked at all: the machine is busy.
        }
    }
}

/// How long a look takes when nothing is there. Without any time crossterm does not look.
const A_LOOK: Duration = Duration::from_millis(1);

/// Waits for something to read on a thread that never reads: it may wait on while an editor has the terminal.
struct Readable {
    /// Asks the thread to wait.
    ask: Sender<()>,
    is_asked: bool,
    /// Told when there is something to read, or never will be again.
    ready: Arc<Notify>,
    is_gone: Arc<AtomicBool>,
}

impl Readable {
    fn open() -> io::Result<Readable> {
        let (ask, asked) = channel();
        let (ready, is_gone) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
        let (tell, gone) = (ready.clone(), is_gone.clone());
        let wait = waiting()?;
        std::thread::Builder::new().name("keys".into()).spawn(move || {
            while asked.recv().is_ok() {
                if !wait() {
                    gone.store(true, Ordering::SeqCst);
                }
                tell.notify_one();
            }
        })?;
        Ok(Readable { ask, is_asked: false, ready, is_gone })
    }

    async fn wait(&mut self) -> io::Result<()> {
        if !self.is_asked {
            self.is_asked = self.ask.send(()).is_ok();
        }
        self.ready.notified().await;
        self.is_asked = false;
        match self.is_gone.load(Ordering::SeqCst) {
            true => Err(io::ErrorKind::UnexpectedEof.into()),
            false => Ok(()),
        }
    }
}

/// Waits until there is something to read; false when the terminal is gone.
#[cfg(unix)]
fn waiting() -> io::Result<impl Fn() -> bool + Send> {
    use rustix::event::{PollFd, PollFlags, poll};
    use std::io::IsTerminal;
    use std::os::fd::AsFd;
    let input = io::stdin();
    let file: std::fs::File = match input.is_terminal() {
        true => input.as_fd().try_clone_to_owned()?.into(),
        false => std::fs::File::open("/dev/tty")?,
    };
    Ok(move || {
        loop {
            let mut fds = [PollFd::new(&file, PollFlags::IN)];
            match poll(&mut fds, None) {
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
                Ok(_) => return fds[0].revents().contains(PollFlags::IN),
            }
        }
    })
}

/// Where terminals are no files, the loop looks now and then.
#[cfg(not(unix))]
fn waiting() -> io::Result<impl Fn() -> bool + Send> {
    Ok(|| {
        std::thread::sleep(Duration::from_millis(20));
        true
    })
}
