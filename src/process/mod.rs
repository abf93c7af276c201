//! Child processes: what they get of the environment, their output within limits, and their end with everything that
//! they started. Time limits do not count time in which evaltrail itself was stopped.

pub(crate) mod clock;
mod keeper;
mod program;

pub use keeper::keep_if_asked;
pub(crate) use program::{Program, Tail};
