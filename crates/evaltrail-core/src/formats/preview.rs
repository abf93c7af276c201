//! A change of a text as a line-by-line diff.

use super::json::{Splice, TextChange};
use crate::diff::diff_sequences;
use crate::domain::is_hidden;
use std::ops::Range;

/// Longest line, in bytes, that is shown whole; of a longer one only what changes and the text around it is shown.
const MAX_LINE_BYTES: usize = 200;
/// The maximum length of what is shown of a line, in bytes.
const MAX_SHOWN_BYTES: usize = 20_000;
/// Lines of context around a change in a unified diff.
const UNIFIED: usize = 3;
/// How many bytes of a long line are shown before and after what changes.
const LEAD: usize = 60;

/// A line of a preview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreviewLine {
    /// The number of the next line in the file, from 1.
    LineNumber(usize),
    /// An unchanged line.
    Same(String),
    /// A removed line.
    Gone(String),
    /// An added line.
    New(String),
}

/// The lines of a change, with `around` lines of context.
pub fn preview(text: &str, change: &TextChange, around: usize) -> Vec<PreviewLine> {
    let mut lines = Vec::new();
    for group in groups(text, change, around) {
        let (start, end) = spread(text, &group, around);
        let moved = group
            .iter()
            .map(|one| Splice {
                at: one.at - start,
                ..(*one).clone()
            })
            .collect();
        let old = &text[start..end];
        let Some(new) = TextChange(moved).apply(old) else {
            continue;
        };
        lines.push(PreviewLine::LineNumber(
            memchr::memchr_iter(b'\n', &text.as_bytes()[..start]).count() + 1,
        ));
        lines.extend(differing(old, &new));
    }
    lines
}

/// A name as git writes it into a patch: quoted and escaped if it contains special characters.
fn header(name: &str) -> String {
    if name
        .chars()
        .all(|c| !c.is_control() && !is_hidden(c) && c != '"' && c != '\\')
    {
        return name.to_string();
    }
    let mut quoted = String::from("\"");
    for byte in name.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            b' '..=b'~' => quoted.push(char::from(byte)),
            byte => quoted.push_str(&format!("\\{byte:03o}")),
        }
    }
    quoted + "\""
}

/// A new file as a unified difference.
pub fn created(text: &str, name: &str) -> String {
    let lines = lines_of(text);
    let mut out = format!(
        "--- /dev/null\n+++ {}\n@@ -0,0 +1,{} @@\n",
        header(&format!("b/{name}")),
        lines.len()
    );
    lines.iter().for_each(|line| push_line(&mut out, '+', line));
    out
}

/// The change as a unified diff, which `git apply` and `patch` accept.
pub fn unified(text: &str, change: &TextChange, name: &str) -> String {
    let mut out = format!(
        "--- {}\n+++ {}\n",
        header(&format!("a/{name}")),
        header(&format!("b/{name}"))
    );
    let mut grown: isize = 0;
    for group in groups(text, change, UNIFIED) {
        let (start, end) = spread(text, &group, UNIFIED);
        let moved = group
            .iter()
            .map(|one| Splice {
                at: one.at - start,
                ..(*one).clone()
            })
            .collect();
        let old = &text[start..end];
        let Some(new) = TextChange(moved).apply(old) else {
            continue;
        };
        let first = memchr::memchr_iter(b'\n', &text.as_bytes()[..start]).count() + 1;
        let (gone, come) = (old.lines().count(), new.lines().count());
        let new_first = first.saturating_add_signed(grown);
        out.push_str(&format!("@@ -{first},{gone} +{new_first},{come} @@\n"));
        grown += come as isize - gone as isize;
        let (left, right) = (lines_of(old), lines_of(&new));
        for hunk in diff_sequences(&left, &right) {
            if hunk.is_equal {
                left[hunk.left]
                    .iter()
                    .for_each(|line| push_line(&mut out, ' ', line));
                continue;
            }
            left[hunk.left]
                .iter()
                .for_each(|line| push_line(&mut out, '-', line));
            right[hunk.right]
                .iter()
                .for_each(|line| push_line(&mut out, '+', line));
        }
    }
    out
}

/// Groups replacements whose context lines touch.
fn groups<'a>(text: &str, change: &'a TextChange, around: usize) -> Vec<Vec<&'a Splice>> {
    let mut groups: Vec<Vec<&Splice>> = Vec::new();
    let mut reached = 0;
    for splice in &change.0 {
        let (start, end) = spread(text, &[splice], around);
        match groups.last_mut() {
            Some(group) if start <= reached => group.push(splice),
            _ => groups.push(vec![splice]),
        }
        reached = reached.max(end);
    }
    groups
}

/// The byte range of the lines of a group of replacements, with `around` lines of context.
fn spread(text: &str, group: &[&Splice], around: usize) -> (usize, usize) {
    let bytes = text.as_bytes();
    let first = group.first().map_or(0, |splice| splice.at);
    let last = group
        .last()
        .map_or(0, |splice| splice.at + splice.old.len());
    let start = memchr::memrchr_iter(b'\n', &bytes[..first])
        .nth(around)
        .map_or(0, |at| at + 1);
    let end = memchr::memchr_iter(b'\n', &bytes[last..])
        .nth(around)
        .map_or(text.len(), |at| last + at + 1);
    (start, end)
}

