//! Summaries of attempts that are compressed together, because most of each is equal for all.

use super::AttemptSummary;
use std::sync::{Arc, OnceLock};

/// Compressed summaries. They are decompressed together when one of them is needed for the first time.
pub(super) struct PackedSummaries {
    bytes: Arc<[u8]>,
    unpacked: OnceLock<Vec<AttemptSummary>>,
}

impl PackedSummaries {
    /// Summaries in the form of [`packed`].
    pub(super) fn new(bytes: Arc<[u8]>) -> PackedSummaries {
        PackedSummaries {
            bytes,
            unpacked: OnceLock::new(),
        }
    }

    /// The summary at a position; `None` if there is none, or if the summaries are damaged.
    pub(super) fn get(&self, at: usize) -> Option<&AttemptSummary> {
        self.unpacked
            .get_or_init(|| unpacked(&self.bytes).unwrap_or_default())
            .get(at)
    }
}

/// Compresses summaries.
pub(super) fn packed(summaries: &[&AttemptSummary]) -> Arc<[u8]> {
    // Writing to memory does not fail.
    let bytes = postcard::to_stdvec(summaries).unwrap_or_default();
    lz4_flex::compress_prepend_size(&bytes).into()
}

/// Decompresses summaries; `None` if they are damaged.
pub(super) fn unpacked(bytes: &[u8]) -> Option<Vec<AttemptSummary>> {
    postcard::from_bytes(&lz4_flex::decompress_size_prepended(bytes).ok()?).ok()
}
