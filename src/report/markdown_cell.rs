//! Text in a cell of a Markdown table.

use crate::domain::clean_line;

/// An HTML comment, which is invisible and separates characters that would form a reference.
const APART: &str = "<!-- -->";

/// Escapes a text, so that it contains no markup, HTML, mention, reference, link or line break.
pub(super) fn cell(text: &str) -> String {
    const LONGEST: usize = 300;
    let line = clean_line(text);
    let mut out = String::with_capacity(line.len() + 8);
    // Number of letters and digits of the word so far, and whether all are hexadecimal, as in a commit's hash.
    let (mut word, mut is_hexadecimal) = (0, true);
    let mut chars = line.chars().take(LONGEST).peekable();
    while let Some(c) = chars.next() {
        match c.is_ascii_alphanumeric() {
            true => (word, is_hexadecimal) = (word + 1, is_hexadecimal && c.is_ascii_hexdigit()),
            false => (word, is_hexadecimal) = (0, true),
        }
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '|' | '`' | '*' | '_' | '[' | ']' | '!' | '#' | '~' => out.extend(['\\', c]),
            c => out.push(c),
        }
        let begins_reference =
            matches!(c, '@' | '#' | '!' | '~' | '%' | '$' | ':' | '.' | '-' | '&');
        let goes_on = chars
            .peek()
            .is_some_and(|next| next.is_alphanumeric() || *next == '/');
        // Seven digits are recognised as a commit.
        if begins_reference && goes_on || is_hexadecimal && word == 6 {
            out.push_str(APART);
        }
    }
    if line.chars().count() > LONGEST {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cell_has_no_mention_reference_or_link() {
        for (text, reference) in [
            ("thanks @all", "@all"),
            ("see org/repo#12", "#12"),
            ("GH-12", "GH-12"),
            ("!34 of gitlab", "!34"),
            ("https://evil.example/x", "https://"),
            ("www.evil.example", "www.evil"),
            ("me@evil.example", "@evil"),
            ("at deadbeefcafe", "deadbee"),
        ] {
            assert!(!cell(text).contains(reference), "{}", cell(text));
            assert_eq!(
                cell(text).replace(APART, "").replace('\\', ""),
                text,
                "the visible text is unchanged"
            );
        }
        assert_eq!(cell("took 0.5 s: fine"), "took 0.<!-- -->5 s: fine");
    }

    #[test]
    fn nothing_in_a_cell_is_markup() {
        let said = cell("a|b <img src=x onerror=y> [x](http://y) @all `c` **d**\nnext");
        assert!(
            !said.contains('\n')
                && !said.replace(APART, "").contains('<')
                && !said.contains("@all")
                && said.contains("\\[x\\](http:")
        );
        assert!(
            said.contains("a\\|b") && said.contains("\\*\\*d\\*\\*"),
            "{said}"
        );
    }
}
