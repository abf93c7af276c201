//! Tickets: a request carries one, its answer brings it back.

/// Identifies one request. Tickets are issued in ascending order and never reused, so of two answers to the
/// same question the one with the greater ticket is newer. The default is no request at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// Issues tickets.
#[derive(Debug, Default)]
pub struct Tickets {
    last: u64,
}

impl Tickets {
    /// The next ticket.
    pub fn issue(&mut self) -> Ticket {
        self.last += 1;
        Ticket(self.last)
    }
}
