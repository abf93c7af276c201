//! The time in which this process was running. Limits and latencies exclude the time in which it was suspended
//! (Ctrl-Z, SIGSTOP, a laptop that sleeps).
//!
//! While a stopwatch exists, a thread reads the clock several times a second. A gap between two readings is time in
//! which the process did not run.

use parking_lot::Mutex;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// How often the thread reads the clock.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// A longer gap between two readings of the clock is not a scheduling delay.
const GAP: Duration = Duration::from_secs(1);

struct WatchedClock {
    measuring: usize,
    /// Whether the thread exists that reads the clock.
    has_thread: bool,
    looked: Instant,
    /// How long the process was suspended while a stopwatch existed.
    stopped: Duration,
}

impl WatchedClock {
    /// Reads the clock, and adds the time since the last reading if it was a gap.
    fn look(&mut self) -> Instant {
        let now = Instant::now();
        let since = now.duration_since(self.looked);
        if self.measuring > 0 && since > GAP {
            self.stopped += since - POLL_INTERVAL;
        }
        self.looked = now;
        now
    }

    /// A look of the thread, which returns whether it continues.
    fn look_of_thread(&mut self) -> bool {
        self.look();
        self.has_thread = self.measuring > 0;
        self.has_thread
    }
}

static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
static WATCHED: LazyLock<Mutex<WatchedClock>> = LazyLock::new(|| {
    Mutex::new(WatchedClock {
        measuring: 0,
        has_thread: false,
        looked: *BEGAN,
        stopped: Duration::ZERO,
    })
});

fn watched<T>(with: impl FnOnce(&mut WatchedClock) -> T) -> T {
    // `WatchedClock` is consistent even if a thread panicked while it had the lock.
    with(&mut WATCHED.lock())
}

/// Measures the time in which this process runs. Suspensions are detected while at least one stopwatch exists.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    began: Duration,
}

impl Stopwatch {
    /// Starts measuring.
    pub(crate) fn start() -> Stopwatch {
        let needs_thread = watched(|watched| {
            watched.look();
            watched.measuring += 1;
            // The thread of earlier stopwatches ends only at its next look.
            !std::mem::replace(&mut watched.has_thread, true)
        });
        if needs_thread {
            let started = std::thread::Builder::new().name("clock".into()).spawn(|| {
                while watched(WatchedClock::look_of_thread) {
                    std::thread::sleep(POLL_INTERVAL);
                }
            });
            // Without the thread, the time of suspensions is not excluded; the next stopwatch tries again.
            watched(|watched| watched.has_thread &= started.is_ok());
        }
        Stopwatch { began: running() }
    }

    /// The time since the start, without the time in which the process was suspended.
    pub(crate) fn elapsed(&self) -> Duration {
        running().saturating_sub(self.began)
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        watched(|watched| watched.measuring -= 1);
    }
}

fn running() -> Duration {
    watched(|watched| {
        watched
            .look()
            .duration_since(*BEGAN)
            .saturating_sub(watched.stopped)
    })
}

/// A clock that shows the time of day, also after the process or the machine was suspended. Corrections of the system's clock do
/// not change it after its start: the differences of its times are measured.
#[derive(Debug)]
pub(crate) struct SteadyClock {
    began: jiff::Timestamp,
    /// The time since the machine was started, when the clock was.
    uptime: Duration,
}

impl SteadyClock {
    /// A clock that shows the system's time now.
    pub(crate) fn start() -> SteadyClock {
        SteadyClock::at(jiff::Timestamp::now())
    }

    fn at(began: jiff::Timestamp) -> SteadyClock {
        SteadyClock {
            began,
            uptime: uptime(),
        }
    }

    /// The time.
    pub(crate) fn now(&self) -> jiff::Timestamp {
        self.at_uptime(uptime())
    }

    fn at_uptime(&self, uptime: Duration) -> jiff::Timestamp {
        self.began
            .checked_add(uptime.saturating_sub(self.uptime))
            .unwrap_or(self.began)
    }
}

/// The time since the machine was started, with the time in which it was suspended.
#[cfg(unix)]
fn uptime() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    // Elsewhere than on Linux, this is the clock that goes on while the machine is suspended.
    #[cfg(not(target_os = "linux"))]
    const CLOCK: ClockId = ClockId::Monotonic;
    #[cfg(target_os = "linux")]
    const CLOCK: ClockId = ClockId::Boottime;
    Duration::try_from(clock_gettime(CLOCK)).unwrap_or_default()
}

