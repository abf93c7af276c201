//! Requests that evaltrail end: Ctrl-C, and those of the system.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A stream of requests to end. They arrive on a thread of their own, whatever the threads of a runtime do.
pub(super) struct Interrupts {
    #[cfg(unix)]
    signals: UnixSignals,
    #[cfg(windows)]
    signals: WindowsSignals,
}

#[cfg(unix)]
struct UnixSignals {
    arrived: tokio::sync::mpsc::Receiver<()>,
    /// Ends the thread.
    thread: signal_hook::iterator::Handle,
}

#[cfg(unix)]
impl Interrupts {
    pub(super) fn listen() -> std::io::Result<Interrupts> {
        Interrupts::of(signal_hook::consts::SIGINT)
    }

    /// The signal with which a scheduler ends a task: some seconds later it is killed.
    pub(super) fn of_the_system() -> std::io::Result<Interrupts> {
        Interrupts::of(signal_hook::consts::SIGTERM)
    }

    fn of(signal: i32) -> std::io::Result<Interrupts> {
        /// Signals that are not handled yet. More of them mean the same.
        const WAITING: usize = 8;
        let mut signals = signal_hook::iterator::Signals::new([signal])?;
        let (sender, arrived) = tokio::sync::mpsc::channel(WAITING);
        let thread = signals.handle();
        std::thread::Builder::new().name("interrupts".into()).spawn(move || {
            for _ in signals.forever() {
                let _ = sender.try_send(());
            }
        })?;
        Ok(Interrupts { signals: UnixSignals { arrived, thread } })
    }

    /// Waits for the next request. Cancel-safe.
    pub(super) async fn next(&mut self) {
        if self.signals.arrived.recv().await.is_none() {
            // The thread has ended: there are no more.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(unix)]
impl Drop for UnixSignals {
    fn drop(&mut self) {
        self.thread.close();
    }
}

#[cfg(windows)]
enum WindowsSignals {
    CtrlC(tokio::signal::windows::CtrlC),
    CtrlBreak(tokio::signal::windows::CtrlBreak),
}

#[cfg(windows)]
impl Interrupts {
    pub(super) fn listen() -> std::io::Result<Interrupts> {
        Ok(Interrupts { signals: WindowsSignals::CtrlC(tokio::signal::windows::ctrl_c()?) })
    }

    /// Ctrl-Break, with which CI systems end a task: some seconds later it is killed.
    pub(super) fn of_the_system() -> std::io::Result<Interrupts> {
        Ok(Interrupts { signals: WindowsSignals::CtrlBreak(tokio::signal::windows::ctrl_break()?) })
    }

    pub(super) async fn next(&mut self) {
        match &mut self.signals {
            WindowsSignals::CtrlC(signals) => signals.recv().await,
            WindowsSignals::CtrlBreak(signals) => signals.recv().await,
        };
    }
}

/// Becomes true when the user or the system asks this process to end.
pub(super) fn interrupt_flag() -> Arc<AtomicBool> {
    let interrupted = Arc::new(AtomicBool::new(false));
    // If this fails, nothing but the caller's time limit ends the work.
    #[cfg(unix)]
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let _ = signal_hook::flag::register(signal, interrupted.clone());
    }
    #[cfg(windows)]
    {
        let flag = interrupted.clone();
        std::thread::spawn(move || {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().build() else { return };
            let heard = runtime.block_on(async { Some(Interrupts::listen().ok()?.next().await) });
            flag.store(heard.is_some(), std::sync::atomic::Ordering::Relaxed);
        });
    }
    interrupted
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::process::BusyWorkers;

    #[test]
    fn signals_arrive_while_every_worker_is_busy() {
        let busy = BusyWorkers::start();
        // A signal that no other test handles.
        let signal = signal_hook::consts::SIGUSR2;
        let mut interrupts = Interrupts::of(signal).unwrap();
        for _ in 0..2 {
            signal_hook::low_level::raise(signal).unwrap();
            busy.runtimes.run(interrupts.next());
        }
    }
}
