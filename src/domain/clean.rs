//! The one entrance for untrusted text: whatever came from a file, an agent or a judge passes here
//! before it becomes cells or output. What a terminal would act on, and what the eye cannot see,
//! becomes visible; the data itself stays as it was.

use std::borrow::Cow;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// More combining marks than this on one letter are dropped: no script needs them, attacks do.
const MARKS_PER_LETTER: usize = 8;
const TAB: &str = "    ";

/// Makes text safe to show, keeping its line breaks. Borrowed when it is clean already.
pub fn clean(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(rewrite(text, "\n"))
}

/// Makes text safe to show on one line: line breaks become `⏎`.
pub fn clean_line(text: &str) -> Cow<'_, str> {
    if is_plain(text) && !text.contains('\n') {
        return Cow::Borrowed(text);
    }
    Cow::Owned(rewrite(text, "⏎"))
}

/// The same with every blank that could hide something: of several spaces all but the first are `␣`, and other
/// characters that look like spaces are spelt out. For what a person is asked to allow.
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

/// Whether a character is invisible or acts on its surroundings, so that it must be spelt out.
pub fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0E}' | '\u{FEFF}' | '\u{FFA0}'
        | '\u{FFF0}'..='\u{FFFB}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|b| b == b'\n' || (0x20..0x7F).contains(&b))
}

fn rewrite(text: &str, newline: &str) -> String {
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
            // The emoji selector only changes a width that terminals disagree about.
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

/// A joiner has work to do only between two letters or symbols beyond ASCII.
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
        assert_eq!(clean_exact("a\u{2800}\u{a0}\u{3000}b"), "a\\u{2800}\\u{a0}\\u{3000}b");
        assert_eq!(clean_exact("a\nb"), "a⏎b");
    }

    #[test]
    fn plain_text_is_borrowed() {
        assert!(matches!(clean("two\nlines"), Cow::Borrowed(_)));
        assert!(matches!(clean_line("one line"), Cow::Borrowed(_)));
    }

    #[test]
    fn controls_and_invisible_characters_become_visible() {
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
