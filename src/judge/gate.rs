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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn so_many_at_once() {
        let gate = Arc::new(Gate::new(3, None));
        let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let enter = |_| {
            let (gate, inside, most) = (gate.clone(), inside.clone(), most.clone());
            tokio::spawn(async move {
                let _room = gate.enter().await;
                most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                inside.fetch_sub(1, Ordering::SeqCst);
            })
        };
        for task in (0..30).map(enter).collect::<Vec<_>>() {
            task.await.unwrap();
        }
        assert_eq!(most.load(Ordering::SeqCst), 3);
    }

    /// Only a lower bound is asked for: a slow machine is no fault.
    #[tokio::test]
    async fn so_many_a_minute_and_none_while_closed() {
        let paced = Gate::new(10, Some(1200));
        let began = Instant::now();
        for _ in 0..4 {
            paced.enter().await;
        }
        assert!(began.elapsed() >= Duration::from_millis(145), "{:?}", began.elapsed());
        let closed = Gate::new(10, None);
        closed.close_for(Duration::from_millis(60));
        closed.close_for(Duration::from_millis(1));
        let began = Instant::now();
        closed.enter().await;
        assert!(began.elapsed() >= Duration::from_millis(55), "{:?}", began.elapsed());
    }
}
