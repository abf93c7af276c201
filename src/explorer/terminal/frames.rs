//! When to draw: after something changed, at most so often; never while nothing does.

use std::time::{Duration, Instant};

/// Between two frames for a person's keys.
const FOR_KEYS: Duration = Duration::from_millis(5);
/// Between two frames for what was asked for and has arrived.
const FOR_ARRIVALS: Duration = Duration::from_millis(16);
/// Between two frames for what goes on by itself: ten a second are seen as well as sixty.
const FOR_RUNS: Duration = Duration::from_millis(100);

/// Keeps the time of the next frame.
#[derive(Debug)]
pub(crate) struct Frames {
    last: Instant,
    due: Option<Instant>,
}

impl Frames {
    pub(crate) fn new(now: Instant) -> Frames {
        Frames { last: now - FOR_RUNS, due: Some(now) }
    }

    /// A person did something: the next frame shows it.
    pub(crate) fn soon(&mut self) {
        self.ask(self.last + FOR_KEYS);
    }

    /// Something that was asked for has arrived.
    pub(crate) fn presently(&mut self) {
        self.ask(self.last + FOR_ARRIVALS);
    }

    /// Something went on by itself.
    pub(crate) fn calmly(&mut self) {
        self.ask(self.last + FOR_RUNS);
    }

    /// A frame at a time.
    pub(crate) fn at(&mut self, when: Instant) {
        self.ask(when);
    }

    fn ask(&mut self, when: Instant) {
        self.due = Some(self.due.map_or(when, |due| due.min(when)));
    }

    /// When the next frame is due; `None` means never, and no timer runs.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Whether it is time; if so, the frame counts as drawn.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let now_due = self.due.is_some_and(|due| due <= now);
        if now_due {
            self.due = None;
            self.last = now;
        }
        now_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_changed_means_no_frame() {
        let start = Instant::now();
        let mut frames = Frames::new(start);
        assert!(frames.take(start));
        assert_eq!(frames.due(), None);
        assert!(!frames.take(start + Duration::from_secs(60)));
    }

    #[test]
    fn keys_do_not_wait_for_runs() {
        let start = Instant::now();
        let mut frames = Frames::new(start);
        frames.take(start);
        frames.calmly();
        assert!(!frames.take(start + Duration::from_millis(20)));
        frames.soon();
        assert!(frames.take(start + Duration::from_millis(20)));
        frames.calmly();
        assert_eq!(frames.due(), Some(start + Duration::from_millis(120)));
    }
}
