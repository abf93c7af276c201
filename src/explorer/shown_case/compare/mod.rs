//! Comparison of expected and actual for each turn: aligned calls with their arguments, and responses word by word.

mod calls;
mod identical;
mod intermediate;
mod lines;
mod notes;
mod reasons;
mod response;
mod session_state;
mod stops;
mod unmarked;
mod user_message;

pub(crate) use lines::column_width;

use crate::explorer::shared::case_lines::{
    BodyLine, BodyView, CaseLines, Compared, ComparedTurn, TurnLines,
};
use calls::add_calls;
use evaltrail_core::diff::{Span, Tone};
use identical::is_identical;
use intermediate::add_intermediate;
use lines::ComparisonLines;
use notes::{add_model_errors, add_tool_use};
use reasons::mark_reasons;
use response::add_response;
use session_state::add_states;
use stops::{begin_at_changes, changed_lines, stretches};
use user_message::add_user_message;

/// Builds the comparison of all turns.
pub(crate) fn compare(compared: &Compared, view: BodyView, side_by_side: bool) -> CaseLines {
    let mut out = ComparisonLines::new(view, side_by_side);
    if let Some(problem) = &compared.problem {
        out.lines
            .push(BodyLine::Rule("this case cannot be read".into()));
        out.wide(&[Span::single_line(problem, Tone::Note)]);
    }
    if let Some(tool_use) = &compared.tools {
        add_tool_use(&mut out, tool_use);
    }
    let mut turns = Vec::new();
    for turn in &compared.turns {
        turns.push(TurnLines {
            turn: turn.turn,
            line: out.lines.len(),
            status: turn.status,
        });
        if compared.turns.len() > 1 {
            out.lines.push(BodyLine::Turn(
                format!("turn {}", turn.turn + 1),
                turn.status,
            ));
        }
        out.turn = turn.turn;
        add_turn(&mut out, turn, compared.has_run);
    }
    if let Some((expected, actual)) = &compared.states {
        add_states(&mut out, expected.as_ref(), actual.as_ref());
    }
    mark_reasons(&mut out.pieces, &compared.turns);
    let changed = changed_lines(&out.lines);
    begin_at_changes(&mut out.pieces, &out.lines, &changed);
    CaseLines {
        stretches: stretches(&changed),
        lines: out.lines,
        side_by_side,
        turns,
        pieces: out.pieces,
        nested_levels: out.nested_levels,
        ..CaseLines::default()
    }
}

