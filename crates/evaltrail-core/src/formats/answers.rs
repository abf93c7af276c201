//! Recorded responses of a judge as JSON Lines: the case, metric and turn, and the samples in order.
//!
//! ```json
//! {"eval_id": "lights_off", "metric": "rubric_based_final_response_quality_v1", "turn": 1, "replies": ["…", "…"]}
//! ```
//!
//! `turn` and `text` count from 1 and default to 1. `about` distinguishes the steps of a metric that sends two requests
//! (`sentences`, `support`); without it, the line is for any step.

use serde::Deserialize;

/// The responses to one request.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedResponses {
    /// The case.
    pub eval_id: String,
    /// The metric, label included.
    pub metric: String,
    /// The turn, from 1.
    #[serde(default = "first")]
    pub turn: usize,
    /// Which text of the turn, from 1.
    #[serde(default = "first")]
    pub text: usize,
    /// The step of the metric; any request of the turn when `None`.
    #[serde(default)]
    pub about: Option<String>,
    /// The samples.
    pub replies: Vec<String>,
}

fn first() -> usize {
    1
}

/// Reads a recording. The error names the line.
pub fn read_responses(text: &str) -> Result<Vec<RecordedResponses>, String> {
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            serde_json::from_str(line).map_err(|error| format!("line {}: {error}", at + 1))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_one_answer() {
        let text = "{\"eval_id\": \"a\", \"metric\": \"m\", \"replies\": [\"x\"]}\n\n";
        let read = read_responses(text).unwrap();
        assert_eq!(
            (read[0].turn, read[0].about.as_ref(), read[0].replies.len()),
            (1, None, 1)
        );
        assert!(
            read_responses("{}\n")
                .unwrap_err()
                .starts_with("line 1: missing field")
        );
    }
}
