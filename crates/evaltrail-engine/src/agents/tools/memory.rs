//! A limit for memory that is reserved before it is used.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{Mutex, Notify, OwnedMutexGuard};
use tokio::time::{Instant, timeout_at};

/// A memory limit that several readers share.
#[derive(Debug)]
pub(super) struct Memory {
    /// The limit, in bytes.
    most: usize,
    /// What is reserved or kept, in bytes.
    taken: AtomicUsize,
    reserving: Arc<Mutex<()>>,
    freed: Notify,
}

/// Why something was not read.
#[derive(Debug, PartialEq)]
pub(super) enum ReserveError<E> {
    /// It needs more than all of the memory.
    TooLarge,
    /// Others have reserved the memory that it needs.
    Occupied,
    /// For another reason.
    Failed(E),
}

/// Why a function could not read something within some memory.
#[derive(Debug)]
pub(super) enum BodyReadError<E> {
    NeedsMore,
    Failed(E),
}

/// All memory that was left, reserved for what is read next. What is not kept is free when this is dropped.
#[derive(Debug)]
pub(super) struct MemoryReservation {
    kept: ReservedMemory,
    #[expect(dead_code, reason = "nobody else reserves memory until it is dropped")]
    alone: OwnedMutexGuard<()>,
}

/// Memory that is in use. It is free when this is dropped.
#[derive(Debug)]
pub(super) struct ReservedMemory {
    memory: Arc<Memory>,
    bytes: usize,
}

impl Memory {
    /// A limit of `most` bytes.
    pub(super) fn new(most: usize) -> Arc<Memory> {
        Arc::new(Memory {
            most,
            taken: AtomicUsize::new(0),
            reserving: Arc::default(),
            freed: Notify::new(),
        })
    }

    /// The limit, in bytes.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    fn left(&self) -> usize {
        self.most.saturating_sub(self.taken.load(Ordering::Acquire))
    }

    /// Reads something within the memory that is left, of which `read` returns the size. If it needs memory that others
    /// have, waits until they give it back, `within` this time.
    pub(super) async fn read<T, E>(
        self: &Arc<Self>,
        within: Duration,
        read: impl Fn(usize) -> Result<(T, usize), BodyReadError<E>>,
    ) -> Result<(T, ReservedMemory), ReserveError<E>> {
        let deadline = Instant::now() + within;
        loop {
            let reserved = timeout_at(deadline, self.reserve()).await;
            let reservation = reserved.map_err(|_| ReserveError::Occupied)?;
            let left = reservation.bytes();
            match read(left) {
                Ok((value, size)) => return Ok((value, reservation.keep(size))),
                Err(BodyReadError::Failed(error)) => return Err(ReserveError::Failed(error)),
                Err(BodyReadError::NeedsMore) if left >= self.most => {
                    return Err(ReserveError::TooLarge);
                }
                Err(BodyReadError::NeedsMore) => {}
            }
            drop(reservation);
            self.wait_for_more_than(left, deadline)
                .await
                .map_err(|()| ReserveError::Occupied)?;
        }
    }

    /// Waits until more memory is left than `before`. The end of the own reservation is not enough.
    async fn wait_for_more_than(&self, before: usize, deadline: Instant) -> Result<(), ()> {
        loop {
            let freed = self.freed.notified();
            if self.left() > before {
                return Ok(());
            }
            timeout_at(deadline, freed).await.map_err(|_| ())?;
        }
    }

    /// Reserves all memory that is left. Waits until nobody else has a reservation, since it is not known before something is
    /// read how much it needs.
    pub(super) async fn reserve(self: &Arc<Self>) -> MemoryReservation {
        let alone = self.reserving.clone().lock_owned().await;
        // Others only give memory back until this reservation ends.
        let bytes = self.left();
        self.taken.fetch_add(bytes, Ordering::AcqRel);
        MemoryReservation {
            kept: ReservedMemory {
                memory: self.clone(),
                bytes,
            },
            alone,
        }
    }
}

impl Memory {
    fn free(&self, bytes: usize) {
        self.taken.fetch_sub(bytes, Ordering::AcqRel);
        self.freed.notify_waiters();
    }
}

impl MemoryReservation {
    /// The reserved memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.kept.bytes
    }

    /// Keeps `bytes` of the memory, at most as much as was reserved, and gives the rest back.
    pub(super) fn keep(self, bytes: usize) -> ReservedMemory {
        let mut kept = self.kept;
        let rest = kept.bytes.saturating_sub(bytes);
        kept.bytes -= rest;
        kept.memory.free(rest);
        kept
    }
}

impl Drop for ReservedMemory {
    fn drop(&mut self) {
        self.memory.free(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    /// Reads something that needs this memory.
    fn needs(size: usize) -> impl Fn(usize) -> Result<((), usize), BodyReadError<()>> {
        move |left| {
            if size <= left {
                Ok(((), size))
            } else {
                Err(BodyReadError::NeedsMore)
            }
        }
    }

    #[tokio::test]
    async fn reservation_waits_for_free_memory() {
        const WITHIN: Duration = Duration::from_secs(30);
        let memory = Memory::new(100);
        let ((), kept) = memory.read(WITHIN, needs(60)).await.unwrap();
        let second = tokio::spawn({
            let memory = memory.clone();
            async move { memory.read(WITHIN, needs(70)).await.map(|_| ()) }
        });
        tokio::task::yield_now().await;
        // Others can read in the meantime.
        assert!(memory.read(WITHIN, needs(40)).await.is_ok());
        assert!(!second.is_finished());
        drop(kept);
        assert_eq!(second.await.unwrap(), Ok(()));
        let (_, _kept) = memory.read(WITHIN, needs(60)).await.unwrap();
        assert_eq!(
            memory
                .read(Duration::from_millis(1), needs(70))
                .await
                .map(|_| ()),
            Err(ReserveError::Occupied)
        );
    }

    #[tokio::test]
    async fn read_larger_than_all_memory_fails_at_once() {
        let memory = Memory::new(100);
        let read = memory
            .read(Duration::from_secs(30), needs(101))
            .now_or_never();
        assert_eq!(read.unwrap().map(|_| ()), Err(ReserveError::TooLarge));
    }

    #[test]
    fn second_reservation_gets_remaining_memory() {
        let memory = Memory::new(100);
        let first = memory.reserve().now_or_never().unwrap();
        assert_eq!(first.bytes(), 100);
        assert!(
            memory.reserve().now_or_never().is_none(),
            "all of it is reserved"
        );
        let kept = first.keep(30);
        let second = memory.reserve().now_or_never().unwrap();
        assert_eq!(second.bytes(), 70);
        drop(second);
        drop(kept);
        assert_eq!(memory.reserve().now_or_never().unwrap().bytes(), 100);
    }
}
