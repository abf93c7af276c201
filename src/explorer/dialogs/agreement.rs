//! Agreement between judges and people for each metric or rubric: counts and Cohen's kappa.

use crate::explorer::shared::command_names::{BACK, VERDICT};
use crate::explorer::shared::context::Context;
use crate::explorer::shared::dialog;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::over;
use crate::explorer::widgets::text::{put, put_right};
use evaltrail_core::metrics::{Agreement, agreements};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

const WIDTH: u16 = 110;
/// Number of rows of a page up or down.
const PAGE: usize = 10;

/// The table, with a line for each metric or rubric.
#[derive(Debug)]
pub struct AgreementTable {
    lines: Vec<Agreement>,
    scroll: usize,
}

pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let lines = agreements(&model.verdicts);
    dialog::open(model, AgreementTable { lines, scroll: 0 })
}

impl Dialog for AgreementTable {
    fn context(&self) -> Option<Context> {
        Some(Context::Reading)
    }

    fn scroll(&mut self, _: &mut Model, motion: Motion) {
        self.scroll = motion.target(self.scroll, self.lines.len(), PAGE);
    }

    fn draw(
        &self,
        _: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let title = &format!("agreement of judges and people   {} close", BACK.key());
        let inner = over(
            areas.body,
            WIDTH,
            self.lines.len() as u16 + 5,
            title,
            theme,
            buffer,
        );
        if self.lines.is_empty() {
            draw_without_verdicts(inner, theme, buffer);
            return None;
        }
        let left = draw_headings(inner, theme, buffer);
        let rows = usize::from(inner.height.saturating_sub(3)).max(1);
        let first = self.scroll.min(self.lines.len().saturating_sub(rows));
        for (row, line) in self.lines.iter().skip(first).take(rows).enumerate() {
            let y = inner.y + 1 + row as u16;
            draw_line(line, (inner, y), left, theme, buffer);
        }
        let words = "kappa is agreement beyond chance: 1 is full, 0 is chance; — where all verdicts are the same";
        let y = inner.bottom().saturating_sub(1);
        put(
            buffer,
            inner.x + 1,
            y,
            inner.width.saturating_sub(2),
            words,
            theme.style(Role::Faint),
        );
        None
    }
}

fn draw_without_verdicts(inner: Rect, theme: &Theme, buffer: &mut Buffer) {
    let words = &format!(
        "no verdicts by people yet; {} in a case does",
        VERDICT.key()
    );
    put(
        buffer,
        inner.x + 1,
        inner.y,
        inner.width - 2,
        words,
        theme.style(Role::Faint),
    );
}

/// Draws the headings. Returns the column of the first number.
fn draw_headings(inner: Rect, theme: &Theme, buffer: &mut Buffer) -> u16 {
    let headings = [
        "both yes",
        "both no",
        "judge yes",
        "judge no",
        "agree",
        "kappa",
    ]
    .map(String::from);
    put(
        buffer,
        inner.x + 1,
        inner.y,
        12,
        "verdict on",
        theme.style(Role::Faint),
    );
    columns(inner, inner.y, &headings, Role::Faint, theme, buffer)
}

/// Draws the line of a metric or rubric; `left` is the column of the first number.
fn draw_line(
    line: &Agreement,
    (inner, y): (Rect, u16),
    left: u16,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let about = match &line.rubric_id {
        Some(rubric) => format!("{rubric} · {}", line.metric),
        None => line.metric.clone(),
    };
    put(
        buffer,
        inner.x + 1,
        y,
        left.saturating_sub(inner.x + 2),
        &about,
        theme.style(Role::Text),
    );
    let number =
        |value: Option<f64>| value.map_or("—".to_string(), |value| format!("{value:.2}"));
    let [a, b, c, d] =
        [line.both_yes, line.both_no, line.judge_yes, line.judge_no].map(|count| count.to_string());
    let numbers = [a, b, c, d, number(line.share()), number(line.kappa())];
    columns(inner, y, &numbers, Role::Text, theme, buffer);
}

/// Draws the numbers, right-aligned; the counts are left out on narrow screens. Returns the column of the first
/// number.
fn columns(
    inner: Rect,
    y: u16,
    words: &[String; 6],
    role: Role,
    theme: &Theme,
    buffer: &mut Buffer,
) -> u16 {
    const WIDE: u16 = 10;
    let shown = if inner.width >= 90 {
        &words[..]
    } else {
        &words[4..]
    };
    let begin = inner.right().saturating_sub(1 + WIDE * shown.len() as u16);
    for (at, word) in shown.iter().enumerate() {
        put_right(
            buffer,
            begin + WIDE * (at as u16 + 1),
            y,
            WIDE,
            word,
            theme.style(role),
        );
    }
    begin
}
