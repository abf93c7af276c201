//! Tickets, which identify asynchronous requests and their replies.

/// Identifies one request. Tickets are issued in ascending order and never reused, so of two replies the one with the
/// greater ticket belongs to the newer request. The default value belongs to no request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// Issues tickets.
#[derive(Debug, Default)]
pub struct Tickets {
    last: u64,
}

impl Tickets {
    /// Issues the next ticket.
    pub fn issue(&mut self) -> Ticket {
        self.last += 1;
        Ticket(self.last)
    }
}