/// Adds the comparison of a turn.
fn add_turn(out: &mut ComparisonLines, turn: &ComparedTurn, has_run: bool) {
    let (expected, actual) = (turn.expected.as_ref(), turn.actual.as_ref());
    if let Some(either) = expected.or(actual) {
        add_user_message(out, &either.user.shown_text(), has_run);
    }
    if has_run && actual.is_none() {
        out.note("the agent did not reach this turn");
    }
    if out.differences_only && is_identical(expected, actual) {
        return out.note("identical on both sides");
    }
    add_calls(out, expected, actual);
    add_intermediate(out, expected, actual);
    add_response(out, expected, actual);
    add_model_errors(out, actual);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explorer::shared::case_lines::FailureReason;
    use evaltrail_core::diff::AcceptablePart;
    use evaltrail_core::domain::{Content, Finding, FindingRule, Invocation, ToolCall, Trajectory};

    fn turn(text: &str) -> Option<Invocation> {
        Some(Invocation {
            final_response: Some(Content::text("model", text)),
            ..Invocation::default()
        })
    }

    /// A response of one line with two changed words, 5,000 words apart.
    fn long_response() -> Compared {
        let text = |word: &str| {
            let words = (0..8000).map(|at| match at {
                2000 | 7000 => word.to_string(),
                at => format!("w{at}"),
            });
            words.collect::<Vec<_>>().join(" ")
        };
        Compared {
            has_run: true,
            turns: vec![ComparedTurn {
                expected: turn(&text("before")),
                actual: turn(&text("after")),
                ..ComparedTurn::default()
            }],
            ..Compared::default()
        }
    }

    #[test]
    fn cursor_begins_at_the_failed_response() {
        let with_call = |name: &str, text: &str| {
            turn(text).map(|one| Invocation {
                trajectory: Trajectory::Listed {
                    calls: vec![ToolCall::new(name, None)],
                    responses: Vec::new(),
                    texts: Vec::new(),
                },
                ..one
            })
        };
        let compared = |reasons: Vec<FailureReason>| Compared {
            has_run: true,
            turns: vec![ComparedTurn {
                expected: with_call("water", "It got water."),
                actual: with_call("look", "It is dry."),
                reasons,
                ..ComparedTurn::default()
            }],
            ..Compared::default()
        };
        let first = |reasons: Vec<FailureReason>| {
            let body = compare(&compared(reasons), BodyView::comparison(120), true);
            body.pieces[body.first_piece(0).unwrap()].piece.clone()
        };
        let response = FailureReason {
            metric: "response_match_score".into(),
            finding: Finding::new(FindingRule::ResponseDiffers),
        };
        assert_eq!(first(vec![response]), AcceptablePart::Response);
        assert_eq!(first(Vec::new()), AcceptablePart::Calls);
    }

    #[test]
    fn each_change_of_long_value_is_a_stop() {
        let compared = long_response();
        for differences_only in [false, true] {
            let view = BodyView {
                differences_only,
                ..BodyView::comparison(120)
            };
            let body = compare(&compared, view, true);
            let stops = body.stops(0);
            let changed = |line: &usize| match &body.lines[*line] {
                BodyLine::Pair { left, .. } => left
                    .iter()
                    .filter(|span| span.changed)
                    .map(|span| span.text.clone())
                    .collect(),
                _ => String::new(),
            };
            let shown: Vec<String> = stops.iter().map(changed).collect();
            assert_eq!(shown, ["before", "before"], "{stops:?}");
            assert_eq!(body.pieces.len(), 1, "it is accepted as a whole");
        }
    }

    #[test]
    fn differences_of_long_value_fit_on_a_screen() {
        let view = BodyView {
            differences_only: true,
            ..BodyView::comparison(120)
        };
        let body = compare(&long_response(), view, true);
        assert!(body.lines.len() < 20, "{}", body.lines.len());
    }

    fn called(args: serde_json::Value, response: &str) -> Option<Invocation> {
        Some(Invocation {
            trajectory: Trajectory::Listed {
                calls: vec![ToolCall::new("water", args.as_object().cloned())],
                responses: Vec::new(),
                texts: Vec::new(),
            },
            final_response: Some(Content::text("model", response)),
            ..Invocation::default()
        })
    }

    /// A difference inside of a folded value is marked on the row that stands for the value.
    #[test]
    fn difference_in_folded_value_is_a_stop() {
        let plan = |litres: u32| {
            let beds: Vec<String> = (0..12).map(|n| format!("bed {n}")).collect();
            serde_json::json!({"plan": {"beds": beds, "soil": {"litres": litres}}})
        };
        let compared = Compared {
            has_run: true,
            turns: vec![ComparedTurn {
                expected: called(plan(5), "done"),
                actual: called(plan(6), "done"),
                ..ComparedTurn::default()
            }],
            ..Compared::default()
        };
        let marked = |folded_from: Option<usize>| -> (usize, String) {
            let view = BodyView {
                folded_from,
                ..BodyView::comparison(120)
            };
            let body = compare(&compared, view, true);
            let [piece] = &body.pieces[..] else {
                panic!("{:?}", body.pieces)
            };
            let BodyLine::Pair { right, .. } = &body.lines[piece.line] else {
                panic!("{:?}", body.lines[piece.line])
            };
            let text: String = right.iter().map(|span| span.text.as_str()).collect();
            (body.nested_levels, text.trim().to_string())
        };
        assert_eq!(marked(None), (2, "\"litres\": 6".into()));
        assert_eq!(marked(Some(1)), (2, "\"soil\": { ⋯ 1 line }".into()));
        assert_eq!(marked(Some(0)), (2, "plan  { ⋯ 17 lines }".into()));
    }

    /// Each difference is marked where it is: neither at another argument nor in another turn.
    #[test]
    fn marks_stay_at_their_differences() {
        let turn = |turn: usize, expected, actual| ComparedTurn {
            turn,
            expected,
            actual,
            ..ComparedTurn::default()
        };
        let compared = Compared {
            has_run: true,
            turns: vec![
                turn(
                    0,
                    called(serde_json::json!({"bed": "beans", "litres": 6}), "a\r\nb"),
                    called(serde_json::json!({"bed": "peas", "litres": 5}), "a\nb"),
                ),
                turn(
                    1,
                    called(serde_json::json!({"bed": "x"}), "one"),
                    called(serde_json::json!({"bed": "y"}), "two"),
                ),
            ],
            ..Compared::default()
        };
        let body = compare(&compared, BodyView::comparison(120), true);
        let text = |line: usize| match &body.lines[line] {
            BodyLine::Pair { left, .. } => left.iter().map(|span| span.text.as_str()).collect(),
            _ => String::new(),
        };
        let marked: Vec<(usize, String)> = body
            .pieces
            .iter()
            .map(|piece| (piece.turn, text(piece.line).trim().to_string()))
            .collect();
        let expected = [
            (0, "1 water"),
            (0, "bed  \"beans\""),
            (0, "litres  6"),
            (0, "a"),
            (1, "bed  \"x\""),
            (1, "one"),
        ];
        let shown: Vec<(usize, &str)> = marked
            .iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(turn, text)| (*turn, text.as_str()))
            .collect();
        assert_eq!(shown, expected);
        let has_note = body.lines.iter().any(|line| {
            matches!(line, BodyLine::Wide(line) if line.iter().any(|span| span.text.contains("ends of their lines")))
        });
        assert!(has_note);
    }
}
