//! What was expected of an attempt and what the agent did, turn by turn, as text.

use super::paint::Paint;
use evaltrail_core::domain::{Attempt, Invocation, clean_line};
use serde_json::Value;
use std::fmt::Write;

/// Lines with the message, the expected and actual responses and calls of each turn; the beginning of each line is indented.
pub fn turn_lines(attempt: &Attempt, paint: Paint) -> String {
    let mut out = String::new();
    let count = attempt.expected.len().max(attempt.actual.len());
    for at in 0..count {
        let (expected, actual) = (attempt.expected.get(at), attempt.actual.get(at));
        let number = attempt.turn.map_or(at + 1, |turn| turn as usize);
        let user = expected
            .or(actual)
            .map(|turn| turn.user.shown_text())
            .unwrap_or_default();
        let mut line = |name: &str, text: &str| {
            let _ = write!(
                out,
                "\n      {} {}",
                paint.faint(&format!("{name:<18}")),
                clean_line(text)
            );
        };
        line(&format!("turn {number}"), &user);
        line("expected response", &response(expected));
        line("actual response", &response(actual));
        line("expected calls", &calls(expected));
        line("actual calls", &calls(actual));
    }
    out
}

fn response(turn: Option<&Invocation>) -> String {
    turn.and_then(|turn| turn.final_response.as_ref())
        .map_or("(none)".into(), |content| content.shown_text())
}

fn calls(turn: Option<&Invocation>) -> String {
    let Some(turn) = turn else {
        return "(none)".into();
    };
    let authors = turn.trajectory.call_authors();
    let call = |(at, call): (usize, &evaltrail_core::domain::ToolCall)| {
        let args = call
            .args
            .clone()
            .map(|args| Value::Object(args).to_string())
            .unwrap_or_default();
        let author = authors
            .get(at)
            .map(|author| format!("{author}: "))
            .unwrap_or_default();
        format!("{author}{}({args})", call.name)
    };
    let made = turn
        .calls()
        .into_iter()
        .enumerate()
        .map(call)
        .collect::<Vec<_>>()
        .join(", ");
    match (turn.trajectory.is_known(), made.is_empty()) {
        (true, true) => "(none)".into(),
        (true, false) => made,
        (false, true) => "(not known)".into(),
        (false, false) => format!("{made} (perhaps others)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::{AttemptKey, Content, ToolCall, Trajectory};

    #[test]
    fn expected_and_actual_stand_below_each_other() {
        let turn = |amount: i64, response: &str| Invocation {
            user: Content::text("user", "Pay.\nNow."),
            final_response: Some(Content::text("model", response)),
            trajectory: Trajectory::Listed {
                calls: vec![ToolCall::new(
                    "pay",
                    serde_json::json!({"amount": amount}).as_object().cloned(),
                )],
                responses: Vec::new(),
                texts: Vec::new(),
            },
            ..Invocation::default()
        };
        let attempt = Attempt {
            expected: vec![turn(1, "Paid.")].into(),
            actual: vec![turn(2, "No."), Invocation::default()].into(),
            ..Attempt::blank(
                AttemptKey {
                    case: 0,
                    attempt: 1,
                },
                "a",
            )
        };
        let lines = turn_lines(&attempt, Paint { on: false });
        let lines: Vec<Vec<&str>> = lines
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(lines[2], ["expected", "response", "Paid."]);
        assert_eq!(lines[5], ["actual", "calls", "pay({\"amount\":2})"]);
        assert_eq!(lines[7], ["expected", "response", "(none)"]);
        assert_eq!(lines[10], ["actual", "calls", "(not", "known)"]);
    }
}
