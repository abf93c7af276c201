//! What lies over a screen about people's verdicts: giving them, and how far they agree with the judge's.

use crate::explorer::draw::footer::text_field;
use crate::explorer::theme::{Role, Theme};
use crate::explorer::widgets::over;
use crate::explorer::widgets::text::{put, put_right};
use crate::explorer::{CommandId, Layout, Opinion, Opinions};
use crate::metrics::Agreement;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

const WIDTH: u16 = 110;

fn word(verdict: Option<bool>) -> &'static str {
    match verdict {
        Some(true) => "yes",
        Some(false) => "no",
        None => "—",
    }
}

/// Narrower than this, the note stands below the list.
const NOTE_BESIDE_FROM: u16 = 70;

/// The verdicts of an attempt, and a person's beside them.
pub(crate) fn opinions(
    opinions: &Opinions,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let title = "your verdicts   tab yes/no/none, type a note, enter keeps, esc leaves";
    let inner = over(areas.body, WIDTH, opinions.items.len() as u16 + 4, title, theme, buffer);
    let beside = inner.width >= NOTE_BESIDE_FROM;
    let name = if beside { (inner.width / 2).min(48) } else { inner.width.saturating_sub(14) };
    let faint = theme.style(Role::Faint);
    put(buffer, inner.x + 1, inner.y, name, "verdict on", faint);
    put(buffer, inner.x + 1 + name, inner.y, 7, "judge", faint);
    put(buffer, inner.x + 9 + name, inner.y, 5, "you", faint);
    let rows = usize::from(inner.height.saturating_sub(if beside { 1 } else { 2 })).max(1);
    let first = opinions.cursor.saturating_sub(rows - 1);
    for (at, item) in opinions.items.iter().enumerate().skip(first).take(rows) {
        let row = Rect { y: inner.y + 1 + (at - first) as u16, height: 1, ..inner };
        opinion(item, at == opinions.cursor, row, name, theme, buffer);
        if beside && at != opinions.cursor {
            let x = row.x + 15 + name;
            put(buffer, x, row.y, row.right().saturating_sub(x + 1), item.note.value(), faint);
        }
    }
    let item = opinions.items.get(opinions.cursor)?;
    let (x, y) = match beside {
        true => (inner.x + 15 + name, inner.y + 1 + (opinions.cursor - first) as u16),
        false => {
            let y = inner.bottom().saturating_sub(1);
            (inner.x + 1 + put(buffer, inner.x + 1, y, 6, "note", faint) + 1, y)
        }
    };
    if beside {
        put(buffer, x, inner.y, 8, "note", faint);
    }
    Some(text_field(&item.note, x, y, inner.right().saturating_sub(x + 1), theme, buffer))
}

fn opinion(item: &Opinion, here: bool, row: Rect, name: u16, theme: &Theme, buffer: &mut Buffer) {
    let style = if here { theme.style(Role::Cursor) } else { theme.style(Role::Text) };
    buffer.set_style(row, style);
    let about = match &item.about.rubric_id {
        Some(rubric) => format!("  {rubric}"),
        None => item.about.metric.clone(),
    };
    put(buffer, row.x + 1, row.y, name - 1, &about, style);
    put(buffer, row.x + 1 + name, row.y, 7, word(item.about.computed), style);
    let differs = item.verdict.is_some() && item.verdict != item.about.computed;
    let mine = if differs { style.patch(theme.style(Role::Note)) } else { style };
    put(buffer, row.x + 9 + name, row.y, 5, word(item.verdict), mine);
}

/// Counts and Cohen's kappa, rubric by rubric.
pub(crate) fn agreement(
    lines: &[Agreement],
    scroll: usize,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let title = &format!("judge and person   {} closes", CommandId::Back.key());
    let inner = over(areas.body, WIDTH, lines.len() as u16 + 5, title, theme, buffer);
    if lines.is_empty() {
        let words = "nobody has said anything of a verdict yet; V on a case does";
        put(buffer, inner.x + 1, inner.y, inner.width - 2, words, theme.style(Role::Faint));
        return None;
    }
    let heads = ["both yes", "both no", "judge yes", "judge no", "agree", "kappa"].map(String::from);
    put(buffer, inner.x + 1, inner.y, 12, "verdict on", theme.style(Role::Faint));
    let left = columns(inner, inner.y, &heads, Role::Faint, theme, buffer);
    let rows = usize::from(inner.height.saturating_sub(3)).max(1);
    let first = scroll.min(lines.len().saturating_sub(rows));
    for (row, of) in lines.iter().skip(first).take(rows).enumerate() {
        let y = inner.y + 1 + row as u16;
        let about = match &of.rubric_id {
            Some(rubric) => format!("{rubric} · {}", of.metric),
            None => of.metric.clone(),
        };
        put(buffer, inner.x + 1, y, left.saturating_sub(inner.x + 2), &about, theme.style(Role::Text));
        let number = |value: Option<f64>| value.map_or("—".to_string(), |value| format!("{value:.2}"));
        let [a, b, c, d] =
            [of.both_yes, of.both_no, of.judge_yes, of.judge_no].map(|count| count.to_string());
        let numbers = [a, b, c, d, number(of.share()), number(of.kappa())];
        columns(inner, y, &numbers, Role::Text, theme, buffer);
    }
    let words =
        "kappa is agreement beyond chance: 1 is full, 0 is chance; — where only one answer was ever given";
    let y = inner.bottom().saturating_sub(1);
    put(buffer, inner.x + 1, y, inner.width.saturating_sub(2), words, theme.style(Role::Faint));
    None
}

/// The numbers, from the right; on narrow screens the counts are left out. Says where they begin.
fn columns(inner: Rect, y: u16, words: &[String; 6], role: Role, theme: &Theme, buffer: &mut Buffer) -> u16 {
    const WIDE: u16 = 10;
    let shown = if inner.width >= 90 { &words[..] } else { &words[4..] };
    let begin = inner.right().saturating_sub(1 + WIDE * shown.len() as u16);
    for (at, word) in shown.iter().enumerate() {
        put_right(buffer, begin + WIDE * (at as u16 + 1), y, WIDE, word, theme.style(role));
    }
    begin
}
