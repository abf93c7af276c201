//! Time limits that hold on a busy machine, too.

use std::time::{Duration, Instant};

/// How often the load of the machine is read.
const LOOK: Duration = Duration::from_millis(500);

/// A time limit on a machine without other load. While processes wait for a processor, time passes more slowly.
pub struct TimeLimit {
    limit: Duration,
    passed: Duration,
    looked: Instant,
    load: f64,
}

impl TimeLimit {
    pub fn new(limit: Duration) -> TimeLimit {
        TimeLimit {
            limit,
            passed: Duration::ZERO,
            looked: Instant::now(),
            load: load(),
        }
    }

    /// Whether the time has passed. Call it repeatedly.
    pub fn has_passed(&mut self) -> bool {
        let since = self.looked.elapsed();
        if since >= LOOK {
            self.passed += since.div_f64(self.load);
            (self.looked, self.load) = (Instant::now(), load());
        }
        self.passed > self.limit
    }
}

/// How many times slower a test is, because processes wait for a processor; 1 if none does or this is not known.
pub(super) fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: f64 = text
        .split(' ')
        .next()
        .and_then(|load| load.parse().ok())
        .unwrap_or(1.0);
    let processors = std::thread::available_parallelism().map_or(1.0, |count| count.get() as f64);
    (load / processors).max(1.0)
}
