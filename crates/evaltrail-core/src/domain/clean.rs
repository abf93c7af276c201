//! Sanitizing untrusted text: all text from a file, an agent or a judge passes through this module before it becomes
//! cells or output. Characters that a terminal would act on and invisible characters are replaced by visible ones;
//! the data itself is not changed.

use std::borrow::Cow;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// Maximum number of combining marks per letter; no script needs more. Further ones are dropped as a possible attack.
const MARKS_PER_LETTER: usize = 8;
const TAB: &str = "    ";

/// Makes text safe to display and preserves line breaks. Borrowed if the text is already clean.
pub fn clean(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(rewrite(text, "\n", false))
}

/// Makes text safe to display on one line: line breaks become `⏎`. Different texts look different.
pub fn clean_line(text: &str) -> Cow<'_, str> {
    if is_plain(text) && !text.contains('\n') {
        return Cow::Borrowed(text);
    }
    Cow::Owned(rewrite(text, "⏎", true))
}

/// Like [`clean_line`], and also makes blanks visible: in a sequence of spaces, all but the first become `␣`, and
/// other characters that look like spaces are escaped. For text that the user is asked to approve.
pub fn clean_exact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = 'x';
    for c in clean_line(text).chars() {
        match c {
            ' ' if before == ' ' => out.push('␣'),
            ' ' => out.push(' '),
            '\u{2800}' => spell_out(&mut out, c),
            c if c.is_whitespace() => spell_out(&mut out, c),
            c => out.push(c),
        }
        before = c;
    }
    out
}

/// The escape sequences that evaltrail's own output may contain: the colors of `report::Paint`.
const COLOURS: &[&str] = &[
    "\u{1b}[0m",
    "\u{1b}[1m",
    "\u{1b}[2m",
    "\u{1b}[31m",
    "\u{1b}[32m",
    "\u{1b}[33m",
    "\u{1b}[35m",
];

/// Makes a complete output of evaltrail safe to display: of all escape sequences, only its own colors remain.
pub fn clean_output(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return clean(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(&clean(&rest[..at]));
        rest = &rest[at..];
        let length = match COLOURS.iter().find(|colour| rest.starts_with(**colour)) {
            Some(colour) => {
                out.push_str(colour);
                colour.len()
            }
            None => {
                show_control(&mut out, '\u{1b}');
                1
            }
        };
        rest = &rest[length..];
    }
    out.push_str(&clean(rest));
    Cow::Owned(out)
}

/// Equivalent JSON without invisible characters and characters that a terminal acts on. ASCII control characters are
/// always escaped in JSON, so they are not handled here.
pub fn clean_json(json: &str) -> Cow<'_, str> {
    let is_seen = |c: char| c.is_ascii() || !(c.is_control() || is_hidden(c) || c == '\u{FE0F}');
    if json.chars().all(is_seen) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match is_seen(c) {
            true => out.push(c),
            false => {
                let mut units = [0; 2];
                c.encode_utf16(&mut units)
                    .iter()
                    .for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
            }
        }
    }
    Cow::Owned(out)
}

/// Breaks up text that a CI system would interpret as a command in a log: `::name::` at the start of a line, and
/// `##[name]`, `##vso[name]` or `##teamcity[name]` anywhere.
pub fn without_log_commands(text: &str) -> Cow<'_, str> {
    let is_command = |line: &str| line.trim_start().starts_with("::") || line.contains("##");
    if !text.lines().any(is_command) {
        return Cow::Borrowed(text);
    }
    let broken = |line: &str| {
        let line = ["##[", "##vso[", "##teamcity["]
            .iter()
            .fold(line.to_string(), |line, command| {
                line.replace(command, &format!("# #{}", &command[2..]))
            });
        match line.trim_start().starts_with("::") {
            true => line.replacen("::", ": :", 1),
            false => line,
        }
    };
    Cow::Owned(text.split('\n').map(broken).collect::<Vec<_>>().join("\n"))
}

/// Whether a character is invisible or affects the characters around it, so that it must be escaped. `false` for the
/// joiners U+200C and U+200D, which depend on their context.
pub fn is_hidden(c: char) -> bool {
    // Visible signs, although their Unicode category is Format.
    let is_sign = matches!(
        c,
        '\u{0600}'
            ..='\u{0605}'
                | '\u{06DD}'
                | '\u{070F}'
                | '\u{0890}'
                | '\u{0891}'
                | '\u{08E2}'
                | '\u{110BD}'
                | '\u{110CD}'
    );
    let is_format = || {
        !c.is_ascii()
            && c.general_category() == unicode_properties::GeneralCategory::Format
            && !is_sign
            && !matches!(c, '\u{200C}' | '\u{200D}')
    };
    matches!(c,
        '\u{034F}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
        | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0E}'
        | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}')
        || is_format()
}

fn is_plain(text: &str) -> bool {
    text.bytes()
        .all(|b| b == b'\n' || (0x20..0x7F).contains(&b))
}

fn rewrite(text: &str, newline: &str, is_exact: bool) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut marks = 0;
    let mut chars = text.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        let is_mark = !c.is_ascii() && c.general_category_group() == GeneralCategoryGroup::Mark;
        marks = if is_mark { marks + 1 } else { 0 };
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            '\n' => out.push_str(newline),
            '\t' => out.push_str(TAB),
            '\u{FE0F}' if is_exact => spell_out(&mut out, c),
            // The emoji variation selector only changes the width, which terminals handle differently.
            '\u{FE0F}' => {}
            '\u{200C}' | '\u{200D}' if joins(before, chars.peek().copied()) => out.push(c),
            '\u{200C}' | '\u{200D}' => spell_out(&mut out, c),
            c if c.is_control() => show_control(&mut out, c),
            c if is_hidden(c) => spell_out(&mut out, c),
            _ if marks > MARKS_PER_LETTER => {}
            c => out.push(c),
        }
        before = c;
    }
    out
}

