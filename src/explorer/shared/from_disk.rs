//! Values that are read from files in the background, and that the user may change in the explorer.

use crate::explorer::shared::ticket::Ticket;
use std::ops::Deref;

/// A value from files.
///
/// Replies may arrive in another order than they were requested, and a file that was read before a change was saved lacks
/// that change. Therefore the value is replaced only by a reply that is newer than the value.
#[derive(Debug, Default)]
pub struct FromDisk<T> {
    value: T,
    /// The request whose reply is the value.
    read: Ticket,
    /// Issued when the user last changed the value.
    changed: Ticket,
    version: u64,
}

/// What was done with a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// The value was replaced.
    Taken,
    /// The reply to a later request is shown already.
    Outdated,
    /// It was requested before the user changed the value, and may lack that change: it has to be requested again.
    LacksChange,
}

impl<T> FromDisk<T> {
    /// Changes the value. The ticket is issued for the change.
    pub fn change(&mut self, ticket: Ticket, change: impl FnOnce(&mut T)) {
        change(&mut self.value);
        self.changed = ticket;
        self.version += 1;
    }

    /// Replaces the value by the reply to a request, if that is newer.
    pub fn take_reply(&mut self, ticket: Ticket, value: T) -> Replacement {
        if ticket <= self.read {
            return Replacement::Outdated;
        }
        if ticket <= self.changed {
            return Replacement::LacksChange;
        }
        (self.value, self.read) = (value, ticket);
        self.version += 1;
        Replacement::Taken
    }

    /// Increases with every change and reply.
    pub fn version(&self) -> u64 {
        self.version
    }
}

impl<T> Deref for FromDisk<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explorer::shared::ticket::Tickets;

    #[test]
    fn only_newer_replies_are_taken() {
        let mut tickets = Tickets::default();
        let [first, second, change, third] = [(); 4].map(|()| tickets.issue());
        let mut value = FromDisk::<&str>::default();
        assert_eq!(value.take_reply(second, "second"), Replacement::Taken);
        assert_eq!(value.take_reply(first, "first"), Replacement::Outdated);
        assert_eq!(*value, "second");
        value.change(change, |value| *value = "changed");
        let mut value_after = |ticket, text| {
            let version = value.version();
            let arrival = value.take_reply(ticket, text);
            (arrival, *value, value.version() - version)
        };
        assert_eq!(
            value_after(second, "second"),
            (Replacement::Outdated, "changed", 0)
        );
        assert_eq!(
            value_after(third, "third"),
            (Replacement::Taken, "third", 1)
        );
    }

    #[test]
    fn reply_requested_before_a_change_is_not_taken() {
        let mut tickets = Tickets::default();
        let [request, change] = [(); 2].map(|()| tickets.issue());
        let mut value = FromDisk::<&str>::default();
        value.change(change, |value| *value = "changed");
        assert_eq!(
            value.take_reply(request, "before"),
            Replacement::LacksChange
        );
        assert_eq!(*value, "changed");
    }
}
