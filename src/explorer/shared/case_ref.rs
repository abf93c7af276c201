//! Reference to an eval case by position.

/// An eval case, by the index of its set and its position in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CaseRef {
    /// Index into [`crate::explorer::shared::model::View::sets`]. It does not change when other sets are added or deleted.
    pub set: usize,
    /// Position in the most recently read version of the file ([`crate::explorer::shared::set_view::SetView::read`]), from 0.
    pub index: usize,
}
