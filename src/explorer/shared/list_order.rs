//! The orders of the list.

/// The order of cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
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

impl Order {
    /// All orders.
    pub const ALL: [Order; 11] = [
        Order::File,
        Order::Failing,
        Order::Cause,
        Order::NewlyFailing,
        Order::Slowest,
        Order::Disputed,
        Order::Name,
        Order::Set,
        Order::PassRate,
        Order::Score,
        Order::Turns,
    ];

    /// Description of the order; also its name in saved settings.
    pub fn describe(self) -> &'static str {
        match self {
            Order::File => "as in the file",
            Order::Failing => "failing first",
            Order::Cause => "by cause",
            Order::NewlyFailing => "newly failing first",
            Order::Slowest => "slowest first",
            Order::Disputed => "most disputed first",
            Order::Name => "by name",
            Order::Set => "by set",
            Order::PassRate => "fewest passed first",
            Order::Score => "lowest score first",
            Order::Turns => "most turns first",
        }
    }
}
