//! The delays before retries.

use std::time::Duration;

/// The longest delay that a server may request. After a longer one there is no retry.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// Delays that double, with jitter, so that many attempts do not retry at the same time.
#[derive(Clone, Debug)]
pub struct Backoff {
    next: Duration,
    longest: Duration,
    left: u32,
}

impl Backoff {
    /// Delays for `retries` retries of an agent: half a second, doubling up to eight seconds.
    pub fn new(retries: u32) -> Backoff {
        Backoff::between(retries, Duration::from_millis(500), Duration::from_secs(8))
    }

    /// Delays for `retries` retries, doubling from `first` up to `longest`.
    pub fn between(retries: u32, first: Duration, longest: Duration) -> Backoff {
        Backoff {
            next: first,
            longest,
            left: retries,
        }
    }

    /// The delay before the next retry; `None` when there are no more. The delay that the server requested is a minimum.
    pub fn next(&mut self, requested: Option<Duration>) -> Option<Duration> {
        self.next_at(requested, random_fraction())
    }

    /// The same for a random number between 0 and 1.
    fn next_at(&mut self, requested: Option<Duration>, chance: f64) -> Option<Duration> {
        self.left = self.left.checked_sub(1)?;
        let delay = self.next.mul_f64(0.5 + 0.5 * chance.clamp(0.0, 1.0));
        self.next = (self.next * 2).min(self.longest);
        match requested {
            Some(requested) if requested > MAX_RETRY_AFTER => None,
            Some(requested) => Some(delay.max(requested)),
            None => Some(delay),
        }
    }
}

/// A random number between 0 and 1.
fn random_fraction() -> f64 {
    f64::from(uuid::Uuid::new_v4().as_u128() as u32) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_to_a_limit() {
        let mut backoff = Backoff::new(7);
        let delays: Vec<u128> = std::iter::from_fn(|| backoff.next_at(None, 1.0))
            .map(|d| d.as_millis())
            .collect();
        assert_eq!(delays, [500, 1000, 2000, 4000, 8000, 8000, 8000]);
        assert_eq!(
            Backoff::new(1).next_at(None, 0.0),
            Some(Duration::from_millis(250))
        );
        assert_eq!(Backoff::new(0).next_at(None, 0.5), None);
    }

    #[test]
    fn requested_delay_is_a_minimum() {
        let asked = |seconds| Backoff::new(1).next_at(Some(Duration::from_secs(seconds)), 0.0);
        assert_eq!(asked(3), Some(Duration::from_secs(3)));
        assert_eq!(asked(0), Some(Duration::from_millis(250)));
        assert_eq!(asked(3600), None);
    }

    #[test]
    fn random_numbers_are_between_0_and_1() {
        let numbers: Vec<f64> = (0..200).map(|_| random_fraction()).collect();
        assert!(numbers.iter().all(|one| (0.0..=1.0).contains(one)));
        assert!(numbers.iter().any(|one| *one < 0.5) && numbers.iter().any(|one| *one > 0.5));
    }
}
