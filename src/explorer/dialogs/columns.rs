//! The dialog for the visible columns and the order of the list.

use crate::explorer::case_list::listing::{order_by, toggle_column};
use crate::explorer::shared::dialog;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::list_columns::Column;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::over;
use crate::explorer::widgets::text::put;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tui_input::InputRequest;

const WIDTH: u16 = 52;

/// The columns to choose from.
#[derive(Debug, Default)]
pub struct ColumnPicker {
    cursor: usize,
}

pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    dialog::open(model, ColumnPicker::default())
}

impl Dialog for ColumnPicker {
    fn edit(&mut self, model: &mut Model, request: InputRequest) {
        match request {
            InputRequest::InsertChar(' ') => toggle_column(model, Column::ALL[self.cursor]),
            InputRequest::InsertChar('j') => self.scroll(model, Motion::Down),
            InputRequest::InsertChar('k') => self.scroll(model, Motion::Up),
            _ => {}
        }
    }

    fn scroll(&mut self, _: &mut Model, motion: Motion) {
        self.cursor = motion.target(self.cursor, Column::ALL.len(), Column::ALL.len());
    }

    fn choose(&mut self, model: &mut Model) -> Option<Vec<Effect>> {
        order_by(model, Column::ALL[self.cursor]);
        None
    }

    fn draw(
        &self,
        model: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let height = Column::ALL.len() as u16 + 2;
        let title = "columns   space show, enter sort, esc close";
        let inner = over(areas.body, WIDTH, height, title, theme, buffer);
        for (at, column) in Column::ALL
            .into_iter()
            .enumerate()
            .take(usize::from(inner.height))
        {
            let row = Rect {
                y: inner.y + at as u16,
                height: 1,
                ..inner
            };
            let style = theme.row(at == self.cursor);
            buffer.set_style(row, style);
            let sign = if model.view.browse.hidden.contains(&column) {
                " "
            } else {
                "✓"
            };
            put(
                buffer,
                row.x + 1,
                row.y,
                1,
                sign,
                theme.within(style, theme.style(Role::Passed)),
            );
            put(buffer, row.x + 3, row.y, 12, column.name(), style);
            let is_order = model.view.browse.order == column.order();
            let words = if is_order {
                format!("▾ {}", column.order().describe())
            } else {
                String::new()
            };
            put(
                buffer,
                row.x + 16,
                row.y,
                row.width.saturating_sub(17),
                &words,
                theme.within(style, theme.style(Role::Accent)),
            );
        }
        None
    }
}
