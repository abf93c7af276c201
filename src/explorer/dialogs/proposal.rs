//! A proposed change of files that the user reviews before it is saved, and its conflicts with changes of the file by
//! others.

use crate::explorer::authoring;
use crate::explorer::authoring::proposal::{Conflict, Proposal, ProposalLine};
use crate::explorer::sets::load;
use crate::explorer::shared::command_names::{DISCARD, SAVE, SAVE_BESIDE};
use crate::explorer::shared::context::Context;
use crate::explorer::shared::effect::{EditEffect, Effect};
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::screen::layout;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::text::put;
use crate::explorer::widgets::{over, scrollbar};
use evaltrail_core::diff::{Line, Span, Tone, wrap_line};
use evaltrail_core::formats::{Edit, PreviewLine, SetFile};
use evaltrail_engine::store::{FileAction, FileEdit};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) fn save(model: &mut Model) -> Vec<Effect> {
    let Some(proposal) = model.dialog_mut::<Proposal>() else {
        return Vec::new();
    };
    if proposal.saving {
        return Vec::new();
    }
    match proposal.conflict.take() {
        None => {
            proposal.saving = true;
            proposal.problem = None;
            let anywhere = proposal.outside.is_some();
            vec![Effect::Edits(EditEffect::Make {
                words: proposal.words.clone(),
                jobs: proposal.jobs.clone(),
                anywhere,
            })]
        }
        Some(Conflict {
            theirs,
            merged: Some(edits),
            ..
        }) => {
            let proposal = (
                proposal.words.clone(),
                proposal.jobs.first().map(|job| job.path.clone()),
            );
            merge(model, theirs, edits, proposal)
        }
        Some(conflict) => {
            let (beside, leave) = (SAVE_BESIDE.key(), DISCARD.key());
            proposal.problem = Some(match conflict.is_overlapping {
                true => format!(
                    "both changed the same place; {beside} writes yours beside, {leave} leaves theirs"
                ),
                false => {
                    format!("the file was changed; {leave} closes this, then make the change again")
                }
            });
            proposal.conflict = Some(conflict);
            Vec::new()
        }
    }
}

/// Proposes the merged edits on the file as others changed it.
fn merge(
    model: &mut Model,
    theirs: Arc<str>,
    edits: Vec<Edit>,
    (words, path): (String, Option<PathBuf>),
) -> Vec<Effect> {
    let set = model
        .view
        .sets
        .iter()
        .position(|set| Some(&set.path.path) == path.as_ref());
    let (Some(set), Ok(file)) = (set, SetFile::open(theirs.clone(), "")) else {
        return Vec::new();
    };
    let mut effects = load::put_file(model, set, Arc::new(file), String::new());
    effects.extend(authoring::propose(model, set, edits, words));
    effects
}

pub(crate) fn save_new_file(model: &mut Model) -> Vec<Effect> {
    let Some(proposal) = model.dialog_mut::<Proposal>() else {
        return Vec::new();
    };
    let mine = proposal.jobs.iter().filter_map(|job| match &job.action {
        FileAction::Change(text, change) => {
            let name = job.path.file_name()?.to_string_lossy().into_owned();
            let path = job.path.with_file_name(format!("{name}.mine"));
            Some(FileEdit {
                path,
                action: FileAction::Create(change.apply(text)?),
            })
        }
        _ => None,
    });
    let jobs: Vec<FileEdit> = mine.collect();
    proposal.saving = true;
    let names: Vec<String> = jobs
        .iter()
        .map(|job| job.path.display().to_string())
        .collect();
    vec![Effect::Edits(EditEffect::Make {
        words: format!("write {}", names.join(", ")),
        jobs,
        anywhere: false,
    })]
}

/// Closes the proposal, unless it is being saved: then the reply closes it.
pub(crate) fn discard(model: &mut Model) -> Vec<Effect> {
    if !model
        .dialog::<Proposal>()
        .is_some_and(|proposal| proposal.saving)
    {
        model.view.open_dialog = None;
    }
    Vec::new()
}

/// Maximum width of the dialog, in columns.
const WIDTH: u16 = 110;
/// Columns of a changed line before its text: a space, the sign, a space.
const SIGN_WIDTH: u16 = 3;