/// The lines of a text, with their line ends.
fn lines_of(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn push_line(out: &mut String, sign: char, line: &str) {
    out.push(sign);
    out.push_str(line);
    if !line.ends_with('\n') {
        out.push_str("\n\\ No newline at end of file\n");
    }
}

fn differing(old: &str, new: &str) -> Vec<PreviewLine> {
    let without_end = |text| -> Vec<&str> {
        lines_of(text)
            .into_iter()
            .map(|line| line.trim_end_matches(['\n', '\r']))
            .collect()
    };
    let (left, right) = (lines_of(old), lines_of(new));
    let (old, new) = (without_end(old), without_end(new));
    let mut lines = Vec::new();
    for hunk in diff_sequences(&left, &right) {
        let (old, new) = (&old[hunk.left], &new[hunk.right]);
        if hunk.is_equal {
            let start = |line: &&str| PreviewLine::Same(cut(line, 0..MAX_LINE_BYTES));
            lines.extend(old.iter().map(start));
            continue;
        }
        let shown = |(at, line): (usize, &&str), others: &[&str]| {
            let changed = others
                .get(at)
                .map_or(0..line.len(), |other| changed_part(line, other));
            let (from, to) = (changed.start.saturating_sub(LEAD), changed.end + LEAD);
            cut(line, from..to.min(from + MAX_SHOWN_BYTES))
        };
        let gone = |line| PreviewLine::Gone(shown(line, new));
        lines.extend(old.iter().enumerate().map(gone));
        let added = |line| PreviewLine::New(shown(line, old));
        lines.extend(new.iter().enumerate().map(added));
    }
    lines
}

/// The part of a line, in bytes, that another line does not have: without what both begin and end with.
fn changed_part(line: &str, other: &str) -> Range<usize> {
    let equal =
        |pairs: &mut dyn Iterator<Item = (u8, u8)>| pairs.take_while(|(a, b)| a == b).count();
    let start = equal(&mut line.bytes().zip(other.bytes()));
    let (line, other) = (&line.as_bytes()[start..], &other.as_bytes()[start..]);
    let end = equal(&mut line.iter().rev().copied().zip(other.iter().rev().copied()));
    start..start + line.len() - end
}

/// A line, or a part of it if it is long.
fn cut(line: &str, part: Range<usize>) -> String {
    if line.len() <= MAX_LINE_BYTES {
        return line.to_string();
    }
    let start = line.floor_char_boundary(part.start);
    let end = line.ceil_char_boundary(part.end.min(line.len()));
    let (before, after) = (
        if start > 0 { "…" } else { "" },
        if end < line.len() { "…" } else { "" },
    );
    format!("{before}{}{after}", &line[start..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_is_a_patch_of_added_lines() {
        let patch = created("{\n}\n", "a.evalset.json");
        assert_eq!(
            patch,
            "--- /dev/null\n+++ b/a.evalset.json\n@@ -0,0 +1,2 @@\n+{\n+}\n"
        );
    }

    /// Whatever is saved is seen, however long it is; the rest of its line is not.
    #[test]
    fn all_that_changes_in_a_long_line_is_shown() {
        let around = "around ".repeat(100);
        let long = "a lovely crop, perhaps in the evening. ".repeat(20);
        let text = format!("{around}OLD{around}\n");
        let at = text.find("OLD").unwrap();
        let lines = preview(&text, &TextChange::one(at, "OLD", &long), 0);
        let [
            PreviewLine::LineNumber(1),
            PreviewLine::Gone(gone),
            PreviewLine::New(new),
        ] = &lines[..]
        else {
            panic!("{lines:?}")
        };
        assert!(
            gone.contains("OLD") && gone.len() < 3 + 2 * (LEAD + 4),
            "{gone}"
        );
        assert!(
            new.contains(&long) && new.len() < long.len() + 2 * (LEAD + 4),
            "{new}"
        );
        assert!(new.starts_with('…') && new.ends_with('…'), "{new}");
        // A line that was not there before is shown whole.
        let lines = preview("a\n", &TextChange::one(2, "", &format!("{long}\n")), 0);
        assert!(lines.contains(&PreviewLine::New(long)), "{lines:?}");
    }

    #[test]
    fn a_change_of_a_word_is_a_change_of_a_line() {
        let text = "a\n  \"x\": \"device_2\",\nb\nc\n";
        let at = text.find('2').unwrap();
        let lines = preview(text, &TextChange::one(at, "2", "3"), 1);
        let (gone, new) = (
            "  \"x\": \"device_2\",".to_string(),
            "  \"x\": \"device_3\",".to_string(),
        );
        use PreviewLine as P;
        assert_eq!(
            lines,
            [
                P::LineNumber(1),
                P::Same("a".into()),
                P::Gone(gone),
                P::New(new),
                P::Same("b".into())
            ]
        );
    }

    #[test]
    fn long_lines_are_cut_around_the_change() {
        let text = format!("{}OLD{}", "x".repeat(5000), "y".repeat(5000));
        let lines = preview(&text, &TextChange::one(5000, "OLD", "NEW"), 3);
        assert!(lines.iter().any(
            |line| matches!(line, PreviewLine::New(l) if l.contains("xNEWy") && l.len() < 300)
        ));
    }

    #[test]
    fn a_unified_difference_counts_lines_from_one() {
        let text: String = (1..=20).map(|line| format!("{line}\n")).collect();
        let at = text.find("10\n").unwrap();
        let shown = unified(&text, &TextChange::one(at, "10\n", "ten\n10\n"), "f");
        assert!(shown.contains("@@ -7,7 +7,8 @@"), "{shown}");
        let (mut two, later) = (
            TextChange::one(at, "10\n", "ten\n10\n"),
            text.find("20\n").unwrap(),
        );
        two.0.extend(TextChange::one(later, "20\n", "twenty\n").0);
        let shown = unified(&text, &two, "f");
        assert!(
            shown.contains("@@ -17,4 +18,4 @@"),
            "the second place counts the line that was added: {shown}"
        );
        let first = unified(&text, &TextChange::one(0, "1\n", "one\n"), "f");
        assert!(first.contains("@@ -1,4 +1,4 @@"), "{first}");
    }
}
