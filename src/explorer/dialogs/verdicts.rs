//! The form in which the user gives verdicts on the metrics and rubrics of an attempt.

use crate::explorer::shared::effect::{Effect, ResultEffect};
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::shared::{dialog, notices};
use crate::explorer::widgets::over;
use crate::explorer::widgets::text::put;
use crate::explorer::widgets::text_field::text_field;
use evaltrail_core::domain::{Attempt, HumanVerdict, MetricResult, Status};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tui_input::{Input, InputRequest};

const WIDTH: u16 = 110;
/// Width in columns from which the note is next to the verdict. On narrower screens it is below the list.
const NOTE_BESIDE_FROM: u16 = 70;

pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let (Some(case), Some(attempt)) = (model.open_case(), model.shown_attempt()) else {
        return Vec::new();
    };
    let run_id = model
        .view
        .outcomes
        .get(case.at)
        .map(|outcome| outcome.run.id.as_str())
        .unwrap_or_default();
    let file = &model.view.sets[case.at.set].path.shown;
    match attempt.read() {
        Ok(attempt) => {
            let items = verdict_items(&attempt, run_id, file, &model.verdicts);
            dialog::open(model, VerdictForm { items, cursor: 0 })
        }
        Err(why) => notices::notify(model, format!("the attempt cannot be read: {why}"), true),
    }
}

/// Verdicts on an attempt that are being edited.
#[derive(Debug)]
pub struct VerdictForm {
    /// The metrics, each followed by its rubrics.
    pub items: Vec<VerdictItem>,
    /// Index of the item under the cursor.
    pub cursor: usize,
}

/// A verdict on a metric or rubric that is being edited.
#[derive(Debug)]
pub struct VerdictItem {
    /// The saved verdict or an empty one, with the computed result.
    pub about: HumanVerdict,
    /// The edited verdict; `None` if the user gives none.
    pub verdict: Option<bool>,
    /// The text field of the note.
    pub note: Input,
}

impl VerdictItem {
    /// The verdict to save. `None` if it was not changed.
    fn changed(&self) -> Option<HumanVerdict> {
        let note = self.note.value().trim().to_string();
        let same = self.verdict == self.about.verdict && note == self.about.note;
        (!same).then(|| HumanVerdict {
            verdict: self.verdict,
            note,
            ..self.about.clone()
        })
    }
}

/// The metrics and rubrics of an attempt on which verdicts can be given.
fn verdict_items(
    attempt: &Attempt,
    run_id: &str,
    file: &str,
    known: &[HumanVerdict],
) -> Vec<VerdictItem> {
    let mut items = Vec::new();
    for metric in attempt
        .metrics
        .iter()
        .filter(|metric| metric.threshold.is_some() || metric.judgement.is_some())
    {
        let mut add = |rubric_id: Option<String>, computed: Option<bool>| {
            let fresh = HumanVerdict {
                run_id: run_id.to_string(),
                file: file.to_string(),
                eval_id: attempt.eval_id.clone(),
                attempt: attempt.key.attempt,
                metric: metric.metric.clone(),
                rubric_id,
                computed,
                ..HumanVerdict::default()
            };
            let about = known
                .iter()
                .find(|one| one.is_about(&fresh))
                .cloned()
                .unwrap_or(fresh);
            let (verdict, note) = (about.verdict, Input::new(about.note.clone()));
            items.push(VerdictItem {
                about: HumanVerdict { computed, ..about },
                verdict,
                note,
            });
        };
        add(None, computed(metric));
        for rubric in &metric.rubrics {
            add(
                Some(rubric.rubric_id.clone()),
                rubric.score().map(|score| score >= 0.5),
            );
        }
    }
    items
}

/// The computed verdict of a metric. `None` if it neither passed nor failed.
fn computed(metric: &MetricResult) -> Option<bool> {
    match metric.status {
        Status::Passed => Some(true),
        Status::Failed => Some(false),
        _ => None,
    }
}

impl Dialog for VerdictForm {
    /// `tab` changes the verdict under the cursor: first to the opposite of the computed one, then to the computed
    /// one, then to none.
    fn tab(&mut self, _: &mut Model) -> Option<Vec<Effect>> {
        if let Some(item) = self.items.get_mut(self.cursor) {
            // The first press overrules the computed verdict.
            item.verdict = match (item.verdict, item.about.computed) {
                (None, computed) => Some(!computed.unwrap_or(false)),
                (Some(verdict), computed) if verdict != computed.unwrap_or(false) => Some(!verdict),
                _ => None,
            };
        }
        None
    }

    fn edit(&mut self, _: &mut Model, request: InputRequest) {
        if let Some(item) = self.items.get_mut(self.cursor) {
            item.note.handle(request);
        }
    }

