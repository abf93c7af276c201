//! Requests that evaltrail end: Ctrl-C, and those of the system. One thread receives all of them from the first
//! [`Interrupts`] to the end of the process, whatever the threads of a runtime do. A request for which nobody waits ends
//! the process, and so does one that arrives before the previous one was handled.

use super::Exit;
use evaltrail_engine::process::exit;
use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Who requests the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndRequest {
    /// The user, with Ctrl-C.
    User,
    /// The system, with SIGTERM or, on Windows, Ctrl-Break: some seconds later the process is killed.
    System,
}

/// A stream of requests. While several exist, the newest one receives them.
pub(super) struct Interrupts {
    arrived: Receiver<EndRequest>,
    _registered: Registered,
}

impl Interrupts {
    pub(super) fn listen() -> std::io::Result<Interrupts> {
        // The next request is not for this stream if it has not handled the previous one.
        let (sender, arrived) = channel(1);
        let registered = Registered::add(Recipient::Stream(sender));
        receive_requests()?;
        Ok(Interrupts {
            arrived,
            _registered: registered,
        })
    }

    /// Waits for the next request. Cancel-safe.
    pub(super) async fn next(&mut self) -> EndRequest {
        match self.arrived.recv().await {
            Some(request) => request,
            // The sender exists as long as this value.
            None => std::future::pending().await,
        }
    }
}

/// A flag that becomes true at the first request.
pub(super) struct InterruptFlag {
    flag: Arc<AtomicBool>,
    _registered: Registered,
}

impl InterruptFlag {
    pub(super) fn listen() -> std::io::Result<InterruptFlag> {
        let flag = Arc::new(AtomicBool::new(false));
        let registered = Registered::add(Recipient::Flag(flag.clone()));
        receive_requests()?;
        Ok(InterruptFlag {
            flag,
            _registered: registered,
        })
    }

    pub(super) fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
}

enum Recipient {
    Stream(Sender<EndRequest>),
    Flag(Arc<AtomicBool>),
}

impl Recipient {
    /// Returns `false` if the previous request was not handled.
    fn accept(&self, request: EndRequest) -> bool {
        match self {
            Recipient::Stream(sender) => sender.try_send(request).is_ok(),
            Recipient::Flag(flag) => !flag.swap(true, Ordering::Relaxed),
        }
    }
}

/// The recipients, each with a number, in the order in which they were registered.
static RECIPIENTS: Mutex<Vec<(u64, Recipient)>> = Mutex::new(Vec::new());

fn recipients() -> MutexGuard<'static, Vec<(u64, Recipient)>> {
    RECIPIENTS.lock()
}

/// A registration, until it is dropped.
struct Registered {
    number: u64,
}

impl Registered {
    fn add(recipient: Recipient) -> Registered {
        let mut all = recipients();
        let number = all.last().map_or(0, |(number, _)| number + 1);
        all.push((number, recipient));
        Registered { number }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        recipients().retain(|(number, _)| *number != self.number);
    }
}

/// Whether the newest recipient accepts a request. If not, the process has to end.
fn is_accepted(request: EndRequest) -> bool {
    recipients()
        .last()
        .is_some_and(|(_, recipient)| recipient.accept(request))
}

/// Starts the thread that receives requests, unless it runs.
fn receive_requests() -> std::io::Result<()> {
    static STARTED: OnceLock<Result<(), String>> = OnceLock::new();
    let handle = |request| {
        if !is_accepted(request) {
            exit(Exit::Interrupted.code().into());
        }
    };
    let started = STARTED.get_or_init(|| receive_with(handle).map_err(|error| error.to_string()));
    started.clone().map_err(std::io::Error::other)
}

#[cfg(unix)]
fn receive_with(handle: impl Fn(EndRequest) + Send + 'static) -> std::io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    std::thread::Builder::new()
        .name("interrupts".into())
        .spawn(move || {
            for signal in signals.forever() {
                handle(if signal == SIGINT {
                    EndRequest::User
                } else {
                    EndRequest::System
                });
            }
        })?;
    Ok(())
}

#[cfg(windows)]
fn receive_with(handle: impl Fn(EndRequest) + Send + 'static) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let (mut by_user, mut by_system) = {
        let _entered = runtime.enter();
        (
            tokio::signal::windows::ctrl_c()?,
            tokio::signal::windows::ctrl_break()?,
        )
    };
    std::thread::Builder::new()
        .name("interrupts".into())
        .spawn(move || {
            runtime.block_on(async {
                loop {
                    handle(tokio::select! {
                        _ = by_user.recv() => EndRequest::User,
                        _ = by_system.recv() => EndRequest::System,
                    });
                }
            });
        })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recipients are the same for the whole process, so this is one test.
    #[test]
    fn end_request_goes_to_newest_recipient() {
        let (user, system) = (EndRequest::User, EndRequest::System);
        assert!(!is_accepted(user), "nobody waits");
        let mut outer = Interrupts::listen().unwrap();
        let mut inner = Interrupts::listen().unwrap();
        assert!(is_accepted(system));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        assert_eq!(runtime.block_on(inner.next()), system);
        assert!(is_accepted(user), "the previous one was handled");
        assert!(!is_accepted(user), "the previous one was not handled");
        drop(inner);
        assert!(is_accepted(user));
        assert_eq!(runtime.block_on(outer.next()), user);
        let flag = InterruptFlag::listen().unwrap();
        assert!(!flag.is_set() && is_accepted(system) && flag.is_set());
        assert!(!is_accepted(system), "the second one");
        drop((flag, outer));
        assert!(!is_accepted(user), "nobody waits any more");
    }
}
