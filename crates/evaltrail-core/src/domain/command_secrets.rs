//! Secrets in command lines: values of options and variables, headers, addresses, keys of well-known services. They are found
//! in the words of a command, and in the words inside of one (`sh -c "agent --api-key …"`).

use super::secret_address::{address_without_secrets, secrets_in_address};
use super::secret_name::{is_secret_flag, is_secret_name};
use super::secret_value::{is_known_key, is_scheme, is_token_like};

/// What takes the place of a secret.
const HIDDEN: &str = "…";
/// What may stand around a word inside of another one.
const AROUND: [char; 11] = ['"', '\'', '`', '{', '}', '[', ']', '(', ')', ',', ';'];

/// The words of a command line without its secrets.
pub(super) fn command_without_secrets(argv: &[String]) -> Vec<String> {
    CommandReader::default().command(argv)
}

/// The secrets in a command line.
pub(super) fn secrets_in_command(argv: &[String]) -> Vec<String> {
    let mut reader = CommandReader::default();
    reader.command(argv);
    reader.found
}

/// Reads the words of a command one after the other.
#[derive(Default)]
struct CommandReader {
    next: Next,
    found: Vec<String>,
}

/// What the word before says about the next one.
#[derive(Default)]
enum Next {
    /// Nothing.
    #[default]
    Other,
    /// It is a secret, unless it is another option.
    Secret,
    /// It is a secret, or a scheme of authentication that stands before one.
    SecretOfHeader,
    /// It is a secret if it looks like one: the option before may have no value.
    SecretByForm,
    /// It is part of a secret, which ends with this quote. Contains the parts before.
    SecretUntil(char, String),
}

impl CommandReader {
    fn command(&mut self, argv: &[String]) -> Vec<String> {
        argv.iter().map(|word| self.argument(word)).collect()
    }

    /// An argument of a program. One that contains blanks may be a command or a header.
    fn argument(&mut self, word: &str) -> String {
        if !word.contains(char::is_whitespace) {
            return self.word(word);
        }
        match std::mem::take(&mut self.next) {
            Next::Secret => self.hidden("", word),
            Next::SecretByForm if looks_secret(word) => self.hidden("", word),
            next => {
                let next = if matches!(next, Next::SecretOfHeader) {
                    next
                } else {
                    Next::Other
                };
                let mut inside = CommandReader {
                    next,
                    found: Vec::new(),
                };
                let pieces = word.split_inclusive(char::is_whitespace);
                let shown = pieces.map(|piece| {
                    let text = piece.trim_end();
                    format!("{}{}", inside.word(text), &piece[text.len()..])
                });
                let shown = shown.collect();
                self.found.append(&mut inside.found);
                shown
            }
        }
    }

    /// A word without blanks.
    fn word(&mut self, word: &str) -> String {
        if word.is_empty() {
            return String::new();
        }
        match std::mem::take(&mut self.next) {
            Next::SecretUntil(quote, before) => {
                let secret = format!("{before} {}", bare(word));
                let ends = word
                    .trim_end_matches(|one| one != quote && AROUND.contains(&one))
                    .ends_with(quote);
                match ends {
                    true => self.found.push(secret),
                    false => self.next = Next::SecretUntil(quote, secret),
                }
                return HIDDEN.into();
            }
            Next::SecretOfHeader if is_scheme(bare(word)) => {
                self.next = Next::SecretOfHeader;
                return word.to_string();
            }
            Next::SecretOfHeader => return self.hidden("", word),
            Next::Secret if !word.starts_with("--") => return self.hidden("", word),
            Next::SecretByForm if looks_secret(word) => return self.hidden("", word),
            _ => {}
        }
        if is_known_key(bare(word)) {
            return self.hidden("", word);
        }
        self.assignment(word)
            .or_else(|| self.header(word))
            .unwrap_or_else(|| self.other(word))
    }

    /// `NAME=VALUE`, if the value is a secret.
    fn assignment(&mut self, word: &str) -> Option<String> {
        let (name, value) = word
            .split_once('=')
            .filter(|(name, _)| !name.contains("://"))?;
        let is_secret = is_secret_name(bare(name)) || is_known_key(bare(value));
        (is_secret && !value.is_empty()).then(|| self.hidden(&format!("{name}="), value))
    }

    /// `NAME:`, or `NAME:VALUE`, of a header or a member of JSON whose name says that its value is secret.
    fn header(&mut self, word: &str) -> Option<String> {
        let (name, value) = word
            .split_once(':')
            .filter(|(_, value)| !value.starts_with("//"))?;
        if !is_secret_name(bare(name)) {
            return None;
        }
        if bare(value).is_empty() {
            self.next = Next::SecretOfHeader;
            return Some(word.to_string());
        }
        // `module.auth:function` is no header.
        let is_header = name.contains('-') || name.contains('"') || is_token_like(bare(value));
        is_header.then(|| self.hidden(&format!("{name}:"), value))
    }

