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
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::text::put;
use crate::explorer::widgets::{over, scrollbar};
use crate::formats::{Edit, PreviewLine, SetFile};
use crate::store::{FileAction, FileJob};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
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
            proposal.problem = Some(match conflict.is_same_place {
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

pub(crate) fn save_beside(model: &mut Model) -> Vec<Effect> {
    let Some(proposal) = model.dialog_mut::<Proposal>() else {
        return Vec::new();
    };
    let mine = proposal.jobs.iter().filter_map(|job| match &job.action {
        FileAction::Change(text, change) => {
            let name = job.path.file_name()?.to_string_lossy().into_owned();
            let path = job.path.with_file_name(format!("{name}.mine"));
            Some(FileJob {
                path,
                action: FileAction::Create(change.apply(text)?),
            })
        }
        _ => None,
    });
    let jobs: Vec<FileJob> = mine.collect();
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

/// Number of lines that fit: the height of the screen without frame and answers.
fn proposal_rows(size: (u16, u16)) -> u16 {
    size.1.saturating_sub(6)
}

fn line_of(line: &ProposalLine, row: Rect, theme: &Theme, buffer: &mut Buffer) {
    let room = row.width.saturating_sub(4);
    let (sign, words, role) = match line {
        ProposalLine::Heading(words) => {
            put(
                buffer,
                row.x + 1,
                row.y,
                row.width - 2,
                words,
                theme.style(Role::Title),
            );
            return;
        }
        ProposalLine::Change(PreviewLine::Place(line)) => {
            put(
                buffer,
                row.x + 1,
                row.y,
                row.width - 2,
                &format!("line {line}"),
                theme.style(Role::Faint),
            );
            return;
        }
        ProposalLine::Change(PreviewLine::Same(words)) => (" ", words, Role::Faint),
        ProposalLine::Change(PreviewLine::Gone(words)) => ("-", words, Role::Removed),
        ProposalLine::Change(PreviewLine::New(words)) => ("+", words, Role::Added),
    };
    put(buffer, row.x + 1, row.y, 1, sign, theme.style(role));
    put(buffer, row.x + 3, row.y, room, words, theme.style(role));
}

/// The line at the bottom: the possible answers, or the error.
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
        Some(conflict) if !conflict.is_same_place => {
            format!(
                "the file was changed since: {leave} close, then make the change again    {beside} write yours beside"
            )
        }
        Some(_) => {
            format!(
                "the same lines were changed by others: {beside} write yours beside    {leave} keep theirs"
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
        let page = usize::from(proposal_rows(model.size));
        let last = (self.lines.len() + 1).saturating_sub(page);
        self.scroll = motion.target(self.scroll, last.max(1), page);
    }

    fn draw(
        &self,
        _: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let body = areas.body;
        let width = body.width.saturating_sub(2).min(WIDTH);
        let height = (self.lines.len() as u16).saturating_add(4);
        let inner = over(body, width, height, &self.words, theme, buffer);
        let rows = Rect {
            height: inner.height.saturating_sub(1),
            ..inner
        };
        let shown = usize::from(rows.height);
        let first = self.scroll.min(self.lines.len().saturating_sub(shown));
        for (row, line) in self.lines.iter().skip(first).take(shown).enumerate() {
            line_of(
                line,
                Rect {
                    y: rows.y + row as u16,
                    height: 1,
                    ..rows
                },
                theme,
                buffer,
            );
        }
        let frame = Rect {
            x: rows.x - 1,
            y: rows.y - 1,
            width: rows.width + 2,
            height: rows.height + 2,
        };
        scrollbar(frame, first, shown, self.lines.len(), theme, buffer);
        let (words, role) = state_text(self);
        put(
            buffer,
            inner.x + 1,
            inner.bottom() - 1,
            inner.width.saturating_sub(2),
            &words,
            theme.style(role),
        );
        None
    }
}
