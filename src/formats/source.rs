//! Where a file's text is: in memory, or outside, to be read again piece by piece when it is too
//! large to be held.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

/// Bytes that can be read again by their place.
pub trait Pieces: Debug + Send + Sync {
    /// The text of a range. The error says what happened to the file.
    fn piece(&self, range: Range<u64>) -> Result<String, String>;
}

/// The text of a file.
#[derive(Clone, Debug)]
pub enum Source {
    /// In memory.
    Held(Arc<str>),
    /// Outside.
    Outside(Arc<dyn Pieces>),
}

impl Source {
    /// The text of a range.
    pub(super) fn piece(&self, range: Range<u64>) -> Result<String, String> {
        match self {
            Source::Outside(pieces) => pieces.piece(range),
            Source::Held(text) => {
                let range = range.start as usize..range.end as usize;
                text.get(range).map(str::to_string).ok_or_else(|| "the file ended early".into())
            }
        }
    }
}
