//! Differences between the calls of a turn that can be accepted one by one, with the rows that show them.

use evaltrail_core::diff::{AcceptablePart, AlignedPair, Alignment, DiffRow, PairKind};
use evaltrail_core::domain::ToolCall;

/// The differences of aligned calls, each with its first row. A call that differs in one argument yields only that
/// argument; one that differs in several yields the call, followed by each argument.
pub(crate) fn call_pieces(
    alignment: &Alignment,
    rows: &[DiffRow],
    expected: &[&ToolCall],
    actual: &[&ToolCall],
) -> Vec<(AcceptablePart, usize)> {
    let mut found = Vec::new();
    for (item, pair) in alignment.pairs.iter().enumerate() {
        let whole = AcceptablePart::Call {
            expected: pair.expected,
            actual: pair.actual,
        };
        let Some(first) = rows.iter().position(|row| row.item == item) else {
            continue;
        };
        match pair.kind {
            PairKind::Same => {}
            PairKind::Changed => {
                let arguments = argument_pieces(pair, rows, item, expected, actual);
                if arguments.len() != 1 {
                    found.push((whole, first));
                }
                found.extend(arguments);
            }
            PairKind::Moved | PairKind::Missing | PairKind::Extra => found.push((whole, first)),
        }
    }
    found
}

fn argument_pieces(
    pair: &AlignedPair,
    rows: &[DiffRow],
    item: usize,
    expected: &[&ToolCall],
    actual: &[&ToolCall],
) -> Vec<(AcceptablePart, usize)> {
    let (Some(e), Some(a)) = (pair.expected, pair.actual) else {
        return Vec::new();
    };
    if expected[e].args.is_none() || actual[a].args.is_none() {
        return Vec::new();
    }
    let differs = |row: &DiffRow| {
        let sides = [&row.left, &row.right];
        sides
            .into_iter()
            .flatten()
            .any(|line| line.iter().any(|span| span.changed))
    };
    let mut found: Vec<(AcceptablePart, usize)> = Vec::new();
    let of_call = rows
        .iter()
        .enumerate()
        .filter(|(_, row)| row.item == item && differs(row));
    for (at, key) in of_call.filter_map(|(at, row)| Some((at, row.key.clone()?))) {
        let piece = AcceptablePart::Argument {
            expected: e,
            actual: a,
            key,
        };
        // A nested value has several rows.
        if found.last().is_none_or(|(last, _)| *last != piece) {
            found.push((piece, at));
        }
    }
    found
}
