//! The votes of a judge's samples.

use serde::{Deserialize, Serialize};

/// Counts of the samples' votes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Votes {
    /// Votes in favor.
    pub yes: u32,
    /// Votes against.
    pub no: u32,
    /// Samples without a verdict.
    pub none: u32,
}

impl Votes {
    /// Counts scores as votes: above 0 in favor, 0 against.
    pub fn count(scores: impl Iterator<Item = Option<f64>>) -> Votes {
        scores.fold(Votes::default(), |votes, score| match score {
            Some(score) if score > 0.0 => Votes {
                yes: votes.yes + 1,
                ..votes
            },
            Some(_) => Votes {
                no: votes.no + 1,
                ..votes
            },
            None => Votes {
                none: votes.none + 1,
                ..votes
            },
        })
    }

    /// Whether there are votes in favor and against.
    pub fn is_split(self) -> bool {
        self.yes > 0 && self.no > 0
    }

    /// The votes as text: `4–1`, or `4–1, 2 unclear`.
    pub fn describe(self) -> String {
        let unclear = if self.none > 0 {
            format!(", {} unclear", self.none)
        } else {
            String::new()
        };
        format!("{}–{}{unclear}", self.yes, self.no)
    }
}
