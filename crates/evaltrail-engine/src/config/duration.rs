//! Parsing of durations in flags and configuration files.

use std::time::Duration;

/// Reads `120s`, `2m`, `500ms`, or plain seconds.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let at = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let number: f64 = text[..at]
        .parse()
        .map_err(|_| format!("{text:?} is not a duration; write 120s, 2m or 500ms"))?;
    let seconds = match text[at..].trim() {
        "ms" => number / 1000.0,
        "" | "s" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        unit => return Err(format!("{unit:?} is not a unit of time; use ms, s, m or h")),
    };
    let time = Duration::try_from_secs_f64(seconds).map_err(|_| format!("{text:?} is too long"))?;
    if time.is_zero() {
        Err("it must be longer than zero".into())
    } else {
        Ok(time)
    }
}
