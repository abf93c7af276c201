//! Limits the requests to a judge: how many at once, how many a minute, and none while the server requests a delay.

use super::error::JudgeError;
use std::time::Duration;
use tokio::sync::{Mutex, Semaphore, SemaphorePermit};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};

/// The limits of all requests to the same judge.
#[derive(Debug)]
pub(super) struct RequestLimits {
    slots: Semaphore,
    pace: Option<Mutex<Interval>>,
    /// The end of a delay that the server requested.
    delayed_until: parking_lot::Mutex<Option<Instant>>,
    /// Until when requests fail, and with which error: the server requested a delay that is too long to wait for.
    failing_until: parking_lot::Mutex<Option<(Instant, JudgeError)>>,
}

impl RequestLimits {
    pub(super) fn new(jobs: u32, rate: Option<u32>) -> RequestLimits {
        let pace = rate.map(|rate| {
            let mut pace = interval(Duration::from_secs(60) / rate.max(1));
            pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
            Mutex::new(pace)
        });
        RequestLimits {
            slots: Semaphore::new(jobs.max(1) as usize),
            pace,
            delayed_until: Default::default(),
            failing_until: Default::default(),
        }
    }

    /// Waits for a free slot, which is freed again by dropping the permit. Fails during a long delay (see
    /// [`RequestLimits::fail_for`]).
    pub(super) async fn acquire_slot(&self) -> Result<Option<SemaphorePermit<'_>>, JudgeError> {
        let permit = self.slots.acquire().await.ok();
        self.check_failing()?;
        Ok(permit)
    }

    /// Waits, in a slot, until a request may be sent: for the rate, and for the end of a delay that the server
    /// requested. Fails during a long delay.
    pub(super) async fn wait_until_allowed(&self) -> Result<(), JudgeError> {
        if let Some(pace) = &self.pace {
            pace.lock().await.tick().await;
        }
        while let Some(delayed_until) = self.delay_ends() {
            sleep_until(delayed_until).await;
        }
        self.check_failing()
    }

    fn check_failing(&self) -> Result<(), JudgeError> {
        match &*self.failing_until.lock() {
            Some((until, why)) if *until > Instant::now() => Err(why.clone()),
            _ => Ok(()),
        }
    }

    /// Rejects all requests during this time.
    pub(super) fn fail_for(&self, time: Duration, why: JudgeError) {
        if let Some(until) = Instant::now().checked_add(time) {
            *self.failing_until.lock() = Some((until, why));
        }
    }

    fn delay_ends(&self) -> Option<Instant> {
        let delayed_until = *self.delayed_until.lock();
        delayed_until.filter(|delayed_until| *delayed_until > Instant::now())
    }

    /// Delays all requests for this time.
    pub(super) fn delay_for(&self, time: Duration) {
        let mut delayed_until = self.delayed_until.lock();
        *delayed_until = (*delayed_until).max(Some(Instant::now() + time));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::JudgeErrorKind;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn requests_at_once_are_limited() {
        let limits = Arc::new(RequestLimits::new(3, None));
        let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let acquire_slot = |_| {
            let (limits, inside, most) = (limits.clone(), inside.clone(), most.clone());
            tokio::spawn(async move {
                let _slot = limits.acquire_slot().await;
                most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                inside.fetch_sub(1, Ordering::SeqCst);
            })
        };
        for task in (0..30).map(acquire_slot).collect::<Vec<_>>() {
            task.await.unwrap();
        }
        assert_eq!(most.load(Ordering::SeqCst), 3);
    }

    #[tokio::test]
    async fn long_delay_fails_requests_with_its_error() {
        let limits = RequestLimits::new(1, None);
        limits.fail_for(
            Duration::from_secs(3600),
            JudgeError::new(JudgeErrorKind::Unavailable, "tomorrow"),
        );
        assert_eq!(limits.acquire_slot().await.unwrap_err().message, "tomorrow");
        assert_eq!(
            limits.wait_until_allowed().await.unwrap_err().message,
            "tomorrow"
        );
        limits.fail_for(
            Duration::ZERO,
            JudgeError::new(JudgeErrorKind::Unavailable, "over"),
        );
        assert!(limits.acquire_slot().await.is_ok());
    }

    #[tokio::test]
    async fn panic_does_not_lift_a_limit() {
        let limits = Arc::new(RequestLimits::new(1, None));
        limits.fail_for(
            Duration::from_secs(3600),
            JudgeError::new(JudgeErrorKind::Unavailable, "tomorrow"),
        );
        let locking = limits.clone();
        let panicked = std::thread::spawn(move || {
            let _failing = locking.failing_until.lock();
            panic!("while the limits are locked");
        });
        assert!(panicked.join().is_err());
        assert_eq!(limits.acquire_slot().await.unwrap_err().message, "tomorrow");
    }

    /// Only a lower bound is checked: a slow machine is not an error.
    #[tokio::test]
    async fn rate_and_requested_delay_are_respected() {
        let paced = RequestLimits::new(10, Some(1200));
        let began = Instant::now();
        for _ in 0..4 {
            paced.wait_until_allowed().await.unwrap();
        }
        assert!(
            began.elapsed() >= Duration::from_millis(145),
            "{:?}",
            began.elapsed()
        );
        let closed = RequestLimits::new(10, None);
        closed.delay_for(Duration::from_millis(60));
        closed.delay_for(Duration::from_millis(1));
        let began = Instant::now();
        closed.wait_until_allowed().await.unwrap();
        assert!(
            began.elapsed() >= Duration::from_millis(55),
            "{:?}",
            began.elapsed()
        );
    }
}