    fn scroll(&mut self, _: &mut Model, motion: Motion) {
        self.cursor = motion.target(self.cursor, self.items.len(), self.items.len());
    }

    fn choose(&mut self, model: &mut Model) -> Option<Vec<Effect>> {
        let changed: Vec<HumanVerdict> = self
            .items
            .iter()
            .filter_map(|item| item.changed())
            .collect();
        if changed.is_empty() {
            return Some(Vec::new());
        }
        let ticket = model.ticket();
        model.verdicts.change(ticket, |known| {
            for verdict in &changed {
                known.retain(|known| !known.is_about(verdict));
                known.extend(verdict.verdict.map(|_| verdict.clone()));
            }
        });
        let words = match changed.as_slice() {
            [one] => format!(
                "your verdict on {} is saved",
                one.rubric_id.as_ref().unwrap_or(&one.metric)
            ),
            all => format!("{} of your verdicts are saved", all.len()),
        };
        let mut effects = notices::notify(model, words, false);
        effects.push(Effect::Results(ResultEffect::SaveVerdicts(changed)));
        Some(effects)
    }

    fn draw(
        &self,
        _: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let title = "your verdicts   tab yes/no/none, type a note, enter save, esc cancel";
        let inner = over(
            areas.body,
            WIDTH,
            self.items.len() as u16 + 4,
            title,
            theme,
            buffer,
        );
        let beside = inner.width >= NOTE_BESIDE_FROM;
        let name = if beside {
            (inner.width / 2).min(48)
        } else {
            inner.width.saturating_sub(14)
        };
        draw_headings(inner, name, theme, buffer);
        let rows = usize::from(inner.height.saturating_sub(if beside { 1 } else { 2 })).max(1);
        let first = self.cursor.saturating_sub(rows - 1);
        for (at, item) in self.items.iter().enumerate().skip(first).take(rows) {
            let row = Rect {
                y: inner.y + 1 + (at - first) as u16,
                height: 1,
                ..inner
            };
            draw_item(item, at == self.cursor, row, name, theme, buffer);
            if beside && at != self.cursor {
                draw_note(item, row, name, theme, buffer);
            }
        }
        let item = self.items.get(self.cursor)?;
        let faint = theme.style(Role::Faint);
        let (x, y) = match beside {
            true => {
                let x = inner.x + 15 + name;
                put(buffer, x, inner.y, 8, "note", faint);
                (x, inner.y + 1 + (self.cursor - first) as u16)
            }
            false => {
                let y = inner.bottom().saturating_sub(1);
                let used = put(buffer, inner.x + 1, y, 6, "note", faint);
                (inner.x + 1 + used + 1, y)
            }
        };
        Some(text_field(
            &item.note,
            x,
            y,
            inner.right().saturating_sub(x + 1),
            theme.style(Role::Text),
            buffer,
        ))
    }
}

/// Draws the headings of the columns; the first one is `name` columns wide.
fn draw_headings(inner: Rect, name: u16, theme: &Theme, buffer: &mut Buffer) {
    let faint = theme.style(Role::Faint);
    put(buffer, inner.x + 1, inner.y, name, "verdict on", faint);
    put(buffer, inner.x + 1 + name, inner.y, 7, "judge", faint);
    put(buffer, inner.x + 9 + name, inner.y, 5, "you", faint);
}

/// Draws the note of an item that is not under the cursor, beside its verdict.
fn draw_note(item: &VerdictItem, row: Rect, name: u16, theme: &Theme, buffer: &mut Buffer) {
    let x = row.x + 15 + name;
    put(
        buffer,
        x,
        row.y,
        row.right().saturating_sub(x + 1),
        item.note.value(),
        theme.style(Role::Faint),
    );
}

fn word(verdict: Option<bool>) -> &'static str {
    match verdict {
        Some(true) => "yes",
        Some(false) => "no",
        None => "—",
    }
}

fn draw_item(
    item: &VerdictItem,
    here: bool,
    row: Rect,
    name: u16,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let style = theme.row(here);
    buffer.set_style(row, style);
    let about = match &item.about.rubric_id {
        Some(rubric) => format!("  {rubric}"),
        None => item.about.metric.clone(),
    };
    put(buffer, row.x + 1, row.y, name - 1, &about, style);
    put(
        buffer,
        row.x + 1 + name,
        row.y,
        7,
        word(item.about.computed),
        style,
    );
    let differs = item.verdict.is_some() && item.verdict != item.about.computed;
    let mine = if differs {
        theme.within(style, theme.style(Role::Note))
    } else {
        style
    };
    put(buffer, row.x + 9 + name, row.y, 5, word(item.verdict), mine);
}
