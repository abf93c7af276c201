//! The command that opens a case of a run in the explorer, wherever the exported run is.

use crate::store::file_id;
use evaltrail_core::domain::{RunPlan, clean_line};
use std::borrow::Cow;

/// The command for the file that `evaltrail export` writes by default, for a POSIX shell.
pub(super) fn open_command(plan: &RunPlan, eval_id: &str) -> String {
    let file = shell_word(&format!("run-{}.evaltrail", file_id(&plan.run_id)));
    // The case is an argument also where it looks like an option.
    let end_of_options = if eval_id.starts_with('-') { "-- " } else { "" };
    format!(
        "evaltrail open {end_of_options}{file} {}",
        shell_word(eval_id)
    )
}

/// The command that writes that file.
pub(super) fn export_command(plan: &RunPlan) -> String {
    format!("evaltrail export {}", shell_word(&plan.run_id))
}

/// A text as one word of a POSIX shell, on one line and without control characters.
pub fn shell_word(text: &str) -> String {
    let text: Cow<str> = clean_line(text);
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '@' | ',');
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.into_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_id_stays_one_word() {
        for (id, word) in [
            ("case_7", "case_7"),
            ("", "''"),
            ("two words", "'two words'"),
            ("$(rm x); `y`", "'$(rm x); `y`'"),
            ("it's", r"'it'\''s'"),
            ("~root", "'~root'"),
        ] {
            assert_eq!(shell_word(id), word);
        }
    }
}
