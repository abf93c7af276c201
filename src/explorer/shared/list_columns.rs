//! Columns and orders of the list of cases.

use crate::explorer::shared::list_order::ListOrder;
use std::collections::BTreeSet;

/// A column of the list. The column of the case cannot be hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Column {
    Case,
    Set,
    Attempts,
    Scores,
    Turns,
    Time,
    Runs,
    Reason,
}

impl Column {
    /// All columns, from left to right.
    pub const ALL: [Column; 8] = [
        Column::Case,
        Column::Set,
        Column::Attempts,
        Column::Scores,
        Column::Turns,
        Column::Time,
        Column::Runs,
        Column::Reason,
    ];

    /// Heading of the column; also its name in saved settings.
    pub fn name(self) -> &'static str {
        match self {
            Column::Case => "case",
            Column::Set => "set",
            Column::Attempts => "attempts",
            Column::Scores => "scores",
            Column::Turns => "turns",
            Column::Time => "time",
            Column::Runs => "runs",
            Column::Reason => "reason",
        }
    }

    /// The order by this column.
    pub fn order(self) -> ListOrder {
        match self {
            Column::Case => ListOrder::Name,
            Column::Set => ListOrder::Set,
            Column::Attempts => ListOrder::PassRate,
            Column::Scores => ListOrder::Score,
            Column::Turns => ListOrder::Turns,
            Column::Time => ListOrder::Slowest,
            Column::Runs => ListOrder::NewlyFailing,
            Column::Reason => ListOrder::Failing,
        }
    }
}

/// The hidden columns, given their names. Unknown names and the column of the case are ignored.
pub fn hidden_columns(names: &[String]) -> BTreeSet<Column> {
    let is_named =
        |column: &Column| *column != Column::Case && names.iter().any(|name| name == column.name());
    Column::ALL.into_iter().filter(is_named).collect()
}
