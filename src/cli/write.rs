//! Makes edits for the command line. If a file is a link to outside the folder, the user is asked before it is written.

use super::output::{can_prompt, confirm};
use anyhow::bail;
use evaltrail_core::domain::clean_line;
use evaltrail_engine::store::{
    AppFolders, EditLog, EditOutcome, FileEdit, FileEditError, SaveError,
};
use std::path::Path;

/// Makes an edit of files below `root`.
pub(super) fn make_asking(
    root: &Path,
    words: &str,
    jobs: &[FileEdit],
) -> anyhow::Result<EditOutcome> {
    let log = EditLog::in_folder(AppFolders::find().as_ref());
    match log.make(Some(root), words, jobs) {
        Err(FileEditError {
            path,
            why: SaveError::Outside(target),
            ..
        }) => {
            let (path, target) = (path.display().to_string(), target.display().to_string());
            let words_of_link = format!(
                "{} is a link to {}, outside its folder",
                clean_line(&path),
                clean_line(&target)
            );
            if !can_prompt() {
                bail!("{words_of_link}; nothing was written. Name the file itself to write there");
            }
            match confirm(&format!("{words_of_link}. Write there?"))? {
                true => Ok(log.make(None, words, jobs)?),
                false => bail!("nothing was written"),
            }
        }
        other => Ok(other?),
    }
}
