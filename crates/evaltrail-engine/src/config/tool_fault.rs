//! Parsing of failures that tools are made to have.

use super::duration::parse_duration;
use evaltrail_core::domain::{ToolFailure, ToolFault};

/// The words of an error without words.
const NO_WORDS: &str = "the tool failed";

/// Reads `TOOL=timeout:30s`, `TOOL=error:WORDS`, `TOOL=error` or `TOOL=empty`. Tools may contain wildcards.
pub fn parse_tool_fault(text: &str) -> Result<ToolFault, String> {
    let wrong = || {
        format!(
            "{text:?} is not a fault; write TOOL=error:WORDS, TOOL=timeout:30s or TOOL=empty, with * in TOOL for any"
        )
    };
    let (tool, failure) = text
        .split_once('=')
        .filter(|(tool, _)| !tool.trim().is_empty())
        .ok_or_else(wrong)?;
    let (kind, value) = failure.split_once(':').unwrap_or((failure, ""));
    let failure = match (kind, value) {
        ("error", "") => ToolFailure::Error(NO_WORDS.into()),
        ("error", words) => ToolFailure::Error(words.into()),
        ("timeout", time) => ToolFailure::Timeout(parse_duration(time)?.as_millis() as u64),
        ("empty", "") => ToolFailure::Empty,
        _ => return Err(wrong()),
    };
    Ok(ToolFault {
        tool: tool.trim().to_string(),
        failure,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_as_they_are_written() {
        let words = |text: &str| parse_tool_fault(text).map(|fault| fault.describe());
        for text in ["book_*=timeout:30s", "search=error:503: busy", "get=empty"] {
            assert_eq!(words(text), Ok(text.to_string()));
        }
        assert_eq!(words("get=error"), Ok("get=error:the tool failed".into()));
        for wrong in ["get", "=empty", "get=slow", "get=timeout:x", "get=empty:1"] {
            assert!(words(wrong).is_err(), "{wrong}");
        }
    }
}
