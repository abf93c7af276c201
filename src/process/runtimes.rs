//! The threads of a run and of the explorer.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};

/// The number of threads for asynchronous work.
const WORKERS: usize = 2;

/// Worker threads for asynchronous work, and a runtime for the thread that handles input, signals and the screen. That
/// thread has timers of its own, so it continues even if no worker does.
pub(crate) struct Runtimes {
    workers: Runtime,
    main_thread: Runtime,
}

impl Runtimes {
    /// Starts the worker threads.
    pub(crate) fn start() -> io::Result<Runtimes> {
        Ok(Runtimes {
            workers: Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?,
            main_thread: Builder::new_current_thread().enable_time().build()?,
        })
    }

    /// The workers, on which tasks are spawned.
    pub(crate) fn workers(&self) -> &Handle {
        self.workers.handle()
    }

    /// Runs a future on this thread to its end. It must spawn tasks only on the workers.
    pub(crate) fn run<F: Future>(&self, future: F) -> F::Output {
        self.main_thread.block_on(future)
    }

    /// Ends the workers. Waits for blocking work, but not longer than this.
    pub(crate) fn end_within(self, limit: Duration) {
        self.workers.shutdown_timeout(limit);
    }
}

/// Calls `on_hang` on another thread if no worker runs a task within `limit`: all of them are busy with something that
/// does not end.
pub(crate) fn watch_workers(
    workers: &Handle,
    limit: Duration,
    on_hang: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    let (answer, answered) = channel();
    workers.spawn(async move {
        // The thread may not wait any more.
        let _ = answer.send(());
    });
    std::thread::Builder::new().name("workers".into()).spawn(move || {
        if answered.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            on_hang();
        }
    })?;
    Ok(())
}

#[cfg(test)]
pub(crate) use tests::BusyWorkers;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// Runtimes of which every worker is busy until this is dropped.
    pub(crate) struct BusyWorkers {
        pub(crate) runtimes: Runtimes,
        ends: Arc<AtomicBool>,
    }

    impl BusyWorkers {
        pub(crate) fn start() -> BusyWorkers {
            let busy = BusyWorkers { runtimes: Runtimes::start().unwrap(), ends: Arc::default() };
            let started = Arc::new(AtomicUsize::new(0));
            for _ in 0..WORKERS {
                let (ends, started) = (busy.ends.clone(), started.clone());
                busy.runtimes.workers().spawn(async move {
                    started.fetch_add(1, Ordering::SeqCst);
                    while !ends.load(Ordering::SeqCst) {
                        std::hint::spin_loop();
                    }
                });
            }
            while started.load(Ordering::SeqCst) < WORKERS {
                std::thread::yield_now();
            }
            busy
        }
    }

    impl Drop for BusyWorkers {
        fn drop(&mut self) {
            self.ends.store(true, Ordering::SeqCst);
        }
    }

    #[test]
    fn the_main_thread_has_timers_while_every_worker_is_busy() {
        let busy = BusyWorkers::start();
        busy.runtimes.run(async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let mut frames = tokio::time::interval(Duration::from_millis(1));
            for _ in 0..3 {
                frames.tick().await;
            }
        });
    }

    #[test]
    fn workers_that_are_all_busy_are_noticed_and_others_are_not() {
        let (hangs, hung) = channel();
        let report = |name: &'static str| {
            let hangs = hangs.clone();
            move || hangs.send(name).unwrap()
        };
        let idle = Runtimes::start().unwrap();
        watch_workers(idle.workers(), Duration::from_secs(600), report("idle")).unwrap();
        let busy = BusyWorkers::start();
        watch_workers(busy.runtimes.workers(), Duration::from_millis(1), report("busy")).unwrap();
        drop(hangs);
        // The channel is closed when both threads have ended.
        assert_eq!(hung.iter().collect::<Vec<_>>(), ["busy"]);
    }
}
