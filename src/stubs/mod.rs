//! Stubs: recorded answers of tools, which an evaluation uses in place of the tools, so that every attempt meets the same
//! world.

mod attempt;
mod file;

pub use attempt::{AttemptStubs, StubAnswer, Unanswered};
pub use file::{StubError, StubFile, StubLine};
