//! A change of files, as a difference of lines, before it is made.

use crate::explorer::theme::{Role, Theme};
use crate::explorer::widgets::text::put;
use crate::explorer::widgets::{over, scrollbar};
use crate::explorer::{CommandId, Layout, Proposal, ProposalLine};
use crate::formats::PreviewLine;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

/// Columns of a change: sign and text.
const WIDTH: u16 = 110;

pub(crate) fn draw(
    proposal: &Proposal,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let body = areas.body;
    let width = body.width.saturating_sub(2).min(WIDTH);
    let height = (proposal.lines.len() as u16).saturating_add(4);
    let inner = over(body, width, height, &proposal.words, theme, buffer);
    let rows = Rect { height: inner.height.saturating_sub(1), ..inner };
    let shown = usize::from(rows.height);
    let first = proposal.scroll.min(proposal.lines.len().saturating_sub(shown));
    for (row, line) in proposal.lines.iter().skip(first).take(shown).enumerate() {
        line_of(line, Rect { y: rows.y + row as u16, height: 1, ..rows }, theme, buffer);
    }
    let frame = Rect { x: rows.x - 1, y: rows.y - 1, width: rows.width + 2, height: rows.height + 2 };
    scrollbar(frame, first, shown, proposal.lines.len(), theme, buffer);
    let (words, role) = said(proposal);
    put(buffer, inner.x + 1, inner.bottom() - 1, inner.width.saturating_sub(2), &words, theme.style(role));
    None
}

fn line_of(line: &ProposalLine, row: Rect, theme: &Theme, buffer: &mut Buffer) {
    let room = row.width.saturating_sub(4);
    let (sign, words, role) = match line {
        ProposalLine::Heading(words) => {
            put(buffer, row.x + 1, row.y, row.width - 2, words, theme.style(Role::Title));
            return;
        }
        ProposalLine::Change(PreviewLine::Place(line)) => {
            put(buffer, row.x + 1, row.y, row.width - 2, &format!("line {line}"), theme.style(Role::Faint));
            return;
        }
        ProposalLine::Change(PreviewLine::Same(words)) => (" ", words, Role::Faint),
        ProposalLine::Change(PreviewLine::Gone(words)) => ("-", words, Role::Removed),
        ProposalLine::Change(PreviewLine::New(words)) => ("+", words, Role::Added),
    };
    put(buffer, row.x + 1, row.y, 1, sign, theme.style(role));
    put(buffer, row.x + 3, row.y, room, words, theme.style(role));
}

/// What can be done, or why it was not.
fn said(proposal: &Proposal) -> (String, Role) {
    if let Some(problem) = &proposal.problem {
        return (problem.clone(), Role::Bad);
    }
    let (save, beside, leave) =
        (CommandId::Save.key(), CommandId::SaveBeside.key(), CommandId::Discard.key());
    let words = match &proposal.conflict {
        _ if proposal.saving => "saving…".to_string(),
        None => format!("{save} saves    {leave} changes nothing"),
        Some(conflict) if conflict.merged.is_some() => format!(
            "someone else changed the file: {save} makes both changes    {beside} writes yours beside    \
             {leave} leaves theirs"
        ),
        Some(_) => format!(
            "someone else changed the same place: {beside} writes yours beside    {leave} leaves theirs"
        ),
    };
    (words, Role::Accent)
}
