//! A conversation with an agent.

use crate::explorer::screens::chat::state::{ChatScreen, ChatStatus};
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::steps::{said, step_lines};
use crate::explorer::widgets::text::{put, put_spans};
use crate::explorer::widgets::text_field::text_field;
use crate::explorer::widgets::{panel, panel_note, spinner};
use evaltrail_core::diff::{Line, Span, Tone, wrap_line};
use evaltrail_core::domain::{Invocation, StubMode, value_text};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use serde_json::Value;

/// The rows of the conversation above the two lines of the text field.
pub(crate) fn layout(base: Layout, _: &Model) -> Layout {
    Layout {
        main: Rect {
            height: base.body.height - 2,
            ..base.body
        },
        ..base
    }
}

/// Which agent the conversation is with.
pub(crate) fn title(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let Some(chat) = model.screen::<ChatScreen>() else {
        return;
    };
    let agent = model.view.sets[chat.set]
        .agent
        .as_deref()
        .unwrap_or("no agent");
    let used = put(
        buffer,
        area.x,
        area.y,
        area.width,
        "chat with ",
        theme.style(Role::Title),
    );
    put(
        buffer,
        area.x + used,
        area.y,
        area.width.saturating_sub(used),
        agent,
        theme.style(Role::Title),
    );
}

pub(crate) fn draw(
    model: &Model,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let chat = model.screen::<ChatScreen>()?;
    let inner = panel(areas.main, "conversation", true, theme, buffer);
    if chat.has_unsaved_turns() {
        panel_note(
            areas.main,
            areas.main.y,
            "not saved as a case",
            theme.style(Role::Note),
            buffer,
        );
    }
    let has_stubs = model.view.sets[chat.set].stubs.is_some();
    let lines = lines(chat, has_stubs, usize::from(inner.width.saturating_sub(2)));
    let shown = usize::from(inner.height);
    let last = lines.len().saturating_sub(shown);
    let first = last.saturating_sub(chat.back.min(last));
    for (row, line) in lines.iter().skip(first).take(shown).enumerate() {
        put_spans(
            buffer,
            (inner.x + 1, inner.y + row as u16),
            inner.width - 1,
            line,
            theme,
            Role::Text,
        );
    }
    typing(
        model,
        chat,
        Rect {
            y: areas.main.bottom(),
            height: 2,
            ..areas.main
        },
        theme,
        buffer,
    )
}

fn typing(
    model: &Model,
    chat: &ChatScreen,
    area: Rect,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let (words, role) = match &chat.status {
        ChatStatus::Opening => (
            format!("{} connecting to the agent", spinner(model.now)),
            Role::Running,
        ),
        ChatStatus::Ready => ("enter send    ctrl-j new line".to_string(), Role::Faint),
        ChatStatus::Working(since) => (
            format!(
                "{} {:.0}s",
                spinner(model.now),
                (model.now - since).max(0.0)
            ),
            Role::Running,
        ),
        ChatStatus::Broken(why) => (why.clone(), Role::Bad),
    };
    put(
        buffer,
        area.x + 1,
        area.y + 1,
        area.width.saturating_sub(2),
        &words,
        theme.style(role),
    );
    put(
        buffer,
        area.x + 1,
        area.y,
        2,
        "›",
        theme.style(Role::Accent),
    );
    let style = theme.style(Role::Text);
    let cursor = text_field(
        &chat.input,
        area.x + 3,
        area.y,
        area.width.saturating_sub(4),
        style,
        buffer,
    );
    (chat.status == ChatStatus::Ready).then_some(cursor)
}

/// How calls of tools are answered, if that may not be what the user expects. `has_stubs` tells whether the set has stubs.
fn tools_line(stubs: StubMode, has_stubs: bool) -> Option<&'static str> {
    match stubs {
        StubMode::Off if !has_stubs => None,
        StubMode::Off => Some("the agent's own: the configuration of the agent has no `stubs`"),
        StubMode::Fail => Some("answered from stubs; a call without one ends the chat"),
        StubMode::Error => Some("answered from stubs; a call without one gets an error"),
        StubMode::Live => Some("answered from stubs, others by the agent's own tools"),
        StubMode::Nearest => Some("answered from the nearest stubs"),
    }
}

fn lines(chat: &ChatScreen, has_stubs: bool, width: usize) -> Vec<Line> {
    let mut log = Log {
        lines: Vec::new(),
        width,
    };
    let state = Value::Object(chat.session.state.clone());
    let (app, user) = (&chat.session.app_name, &chat.session.user_id);
    log.put(&[
        Span::new("session  ", Tone::Faint),
        Span::new(&format!("{app} {user} "), Tone::Plain),
        Span::new(&value_text(&state), Tone::Value),
    ]);
    if let Some(words) = chat.stubs.and_then(|stubs| tools_line(stubs, has_stubs)) {
        log.put(&[
            Span::new("tools  ", Tone::Faint),
            Span::new(words, Tone::Plain),
        ]);
    }
    chat.turns
        .iter()
        .enumerate()
        .for_each(|(at, turn)| log.turn(at, turn));
    if let Some(asked) = &chat.asked {
        log.said(&format!("{}  you", chat.turns.len() + 1), asked);
        chat.doing
            .steps()
            .for_each(|step| log.lines.extend(step_lines(step, width)));
    }
    if let Some(Some(state)) = chat.states.last() {
        log.put(&[
            Span::new("state  ", Tone::Faint),
            Span::new(&value_text(state), Tone::Value),
        ]);
    }
    log.lines
}

struct Log {
    lines: Vec<Line>,
    width: usize,
}

impl Log {
    fn put(&mut self, line: &[Span]) {
        self.lines.extend(wrap_line(line, self.width));
    }

    fn said(&mut self, who: &str, text: &str) {
        self.lines.extend(said(who, text, self.width));
    }

    fn turn(&mut self, at: usize, turn: &Invocation) {
        self.lines.push(Vec::new());
        self.said(&format!("{}  you", at + 1), &turn.user.shown_text());
        for (number, call) in turn.calls().into_iter().enumerate() {
            let args = call
                .args
                .clone()
                .map(|args| value_text(&Value::Object(args)))
                .unwrap_or_default();
            self.put(&[
                Span::new("   calls ", Tone::Faint),
                Span::new(&call.name, Tone::Tool),
                Span::new(" ", Tone::Plain),
                Span::new(&args, Tone::Value),
            ]);
            if let Some(response) = turn.trajectory.response_to(number) {
                let text = format!(" {}", value_text(&response.response));
                self.put(&[
                    Span::new("   ← ", Tone::Faint),
                    Span::new(&call.name, Tone::Tool),
                    Span::new(&text, Tone::Value),
                ]);
            }
        }
        for error in turn.model_errors() {
            self.put(&[
                Span::new("   the model reported  ", Tone::Faint),
                Span::new(&error.text(), Tone::Note),
            ]);
        }
        if let Some(words) = turn.end.describe() {
            self.put(&[Span::new(&format!("   {words}"), Tone::Note)]);
        }
        let response = turn
            .final_response
            .as_ref()
            .map(|content| content.spoken_text())
            .unwrap_or_default();
        self.said(
            "   agent",
            if response.is_empty() {
                "(no text)"
            } else {
                &response
            },
        );
    }
}
