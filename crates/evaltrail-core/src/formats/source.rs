//! The source of a file's text: in memory, or the file itself, read piece by piece when it is too large
//! for memory.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

/// A file of which ranges can be read.
pub trait RangeReader: Debug + Send + Sync {
    /// The text of a byte range. The error says why it cannot be read.
    fn piece(&self, range: Range<u64>) -> Result<String, String>;
}

/// The text of a file.
#[derive(Clone, Debug)]
pub enum Source {
    /// In memory.
    Held(Arc<str>),
    /// Not in memory.
    Outside(Arc<dyn RangeReader>),
}

impl Source {
    /// The text of a byte range.
    pub(super) fn piece(&self, range: Range<u64>) -> Result<String, String> {
        match self {
            Source::Outside(pieces) => pieces.piece(range),
            Source::Held(text) => {
                let range = range.start as usize..range.end as usize;
                text.get(range)
                    .map(str::to_string)
                    .ok_or_else(|| "the file ended early".into())
            }
        }
    }
}
