//! Copies of replies that are passed on, within a limit of memory that all of them share.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The maximum size of a reply, in bytes.
const MAX_BYTES: usize = 32 << 20;
/// The maximum memory of all copies, in bytes.
const ALL: usize = 64 << 20;

/// The memory of all copies, in bytes.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// The copy of a reply, as far as it has come. Its memory is free when this is dropped.
#[derive(Debug, Default)]
pub(super) struct ReplyCopy {
    bytes: Vec<u8>,
    /// The memory that is taken for it, in bytes.
    taken: usize,
    /// The limit that was exceeded, in words.
    exceeded: Option<String>,
}

impl ReplyCopy {
    /// Adds a piece of the reply.
    pub(super) fn add(&mut self, piece: &[u8]) {
        if self.exceeded.is_some() {
            return;
        }
        match self.reserve(self.bytes.len() + piece.len()) {
            Ok(()) => self.bytes.extend_from_slice(piece),
            Err(limit) => {
                self.free();
                self.exceeded = Some(limit);
            }
        }
    }

    /// The whole reply. The error is the exceeded limit, in words.
    pub(super) fn bytes(&self) -> Result<&[u8], String> {
        self.exceeded.clone().map_or(Ok(&self.bytes), Err)
    }

    fn reserve(&mut self, length: usize) -> Result<(), String> {
        if length > MAX_BYTES {
            return Err(format!("it is longer than {} MB", MAX_BYTES >> 20));
        }
        if length > self.taken {
            let capacity = length.max((2 * self.taken).min(MAX_BYTES));
            let more = capacity - self.taken;
            let add = |taken: usize| taken.checked_add(more).filter(|all| *all <= ALL);
            TAKEN
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, add)
                .map_err(|_| {
                    format!(
                        "all results of MCP servers at the same time need more than {} MB",
                        ALL >> 20
                    )
                })?;
            self.taken = capacity;
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        Ok(())
    }

    fn free(&mut self) {
        self.bytes = Vec::new();
        TAKEN.fetch_sub(std::mem::take(&mut self.taken), Ordering::AcqRel);
    }
}

impl Drop for ReplyCopy {
    fn drop(&mut self) {
        self.free();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_share_a_limit_of_memory() {
        let piece = vec![b'x'; 1 << 20];
        let filled = |megabytes: usize| {
            let mut copy = ReplyCopy::default();
            (0..megabytes).for_each(|_| copy.add(&piece));
            copy
        };
        assert_eq!(filled(32).bytes().unwrap().len(), 32 << 20);
        assert!(
            filled(33)
                .bytes()
                .unwrap_err()
                .contains("longer than 32 MB")
        );
        let others = [filled(32), filled(12)];
        assert!(others.iter().all(|copy| copy.bytes().is_ok()));
        assert!(filled(32).bytes().unwrap_err().contains("more than 64 MB"));
        drop(others);
        assert!(filled(32).bytes().is_ok());
    }
}
