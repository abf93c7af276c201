//! A file of stubs: JSON Lines, one answer a line.
//!
//! `{"tool": "get_weather", "args": {"city": "Oslo"}, "match": "subset", "response": {"temp_c": 4}}`; the keys `case`,
//! `turn`, `times` and `after_ms` restrict and delay it, and `error` takes the place of `response`.

use evaltrail_core::formats::check_line_size;
use evaltrail_core::formats::json::{self, ParseFailure, position};
use evaltrail_core::formats::vertex::{PLAIN_INPUT, tool_input};
use evaltrail_core::metrics::CallPattern;
use regex::RegexBuilder;
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

/// The maximum memory of the answers of a file, in bytes.
const MAX_MEMORY_BYTES: usize = 256 << 20;
/// The memory of a line without its values, in bytes: the compiled pattern and its rules.
const LINE: usize = 1536;
/// The limits of memory within which a regular expression is compiled, in bytes. One that needs more than the last is not
/// accepted.
const REGEX: [usize; 4] = [32 << 10, 256 << 10, 2 << 20, 10 << 20];

impl StubFile {
    /// Reads a file. Blank lines are skipped.
    pub fn parse(text: &str) -> Result<StubFile, StubError> {
        let mut left = MAX_MEMORY_BYTES;
        let lines = text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty());
        let read = |(at, line): (usize, &str)| {
            StubLine::parse(line, at + 1, &mut left).map_err(|message| StubError {
                line: at + 1,
                message,
            })
        };
        Ok(StubFile {
            lines: lines.map(read).collect::<Result<_, _>>()?,
        })
    }
}

impl StubLine {
    /// Reads a line. `left` is the memory that is left for it and the lines after it, in bytes.
    fn parse(line: &str, number: usize, left: &mut usize) -> Result<StubLine, String> {
        check_line_size(line)?;
        let too_large = || {
            let mega = MAX_MEMORY_BYTES >> 20;
            format!(
                "the stubs up to here need more than {mega} MB of memory; divide the set and its stubs"
            )
        };
        let (value, size) = json::parse_within(line, *left).map_err(|error| match error {
            ParseFailure::TooLarge => too_large(),
            ParseFailure::Syntax(error) => {
                format!("column {}: {error}", position(line, error.offset).1)
            }
        })?;
        let mut written = WrittenStub::deserialize(&value).map_err(|error| error.to_string())?;
        drop(value);
        if written.response.is_some() == written.error.is_some() {
            return Err("expected either \"response\" or \"error\"".into());
        }
        if written.times == Some(0) || written.turn == Some(0) {
            return Err("times and turn count from 1".into());
        }
        let in_text = match written
            .args
            .as_ref()
            .and_then(Value::as_str)
            .map(|text| json::parse_within(text, *left))
        {
            Some(Err(ParseFailure::TooLarge)) => return Err(too_large()),
            Some(Ok((_, size))) => size,
            None | Some(Err(ParseFailure::Syntax(_))) => 0,
        };
        let args = written.args.take().map(arguments).transpose()?;
        // The arguments are stored as values, and as objects of the pattern.
        let memory = 2 * (size + in_text)
            + LINE
            + args
                .as_ref()
                .map_or(0, |args| args.values().map(regex_memory).sum());
        *left = left.checked_sub(memory).ok_or_else(too_large)?;
        let pattern = CallPattern::new(
            &written.tool,
            args.as_ref(),
            written.r#match == ArgumentMatch::Subset,
        );
        Ok(StubLine {
            number,
            pattern: pattern.map_err(|error| {
                format!(
                    "the rule for an argument is not valid (check regular expressions): {error}"
                )
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

/// The memory of the compiled regular expressions in an argument, in bytes.
fn regex_memory(argument: &Value) -> usize {
    let Some(members) = argument.as_object() else {
        return 0;
    };
    let Some(Value::String(regex)) = members.get("regex") else {
        return members.values().map(regex_memory).sum();
    };
    let is_enough = |limit: &usize| RegexBuilder::new(regex).size_limit(*limit).build().is_ok();
    REGEX.into_iter().find(is_enough).unwrap_or(0)
}

/// The arguments of a line: an object, or a text as tools with one text receive it.
fn arguments(args: Value) -> Result<Map<String, Value>, String> {
    match args {
        Value::Object(args) => Ok(args),
        Value::String(ref text) => Ok(tool_input(&args)
            .unwrap_or_else(|_| Map::from_iter([(PLAIN_INPUT.to_string(), text.clone().into())]))),
        _ => Err("expected \"args\", an object or a text".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_file_is_limited() {
        let line = |number: usize| {
            format!(
                r#"{{"tool": "get_weather", "args": {{"city": "Oslo {number}"}}, "response": {{"temp": 4}}}}"#
            )
        };
        let lines = |count: usize| (0..count).map(line).collect::<Vec<_>>().join("\n");
        assert_eq!(StubFile::parse(&lines(20_000)).unwrap().lines.len(), 20_000);
        let wrong = StubFile::parse(&lines(200_000)).err().unwrap();
        assert!(
            wrong.message.contains("more than 256 MB of memory"),
            "{wrong}"
        );
        // One line of two million values, and regular expressions that are large when they are compiled.
        let values = format!(
            r#"{{"tool": "t", "response": [{}0]}}"#,
            "0,".repeat(2_000_000)
        );
        let regex = r#"{"tool": "t", "args": {"q": {"regex": "\\w{50}"}}, "response": 1}"#;
        let in_text = format!(
            r#"{{"tool": "t", "args": "{{\"x\": [{}0]}}", "response": 1}}"#,
            "0,".repeat(4_000_000)
        );
        for text in [values, in_text, [regex].repeat(300).join("\n")] {
            let wrong = StubFile::parse(&text).err().unwrap();
            assert!(
                wrong.message.contains("more than 256 MB of memory"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn mistakes_name_the_line() {
        let wrong = |text: &str| StubFile::parse(text).err().unwrap().to_string();
        let good = r#"{"tool": "t", "response": null}"#;
        assert_eq!(
            StubFile::parse(&format!("{good}\n\n{good}\n"))
                .unwrap()
                .lines[1]
                .number,
            3
        );
        assert!(wrong(&format!("{good}\n{{oops")).starts_with("line 2: column 2"));
        let long = format!(
            "{good}\n{{\"tool\": \"t\", \"response\": \"{}\"}}",
            "a".repeat(33 << 20)
        );
        assert_eq!(
            wrong(&long),
            "line 2: the line has 34 MB; the limit is 32 MB"
        );
        assert!(wrong(r#"{"tool": "t"}"#).contains("either \"response\" or \"error\""));
        assert!(wrong(r#"{"tool": "t", "response": 1, "error": "x"}"#).contains("either"));
        assert!(wrong(r#"{"tool": "t", "response": 1, "retries": 1}"#).contains("retries"));
        assert!(
            wrong(r#"{"tool": "t", "response": 1, "args": {"q": {"regex": "("}}}"#)
                .contains("line 1")
        );
        assert!(wrong(r#"{"tool": "t", "response": 1, "times": 0}"#).contains("from 1"));
    }
}
