//! A file of stubs: JSON Lines, one answer a line.
//!
//! `{"tool": "get_weather", "args": {"city": "Oslo"}, "match": "subset", "response": {"temp_c": 4}}`; the keys `case`,
//! `turn`, `times` and `after_ms` restrict and delay it, and `error` takes the place of `response`.

use crate::formats::json::{self, position};
use crate::formats::vertex::{PLAIN_INPUT, tool_input};
use crate::metrics::CallPattern;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// The answers of a file.
#[derive(Debug, Default)]
pub struct StubFile {
    /// The answers, in the order of the file.
    pub lines: Vec<StubLine>,
}

/// One answer.
#[derive(Debug)]
pub struct StubLine {
    /// The number of the line, from 1.
    pub number: usize,
    pub(super) pattern: CallPattern,
    written: WrittenStub,
}

/// Why a file cannot be used: the message names the line.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct StubError {
    /// The number of the line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

/// A line as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenStub {
    tool: String,
    args: Option<Value>,
    #[serde(default)]
    r#match: ArgumentMatch,
    #[serde(default, deserialize_with = "present")]
    response: Option<Value>,
    error: Option<String>,
    case: Option<String>,
    turn: Option<usize>,
    times: Option<u32>,
    after_ms: Option<u64>,
}

/// A member that is present, also if it is null.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// Which arguments a call may have beside those of the line.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum ArgumentMatch {
    /// None.
    #[default]
    Exact,
    /// Any.
    Subset,
}

impl StubFile {
    /// Reads a file. Blank lines are skipped.
    pub fn parse(text: &str) -> Result<StubFile, StubError> {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let read = |(at, line): (usize, &str)| {
            StubLine::parse(line, at + 1).map_err(|message| StubError { line: at + 1, message })
        };
        Ok(StubFile { lines: lines.map(read).collect::<Result<_, _>>()? })
    }
}

impl StubLine {
    fn parse(line: &str, number: usize) -> Result<StubLine, String> {
        let value = json::parse(line)
            .map_err(|error| format!("column {}: {error}", position(line, error.offset).1))?
            .value;
        let written = WrittenStub::deserialize(&value).map_err(|error| error.to_string())?;
        if written.response.is_some() == written.error.is_some() {
            return Err("expected either \"response\" or \"error\"".into());
        }
        if written.times == Some(0) || written.turn == Some(0) {
            return Err("times and turn count from 1".into());
        }
        let args = written.args.as_ref().map(arguments).transpose()?;
        let pattern =
            CallPattern::new(&written.tool, args.as_ref(), written.r#match == ArgumentMatch::Subset);
        Ok(StubLine {
            number,
            pattern: pattern.map_err(|error| {
                format!("the rule for an argument is not valid (check regular expressions): {error}")
            })?,
            written,
        })
    }

    /// The case to which the answer is restricted.
    pub fn case(&self) -> Option<&str> {
        self.written.case.as_deref()
    }

    /// The tools, with wildcards.
    pub fn tool(&self) -> &str {
        &self.written.tool
    }

    pub(super) fn turn(&self) -> Option<usize> {
        self.written.turn
    }

    /// How often the line answers within an attempt; always when `None`.
    pub(super) fn times(&self) -> Option<u32> {
        self.written.times
    }

    pub(super) fn after_ms(&self) -> u64 {
        self.written.after_ms.unwrap_or(0)
    }

    /// The response, or the words of the error.
    pub(super) fn answer(&self) -> Result<Value, String> {
        match &self.written.error {
            Some(words) => Err(words.clone()),
            None => Ok(self.written.response.clone().unwrap_or_default()),
        }
    }
}

/// The arguments of a line: an object, or a text as tools with one text receive it.
fn arguments(args: &Value) -> Result<Map<String, Value>, String> {
    match args {
        Value::Object(args) => Ok(args.clone()),
        Value::String(text) => Ok(tool_input(args)
            .unwrap_or_else(|_| Map::from_iter([(PLAIN_INPUT.to_string(), text.clone().into())]))),
        _ => Err("expected \"args\", an object or a text".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_name_the_line() {
        let wrong = |text: &str| StubFile::parse(text).err().unwrap().to_string();
        let good = r#"{"tool": "t", "response": null}"#;
        assert_eq!(StubFile::parse(&format!("{good}\n\n{good}\n")).unwrap().lines[1].number, 3);
        assert!(wrong(&format!("{good}\n{{oops")).starts_with("line 2: column 2"));
        assert!(wrong(r#"{"tool": "t"}"#).contains("either \"response\" or \"error\""));
        assert!(wrong(r#"{"tool": "t", "response": 1, "error": "x"}"#).contains("either"));
        assert!(wrong(r#"{"tool": "t", "response": 1, "retries": 1}"#).contains("retries"));
        assert!(wrong(r#"{"tool": "t", "response": 1, "args": {"q": {"regex": "("}}}"#).contains("line 1"));
        assert!(wrong(r#"{"tool": "t", "response": 1, "times": 0}"#).contains("from 1"));
    }
}
