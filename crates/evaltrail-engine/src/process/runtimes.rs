//! The threads of a run and of the explorer.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};

/// The number of threads for asynchronous work.
const WORKERS: usize = 2;

/// Worker threads for asynchronous work, and a runtime for the thread that handles input, signals and the screen. That
/// thread has timers of its own, so it continues even if no worker does.
pub struct Runtimes {
    workers: Runtime,
    main_thread: Runtime,
}

impl Runtimes {
    /// Starts the worker threads.
    pub fn start() -> io::Result<Runtimes> {
        Ok(Runtimes {
            workers: Builder::new_multi_thread()
                .worker_threads(WORKERS)
                .enable_all()
                .build()?,
            main_thread: Builder::new_current_thread().enable_time().build()?,
        })
    }

    /// The workers, on which tasks are spawned.
    pub fn workers(&self) -> &Handle {
        self.workers.handle()
    }

    /// Runs a future on this thread to its end. It must spawn tasks only on the workers.
    pub fn run<F: Future>(&self, future: F) -> F::Output {
        self.main_thread.block_on(future)
    }

    /// Ends the workers. Waits for blocking work, but not longer than this.
    pub fn end_within(self, limit: Duration) {
        self.workers.shutdown_timeout(limit);
    }
}

/// Calls `on_late` on another thread after `limit`, unless this is dropped before. No worker is needed for it.
pub struct Deadline {
    _ended: Sender<()>,
}

impl Deadline {
    /// Starts the time.
    pub fn after(limit: Duration, on_late: impl FnOnce() + Send + 'static) -> io::Result<Deadline> {
        let (ended, has_ended) = channel();
        std::thread::Builder::new()
            .name("deadline".into())
            .spawn(move || {
                if has_ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                    on_late();
                }
            })?;
        Ok(Deadline { _ended: ended })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// Runtimes of which every worker is busy until this is dropped.
    struct BusyWorkers {
        runtimes: Runtimes,
        ends: Arc<AtomicBool>,
    }

    impl BusyWorkers {
        fn start() -> BusyWorkers {
            let busy = BusyWorkers {
                runtimes: Runtimes::start().unwrap(),
                ends: Arc::default(),
            };
            let started = Arc::new(AtomicUsize::new(0));
            // A task can wait behind one that is busy, while the other worker sleeps. Each new task wakes a sleeping worker.
            while started.load(Ordering::SeqCst) < WORKERS {
                let (ends, started) = (busy.ends.clone(), started.clone());
                busy.runtimes.workers().spawn(async move {
                    started.fetch_add(1, Ordering::SeqCst);
                    while !ends.load(Ordering::SeqCst) {
                        std::hint::spin_loop();
                    }
                });
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
    fn main_thread_timers_run_with_busy_workers() {
        let busy = BusyWorkers::start();
        busy.runtimes.run(async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let mut frames = tokio::time::interval(Duration::from_millis(1));
            for _ in 0..3 {
                frames.tick().await;
            }
        });
    }

    /// One busy worker is enough: the other one may answer, and yet the work does not end.
    #[test]
    fn deadline_fires_despite_busy_workers() {
        let (late, is_late) = channel();
        let report = |name: &'static str| {
            let late = late.clone();
            move || late.send(name).unwrap()
        };
        drop(Deadline::after(Duration::from_secs(600), report("ended")).unwrap());
        let _busy = BusyWorkers::start();
        let deadline = Deadline::after(Duration::from_millis(1), report("late")).unwrap();
        drop(late);
        // The channel is closed when both threads have ended.
        assert_eq!(is_late.iter().collect::<Vec<_>>(), ["late"]);
        drop(deadline);
    }
}
