//! How a command ended.

/// The outcome of a command, which determines the exit code of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All passed.
    Success,
    /// Something failed, errored or was not evaluated.
    Failures,
    /// The usage or an input is invalid.
    UsageError,
    /// Interrupted.
    Interrupted,
    /// The exit code of a program that this process supervised.
    Code(u8),
}

impl Exit {
    /// The process's exit code.
    pub fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Failures => 1,
            Exit::UsageError => 2,
            Exit::Interrupted => 130,
            Exit::Code(code) => code,
        }
    }
}
