//! Options for one run: repeats, attempts at the same time, judge samples. What was chosen is remembered until evaltrail
//! ends; a run without this dialog takes what is configured.

use super::{Dialog, Overlay};
use crate::explorer::commands::{Motion, RUN_WITH};
use crate::explorer::effect::{Against, Effect, RunOverrides};
use crate::explorer::layout::Layout;
use crate::explorer::model::Model;
use crate::explorer::screens::run;
use crate::explorer::theme::{Role, Theme};
use crate::explorer::widgets::over;
use crate::explorer::widgets::text::put;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tui_input::InputRequest;

const WIDTH: u16 = 64;
/// Columns of the labels.
const LABELS: u16 = 18;
/// More digits than this are not taken.
const DIGITS: usize = 3;

/// The options being chosen, as typed: digits, or nothing for what is configured.
#[derive(Debug)]
pub struct RunOptionsForm {
    fields: [(&'static str, &'static str, String); 3],
    cursor: usize,
    /// Whether the field under the cursor was typed into since the cursor came: the first digit replaces its value.
    is_typed: bool,
}

pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let chosen = model.run_overrides;
    let text = |value: Option<u32>| value.map(|value| value.to_string()).unwrap_or_default();
    let fields = [
        ("repeats", "attempts of each case", text(chosen.repeat)),
        ("jobs", "attempts at the same time", text(chosen.jobs)),
        ("judge samples", "where a criterion does not say", text(chosen.samples)),
    ];
    super::open(model, Overlay::RunOptions(RunOptionsForm { fields, cursor: 0, is_typed: false }))
}

impl RunOptionsForm {
    fn overrides(&self) -> RunOverrides {
        let [repeat, jobs, samples] =
            [0, 1, 2].map(|at| self.fields[at].2.parse().ok().filter(|value| *value > 0));
        RunOverrides { repeat, jobs, samples }
    }
}

impl Dialog for RunOptionsForm {
    fn edit(&mut self, _: &mut Model, request: InputRequest) {
        let value = &mut self.fields[self.cursor].2;
        match request {
            InputRequest::InsertChar(c) if c.is_ascii_digit() => {
                if !std::mem::replace(&mut self.is_typed, true) {
                    value.clear();
                }
                if value.len() < DIGITS {
                    value.push(c);
                }
            }
            InputRequest::DeletePrevChar => drop(value.pop()),
            InputRequest::DeleteLine => value.clear(),
            _ => {}
        }
    }

    fn scroll(&mut self, _: &mut Model, motion: Motion) {
        self.cursor = motion.of(self.cursor, self.fields.len(), self.fields.len());
        self.is_typed = false;
    }

    fn choose(&mut self, model: &mut Model) -> Option<Vec<Effect>> {
        model.run_overrides = self.overrides();
        Some(run::run_selected(model, Against::AgentWith(model.run_overrides)))
    }

    fn draw(&self, model: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) -> Option<Position> {
        let scope = RUN_WITH.scope.map(|scope| scope(model)).unwrap_or_default();
        let title = format!("run {scope}   enter run, esc cancel");
        let inner = over(areas.body, WIDTH, self.fields.len() as u16 + 2, &title, theme, buffer);
        let mut cursor = None;
        for (at, (label, help, value)) in self.fields.iter().enumerate().take(usize::from(inner.height)) {
            let row = Rect { y: inner.y + at as u16, height: 1, ..inner };
            let style = theme.row(at == self.cursor);
            buffer.set_style(row, style);
            put(buffer, row.x + 1, row.y, LABELS, label, theme.within(style, theme.style(Role::Key)));
            let x = row.x + 1 + LABELS;
            let shown = if value.is_empty() { "configured" } else { value };
            let role = if value.is_empty() { Role::Faint } else { Role::Value };
            let used = put(buffer, x, row.y, 12, shown, theme.within(style, theme.style(role)));
            let faint = theme.within(style, theme.style(Role::Faint));
            put(buffer, x + 13, row.y, row.right().saturating_sub(x + 14), help, faint);
            if at == self.cursor {
                let typed = if value.is_empty() { 0 } else { used };
                cursor = Some(Position { x: x + typed, y: row.y });
            }
        }
        cursor
    }
}