/// A row of the dialog. A long line is wrapped to several rows.
struct ProposalRow {
    sign: &'static str,
    /// Columns before the text.
    indent: u16,
    text: String,
    role: Role,
}

/// The sign of a line, the columns before its text, the text and its role.
fn sign_and_text(line: &ProposalLine) -> (&'static str, u16, Cow<'_, str>, Role) {
    match line {
        ProposalLine::Heading(text) => ("", 1, text.into(), Role::Title),
        ProposalLine::Change(PreviewLine::LineNumber(line)) => {
            ("", 1, format!("line {line}").into(), Role::Faint)
        }
        ProposalLine::Change(PreviewLine::Same(text)) => {
            (" ", SIGN_WIDTH, text.into(), Role::Faint)
        }
        ProposalLine::Change(PreviewLine::Gone(text)) => {
            ("-", SIGN_WIDTH, text.into(), Role::Removed)
        }
        ProposalLine::Change(PreviewLine::New(text)) => ("+", SIGN_WIDTH, text.into(), Role::Added),
    }
}

/// The rows of a line, wrapped to `width` columns. Nothing is cut, so that the user sees everything that is written.
fn rows_of_line(line: &ProposalLine, width: u16) -> Vec<ProposalRow> {
    let (sign, indent, text, role) = sign_and_text(line);
    let texts = wrapped(&text, width.saturating_sub(indent + 1));
    let row = |(at, text): (usize, String)| ProposalRow {
        sign: if at == 0 { sign } else { "" },
        indent,
        text,
        role,
    };
    texts.into_iter().enumerate().map(row).collect()
}

/// The number of rows of a line. Most lines are short, so that a change of many lines is measured without wrapping them.
fn row_count(line: &ProposalLine, width: u16) -> usize {
    let (_, indent, text, _) = sign_and_text(line);
    let room = usize::from(width.saturating_sub(indent + 1));
    let is_short = text.len() <= room && text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    match is_short {
        true => 1,
        false => rows_of_line(line, width).len(),
    }
}

fn wrapped(text: &str, width: u16) -> Vec<String> {
    let span = Span::single_line(text, Tone::Plain);
    let lines = wrap_line(&[span], usize::from(width).max(1));
    let text = |line: Line| line.into_iter().map(|span| span.text).collect();
    lines.into_iter().map(text).collect()
}

/// What the dialog shows: rows, and the lines at the bottom.
struct ProposalText<'a> {
    lines: &'a [ProposalLine],
    /// Width inside the frame, in columns.
    width: u16,
    /// Number of all rows.
    rows: usize,
    state: Vec<String>,
    role: Role,
}

impl ProposalText<'_> {
    fn new(proposal: &Proposal, body: Rect) -> ProposalText<'_> {
        let width = outer_width(body).saturating_sub(2);
        let (state, role) = state_text(proposal);
        let lines = &proposal.lines;
        ProposalText {
            lines,
            width,
            rows: lines.iter().map(|line| row_count(line, width)).sum(),
            state: wrapped(&state, width.saturating_sub(2)),
            role,
        }
    }

    /// At most `count` rows, beginning with row `first`.
    fn rows_from(&self, first: usize, count: usize) -> Vec<ProposalRow> {
        let mut skipped = 0;
        let mut lines = self.lines.iter().peekable();
        while let Some(line) = lines.peek() {
            let rows = row_count(line, self.width);
            if skipped + rows > first {
                break;
            }
            skipped += rows;
            lines.next();
        }
        let rows = lines.flat_map(|line| rows_of_line(line, self.width));
        rows.skip(first - skipped).take(count).collect()
    }

    /// Number of rows that fit above the lines at the bottom.
    fn page(&self, body: Rect) -> usize {
        usize::from(body.height.saturating_sub(2)).saturating_sub(self.state.len())
    }
}

/// Width of the dialog with its frame.
fn outer_width(body: Rect) -> u16 {
    body.width.saturating_sub(2).min(WIDTH)
}

