//! Text in Markdown: in a cell of a table, and as code.

use evaltrail_core::domain::clean_line;

/// An HTML comment, which is invisible and separates characters that would form a reference.
const APART: &str = "<!-- -->";

/// Escapes a text, so that it contains no markup, HTML, mention, reference, link or line break.
pub fn cell(text: &str) -> String {
    const MAX_CHARS: usize = 300;
    let line = clean_line(text);
    let mut out = String::with_capacity(line.len() + 8);
    let mut word = String::new();
    let mut chars = line.chars().take(MAX_CHARS).peekable();
    while let Some(c) = chars.next() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '|' | '`' | '*' | '_' | '[' | ']' | '!' | '#' | '~' => out.extend(['\\', c]),
            c => out.push(c),
        }
        if begins_reference(&word, c, chars.peek().copied()) {
            out.push_str(APART);
            word.clear();
            continue;
        }
        match c.is_ascii_alphanumeric() {
            true => word.push(c.to_ascii_lowercase()),
            false => word.clear(),
        }
    }
    if line.chars().count() > MAX_CHARS {
        out.push('…');
    }
    out
}

/// Whether GitHub or GitLab could read a reference or a link in `word`, `c` and what follows: a mention, an issue, a
/// commit, an address with a scheme or with `www`.
fn begins_reference(word: &str, c: char, next: Option<char>) -> bool {
    let is_word = next.is_some_and(char::is_alphanumeric);
    match c {
        '@' | '#' | '!' | '~' | '%' | '$' | '&' => is_word || next == Some('/'),
        ':' => next == Some('/') || is_word && ["mailto", "xmpp"].contains(&word),
        '.' => is_word && word == "www",
        '-' => {
            word.starts_with(|c: char| c.is_ascii_alphabetic())
                && next.is_some_and(|next| next.is_ascii_digit())
        }
        // Seven hexadecimal digits are recognised as a commit.
        c => {
            let is_hexadecimal = |c: char| c.is_ascii_hexdigit();
            word.len() == 5 && is_hexadecimal(c) && word.chars().all(is_hexadecimal)
        }
    }
}

/// A text as code, which is shown as it is: for commands and ids that are copied. A text that could end the code, or
/// contains markup, is escaped instead.
pub(super) fn code(text: &str) -> String {
    let line = clean_line(text);
    match line.contains(['`', '<', '>', '[', ']', '|', '\\']) {
        true => cell(text),
        false => format!("`{line}`"),
    }
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
            ("mailto:me", "mailto:me"),
            ("WWW.evil.example", "WWW.evil"),
            ("at deadbeefcafe", "deadbee"),
            ("aaaaaa0123456789abcdef", "0123456"),
        ] {
            assert!(!cell(text).contains(reference), "{}", cell(text));
            assert_eq!(
                cell(text).replace(APART, "").replace('\\', ""),
                text,
                "the visible text is unchanged"
            );
        }
        let plain = "took 0.5 s: loan ids.0 of run.toml, 10-20 %, a: b";
        assert_eq!(cell(plain), plain);
    }

    #[test]
    fn only_harmless_text_is_code() {
        assert_eq!(code("evaltrail open r 1"), "`evaltrail open r 1`");
        assert_eq!(code("a\nb"), "`a⏎b`");
        for hostile in ["a`b", "<script>", "[x](http://y)", "a|b"] {
            assert_eq!(code(hostile), cell(hostile));
        }
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
