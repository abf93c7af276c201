//! The conversations of a recording or a trace, to choose the one that is saved as a case.

use crate::explorer::shared::dialog;
use crate::explorer::shared::effect::{CaptureTarget, Effect};
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::picker::{Picker, pick};
use crate::explorer::widgets::text::put;
use evaltrail_core::analysis::{Addition, CoverageItem};
use evaltrail_core::domain::{clean_line, counted};
use evaltrail_engine::runner::RecordedConversation;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use std::collections::HashMap;
use std::sync::Arc;
use tui_input::InputRequest;

/// The longest beginning of a message that is listed, in characters.
const MAX_MESSAGE: usize = 80;

/// Items of coverage that are listed of a conversation.
const MAX_ITEMS: usize = 3;

/// What is done with the chosen conversation.
type Choose = fn(&mut Model, CaptureTarget, Arc<RecordedConversation>) -> Vec<Effect>;

/// Conversations to choose from, by position.
#[derive(Debug)]
pub struct ConversationPicker {
    target: CaptureTarget,
    choose: Choose,
    all: Vec<ListedConversation>,
    picker: Picker<usize>,
}

pub(crate) fn open(
    model: &mut Model,
    target: CaptureTarget,
    (all, additions): (Vec<RecordedConversation>, &[Addition]),
    choose: Choose,
) -> Vec<Effect> {
    let all = best_first(all, additions);
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

/// A conversation, and what it adds to what the cases cover, in words.
#[derive(Debug)]
struct ListedConversation {
    conversation: Arc<RecordedConversation>,
    adds: Option<String>,
}

/// The conversations that add coverage, best first, then the others.
fn best_first(all: Vec<RecordedConversation>, additions: &[Addition]) -> Vec<ListedConversation> {
    let rank: HashMap<usize, usize> = additions
        .iter()
        .enumerate()
        .map(|(rank, addition)| (addition.candidate, rank))
        .collect();
    let mut listed: Vec<(Option<usize>, ListedConversation)> = all
        .into_iter()
        .enumerate()
        .map(|(at, conversation)| {
            let rank = rank.get(&at).copied();
            let listed = ListedConversation {
                conversation: Arc::new(conversation),
                adds: rank.map(|rank| items_text(&additions[rank])),
            };
            (rank, listed)
        })
        .collect();
    listed.sort_by_key(|(rank, _)| rank.unwrap_or(usize::MAX));
    listed.into_iter().map(|(_, listed)| listed).collect()
}

/// `+5: water, water: answered …`
fn items_text(addition: &Addition) -> String {
    let items = addition.items.iter().take(MAX_ITEMS);
    let named: Vec<String> = items.map(CoverageItem::text).collect();
    let more = if addition.items.len() > MAX_ITEMS {
        " …"
    } else {
        ""
    };
    format!("+{}: {}{more}", addition.items.len(), named.join(", "))
}

/// `id   3 turns   +2: what it adds   the first message`, each with its position.
fn rows(all: &[ListedConversation]) -> Vec<(usize, String)> {
    let row = |(at, listed): (usize, &ListedConversation)| {
        let one = &listed.conversation;
        let turns = counted(one.turns.len(), "turn");
        let said = one
            .turns
            .first()
            .map(|turn| turn.user.shown_text())
            .unwrap_or_default();
        let said: String = said.chars().take(MAX_MESSAGE).collect();
        let adds = listed.adds.as_ref().map(|adds| format!("{adds}   "));
        let adds = adds.unwrap_or_default();
        (
            at,
            clean_line(&format!("{}   {turns}   {adds}{said}", one.id)).into_owned(),
        )
    };
    all.iter().enumerate().map(row).collect()
}

impl Dialog for ConversationPicker {
    fn edit(&mut self, _: &mut Model, request: InputRequest) {
        self.picker.edit(request);
    }

    fn scroll(&mut self, _: &mut Model, motion: Motion) {
        self.picker.scroll(motion);
    }

    fn choose(&mut self, model: &mut Model) -> Option<Vec<Effect>> {
        let listed = self.all.get(self.picker.chosen()?)?;
        let conversation = listed.conversation.clone();
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
            let listed = self.all.get(*at);
            let cannot = listed.is_some_and(|listed| listed.conversation.problem.is_some());
            let style = if cannot {
                theme.within(style, theme.style(Role::Faint))
            } else {
                style
            };
            put(buffer, area.x, area.y, area.width, words, style);
        };
        let adds = self.all.first().is_some_and(|first| first.adds.is_some());
        let title = match adds {
            true => "conversation  + new coverage   enter choose, esc cancel",
            false => "conversation   enter choose, esc cancel",
        };
        Some(pick(&self.picker, title, areas, theme, buffer, row))
    }
}
