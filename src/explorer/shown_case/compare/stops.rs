//! The lines with changes, at which the cursor stops.

use crate::explorer::shared::case_lines::{BodyLine, PieceLine};
use evaltrail_core::diff::AcceptablePart;

/// Whether each line has a change.
pub(super) fn changed_lines(lines: &[BodyLine]) -> Vec<bool> {
    lines.iter().map(is_changed).collect()
}

/// The first line of each stretch of changed lines.
pub(super) fn stretches(changed: &[bool]) -> Vec<usize> {
    (0..changed.len())
        .filter(|at| changed[*at] && (*at == 0 || !changed[at - 1]))
        .collect()
}

/// Whether a line has a change.
fn is_changed(line: &BodyLine) -> bool {
    match line {
        BodyLine::Pair { left, right, .. } => left.iter().chain(right).any(|span| span.changed),
        BodyLine::Turn(..) | BodyLine::Rule(_) | BodyLine::Wide(_) => false,
    }
}

/// Moves the line of each difference in a long value from the beginning of the value to its first change. A value ends where
/// the next difference, or another part of the turn, begins.
pub(super) fn begin_at_changes(pieces: &mut [PieceLine], lines: &[BodyLine], changed: &[bool]) {
    let starts: Vec<usize> = pieces.iter().map(|piece| piece.line).collect();
    let is_value = |line: &&BodyLine| matches!(line, BodyLine::Pair { .. });
    for (at, piece) in pieces.iter_mut().enumerate() {
        if !matches!(
            piece.piece,
            AcceptablePart::Argument { .. } | AcceptablePart::Response
        ) {
            continue;
        }
        let lines_left = lines[piece.line.min(lines.len())..].iter();
        let end = piece.line + lines_left.take_while(is_value).count();
        let next = starts.get(at + 1).copied().unwrap_or(end);
        let end = if next > piece.line {
            end.min(next)
        } else {
            end
        };
        let first = (piece.line..end).find(|line| changed[*line]);
        piece.line = first.unwrap_or(piece.line);
    }
}
