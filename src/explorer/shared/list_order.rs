//! The orders of the list.

/// The order of cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListOrder {
    /// As in the file.
    File,
    /// Cases that did not pass first.
    Failing,
    /// Failures that share a cause together, the largest group first.
    Cause,
    /// Cases that fail since the latest run first, then those that fail for longer.
    NewlyFailing,
    /// Slowest first.
    Slowest,
    /// Unsteady cases first, then those on which judges disagree most.
    Disputed,
    /// By id of the case.
    Name,
    /// By name of the set.
    Set,
    /// Lowest share of passed attempts first.
    PassRate,
    /// Lowest score of a deciding metric first.
    Score,
    /// Most turns first.
    Turns,
}

impl ListOrder {
    /// All orders.
    pub const ALL: [ListOrder; 11] = [
        ListOrder::File,
        ListOrder::Failing,
        ListOrder::Cause,
        ListOrder::NewlyFailing,
        ListOrder::Slowest,
        ListOrder::Disputed,
        ListOrder::Name,
        ListOrder::Set,
        ListOrder::PassRate,
        ListOrder::Score,
        ListOrder::Turns,
    ];

    /// Description of the order; also its name in saved settings.
    pub fn describe(self) -> &'static str {
        match self {
            ListOrder::File => "as in the file",
            ListOrder::Failing => "failing first",
            ListOrder::Cause => "by cause",
            ListOrder::NewlyFailing => "newly failing first",
            ListOrder::Slowest => "slowest first",
            ListOrder::Disputed => "most disputed first",
            ListOrder::Name => "by name",
            ListOrder::Set => "by set",
            ListOrder::PassRate => "fewest passed first",
            ListOrder::Score => "lowest score first",
            ListOrder::Turns => "most turns first",
        }
    }
}