/// The text at the bottom: the possible answers, or the error.
fn state_text(proposal: &Proposal) -> (String, Role) {
    if let Some(problem) = &proposal.problem {
        return (problem.clone(), Role::Bad);
    }
    let (save, beside, leave) = (SAVE.key(), SAVE_BESIDE.key(), DISCARD.key());
    let words = match &proposal.conflict {
        _ if proposal.saving => "saving…".to_string(),
        None => format!("{save} save    {leave} change nothing"),
        Some(conflict) if conflict.merged.is_some() => format!(
            "the file was changed since: {save} make both changes    {beside} write yours beside    \
             {leave} keep theirs"
        ),
        Some(conflict) if !conflict.is_overlapping => {
            format!(
                "the file was changed since: {leave} close, then make the change again    {beside} write yours beside"
            )
        }
        Some(_) => {
            format!(
                "others changed the file, and this change no longer fits: {beside} write yours beside    {leave} keep theirs"
            )
        }
    };
    (words, Role::Accent)
}

impl Dialog for Proposal {
    fn context(&self) -> Option<Context> {
        Some(Context::Proposal)
    }

    fn scroll(&mut self, model: &mut Model, motion: Motion) {
        let body = layout(model).body;
        let text = ProposalText::new(self, body);
        let page = text.page(body);
        let first_rows = (text.rows + 1).saturating_sub(page).max(1);
        self.scroll = motion.target(self.scroll, first_rows, page);
    }

    fn draw(
        &self,
        _: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let text = ProposalText::new(self, areas.body);
        let height = u16::try_from(text.rows + text.state.len() + 3).unwrap_or(u16::MAX);
        let width = outer_width(areas.body);
        let inner = over(areas.body, width, height, &self.words, theme, buffer);
        let state_height = (text.state.len() as u16).min(inner.height);
        let rows = Rect {
            height: inner.height - state_height,
            ..inner
        };
        let shown = usize::from(rows.height);
        let first = self.scroll.min(text.rows.saturating_sub(shown));
        for (y, row) in (rows.y..).zip(text.rows_from(first, shown)) {
            let style = theme.style(row.role);
            put(buffer, rows.x + 1, y, 1, row.sign, style);
            let width = rows.width.saturating_sub(row.indent + 1);
            put(buffer, rows.x + row.indent, y, width, &row.text, style);
        }
        let frame = Rect {
            x: rows.x - 1,
            y: rows.y - 1,
            width: rows.width + 2,
            height: rows.height + 2,
        };
        scrollbar(frame, first, shown, text.rows, theme, buffer);
        for (y, words) in (rows.bottom()..inner.bottom()).zip(&text.state) {
            let style = theme.style(text.role);
            put(
                buffer,
                inner.x + 1,
                y,
                inner.width.saturating_sub(2),
                words,
                style,
            );
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is saved can be read whole on a small screen, and so can the reason why it is not saved.
    #[test]
    fn every_line_can_be_scrolled_to() {
        let mut proposal = Proposal::new("w".into(), Vec::new(), |_| String::new());
        let line = |n: usize| PreviewLine::New(format!("{n} {} end{n}", "word ".repeat(40)));
        proposal.lines = (0..30).map(|n| ProposalLine::Change(line(n))).collect();
        let folder = "/a/folder".repeat(12);
        proposal.problem = Some(format!("not saved: {folder}: it is read-only"));
        let mut model = Model::new("w".into(), Vec::new(), (80, 24));
        let drawn = |proposal: &Proposal, model: &Model| {
            let areas = layout(model);
            let mut buffer = Buffer::empty(Rect::new(0, 0, 80, 24));
            proposal.draw(
                model,
                &areas,
                &Theme::named("default", true).unwrap(),
                &mut buffer,
            );
            let cell = |(x, y)| buffer[(x, y)].symbol().to_string();
            (0..24)
                .map(|y| (0..80).map(|x| cell((x, y))).collect::<String>() + "\n")
                .collect::<String>()
        };
        let mut seen = String::new();
        for _ in 0..200 {
            seen += &drawn(&proposal, &model);
            proposal.scroll(&mut model, Motion::PageDown);
        }
        for n in 0..30 {
            assert!(seen.contains(&format!("end{n} ")), "line {n} of\n{seen}");
        }
        let last = drawn(&proposal, &model);
        assert!(
            last.contains("end29 ") && last.contains("read-only"),
            "{last}"
        );
    }
}
