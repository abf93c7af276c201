//! Requests that evaltrail end: Ctrl-C, and those of the system.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A stream of requests to end.
pub(super) struct Interrupts {
    #[cfg(unix)]
    signals: tokio::signal::unix::Signal,
    #[cfg(windows)]
    signals: WindowsSignals,
}

#[cfg(unix)]
impl Interrupts {
    pub(super) fn listen() -> std::io::Result<Interrupts> {
        Interrupts::of(tokio::signal::unix::SignalKind::interrupt())
    }

    /// The signal with which a scheduler ends a task: some seconds later it is killed.
    pub(super) fn of_the_system() -> std::io::Result<Interrupts> {
        Interrupts::of(tokio::signal::unix::SignalKind::terminate())
    }

    fn of(kind: tokio::signal::unix::SignalKind) -> std::io::Result<Interrupts> {
        Ok(Interrupts { signals: tokio::signal::unix::signal(kind)? })
    }

    pub(super) async fn next(&mut self) {
        self.signals.recv().await;
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
