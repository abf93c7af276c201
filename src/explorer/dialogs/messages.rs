//! The message log: all notices so far, newest first.

use crate::explorer::shared::command_names::BACK;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::dialog;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model, Notice};
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::screen::layout;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::scrolled;
use crate::explorer::widgets::text::put_spans;
use evaltrail_core::diff::{Line, Span, wrap_line};
use evaltrail_core::domain::clean_line;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

const WIDTH: u16 = 100;

/// The message log.
#[derive(Debug, Default)]
pub struct MessageLog {
    scroll: usize,
}

pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    dialog::open(model, MessageLog::default())
}

/// The wrapped lines, each with whether it belongs to an error.
fn lines(notices: &[Notice], width: u16) -> Vec<(Line, bool)> {
    let room = usize::from(width.min(WIDTH).saturating_sub(4)).max(1);
    let wrapped = |notice: &Notice| {
        let count = if notice.count > 1 {
            format!("  ×{}", notice.count)
        } else {
            String::new()
        };
        let span = Span {
            text: format!("{}{count}", clean_line(&notice.text)),
            ..Span::default()
        };
        let bad = notice.bad;
        wrap_line(&[span], room)
            .into_iter()
            .map(move |line| (line, bad))
    };
    notices.iter().rev().flat_map(wrapped).collect()
}

impl Dialog for MessageLog {
    fn context(&self) -> Option<Context> {
        Some(Context::Reading)
    }

    fn scroll(&mut self, model: &mut Model, motion: Motion) {
        let body = layout(model).body;
        let page = usize::from(body.height.saturating_sub(2));
        let count = lines(&model.notices, body.width).len();
        self.scroll = motion.target(self.scroll, count.saturating_sub(page) + 1, page);
    }

    fn draw(
        &self,
        model: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let lines = match model.notices.is_empty() {
            true => vec![(
                vec![Span {
                    text: "no messages yet".into(),
                    ..Span::default()
                }],
                false,
            )],
            false => lines(&model.notices, areas.body.width),
        };
        let title = format!("messages, newest first   {} close", BACK.key());
        let (inner, first) = scrolled(
            areas.body,
            WIDTH,
            (lines.len(), self.scroll),
            &title,
            theme,
            buffer,
        );
        for (row, (line, bad)) in lines
            .iter()
            .skip(first)
            .take(usize::from(inner.height))
            .enumerate()
        {
            let role = if *bad { Role::Bad } else { Role::Text };
            buffer.set_style(
                Rect {
                    y: inner.y + row as u16,
                    height: 1,
                    ..inner
                },
                theme.style(role),
            );
            put_spans(
                buffer,
                (inner.x + 1, inner.y + row as u16),
                inner.width - 2,
                line,
                theme,
                role,
            );
        }
        None
    }
}
