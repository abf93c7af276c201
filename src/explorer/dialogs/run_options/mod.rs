//! Options for one run: agent, judge, criteria, how often, and which of the cases. What was chosen is remembered until
//! evaltrail ends; a run without this dialog takes what is configured.

mod field_texts;
mod form;

pub use form::RunOptionsForm;

use crate::explorer::running::start;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::configured_run::ConfiguredRun;
use crate::explorer::shared::dialog;
use crate::explorer::shared::effect::{Effect, SetEffect};
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::run_target::RunTarget;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::shared::ticket::Ticket;
use crate::explorer::widgets::over;
use crate::explorer::widgets::text::put;
use crate::explorer::widgets::text_field::text_field;
use evaltrail_core::diff::{Line, Span, Tone, wrap_line};
use form::{RunOption, filled_fields};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use std::collections::BTreeSet;
use tui_input::{Input, InputRequest};

const WIDTH: u16 = 78;
/// Columns of the labels.
const LABELS: u16 = 15;
/// Columns of a value, where its description stands beside it.
const VALUES: u16 = 26;

pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let fields = filled_fields(&model.run_overrides);
    let cases = start::cases_in_scope(model);
    let agents = model.agents.clone();
    let sets: BTreeSet<usize> = cases.iter().map(|case| case.set).collect();
    let agents_of_cases = agents_of_sets(model, &sets);
    let files = sets.into_iter();
    let files = files.filter_map(|set| Some((set, model.file(set)?.clone())));
    let files = files.collect();
    let ticket = model.ticket();
    let read = SetEffect::ReadConfigured(ticket, files);
    let form = RunOptionsForm {
        ticket,
        fields,
        cursor: 0,
        is_typed: false,
        cases,
        agents,
        configured: None,
        agents_of_cases,
        estimate: String::new(),
        wrong: None,
    };
    let mut effects = dialog::open(model, form);
    effects.push(Effect::Sets(SetEffect::ListAgents));
    effects.push(Effect::Sets(read));
    effects
}

/// Shows what a run of the cases uses where a field is empty.
pub(crate) fn show_configured_values(model: &mut Model, ticket: Ticket, configured: ConfiguredRun) {
    if let Some(mut form) = model.take_dialog::<RunOptionsForm>() {
        if form.ticket == ticket {
            form.show_configured(model, configured);
        }
        model.view.open_dialog = Some(Box::new(form));
    }
}