    fn other(&mut self, word: &str) -> String {
        if bare(word).eq_ignore_ascii_case("bearer") {
            self.next = Next::Secret;
        } else if word.starts_with('-') && !word.contains('=') && is_secret_name(word) {
            self.next = if is_secret_flag(word) {
                Next::SecretByForm
            } else {
                Next::Secret
            };
        }
        if let Some((scheme, rest)) = bare(word).split_once("://") {
            let before = scheme
                .rfind(|one: char| !one.is_ascii_alphanumeric())
                .map_or(0, |at| at + 1);
            self.found.extend(secrets_in_address(&format!(
                "{}://{rest}",
                &scheme[before..]
            )));
        }
        address_without_secrets(word)
    }

    /// Hides a value, and what follows it up to the end of a quote that begins with it.
    fn hidden(&mut self, before: &str, value: &str) -> String {
        let opened = value.chars().next().filter(|one| ['"', '\''].contains(one));
        match opened.filter(|quote| value.matches(*quote).count() == 1) {
            Some(quote) => self.next = Next::SecretUntil(quote, bare(value).to_string()),
            None => self.found.push(bare(value).to_string()),
        }
        format!("{before}{HIDDEN}")
    }
}

/// A word without the quotes and brackets around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|one: char| AROUND.contains(&one) || one.is_whitespace())
}

/// Whether a word after an option that may have no value is that option's secret value.
fn looks_secret(word: &str) -> bool {
    let word = bare(word);
    let has_parts = word
        .split_once(['=', ':'])
        .is_some_and(|(name, _)| !name.contains(['.', '/', '-']));
    let is_number = word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    !word.contains("://") && (is_token_like(word) || has_parts || is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(argv: &[&str]) -> (String, Vec<String>) {
        let argv: Vec<String> = argv.iter().map(|word| word.to_string()).collect();
        (
            command_without_secrets(&argv).join(" "),
            secrets_in_command(&argv),
        )
    }

    #[test]
    fn secrets_inside_of_a_word_are_hidden() {
        for (argv, expected, secret) in [
            (
                &["sh", "-c", "agent --api-key canary"][..],
                "sh -c agent --api-key …",
                "canary",
            ),
            (
                &["sh", "-c", "TOKEN=canary ./agent -n 1"],
                "sh -c TOKEN=… ./agent -n 1",
                "canary",
            ),
            (
                &["sh", "-c", "agent --key 'canary two' -n"],
                "sh -c agent --key … … -n",
                "canary two",
            ),
            (
                &["a", "--header", "Authorization: Bearer canary"],
                "a --header Authorization: Bearer …",
                "canary",
            ),
            (
                &["a", "-H", "x-api-key: canary"],
                "a -H x-api-key: …",
                "canary",
            ),
            (
                &["a", "-H", "x-api-key:canary"],
                "a -H x-api-key:…",
                "canary",
            ),
            (
                &["a", "--header=Authorization: Bearer canary", "b"],
                "a --header=Authorization: Bearer … b",
                "canary",
            ),
            (
                &["sh", "-c", "curl -H \"Authorization: canary\" u"],
                "sh -c curl -H \"Authorization: … u",
                "canary",
            ),
            (
                &["a", "{\"api_key\": \"canary\", \"n\": 1}"],
                "a {\"api_key\": … \"n\": 1}",
                "canary",
            ),
            (
                &["a", "{\"api_key\":\"canary\"}"],
                "a {\"api_key\":…",
                "canary",
            ),
            (
                &["a", "--url=http://me:canary@h/x"],
                "a --url=http://…@h/x",
                "canary",
            ),
            (
                &["a", "see http://h/?key=canary now"],
                "a see http://h/?key=… now",
                "canary",
            ),
        ] {
            let (line, secrets) = shown(argv);
            assert_eq!(line, expected);
            assert!(
                secrets.iter().any(|one| one == secret),
                "{expected}: {secrets:?}"
            );
        }
    }

    /// Otherwise two agents have the same specification, and `--resume` mixes their results.
    #[test]
    fn only_secret_values_after_options_are_masked() {
        for argv in [
            &["a", "--private", "customer-v1"][..],
            &["a", "--auth", "agents/first.py"],
            &["a", "--cookie", "first"],
            &["a", "--pin", "desk.agent:root"],
            &["a", "--api-key", "--agent=first"],
            &["uvicorn", "app.auth:first"],
            &["sh", "-c", "agent --private first"],
            &["a", "basic", "first"],
        ] {
            assert_eq!(shown(argv).0, argv.join(" "));
        }
        for (argv, expected) in [
            (["a", "--cookie", "sid=canary"], "a --cookie …"),
            (["a", "--pin", "100234"], "a --pin …"),
            (["a", "--auth", "me:canary"], "a --auth …"),
            (["a", "--private", "3f9a8b7c6d5e4f3a2b1c"], "a --private …"),
            (["a", "--password", "first"], "a --password …"),
        ] {
            assert_eq!(shown(&argv).0, expected);
        }
    }
}
