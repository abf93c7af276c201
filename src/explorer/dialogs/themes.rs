//! The theme picker. The theme under the cursor is applied immediately; `enter` keeps it.

use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::shared::{dialog, notices};
use crate::explorer::widgets::over;
use crate::explorer::widgets::text::put;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

/// Width in columns; small, so that the theme is visible on the screen below.
const WIDTH: u16 = 40;

/// Themes to choose from.
#[derive(Debug)]
pub struct ThemePicker {
    names: Vec<&'static str>,
    cursor: usize,
    /// The theme that `esc` restores.
    before: String,
}

pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let names: Vec<&'static str> = Theme::names().collect();
    let cursor = names
        .iter()
        .position(|name| *name == model.theme)
        .unwrap_or(0);
    dialog::open(
        model,
        ThemePicker {
            names,
            cursor,
            before: model.theme.clone(),
        },
    )
}

impl Dialog for ThemePicker {
    fn scroll(&mut self, model: &mut Model, motion: Motion) {
        self.cursor = motion.target(self.cursor, self.names.len(), self.names.len());
        model.theme = self.names[self.cursor].to_string();
    }

    fn choose(&mut self, model: &mut Model) -> Option<Vec<Effect>> {
        Some(notices::notify(
            model,
            format!("theme {}", self.names[self.cursor]),
            false,
        ))
    }

    fn cancel(&mut self, model: &mut Model) {
        model.theme = std::mem::take(&mut self.before);
    }

    fn draw(
        &self,
        _: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let height = self.names.len() as u16 + 2;
        let inner = over(
            areas.body,
            WIDTH,
            height,
            "theme   enter keep, esc cancel",
            theme,
            buffer,
        );
        for (row, name) in self
            .names
            .iter()
            .enumerate()
            .take(usize::from(inner.height))
        {
            let area = Rect {
                y: inner.y + row as u16,
                height: 1,
                ..inner
            };
            let style = theme.row(row == self.cursor);
            buffer.set_style(area, style);
            let mark = if **name == self.before { "•" } else { " " };
            put(
                buffer,
                area.x + 1,
                area.y,
                area.width - 2,
                &format!("{mark} {name}"),
                style,
            );
            let signs = [
                (Role::Passed, "✓"),
                (Role::Failed, "✗"),
                (Role::Note, "≈"),
                (Role::Key, "key"),
            ];
            let mut x = area.x + 18;
            for (role, sign) in signs {
                x += put(
                    buffer,
                    x,
                    area.y,
                    4,
                    sign,
                    theme.within(style, theme.style(role)),
                ) + 1;
            }
        }
        None
    }
}
