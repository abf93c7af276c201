//! Which case, by position.

/// A case: its set, and its position in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CaseRef {
    /// Index into [`crate::explorer::Model::sets`]. It stands for the file's path: it stays what it is while other sets come
    /// and go.
    pub set: usize,
    /// Position in the file as it was read last ([`crate::explorer::SetView::read`]).
    pub index: usize,
}
