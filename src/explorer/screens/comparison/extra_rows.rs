//! Rows of calls that are not expected: those of one run beside those of the other.

use evaltrail_core::diff::DiffRow;

/// Longer lists are not paired: the product of their lengths is the work.
const MAX_CELLS: usize = 1 << 20;

/// A row of the first run, one of the second, or both.
pub(super) type ExtraPair = (Option<DiffRow>, Option<DiffRow>);

/// A row with the text by which it is paired.
type TextRow = (String, DiffRow);

/// Pairs the rows of calls that only the runs have, by the calls that they belong to: equal ones, then those of the same tool.
pub(super) fn paired(first: Vec<DiffRow>, second: Vec<DiffRow>) -> Vec<ExtraPair> {
    let pairs = heaviest_pairs(calls(first), calls(second), |a, b| call_weight(a, b));
    let row = |row: Option<TextRow>| row.map(|(_, row)| row);
    let rows = pairs.into_iter().flat_map(|(a, b)| {
        let (a, b) = (a.unwrap_or_default(), b.unwrap_or_default());
        heaviest_pairs(a, b, row_weight)
    });
    rows.map(|(a, b)| (row(a), row(b))).collect()
}

/// Equal calls belong together, else calls of the same tool.
fn call_weight(a: &[TextRow], b: &[TextRow]) -> u32 {
    // Rows of arguments before the first call have no name.
    let has_name = |call: &[TextRow]| call.first().is_some_and(|(_, row)| row.key.is_none());
    let is_equal = |rows: usize| {
        let texts = a.iter().zip(b).take(rows);
        texts.into_iter().all(|((a, _), (b, _))| a == b)
    };
    match (has_name(a), has_name(b)) {
        (false, false) => 1,
        (true, true) if a.len() == b.len() && is_equal(a.len()) => 2,
        (true, true) if is_equal(1) => 1,
        _ => 0,
    }
}

/// Equal rows belong together, else rows of the same argument, and the first rows of calls.
fn row_weight((a_text, a): &TextRow, (b_text, b): &TextRow) -> u32 {
    match (a_text == b_text, a.key == b.key) {
        (true, _) => 2,
        (false, true) => 1,
        (false, false) => 0,
    }
}

/// The rows of each call. Rows before the first call are of a call that is expected.
fn calls(rows: Vec<DiffRow>) -> Vec<Vec<TextRow>> {
    let mut calls: Vec<Vec<TextRow>> = Vec::new();
    for row in rows {
        let row = (row_text(&row), row);
        match calls.last_mut() {
            Some(call) if row.1.key.is_some() => call.push(row),
            _ => calls.push(vec![row]),
        }
    }
    calls
}

/// The actual side of a row; without the number of the call, which depends on the calls before it.
fn row_text(row: &DiffRow) -> String {
    let spans = row.right.iter().flatten();
    let text: String = spans.map(|span| span.text.as_str()).collect();
    let text = text.trim();
    match row.key {
        Some(_) => text.to_string(),
        None => text
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .trim_start()
            .to_string(),
    }
}

/// Pairs the items of two lists in order so that the sum of the weights is as large as possible; items of weight 0 are not
/// paired.
fn heaviest_pairs<T>(
    first: Vec<T>,
    second: Vec<T>,
    weight: impl Fn(&T, &T) -> u32,
) -> Vec<(Option<T>, Option<T>)> {
    let (rows, columns) = (first.len() + 1, second.len() + 1);
    let mut pairs = Vec::new();
    let (mut first_left, mut second_left) = (first.into_iter(), second.into_iter());
    if rows.saturating_mul(columns) > MAX_CELLS {
        pairs.extend(first_left.map(|item| (Some(item), None)));
        pairs.extend(second_left.map(|item| (None, Some(item))));
        return pairs;
    }
    let best = best_sums(first_left.as_slice(), second_left.as_slice(), weight);
    let (mut a, mut b) = (0, 0);
    while a + 1 < rows || b + 1 < columns {
        let is_inside = a + 1 < rows && b + 1 < columns;
        if is_inside && best[a * columns + b].1 {
            pairs.push((first_left.next(), second_left.next()));
            (a, b) = (a + 1, b + 1);
        } else if b + 1 == columns
            || is_inside && best[(a + 1) * columns + b].0 >= best[a * columns + b + 1].0
        {
            pairs.push((first_left.next(), None));
            a += 1;
        } else {
            pairs.push((None, second_left.next()));
            b += 1;
        }
    }
    pairs
}

/// For each pair of positions, row by row: the best sum for the items from there on, and whether both items are paired. There is
/// a row and a column more than items.
fn best_sums<T>(first: &[T], second: &[T], weight: impl Fn(&T, &T) -> u32) -> Vec<(u32, bool)> {
    let columns = second.len() + 1;
    let mut best = vec![(0u32, false); (first.len() + 1) * columns];
    for a in (0..first.len()).rev() {
        for b in (0..second.len()).rev() {
            let sum = |a: usize, b: usize| best[a * columns + b].0;
            let skipped = sum(a + 1, b).max(sum(a, b + 1));
            let own = weight(&first[a], &second[b]);
            let together = own + sum(a + 1, b + 1);
            best[a * columns + b] = match own > 0 && together >= skipped {
                true => (together, true),
                false => (skipped, false),
            };
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heaviest_pairs_keep_the_order() {
        let weight = |a: &&str, b: &&str| match (a == b, a[..1] == b[..1]) {
            (true, _) => 2,
            (false, same) => u32::from(same),
        };
        let pairs = heaviest_pairs(vec!["a1", "a2", "b1"], vec!["a2", "c1", "b2"], weight);
        assert_eq!(
            pairs,
            [
                (Some("a1"), None),
                (Some("a2"), Some("a2")),
                (None, Some("c1")),
                (Some("b1"), Some("b2")),
            ]
        );
        assert_eq!(
            heaviest_pairs(Vec::<&str>::new(), vec!["a"], weight),
            [(None, Some("a"))]
        );
    }
}
