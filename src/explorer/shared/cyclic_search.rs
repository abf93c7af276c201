//! The next row of a list that matches. The search continues at the other end of the list.

/// A row that was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FoundRow {
    pub(crate) row: usize,
    /// Whether the search passed an end of the list.
    pub(crate) has_wrapped: bool,
}

/// The next (`forward`) or previous of `count` rows for which `matches` is true. The search starts beside `from`, which
/// is tried last; without it, at the first or last row.
pub(crate) fn next_row(
    from: Option<usize>,
    count: usize,
    forward: bool,
    matches: impl Fn(usize) -> bool,
) -> Option<FoundRow> {
    let steps = match from {
        Some(_) => 1..=count,
        None if count == 0 => return None,
        None => 0..=count - 1,
    };
    let start = from.unwrap_or(if forward { 0 } else { count - 1 });
    let row_after = |step: usize| match forward {
        true => (start + step) % count,
        false => (start + count - step) % count,
    };
    let row = steps.map(row_after).find(|row| matches(*row))?;
    let has_wrapped = from.is_some_and(|from| if forward { row <= from } else { row >= from });
    Some(FoundRow { row, has_wrapped })
}

impl FoundRow {
    /// A sentence for a search that passed an end of the list; `what` names one row, as in "case".
    pub(crate) fn wrap_notice(
        self,
        from: Option<usize>,
        forward: bool,
        what: &str,
    ) -> Option<String> {
        let text = match (self.has_wrapped, forward) {
            (false, _) => return None,
            (true, _) if from == Some(self.row) => format!("this is the only {what}"),
            (true, true) => format!("no further {what}; this is the first"),
            (true, false) => format!("no earlier {what}; this is the last"),
        };
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_continues_at_the_other_end() {
        let next = |from, forward| {
            let found = next_row(from, 5, forward, |row| row == 1 || row == 3)?;
            Some((found.row, found.wrap_notice(from, forward, "row")))
        };
        let wrapped = |text: &str| Some(text.to_string());
        assert_eq!(next(None, true), Some((1, None)));
        assert_eq!(next(Some(1), true), Some((3, None)));
        assert_eq!(
            next(Some(3), true),
            Some((1, wrapped("no further row; this is the first")))
        );
        assert_eq!(next(None, false), Some((3, None)));
        assert_eq!(next(Some(3), false), Some((1, None)));
        assert_eq!(
            next(Some(1), false),
            Some((3, wrapped("no earlier row; this is the last")))
        );
    }

    #[test]
    fn single_match_is_reported_as_such() {
        let found = next_row(Some(2), 4, true, |row| row == 2).unwrap();
        assert_eq!(
            found.wrap_notice(Some(2), true, "row").as_deref(),
            Some("this is the only row")
        );
        assert_eq!(next_row(Some(0), 1, true, |_| false), None);
        assert_eq!(next_row(None, 0, false, |_| true), None);
    }
}
