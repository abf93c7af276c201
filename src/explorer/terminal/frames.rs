//! Scheduling of frames: a frame is drawn only after a change, with a minimum interval between frames.

use std::time::{Duration, Instant};

/// Minimum interval between frames after input.
const FOR_KEYS: Duration = Duration::from_millis(5);
/// Minimum interval between frames after replies to effects.
const FOR_ARRIVALS: Duration = Duration::from_millis(16);
/// Minimum interval between frames for run events and animations.
const FOR_RUNS: Duration = Duration::from_millis(100);

/// The times of the last and the next frame.
#[derive(Debug)]
pub(crate) struct Frames {
    last: Instant,
    due: Option<Instant>,
}

impl Frames {
    pub(crate) fn new(now: Instant) -> Frames {
        Frames {
            last: now - FOR_RUNS,
            due: Some(now),
        }
    }

    /// Requests a frame after input.
    pub(crate) fn after_input(&mut self) {
        self.ask(self.last + FOR_KEYS);
    }

    /// Requests a frame after the reply to an effect.
    pub(crate) fn after_reply(&mut self) {
        self.ask(self.last + FOR_ARRIVALS);
    }

    /// Requests a frame after run events, or for an animation.
    pub(crate) fn after_event(&mut self) {
        self.ask(self.last + FOR_RUNS);
    }

    /// Requests a frame at a time.
    pub(crate) fn at(&mut self, when: Instant) {
        self.ask(when);
    }

    fn ask(&mut self, when: Instant) {
        self.due = Some(self.due.map_or(when, |due| due.min(when)));
    }

    /// When the next frame is due. `None`: no frame is requested, and no timer runs.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Whether a frame is due. If so, it counts as drawn.
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
        frames.after_event();
        assert!(!frames.take(start + Duration::from_millis(20)));
        frames.after_input();
        assert!(frames.take(start + Duration::from_millis(20)));
        frames.after_event();
        assert_eq!(frames.due(), Some(start + Duration::from_millis(120)));
    }
}
