//! What an attempt or a conversation did so far, step by step, while it goes on.

use super::Progress;
use std::collections::VecDeque;

/// More steps are not kept: the oldest go first.
const STEPS_AT_MOST: usize = 500;
/// A message that is still being written is kept up to this many bytes.
const MESSAGE_AT_MOST: usize = 64 << 10;

/// The steps so far, the oldest first. Bounded in number and in the size of each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    steps: VecDeque<Progress>,
    left_out: usize,
}

impl Transcript {
    /// The steps that are kept, the oldest first.
    pub fn steps(&self) -> impl Iterator<Item = &Progress> {
        self.steps.iter()
    }

    /// How many older steps are not kept.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Adds a step. Pieces of one message become one step, which the whole message replaces; the progress of a judge
    /// replaces its progress before.
    pub fn push(&mut self, step: Progress) {
        match (self.steps.back_mut(), &step) {
            (Some(Progress::SaysMore(message)), Progress::SaysMore(piece)) => return extend(message, piece),
            (Some(last @ Progress::SaysMore(_)), Progress::Says(whole)) => {
                // Of a long message only the beginning is sent again.
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
        if self.steps.len() == STEPS_AT_MOST {
            self.steps.pop_front();
            self.left_out += 1;
        }
        self.steps.push_back(step);
    }

    /// The newest step.
    pub fn last(&self) -> Option<&Progress> {
        self.steps.back()
    }

    /// Takes the oldest step out.
    pub fn pop(&mut self) -> Option<Progress> {
        self.steps.pop_front()
    }

    /// Forgets all steps.
    pub fn clear(&mut self) {
        *self = Transcript::default();
    }
}

/// Adds a piece to a message, as far as it fits; "…" marks where it was cut.
fn extend(message: &mut String, piece: &str) {
    if message.len() >= MESSAGE_AT_MOST {
        return;
    }
    message.push_str(piece);
    if message.len() > MESSAGE_AT_MOST {
        message.truncate(message.floor_char_boundary(MESSAGE_AT_MOST));
        message.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_become_the_message_and_old_steps_are_counted() {
        let mut transcript = Transcript::default();
        for step in ["Good", " morn"] {
            transcript.push(Progress::SaysMore(step.into()));
        }
        assert!(transcript.steps().eq([&Progress::SaysMore("Good morn".into())]));
        transcript.push(Progress::Says("Good morning!".into()));
        assert!(transcript.steps().eq([&Progress::Says("Good morning!".into())]));
        for call in 0..STEPS_AT_MOST + 2 {
            transcript.push(Progress::Calls(call.to_string()));
        }
        assert_eq!((transcript.steps().count(), transcript.left_out()), (STEPS_AT_MOST, 3));
    }
}
