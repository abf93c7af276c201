//! The drafts of a set: cases that were derived from its cases, to add to it or to drop.

use crate::explorer::authoring::proposal::Proposal;
use crate::explorer::authoring::{show, shown};
use crate::explorer::shared::effect::{Effect, SetEffect};
use crate::explorer::shared::found_drafts::FoundDrafts;
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::set_view::SetView;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::shared::{dialog, notices};
use crate::explorer::widgets::picker::{Picker, pick_with_note};
use crate::explorer::widgets::text::put;
use evaltrail_core::domain::{EvalCase, clean_line, counted};
use evaltrail_core::formats::Draft;
use evaltrail_engine::runner::SetDrafts;
use evaltrail_engine::workspace::drafts_path;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use tui_input::InputRequest;

/// Columns for what is known of the expectation.
const EXPECTATION_WIDTH: u16 = 11;
/// More characters of a first message are not listed.
const MAX_MESSAGE: usize = 200;

/// The drafts of a set to choose from.
#[derive(Debug)]
pub struct DraftList {
    /// The set, by index.
    set: usize,
    drafts: Arc<SetDrafts>,
    /// The drafts that can be accepted, by their positions.
    pub picker: Picker<usize>,
}

/// Reads the drafts of the current set. The list opens with the reply.
pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    match model
        .current_set()
        .and_then(|set| Some((set, model.file(set)?.clone())))
    {
        Some((set, file)) => vec![Effect::Sets(SetEffect::FindDrafts {
            set,
            file,
            derives: true,
        })],
        None => Vec::new(),
    }
}

/// Reads the drafts of a set again, if they were written.
pub(crate) fn list_again(model: &Model, written: &[(PathBuf, Option<Arc<str>>)]) -> Vec<Effect> {
    let is_written = |view: &SetView| {
        let drafts = drafts_path(&view.path.path);
        written.iter().any(|(path, _)| *path == drafts)
    };
    let set = model.view.sets.iter().position(is_written);
    match set.and_then(|set| Some((set, model.file(set)?.clone()))) {
        Some((set, file)) => vec![Effect::Sets(SetEffect::FindDrafts {
            set,
            file,
            derives: false,
        })],
        None => Vec::new(),
    }
}

/// Lists the drafts that were found, or shows those that were derived because there were none.
pub(crate) fn found(
    model: &mut Model,
    set: usize,
    found: Result<FoundDrafts, String>,
) -> Vec<Effect> {
    if model.view.open_dialog.is_some() {
        return Vec::new();
    }
    match found {
        Ok(FoundDrafts::Listed(drafts)) if drafts.cases().next().is_none() => Vec::new(),
        Ok(FoundDrafts::Listed(drafts)) => list(model, set, drafts),
        Ok(FoundDrafts::Derived(_, 0)) => {
            let why = "no draft can be derived from the cases of this set";
            notices::notify(model, why.into(), false)
        }
        Ok(FoundDrafts::Derived(job, count)) => {
            let words = format!("derive {} from the cases", counted(count, "draft"));
            let proposal = Proposal::new(words, vec![job], |job| shown(model, &job.path));
            show(model, proposal)
        }
        Err(why) => notices::notify(model, why, true),
    }
}

fn list(model: &mut Model, set: usize, drafts: Arc<SetDrafts>) -> Vec<Effect> {
    let text = |case: &EvalCase, draft: &Draft| {
        let text = format!("{}  {}", case.eval_id, draft.change);
        clean_line(&text).into_owned()
    };
    let rows = drafts
        .cases()
        .map(|(at, draft, case)| (at, text(case, draft)))
        .collect();
    let picker = Picker::new(rows);
    dialog::open(
        model,
        DraftList {
            set,
            drafts,
            picker,
        },
    )
}

impl DraftList {
    fn chosen(&self) -> Option<(&Draft, &EvalCase)> {
        let draft = self.drafts.drafts.get(self.picker.chosen()?)?;
        Some((draft, draft.case()?))
    }

    /// What the user says in the draft under the cursor, and the keys.
    fn note(&self) -> Option<String> {
        let (draft, case) = self.chosen()?;
        let expectation = match draft.keeps_expectation {
            true => "what is expected stays",
            false => "what to expect is to be decided",
        };
        let message = case.first_prompt(MAX_MESSAGE);
        Some(clean_line(&format!("{message}  ·  {expectation}")).into_owned())
    }
}

impl Dialog for DraftList {
    fn edit(&mut self, _: &mut Model, request: InputRequest) {
        self.picker.edit(request);
    }

    fn scroll(&mut self, _: &mut Model, motion: Motion) {
        self.picker.scroll(motion);
    }

    /// Shows what adds the draft to the set.
    fn choose(&mut self, model: &mut Model) -> Option<Vec<Effect>> {
        let (_, case) = self.chosen()?;
        let words = format!("add the draft {}", case.eval_id);
        let chosen = BTreeSet::from([self.picker.chosen()?]);
        let file = model.file(self.set)?.clone();
        let path = &model.view.sets[self.set].path.path;
        Some(match self.drafts.accepting((path, &file), &chosen) {
            Ok(jobs) => {
                let proposal = Proposal::new(words, jobs.into(), |job| shown(model, &job.path));
                show(model, proposal)
            }
            Err(why) => notices::notify(model, why, true),
        })
    }

    /// Shows what drops the draft, so that it is not proposed again.
    fn tab(&mut self, model: &mut Model) -> Option<Vec<Effect>> {
        let (_, case) = self.chosen()?;
        let words = format!("drop the draft {}", case.eval_id);
        let chosen = BTreeSet::from([self.picker.chosen()?]);
        let job = self.drafts.dropping(&chosen, "");
        let proposal = Proposal::new(words, vec![job], |job| shown(model, &job.path));
        Some(show(model, proposal))
    }

    fn draw(
        &self,
        _: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let row = |(at, words): &(usize, String), area: Rect, style: Style, buffer: &mut Buffer| {
            let kept = self.drafts.drafts[*at].keeps_expectation;
            let (word, role) = match kept {
                true => ("kept", Role::Passed),
                false => ("to decide", Role::Note),
            };
            let look = theme.within(style, theme.style(role));
            put(buffer, area.x, area.y, EXPECTATION_WIDTH, word, look);
            let room = area.width.saturating_sub(EXPECTATION_WIDTH);
            put(
                buffer,
                area.x + EXPECTATION_WIDTH,
                area.y,
                room,
                words,
                style,
            );
        };
        let title = format!(
            "{}   enter add to the set, tab drop, esc close",
            counted(self.drafts.cases().count(), "draft")
        );
        let note = self.note();
        Some(pick_with_note(
            &self.picker,
            &title,
            note.as_deref(),
            areas,
            theme,
            buffer,
            row,
        ))
    }
}