/// Whether a joiner between these characters has an effect: only between two non-ASCII letters or symbols.
fn joins(before: char, after: Option<char>) -> bool {
    let joinable = |c: char| !c.is_ascii() && !c.is_control() && !is_hidden(c);
    joinable(before) && after.is_some_and(joinable)
}

fn show_control(out: &mut String, c: char) {
    match c as u32 {
        code @ 0..=0x1F => out.push(char::from_u32(0x2400 + code).unwrap_or('\u{FFFD}')),
        0x7F => out.push('␡'),
        _ => spell_out(out, c),
    }
}

fn spell_out(out: &mut String, c: char) {
    out.extend(c.escape_unicode());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blanks_that_could_hide_something_are_seen() {
        assert_eq!(clean_exact("run x"), "run x");
        assert_eq!(clean_exact("run   x\ty"), "run ␣␣x ␣␣␣y");
        assert_eq!(
            clean_exact("a\u{2800}\u{a0}\u{3000}b"),
            "a\\u{2800}\\u{a0}\\u{3000}b"
        );
        assert_eq!(clean_exact("a\nb"), "a⏎b");
    }

    #[test]
    fn plain_text_is_borrowed() {
        assert!(matches!(clean("two\nlines"), Cow::Borrowed(_)));
        assert!(matches!(clean_line("one line"), Cow::Borrowed(_)));
    }

    #[test]
    fn control_and_invisible_chars_become_visible() {
        assert_eq!(clean("\u{1b}]0;title\u{7}"), "␛]0;title␇");
        assert_eq!(clean("a\u{9b}31m"), "a\\u{9b}31m");
        assert_eq!(clean("evil\u{202e}txt"), "evil\\u{202e}txt");
        assert_eq!(clean("pay\u{200b}pal"), "pay\\u{200b}pal");
        assert_eq!(clean("\u{e0041}"), "\\u{e0041}");
        assert_eq!(clean("a\tb"), "a    b");
        assert_eq!(clean("a\r\nb\rc"), "a\nb␍c");
        assert_eq!(clean_line("a\nb"), "a⏎b");
    }

    #[test]
    fn joiners_stay_where_they_join() {
        assert_eq!(clean("👩\u{200d}🚀"), "👩\u{200d}🚀");
        assert_eq!(clean("a\u{200d}b"), "a\\u{200d}b");
        assert_eq!(clean("❤\u{fe0f}"), "❤");
        assert_eq!(
            clean_line("❤\u{fe0f}"),
            "❤\\u{fe0f}",
            "two names that differ look different"
        );
    }

    #[test]
    fn every_format_character_is_seen() {
        for c in ('\u{80}'..=char::MAX)
            .filter(|c| c.general_category_group() == GeneralCategoryGroup::Other)
        {
            let is_format = c.general_category() == unicode_properties::GeneralCategory::Format;
            let shown = clean(&format!("a{c}b")).into_owned();
            let is_sign = shown == format!("a{c}b");
            assert!(
                !is_format || shown.contains("\\u{") || is_sign && !is_hidden(c),
                "{c:?}: {shown}"
            );
        }
        for c in [
            '\u{1bca0}',
            '\u{13437}',
            '\u{e0001}',
            '\u{ad}',
            '\u{200e}',
            '\u{fff9}',
            '\u{1d173}',
        ] {
            assert!(is_hidden(c), "{c:?}");
        }
    }

    #[test]
    fn only_own_colour_sequences_are_kept() {
        assert_eq!(
            clean_output("\u{1b}[32m✓\u{1b}[0m ok\n"),
            "\u{1b}[32m✓\u{1b}[0m ok\n"
        );
        assert_eq!(
            clean_output("\u{1b}[8mhidden\u{1b}[2J\u{1b}]52;c;eA==\u{7}"),
            "␛[8mhidden␛[2J␛]52;c;eA==␇"
        );
        assert_eq!(clean_output("\u{9b}2J\u{202e}x"), "\\u{9b}2J\\u{202e}x");
    }

    #[test]
    fn json_keeps_its_meaning() {
        let value =
            serde_json::json!({"a\u{9b}": "x\u{202e}\u{e0041}é\u{1b}[m", "❤\u{fe0f}": "\u{1bca0}"});
        let text = serde_json::to_string(&value).unwrap();
        let cleaned = clean_json(&text);
        assert!(
            !cleaned.chars().any(|c| c.is_control() || is_hidden(c)),
            "{cleaned}"
        );
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&cleaned).unwrap(),
            value
        );
        assert!(matches!(clean_json("{\"é\": 1}"), Cow::Borrowed(_)));
    }

    #[test]
    fn commands_to_ci_are_broken_up() {
        assert_eq!(
            without_log_commands("a\n  ::set-env name=x::y\nb::c"),
            "a\n  : :set-env name=x::y\nb::c"
        );
        assert_eq!(
            without_log_commands("x ##[command]y ##vso[z] ## title"),
            "x # #[command]y # #vso[z] ## title"
        );
        assert!(matches!(without_log_commands("nothing"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_pile_of_marks_is_cut() {
        let pile = format!("a{}", "\u{301}".repeat(1000));
        assert_eq!(clean(&pile).chars().count(), 1 + MARKS_PER_LETTER);
    }

    proptest! {
        #[test]
        fn nothing_that_a_terminal_acts_on_survives(text in any::<String>()) {
            prop_assert!(!clean(&text).chars().any(|c| c != '\n' && (c.is_control() || is_hidden(c))));
            prop_assert!(!clean_line(&text).chars().any(|c| c.is_control() || is_hidden(c)));
        }
    }
}
