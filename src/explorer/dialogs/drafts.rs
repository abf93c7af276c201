//! The drafts of a set: cases that were derived from its cases, to add to it or to drop.

use crate::explorer::authoring::proposal::{Proposal, ProposalLine};
use crate::explorer::authoring::{show, shown_path};
use crate::explorer::prompts::ask;
use crate::explorer::prompts::ask::Purpose;
use crate::explorer::shared::effect::{Effect, SetEffect};
use crate::explorer::shared::found_drafts::FoundDrafts;
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::set_view::SetView;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::shared::{dialog, notices};
use crate::explorer::widgets::picker::{Picker, PickerNote, pick_with_note};
use crate::explorer::widgets::text::put;
use evaltrail_core::domain::{DraftVerdict, EvalCase, Invocation, clean_line, counted};
use evaltrail_core::formats::{CheckedDraft, Draft, PreviewLine};
use evaltrail_engine::runner::SetDrafts;
use evaltrail_engine::store::FileEdit;
use evaltrail_engine::workspace::drafts_path;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use tui_input::InputRequest;

/// More characters of a first message are not listed.
const MAX_MESSAGE: usize = 200;

/// The drafts of a set to choose from.
#[derive(Clone, Debug)]
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
            let proposal = Proposal::new(words, vec![job], |job| shown_path(model, &job.path));
            show(model, proposal)
        }
        Err(why) => notices::notify(model, why, true),
    }
}

fn list(model: &mut Model, set: usize, drafts: Arc<SetDrafts>) -> Vec<Effect> {
    let rows = drafts
        .cases()
        .map(|(at, draft, _)| (at, draft_text(draft)))
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

    /// The columns for what is known of the expectations, with a gap.
    fn expectation_width(&self) -> u16 {
        let words = self
            .drafts
            .cases()
            .map(|(_, draft, _)| expectation(draft).0);
        words.map(|word| word.len() as u16 + 2).max().unwrap_or(0)
    }

    /// What the user says in the turn that the draft under the cursor changes, and what is known of the expectation.
    fn note(&self, model: &Model) -> Option<String> {
        let (draft, case) = self.chosen()?;
        let expectation = match (&draft.check, draft.keeps_expectation) {
            (Some(CheckedDraft { check, .. }), _) => match &check.error {
                Some(error) => format!("{}: {error}", check.verdict.describe()),
                None => check.verdict.describe().to_string(),
            },
            (None, true) => "what is expected stays".into(),
            (None, false) => "what to expect is to be decided".into(),
        };
        let file = model.file(self.set);
        let source = file.and_then(|file| {
            let at = file.positions_of(&draft.source).next()?;
            file.case(at).ok()
        });
        let message = changed_message(case, source.as_ref());
        Some(clean_line(&format!("{message}  ·  {expectation}")).into_owned())
    }

    /// Shows what drops the draft at a position, so that it is not proposed again.
    fn drop_draft(&self, model: &mut Model, at: usize, reason: &str) -> Vec<Effect> {
        let Some(draft) = self.drafts.drafts.get(at) else {
            return Vec::new();
        };
        let text = draft_text(draft);
        let words = format!("drop the draft {text}");
        let job = self.drafts.dropping(&BTreeSet::from([at]), reason);
        let lines = vec![
            ProposalLine::Heading(shown_path(model, &job.path)),
            ProposalLine::Change(PreviewLine::Gone(text)),
            ProposalLine::Change(PreviewLine::New(format!("dropped: {reason}"))),
        ];
        let proposal = Proposal {
            lines,
            ..Proposal::new(words, vec![job], |_| String::new())
        };
        show(model, proposal)
    }
}

/// The id of a draft and what it changes.
fn draft_text(draft: &Draft) -> String {
    let id = draft.case().map_or("", |case| &case.eval_id);
    clean_line(&format!("{id}  {}", draft.summary())).into_owned()
}

/// What is known of the expectation of a draft, in a word.
fn expectation(draft: &Draft) -> (&'static str, Role) {
    match (&draft.check, draft.keeps_expectation) {
        (Some(CheckedDraft { check, .. }), _) => match check.verdict {
            DraftVerdict::Verified => (check.verdict.name(), Role::Passed),
            DraftVerdict::Disputed => (check.verdict.name(), Role::Failed),
            _ => (check.verdict.name(), Role::Note),
        },
        (None, true) => ("kept", Role::Passed),
        (None, false) => ("to decide", Role::Note),
    }
}

