//! Reading of `.env` files as python-dotenv 1.2 does, which ADK uses (`tests/integration/dotenv.rs` compares the two).
//! Existing crates are not suitable: they reject the whole file at a line that python-dotenv skips, and they substitute
//! environment variables in values.

use regex::Regex;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The variables that a file sets. If a name is set several times, the last line counts. A value that refers to other
/// variables (`${…}`) is left out.
pub fn read_dotenv(text: &str) -> BTreeMap<String, String> {
    let mut reader = DotenvReader {
        rest: text.strip_prefix('\u{feff}').unwrap_or(text),
    };
    let mut found = BTreeMap::new();
    while !reader.rest.is_empty() {
        match reader.line() {
            Some((Some(name), Some(value))) if !value.contains("${") => {
                found.insert(name, value);
            }
            Some((name, _)) => {
                name.map(|name| found.remove(&name));
            }
            None => {
                reader.take(&REST_OF_LINE);
            }
        }
    }
    found
}

static BLANKS: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"\s*"));
static SPACES: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"[^\S\r\n]*"));
static EXPORT: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?:export[^\S\r\n]+)?"));
static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?:'[^']+'|[^=\#\s'][^=\#\s]*)"));
static EQUALS: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"=[^\S\r\n]*"));
static SINGLE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?s)'(?:\\.|[^'\\])*'"));
static DOUBLE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r#"(?s)"(?:\\.|[^"\\])*""#));
static UNQUOTED: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"[^\r\n]*"));
static COMMENT: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?:[^\S\r\n]*#[^\r\n]*)?"));
static INNER_COMMENT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\s+#.*").ok());
static END_OF_LINE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"[^\S\r\n]*(?:\r\n|\n|\r|\z)"));
static REST_OF_LINE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"[^\r\n]*(?:\r\n|\n|\r)?"));

fn pattern(text: &str) -> Option<Regex> {
    Regex::new(&format!("\\A(?:{text})")).ok()
}

struct DotenvReader<'a> {
    rest: &'a str,
}

impl<'a> DotenvReader<'a> {
    /// Consumes the text at the current position that matches the pattern.
    fn take(&mut self, form: &Option<Regex>) -> Option<&'a str> {
        let end = form.as_ref()?.find(self.rest)?.end();
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(taken)
    }

    /// The name and the value of a line, if it has them; `None` when the line cannot be read.
    fn line(&mut self) -> Option<(Option<String>, Option<String>)> {
        self.take(&BLANKS)?;
        if self.rest.is_empty() {
            return Some((None, None));
        }
        self.take(&EXPORT)?;
        let name = match self.rest.starts_with('#') {
            true => None,
            false => Some(unquoted(self.take(&NAME)?).to_string()),
        };
        self.take(&SPACES)?;
        let value = match self.rest.starts_with('=') {
            true => Some(self.value()?),
            false => None,
        };
        self.take(&COMMENT)?;
        self.take(&END_OF_LINE)?;
        Some((name, value))
    }

    fn value(&mut self) -> Option<String> {
        let equals = self.take(&EQUALS)?;
        match self.rest.chars().next() {
            Some('#') if equals.len() > 1 => Some(String::new()),
            Some('\'') => Some(unescaped(self.take(&SINGLE)?, "\\'").into_owned()),
            Some('"') => Some(unescaped(self.take(&DOUBLE)?, "\\'\"abfnrtv").into_owned()),
            _ => {
                let words = self.take(&UNQUOTED)?;
                let comment = INNER_COMMENT
                    .as_ref()?
                    .find(words)
                    .map_or(words.len(), |found| found.start());
                Some(words[..comment].trim_end().to_string())
            }
        }
    }
}

/// A name without the quotation marks around it.
fn unquoted(name: &str) -> &str {
    name.strip_prefix('\'')
        .and_then(|name| name.strip_suffix('\''))
        .unwrap_or(name)
}

/// The text between the quotation marks of a value, with the given escapes decoded.
fn unescaped<'a>(quoted: &'a str, escapes: &str) -> Cow<'a, str> {
    let inside = &quoted[1..quoted.len() - 1];
    if !inside.contains('\\') {
        return Cow::Borrowed(inside);
    }
    let mut text = String::with_capacity(inside.len());
    let mut letters = inside.chars().peekable();
    while let Some(letter) = letters.next() {
        match letters
            .peek()
            .filter(|next| letter == '\\' && escapes.contains(**next))
        {
            Some(next) => {
                text.push(match next {
                    'a' => '\u{7}',
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'v' => '\u{b}',
                    other => *other,
                });
                letters.next();
            }
            None => text.push(letter),
        }
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_equal_those_of_python_dotenv() {
        // Checked against python-dotenv 1.2.4 by `tests/integration/dotenv.rs`.
        let text = "\u{feff}A = 1\r\n# comment\nexport B=2 # c\nC=1#c\nD= # c\nE=#c\nF='a\\'b\\n'\nG=\"a\\n\\\"b\\q\"\n\
                    H=\"two\nlines\"\nI 'x' y\nJ\n=x\nK=\"open\nL=${A}\nM=\"x\" y\nN= spaced words \nA=again";
        let found = read_dotenv(text);
        let wanted = [
            ("B", "2"),
            ("C", "1#c"),
            ("D", ""),
            ("E", "#c"),
            ("F", "a'b\\n"),
            ("G", "a\n\"b\\q"),
            ("H", "two\nlines"),
            ("N", "spaced words"),
            ("A", "again"),
        ];
        // An unclosed quote ends at the next quotation mark; the rest of that line cannot be read and is dropped.
        let wanted: BTreeMap<String, String> = wanted
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect();
        assert_eq!(found, wanted);
    }
}
