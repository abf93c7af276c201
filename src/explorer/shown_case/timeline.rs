//! The timeline of an attempt: messages, calls and tool responses in order.

use crate::explorer::shared::case_lines::{BodyLine, CaseLines, ComparedTurn, TurnLines};
use evaltrail_core::diff::{Span, Tone, wrap_line};
use evaltrail_core::domain::{Invocation, ModelError, Part, value_text};
use serde_json::Value;

/// Builds the events of all turns.
pub(crate) fn timeline(turns: &[ComparedTurn], width: usize) -> CaseLines {
    let mut events = Events {
        lines: Vec::new(),
        width,
    };
    let mut starts = Vec::new();
    for turn in turns {
        starts.push(TurnLines {
            turn: turn.turn,
            line: events.lines.len(),
            status: turn.status,
        });
        if turns.len() > 1 {
            events.lines.push(BodyLine::Turn(
                format!("turn {}", turn.turn + 1),
                turn.status,
            ));
        }
        match &turn.actual {
            Some(actual) => events.add_turn(actual),
            None => events.note("this turn was not reached"),
        }
    }
    CaseLines {
        lines: events.lines,
        turns: starts,
        ..CaseLines::default()
    }
}

struct Events {
    lines: Vec<BodyLine>,
    width: usize,
}

/// The beginning of a line: when, and which agent.
fn time_and_author(at: Option<f64>, author: &str) -> [Span; 3] {
    let at = at.map_or("      ".into(), |at| format!("{at:>5.2}s"));
    [
        Span::single_line(&at, Tone::Faint),
        Span::single_line(" ", Tone::Plain),
        Span::single_line(author, Tone::Key),
    ]
}

impl Events {
    fn wide(&mut self, line: &[Span]) {
        self.lines.extend(
            wrap_line(line, self.width.saturating_sub(2))
                .into_iter()
                .map(BodyLine::Wide),
        );
    }

    fn note(&mut self, text: &str) {
        self.wide(&[Span::single_line(text, Tone::Faint)]);
    }

    /// Adds the errors that the model reported.
    fn errors<'a>(&mut self, errors: impl IntoIterator<Item = &'a ModelError>) {
        for error in errors {
            let mut line = time_and_author(error.at, &error.author).to_vec();
            line.push(Span::single_line(
                &format!("  the model reported {}", error.text()),
                Tone::Note,
            ));
            self.wide(&line);
        }
    }

    fn add_turn(&mut self, turn: &Invocation) {
        for (at, line) in turn.user.shown_text().lines().enumerate() {
            let prefix = if at == 0 { "user  " } else { "      " };
            self.wide(&[
                Span::single_line(prefix, Tone::Faint),
                Span::single_line(line, Tone::Plain),
            ]);
        }
        let Some(events) = turn.trajectory.events() else {
            return self.note("the calls are recorded, the events are not");
        };
        if events.is_empty() && turn.reported_errors.is_empty() {
            self.note("the agent sent no events with content");
        }
        for event in events {
            let prefix = time_and_author(event.at, &event.author);
            let content = event.content.as_ref().or(turn.final_response.as_ref());
            for part in content.into_iter().flat_map(|content| &content.parts) {
                let mut line = prefix.to_vec();
                line.extend(part_text(part));
                self.wide(&line);
            }
            self.errors(event.error.as_ref());
        }
        self.errors(&turn.reported_errors);
        if let Some(end) = turn.end.describe() {
            self.note(end);
        }
    }
}

fn part_text(part: &Part) -> Vec<Span> {
    if let Some(call) = &part.call {
        let args = call.args.clone().map(Value::Object);
        let args = args.map(|args| value_text(&args)).unwrap_or_default();
        return vec![
            Span::single_line("  calls ", Tone::Faint),
            Span::single_line(&call.name, Tone::Tool),
            Span::single_line(" ", Tone::Plain),
            Span::single_line(&args, Tone::Value),
        ];
    }
    if let Some(response) = &part.response {
        return vec![
            Span::single_line("  ← ", Tone::Faint),
            Span::single_line(&response.name, Tone::Tool),
            Span::single_line(" ", Tone::Plain),
            Span::single_line(&value_text(&response.response), Tone::Value),
        ];
    }
    let text = part
        .text
        .clone()
        .filter(|text| !text.is_empty())
        .or_else(|| part.label())
        .unwrap_or_default();
    let says = if part.thought { "  thinks " } else { "  says " };
    vec![
        Span::single_line(says, Tone::Faint),
        Span::single_line(&text, Tone::Plain),
    ]
}
