//! Starting runs, watching files, and what the events of a run change.

pub mod events;
pub mod rescore;
pub mod start;
pub mod watch;
