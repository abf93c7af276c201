//! Where a stored case is in a file.

use evaltrail_core::formats::SetFile;

/// The position of a stored case in a file: by id, and for equal ids by content. `None` if there is no such case, or if
/// it is ambiguous.
pub fn find_case(file: &SetFile, eval_id: &str, content: &str) -> Option<usize> {
    let mut positions = file.positions_of(eval_id);
    let first = positions.next()?;
    let Some(second) = positions.next() else {
        return Some(first);
    };
    let is_it = |at: &usize| !content.is_empty() && file.content_hash(*at) == content;
    [first, second].into_iter().chain(positions).find(is_it)
}
