//! The conversations of a recording or a trace, to choose the one that is saved as a case.

use crate::domain::clean_line;
use crate::domain::counted;
use crate::explorer::shared::dialog;
use crate::explorer::shared::effect::{CaptureTarget, Effect};
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::picker::{Picker, pick};
use crate::explorer::widgets::text::put;
use crate::runner::RecordedConversation;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use std::sync::Arc;
use tui_input::InputRequest;

/// The longest beginning of a message that is listed, in characters.
const MESSAGE_AT_MOST: usize = 80;

/// What is done with the chosen conversation.
type Choose = fn(&mut Model, CaptureTarget, Arc<RecordedConversation>) -> Vec<Effect>;

/// Conversations to choose from, by position.
#[derive(Debug)]
pub struct ConversationPicker {
    target: CaptureTarget,
    choose: Choose,
    all: Vec<Arc<RecordedConversation>>,
    picker: Picker<usize>,
}

pub(crate) fn open(
    model: &mut Model,
    target: CaptureTarget,
    all: Vec<RecordedConversation>,
    choose: Choose,
) -> Vec<Effect> {
    let all: Vec<Arc<RecordedConversation>> = all.into_iter().map(Arc::new).collect();
    let picker = Picker::new(rows(&all));
    dialog::open(
        model,
        ConversationPicker {
            target,
            choose,
            all,
            picker,
        },
    )
}

/// `id   3 turns   the first message`, each with its position.
fn rows(all: &[Arc<RecordedConversation>]) -> Vec<(usize, String)> {
    let row = |(at, one): (usize, &Arc<RecordedConversation>)| {
        let turns = counted(one.turns.len(), "turn");
        let said = one
            .turns
            .first()
            .map(|turn| turn.user.shown_text())
            .unwrap_or_default();
        let said: String = said.chars().take(MESSAGE_AT_MOST).collect();
        (
            at,
            clean_line(&format!("{}   {turns}   {said}", one.id)).into_owned(),
        )
    };
    all.iter().enumerate().map(row).collect()
}

impl Dialog for ConversationPicker {
    fn edit(&mut self, _: &mut Model, request: InputRequest) {
        self.picker.input.handle(request);
        self.picker.find(rows(&self.all).into_iter());
    }

    fn scroll(&mut self, _: &mut Model, motion: Motion) {
        self.picker.scroll(motion);
    }

    fn choose(&mut self, model: &mut Model) -> Option<Vec<Effect>> {
        let conversation = self.all.get(self.picker.chosen()?)?.clone();
        Some((self.choose)(model, self.target.clone(), conversation))
    }

    fn draw(
        &self,
        _: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let row = |(at, words): &(usize, String), area: Rect, style: Style, buffer: &mut Buffer| {
            let cannot = self.all.get(*at).is_some_and(|one| one.problem.is_some());
            let style = if cannot {
                theme.within(style, theme.style(Role::Faint))
            } else {
                style
            };
            put(buffer, area.x, area.y, area.width, words, style);
        };
        Some(pick(
            &self.picker,
            "conversation   enter choose, esc cancel",
            areas,
            theme,
            buffer,
            row,
        ))
    }
}
