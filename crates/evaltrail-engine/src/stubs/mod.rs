//! Stubs: recorded answers of tools, which an evaluation uses in place of the tools, so that every attempt meets the same
//! world.

mod attempt;
mod file;
mod record;
mod tools;

pub use file::{StubError, StubFile, StubLine};
pub use record::{NewStubs, stub_line, tool_answer_to};
pub use tools::{AttemptTools, SeenCall, ToolAnswer};
