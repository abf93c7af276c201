//! One case: expected and actual side by side, and the metrics.

pub mod body;
pub mod judged;
pub mod pieces;
pub mod update;
pub mod verdict;
pub mod view;
