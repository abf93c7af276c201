//! The steps so far of an attempt or a conversation that is in progress.

use super::Progress;
use std::collections::VecDeque;

/// Maximum number of steps; the oldest ones are removed first.
const MAX_STEPS: usize = 500;
/// Maximum size of a message that is still streamed, in bytes.
const MAX_MESSAGE: usize = 64 << 10;

/// The steps so far, the oldest first. Their number and the size of each are limited.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    steps: VecDeque<Progress>,
    left_out: usize,
}

impl Transcript {
    /// The stored steps, the oldest first.
    pub fn steps(&self) -> impl Iterator<Item = &Progress> {
        self.steps.iter()
    }

    /// The number of older steps that were removed.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Adds a step. Chunks of one message become one step, which the complete message replaces; the progress of a
    /// judge replaces its previous progress.
    pub fn push(&mut self, step: Progress) {
        match (self.steps.back_mut(), &step) {
            (Some(Progress::SaysMore(message)), Progress::SaysMore(piece)) => {
                return extend(message, piece);
            }
            (Some(last @ Progress::SaysMore(_)), Progress::Says(whole)) => {
                // For a long message, only the beginning is sent again.
                let beginning = whole.strip_suffix('…').unwrap_or(whole);
                *last = match last {
                    Progress::SaysMore(message) if message.starts_with(beginning) => {
                        Progress::Says(std::mem::take(message))
                    }
                    _ => step,
                };
                return;
            }
            (Some(last @ Progress::Judging { .. }), Progress::Judging { .. }) => {
                *last = step;
                return;
            }
            _ => {}
        }
        if self.steps.len() == MAX_STEPS {
            self.steps.pop_front();
            self.left_out += 1;
        }
        self.steps.push_back(step);
    }

    /// The latest step.
    pub fn last(&self) -> Option<&Progress> {
        self.steps.back()
    }

    /// Removes and returns the oldest step.
    pub fn pop(&mut self) -> Option<Progress> {
        self.steps.pop_front()
    }

    /// Removes all steps.
    pub fn clear(&mut self) {
        *self = Transcript::default();
    }
}

/// Appends a chunk to a message up to the maximum size; "…" marks where it was cut.
fn extend(message: &mut String, piece: &str) {
    if message.len() >= MAX_MESSAGE {
        return;
    }
    message.push_str(piece);
    if message.len() > MAX_MESSAGE {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE));
        message.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_merged_and_old_steps_are_dropped() {
        let mut transcript = Transcript::default();
        for step in ["Good", " morn"] {
            transcript.push(Progress::SaysMore(step.into()));
        }
        assert!(
            transcript
                .steps()
                .eq([&Progress::SaysMore("Good morn".into())])
        );
        transcript.push(Progress::Says("Good morning!".into()));
        assert!(
            transcript
                .steps()
                .eq([&Progress::Says("Good morning!".into())])
        );
        for call in 0..MAX_STEPS + 2 {
            transcript.push(Progress::Calls(call.to_string()));
        }
        assert_eq!(
            (transcript.steps().count(), transcript.left_out()),
            (MAX_STEPS, 3)
        );
    }
}
