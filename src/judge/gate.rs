//! How often a judge is asked: so many requests at once, so many a minute, and none while it asks to wait.

use std::time::Duration;
use tokio::sync::{Mutex, Semaphore, SemaphorePermit};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};

/// One gate for all that ask the same judge.
#[derive(Debug)]
pub(super) struct Gate {
    slots: Semaphore,
    pace: Option<Mutex<Interval>>,
    /// When the server wants to be asked again.
    opens: std::sync::Mutex<Option<Instant>>,
}

impl Gate {
    pub(super) fn new(jobs: u32, rate: Option<u32>) -> Gate {
        let pace = rate.map(|rate| {
            let mut pace = interval(Duration::from_secs(60) / rate.max(1));
            pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
            Mutex::new(pace)
        });
        Gate { slots: Semaphore::new(jobs.max(1) as usize), pace, opens: std::sync::Mutex::default() }
    }

    /// Waits for room. Dropping what comes back makes room again.
    pub(super) async fn enter(&self) -> Option<SemaphorePermit<'_>> {
        let permit = self.slots.acquire().await.ok();
        if let Some(pace) = &self.pace {
            pace.lock().await.tick().await;
        }
        while let Some(opens) = self.closed_until() {
            sleep_until(opens).await;
        }
        permit
    }

    fn closed_until(&self) -> Option<Instant> {
        let opens = self.opens.lock().ok()?;
        opens.filter(|opens| *opens > Instant::now())
    }

    /// Nobody enters for so long.
    pub(super) fn close_for(&self, time: Duration) {
        if let Ok(mut opens) = self.opens.lock() {
            *opens = (*opens).max(Some(Instant::now() + time));
        }
    }
}