/// The message of the first turn that differs from the source, of several with its number; else the first one.
fn changed_message(case: &EvalCase, source: Option<&EvalCase>) -> String {
    let turns = case.turns();
    let before = |at: usize| source.and_then(|source| source.turns().get(at));
    let says = |turn: &Invocation| turn.user.shown_text();
    let differs = |at: &usize| before(*at).map(says) != Some(says(&turns[*at]));
    let is_other = |at: &usize| before(*at) != Some(&turns[*at]);
    let all = || 0..turns.len();
    let changed = all().find(differs).or_else(|| all().find(is_other));
    match changed.filter(|_| source.is_some() && turns.len() > 1) {
        Some(at) => {
            let message: String = says(&turns[at]).chars().take(MAX_MESSAGE).collect();
            format!("turn {}: {message}", at + 1)
        }
        None => case.first_prompt(MAX_MESSAGE),
    }
}

/// The question why a draft is dropped.
#[derive(Debug)]
struct DropReason {
    /// The list that the draft is in.
    list: DraftList,
    /// The position of the draft.
    at: usize,
    id: String,
}

impl Purpose for DropReason {
    fn prompt(&self, _: &Model) -> Cow<'static, str> {
        format!("reason to drop {}: ", clean_line(&self.id)).into()
    }

    fn example(&self) -> &'static str {
        "a few words, which are kept with the draft"
    }

    fn wrong(&self, _: &Model, typed: &str) -> Option<String> {
        let is_empty = typed.trim().is_empty();
        is_empty.then(|| "say why: it is kept with the draft".to_string())
    }

    fn accept(&self, model: &mut Model, typed: &str) -> Vec<Effect> {
        self.list.drop_draft(model, self.at, typed)
    }

    fn cancel(&self, model: &mut Model) {
        dialog::open(model, self.list.clone());
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
        let (draft, case) = self.chosen()?;
        let words = format!("add the draft {}", case.eval_id);
        let chosen = BTreeSet::from([self.picker.chosen()?]);
        let file = model.file(self.set)?.clone();
        let path = &model.view.sets[self.set].path.path;
        Some(match self.drafts.accepting((path, &file), &chosen) {
            Ok([of_set, of_drafts]) => {
                let removed = [
                    ProposalLine::Heading(shown_path(model, &of_drafts.path)),
                    ProposalLine::Change(PreviewLine::Gone(draft_text(draft))),
                ];
                let name = |job: &FileEdit| shown_path(model, &job.path);
                let mut proposal = Proposal::new(words, vec![of_set], name);
                proposal.jobs.push(of_drafts);
                proposal.lines.extend(removed);
                show(model, proposal)
            }
            Err(why) => notices::notify(model, why, true),
        })
    }

    /// Asks why the draft is dropped.
    fn tab(&mut self, model: &mut Model) -> Option<Vec<Effect>> {
        let (_, case) = self.chosen()?;
        let reason = DropReason {
            id: case.eval_id.clone(),
            at: self.picker.chosen()?,
            list: self.clone(),
        };
        Some(ask::open(model, reason, String::new()))
    }

    fn draw(
        &self,
        model: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let width = self.expectation_width();
        let row = |(at, words): &(usize, String), area: Rect, style: Style, buffer: &mut Buffer| {
            let (word, role) = expectation(&self.drafts.drafts[*at]);
            let look = theme.within(style, theme.style(role));
            put(buffer, area.x, area.y, width, word, look);
            let room = area.width.saturating_sub(width);
            put(buffer, area.x + width, area.y, room, words, style);
        };
        let title = format!(
            "{}   enter add to the set, tab drop, esc close",
            counted(self.drafts.cases().count(), "draft")
        );
        let note = self.note(model);
        Some(pick_with_note(
            &self.picker,
            &title,
            PickerNote {
                note: note.as_deref(),
                ..PickerNote::default()
            },
            areas,
            theme,
            buffer,
            row,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::{Content, Conversation};

    #[test]
    fn message_of_the_changed_turn_is_shown() {
        let case = |messages: &[&str]| {
            let turn = |message: &&str| Invocation {
                user: Content::text("user", *message),
                ..Invocation::default()
            };
            EvalCase {
                conversation: Conversation::Turns(messages.iter().map(turn).collect()),
                ..EvalCase::default()
            }
        };
        let source = case(&["hello", "2 litres"]);
        let draft = case(&["hello", "3 litres"]);
        assert_eq!(changed_message(&draft, Some(&source)), "turn 2: 3 litres");
        assert_eq!(changed_message(&draft, None), "hello");
        let single = changed_message(&case(&["3 litres"]), Some(&case(&["2 litres"])));
        assert_eq!(single, "3 litres");
    }
}
