//! The part of a run that one of several machines executes.

use serde::{Deserialize, Serialize};

/// One of the parts into which the cases of a run are split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Its number, from 1.
    pub number: u32,
    /// The number of all shards.
    pub of: u32,
    /// How the cases are split.
    pub by: ShardBy,
}

/// How the cases of a run are split into shards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShardBy {
    /// In turn: of three shards, the second one has the cases 2, 5, 8 and so on.
    #[default]
    Slice,
    /// By the case's id, so that a case stays in its shard when others come or go.
    Hash,
    /// So that all shards take about the same time, by the times of the latest results.
    Time,
    /// Not before the run: machines take the cases one by one from a queue.
    Queue,
}

impl ShardBy {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ShardBy::Slice => "slice",
            ShardBy::Hash => "hash",
            ShardBy::Time => "time",
            ShardBy::Queue => "queue",
        }
    }
}

/// The maximum number of shards of a run.
const MAX_SHARDS: u32 = 100_000;

impl Shard {
    /// Whether its number is one of at most 100,000 shards.
    pub fn is_valid(self) -> bool {
        (1..=self.of).contains(&self.number) && self.of <= MAX_SHARDS
    }

    /// For a headline, as "shard 3 of 10, by slice".
    pub fn describe(self) -> String {
        format!(
            "shard {} of {}, by {}",
            self.number,
            self.of,
            self.by.name()
        )
    }
}
