//! Colours of text for a terminal.

use evaltrail_core::domain::Status;

/// Whether and how text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint {
    /// Whether escape sequences may be written.
    pub on: bool,
}

impl Paint {
    fn wrap(self, code: &str, text: &str) -> String {
        if self.on {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_string()
        }
    }

    /// Text in the colour of a status.
    pub fn status(self, status: Status, text: &str) -> String {
        let code = match status {
            Status::Passed => "32",
            Status::Failed => "31",
            Status::Errored => "35",
            Status::NotEvaluated => "33",
            Status::Informational => "2",
        };
        self.wrap(code, text)
    }

    /// Faint text.
    pub fn faint(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// Bold text.
    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }
}