/// The time since the process first called this. On Windows it goes on while the machine is suspended.
#[cfg(windows)]
fn uptime() -> Duration {
    BEGAN.elapsed()
}

/// The time limit was exceeded.
#[derive(Debug, PartialEq)]
pub(crate) struct Elapsed;

/// Waits for a future, but not longer than `limit`, measured as running time.
pub(crate) fn timeout<T>(
    limit: Duration,
    waited_for: impl Future<Output = T>,
) -> impl Future<Output = Result<T, Elapsed>> {
    timeout_without(|| Duration::ZERO, limit, waited_for)
}

/// Like [`timeout`], but time that is `excluded` since the start does not count.
pub(crate) fn timeout_without<T>(
    excluded: impl Fn() -> Duration,
    limit: Duration,
    waited_for: impl Future<Output = T>,
) -> impl Future<Output = Result<T, Elapsed>> {
    // On the heap: limits are nested, and each would contain the future several times.
    let waited_for = Box::pin(waited_for);
    async move {
        let watch = Stopwatch::start();
        let left = || limit.checked_sub(watch.elapsed().saturating_sub(excluded()));
        let passed = async {
            while let Some(left) = left().filter(|left| !left.is_zero()) {
                tokio::time::sleep(left).await;
            }
        };
        tokio::select! {
            biased;
            done = waited_for => Ok(done),
            () = passed => Err(Elapsed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn sequential_stopwatches_share_one_thread() {
        for _ in 0..100 {
            drop(Stopwatch::start());
        }
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let names =
            tasks.map(|task| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default());
        // One may be about to end.
        assert!(names.filter(|name| name.trim() == "clock").count() <= 2);
    }

    #[tokio::test]
    async fn limit_ends_longer_work() {
        assert_eq!(
            timeout(Duration::from_millis(20), std::future::pending::<()>()).await,
            Err(Elapsed)
        );
        assert_eq!(timeout(Duration::from_secs(9), async { 1 }).await, Ok(1));
        let watch = Stopwatch::start();
        let (limit, excluded) = (Duration::from_millis(20), Duration::from_millis(60));
        let all_but_the_last = || watch.elapsed().min(excluded);
        let late = timeout_without(all_but_the_last, limit, std::future::pending::<()>()).await;
        assert!(late == Err(Elapsed) && watch.elapsed() >= limit + excluded);
    }

    #[test]
    fn steady_clock_advances_by_measured_time() {
        // The system's clock is years later, as after a correction.
        let began: jiff::Timestamp = "2020-01-01T00:00:00Z".parse().unwrap();
        let (clock, watch) = (SteadyClock::at(began), Stopwatch::start());
        let (shown, most) = (clock.now(), watch.elapsed() + Duration::from_secs(1));
        assert!(
            shown >= began && shown <= began.checked_add(most).unwrap(),
            "{shown}"
        );
    }

    /// While a process is suspended, no time passes for its stopwatches.
    #[test]
    fn steady_clock_includes_suspended_time() {
        let began: jiff::Timestamp = "2020-01-01T00:00:00Z".parse().unwrap();
        let clock = SteadyClock::at(began);
        let hour = Duration::from_secs(3600);
        assert_eq!(
            clock.at_uptime(clock.uptime + hour),
            began.checked_add(hour).unwrap()
        );
        assert!(uptime() >= clock.uptime && clock.uptime > Duration::ZERO);
    }

    #[test]
    fn a_gap_between_two_looks_is_no_time() {
        let now = Instant::now();
        let ago = |time| now.checked_sub(time).unwrap_or(now);
        let stopped_after = |measuring, gap| {
            let mut watched = WatchedClock {
                measuring,
                has_thread: false,
                looked: ago(gap),
                stopped: Duration::ZERO,
            };
            watched.look();
            watched.stopped
        };
        assert_eq!(stopped_after(1, Duration::from_millis(900)), Duration::ZERO);
        assert!(stopped_after(1, Duration::from_secs(60)) > Duration::from_secs(59));
        assert_eq!(
            stopped_after(0, Duration::from_secs(60)),
            Duration::ZERO,
            "no stopwatch existed"
        );
    }
}
