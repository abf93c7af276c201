//! A limit for memory that is reserved before it is used.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// Memory of all who share it.
#[derive(Debug)]
pub(super) struct Memory {
    /// The limit, in bytes.
    most: usize,
    /// What is reserved or kept, in bytes.
    taken: AtomicUsize,
    reserving: Arc<Mutex<()>>,
}

/// All memory that was left, reserved for what is read next. What is not kept is free when this is dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    kept: KeptMemory,
    #[expect(dead_code, reason = "nobody else reserves memory until it is dropped")]
    alone: OwnedMutexGuard<()>,
}

/// Memory that is in use. It is free when this is dropped.
#[derive(Debug)]
pub(super) struct KeptMemory {
    memory: Arc<Memory>,
    bytes: usize,
}

impl Memory {
    /// A limit of `most` bytes.
    pub(super) fn new(most: usize) -> Arc<Memory> {
        Arc::new(Memory { most, taken: AtomicUsize::new(0), reserving: Arc::default() })
    }

    /// Reserves all memory that is left. Waits until nobody else has a reservation, since it is not known before something is
    /// read how much it needs.
    pub(super) async fn reserve(self: &Arc<Self>) -> Reservation {
        let alone = self.reserving.clone().lock_owned().await;
        // Others only give memory back until this reservation ends.
        let bytes = self.most.saturating_sub(self.taken.load(Ordering::Acquire));
        self.taken.fetch_add(bytes, Ordering::AcqRel);
        Reservation { kept: KeptMemory { memory: self.clone(), bytes }, alone }
    }
}

impl Reservation {
    /// The reserved memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.kept.bytes
    }

    /// Keeps `bytes` of the memory, at most as much as was reserved, and gives the rest back.
    pub(super) fn keep(self, bytes: usize) -> KeptMemory {
        let mut kept = self.kept;
        let rest = kept.bytes.saturating_sub(bytes);
        kept.bytes -= rest;
        kept.memory.taken.fetch_sub(rest, Ordering::AcqRel);
        kept
    }
}

impl Drop for KeptMemory {
    fn drop(&mut self) {
        self.memory.taken.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn two_reservations_together_are_within_the_limit() {
        let memory = Memory::new(100);
        let first = memory.reserve().now_or_never().unwrap();
        assert_eq!(first.bytes(), 100);
        assert!(memory.reserve().now_or_never().is_none(), "all of it is reserved");
        let kept = first.keep(30);
        let second = memory.reserve().now_or_never().unwrap();
        assert_eq!(second.bytes(), 70);
        drop(second);
        drop(kept);
        assert_eq!(memory.reserve().now_or_never().unwrap().bytes(), 100);
    }
}
