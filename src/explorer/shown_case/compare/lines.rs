//! The lines of a comparison while they are built: rows side by side or stacked, notes, and where the differences are.

use crate::explorer::shared::case_lines::{BodyLine, BodyView, PieceLine};
use evaltrail_core::diff::{
    AcceptablePart, DiffRow, Line, Span, TextDiff, Tone, fold_identical_rows, fold_nested_rows,
    nested_levels, wrap_line, wrap_rows,
};

/// The lines of a comparison while they are built, and how they are shown.
pub(super) struct ComparisonLines {
    pub(super) lines: Vec<BodyLine>,
    width: usize,
    side_by_side: bool,
    pub(super) differences_only: bool,
    folded_from: Option<usize>,
    pub(super) nested_levels: usize,
    /// The current turn, from 0.
    pub(super) turn: usize,
    pub(super) pieces: Vec<PieceLine>,
}

impl ComparisonLines {
    /// No lines yet.
    pub(super) fn new(view: BodyView, side_by_side: bool) -> ComparisonLines {
        ComparisonLines {
            lines: Vec::new(),
            width: view.width,
            side_by_side,
            differences_only: view.differences_only,
            folded_from: view.folded_from,
            nested_levels: 0,
            turn: 0,
            pieces: Vec::new(),
        }
    }

    /// Adds a difference of the current turn, at the index of its first line.
    pub(super) fn piece(&mut self, piece: AcceptablePart, line: usize) {
        self.pieces.push(PieceLine {
            piece,
            turn: self.turn,
            line,
            is_reason: false,
        });
    }

    /// Adds a line over the whole width, wrapped.
    pub(super) fn wide(&mut self, line: &[Span]) {
        self.lines.extend(
            wrap_line(line, self.width.saturating_sub(2))
                .into_iter()
                .map(BodyLine::Wide),
        );
    }

    /// Adds a note over the whole width.
    pub(super) fn note(&mut self, text: &str) {
        self.wide(&[Span::single_line(text, Tone::Faint)]);
    }

    /// The texts to show: whole, or without most of what is the same.
    pub(super) fn shown_texts(&self, diff: TextDiff) -> TextDiff {
        match self.differences_only {
            true => diff.without_common(),
            false => diff,
        }
    }

    /// The rows without what is inside of nested values at the folded level.
    pub(super) fn folded(&mut self, rows: Vec<DiffRow>) -> Vec<DiffRow> {
        self.nested_levels = self.nested_levels.max(nested_levels(&rows));
        match self.folded_from {
            Some(level) => fold_nested_rows(rows, level),
            None => rows,
        }
    }

    /// The rows to show: all, or with identical ones folded if only differences are shown.
    pub(super) fn fold_identical(&self, rows: Vec<DiffRow>) -> Vec<DiffRow> {
        if self.differences_only {
            fold_identical_rows(rows)
        } else {
            rows
        }
    }

    /// Adds rows, side by side or stacked. Returns the index of the first line of each row.
    pub(super) fn rows(&mut self, rows: &[DiffRow]) -> Vec<usize> {
        match self.side_by_side {
            true => self.pairs(rows),
            false => self.stacked(rows),
        }
    }

    fn pairs(&mut self, rows: &[DiffRow]) -> Vec<usize> {
        let first = self.lines.len();
        let wrapped = wrap_rows(rows, column_width(self.width));
        let begins = wrapped
            .iter()
            .enumerate()
            .filter(|(_, visual)| !visual.continued);
        let starts = begins.map(|(at, _)| first + at).collect();
        self.lines
            .extend(wrapped.into_iter().map(|visual| BodyLine::Pair {
                mark: if visual.continued {
                    ""
                } else {
                    mark_of_pair(&rows[visual.row])
                },
                left: visual.left,
                right: visual.right,
            }));
        starts
    }

    fn stacked(&mut self, rows: &[DiffRow]) -> Vec<usize> {
        let width = self.width.saturating_sub(3);
        let mut starts = Vec::new();
        for row in rows {
            starts.push(self.lines.len());
            let same = row.left == row.right;
            let changed = |line: &Line| line.iter().any(|span| span.changed);
            let sides = [(&row.left, "-"), (&row.right, if same { "" } else { "+" })];
            let sides = if same { &sides[1..] } else { &sides[..] };
            let mut first = row.mark;
            for (line, sign) in sides {
                let Some(line) = line else { continue };
                let sign = if changed(line) || !first.is_empty() {
                    sign
                } else {
                    &""
                };
                let mark = if first.is_empty() { sign } else { first };
                for (at, piece) in wrap_line(line, width).into_iter().enumerate() {
                    let mark = if at == 0 { mark } else { "" };
                    self.lines.push(BodyLine::Pair {
                        mark,
                        left: piece,
                        right: Vec::new(),
                    });
                }
                first = "";
            }
        }
        starts
    }
}

/// The width of each of the two columns: `width` without the gutter (2 columns) and the separator (3).
pub(crate) fn column_width(width: usize) -> usize {
    width.saturating_sub(2 + 3) / 2
}

/// The mark of a row with both sides: its own, else a sign that it differs, so that colours are not needed to see it.
fn mark_of_pair(row: &DiffRow) -> &'static str {
    let is_changed = |line: &Option<Line>| line.iter().flatten().any(|span| span.changed);
    match (row.mark, is_changed(&row.left), is_changed(&row.right)) {
        ("", true, true) => "~",
        ("", true, false) => "-",
        ("", false, true) => "+",
        (mark, ..) => mark,
    }
}
