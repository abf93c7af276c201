//! Times as text.

/// Converts RFC 3339 to Unix seconds.
pub fn unix_seconds(time: &str) -> Option<f64> {
    let time: jiff::Timestamp = time.parse().ok()?;
    Some(time.as_microsecond() as f64 / 1e6)
}

/// Converts Unix seconds to RFC 3339; empty when out of range.
pub fn rfc3339(seconds: f64) -> String {
    let time = jiff::Timestamp::from_microsecond((seconds * 1e6) as i64);
    time.map(|time| time.to_string()).unwrap_or_default()
}