fn agents_of_sets(model: &Model, sets: &BTreeSet<usize>) -> String {
    let agents = sets.iter().map(|set| &model.view.sets[*set].agent);
    let names: BTreeSet<&str> = agents
        .map(|agent| agent.as_ref().map_or("none", String::as_str))
        .collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

impl Dialog for RunOptionsForm {
    /// `tab` names the next agent, mode of stubs, gate, file of criteria or metric.
    fn tab(&mut self, _: &mut Model) -> Option<Vec<Effect>> {
        match self.fields[self.cursor].0 {
            RunOption::Metrics => self.complete_metric(),
            option @ (RunOption::Agent
            | RunOption::Stubs
            | RunOption::Gate
            | RunOption::Criteria) => self.next_value(option),
            _ => return None,
        }
        self.wrong = None;
        None
    }

    fn edit(&mut self, model: &mut Model, request: InputRequest) {
        self.take_input(request);
        self.estimate = self.estimate(model);
    }

    fn scroll(&mut self, _: &mut Model, motion: Motion) {
        self.cursor = motion.target(self.cursor, self.fields.len(), self.fields.len());
        self.is_typed = false;
        self.wrong = None;
    }

    fn choose(&mut self, model: &mut Model) -> Option<Vec<Effect>> {
        let chosen = self
            .zero()
            .or(self.unknown())
            .map_or_else(|| self.chosen_cases(model), Err);
        match chosen {
            Ok(cases) => {
                model.run_overrides = self.overrides();
                let against = RunTarget::AgentWith(Box::new(model.run_overrides.clone()));
                Some(start::start(model, cases, against))
            }
            Err(why) => {
                self.wrong = Some(why);
                None
            }
        }
    }

    fn follow(&mut self, new: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        dialog::follow_all(&mut self.cases, new)
    }

    fn draw(
        &self,
        model: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let title = format!(
            "run {}   enter run, {}esc cancel",
            self.scope_text(model),
            if self.fields[self.cursor].0.has_values() {
                "tab next value, "
            } else {
                ""
            }
        );
        let (words, role) = self.note(model);
        let note = note_lines(&words, WIDTH.min(areas.body.width).saturating_sub(4));
        let height = self.fields.len() + 3 + note.len();
        let inner = over(areas.body, WIDTH, height as u16, &title, theme, buffer);
        let rows = usize::from(inner.height).saturating_sub(1 + note.len());
        let rows = rows.max(1);
        let first = self.cursor.saturating_sub(rows - 1);
        let mut cursor = None;
        for (at, field) in self.fields.iter().enumerate().skip(first).take(rows) {
            let row = Rect {
                y: inner.y + (at - first) as u16,
                height: 1,
                ..inner
            };
            let is_here = at == self.cursor;
            let default = self.default_text(model, field.0);
            let is_selected = is_here && !self.is_typed;
            let look = (theme.row(is_here), is_selected);
            let position = draw_field(field, &default, look, row, theme, buffer);
            cursor = cursor.or(position.filter(|_| is_here));
        }
        let width = inner.width.saturating_sub(2);
        let y = inner.bottom().saturating_sub(note.len() as u16);
        let above = y.saturating_sub(1).max(inner.y);
        let style = theme.style(Role::Text);
        put(buffer, inner.x + 1, above, width, &self.estimate, style);
        for (y, line) in (y..inner.bottom()).zip(&note) {
            put(buffer, inner.x + 1, y, width, line, theme.style(role));
        }
        cursor
    }
}

/// The note in at most two lines, so that an error with a suggestion can be read whole.
fn note_lines(note: &str, width: u16) -> Vec<String> {
    let span = Span::single_line(note, Tone::Plain);
    let text = |line: Line| line.into_iter().map(|span| span.text).collect::<String>();
    let wrapped = wrap_line(&[span], usize::from(width.max(1)));
    let mut lines: Vec<String> = wrapped.into_iter().map(text).collect();
    if lines.len() > 2 {
        lines.truncate(2);
        lines[1].push('…');
    }
    if lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

/// Draws one field, in the style of its row; selected text is underlined. Returns the position of the text cursor in it.
fn draw_field(
    (option, input): &(RunOption, Input),
    default: &str,
    (style, is_selected): (Style, bool),
    row: Rect,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    buffer.set_style(row, style);
    put(
        buffer,
        row.x + 1,
        row.y,
        LABELS,
        option.label(),
        theme.within(style, theme.style(Role::Key)),
    );
    let x = row.x + 1 + LABELS;
    let faint = theme.within(style, theme.style(Role::Faint));
    let room = row.right().saturating_sub(x + 1);
    let is_beside = room > VALUES + 8;
    // A long value needs the whole row.
    let is_long = input.value().chars().count() >= usize::from(VALUES);
    if is_beside && !is_long {
        let x = x + VALUES + 1;
        put(
            buffer,
            x,
            row.y,
            row.right().saturating_sub(x + 1),
            option.help(),
            faint,
        );
    }
    if input.value().is_empty() {
        let room = if is_beside { VALUES } else { room };
        put(buffer, x, row.y, room, default, faint);
        return Some(Position { x, y: row.y });
    }
    let value = theme.within(style, theme.style(Role::Value));
    let value = match is_selected {
        true => value.add_modifier(Modifier::UNDERLINED),
        false => value,
    };
    Some(text_field(input, x, row.y, room, value, buffer))
}
