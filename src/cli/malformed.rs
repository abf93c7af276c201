//! Files with invalid content: where, what was expected, and the line itself.

use super::output::print_note;
use evaltrail_core::domain::clean_line;
use evaltrail_core::formats::FileProblem;
use evaltrail_engine::workspace::read_text;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use unicode_width::UnicodeWidthStr;

/// The maximum number of characters of a line that are shown before and after the position.
const MAX_AROUND: usize = 40;

/// Prints what is wrong in files, so that nothing is run.
pub(super) fn print_malformed(files: &BTreeMap<PathBuf, FileProblem>) {
    let here = std::env::current_dir().unwrap_or_default();
    for (file, problem) in files {
        let path = file.strip_prefix(&here).unwrap_or(file);
        let at = match problem.path.is_empty() {
            true => String::new(),
            false => format!("{}: ", problem.path),
        };
        print_note(&format!(
            "error: {}:{}:{}: {at}expected {}, found {}",
            path.display(),
            problem.line,
            problem.column,
            problem.expected,
            problem.found
        ));
        let text = readable_text(file);
        if let Some(excerpt) = text.and_then(|text| excerpt_of(&text, problem.line, problem.column))
        {
            print_note(&excerpt);
        }
    }
    print_note("nothing was run");
}

/// The text of a file of which excerpts may be shown; `None` if it cannot be read, or is a link: what it leads to may be no
/// file of the workspace.
pub(super) fn readable_text(path: &Path) -> Option<String> {
    let is_file = path.symlink_metadata().is_ok_and(|meta| meta.is_file());
    is_file.then(|| read_text(path).ok()).flatten()
}

/// The line of a text with a mark below a column, both from 1. `None` if there is no such line.
pub(super) fn excerpt_of(text: &str, line: usize, column: usize) -> Option<String> {
    excerpt(text.lines().nth(line.checked_sub(1)?)?, line, column)
}

fn excerpt(text: &str, line: usize, column: usize) -> Option<String> {
    let at = column.checked_sub(1)?;
    let skipped = at.saturating_sub(MAX_AROUND);
    let before: String = text.chars().skip(skipped).take(at - skipped).collect();
    let after: String = text.chars().skip(at).take(MAX_AROUND).collect();
    let is_cut = text.chars().count() > at + MAX_AROUND;
    let before = match skipped {
        0 => clean_line(before.trim_start()).into_owned(),
        _ => format!("…{}", clean_line(&before)),
    };
    let after = clean_line(&after);
    let end = if is_cut { "…" } else { "" };
    let number = line.to_string();
    let (margin, indent) = (" ".repeat(number.len()), " ".repeat(before.width()));
    Some(format!(
        "  {number} | {before}{after}{end}\n  {margin} | {indent}^"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mark_is_below_the_column() {
        assert_eq!(
            excerpt("        parts\": [", 20, 9).unwrap(),
            "  20 | parts\": [\n     | ^"
        );
        let long = format!("{}日本x{}", "a".repeat(100), "b".repeat(100));
        let (column, cut) = (103, format!("…{}日本", "a".repeat(38)));
        let shown = excerpt(&long, 1, column).unwrap();
        let (first, second) = shown.split_once('\n').unwrap();
        assert_eq!(first, format!("  1 | {cut}x{}…", "b".repeat(39)));
        // Each of the two characters takes two columns.
        assert_eq!(second, format!("    | {}^", " ".repeat(1 + 38 + 4)));
        assert_eq!(excerpt("", 2, 1).unwrap(), "  2 | \n    | ^");
    }
}
