//! Keys: read from the environment or from an allowed file, sent in headers, never shown.

use std::fmt;

/// A key.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// A shorter key is not masked, since it cannot be distinguished from other text.
const SHORTEST: usize = 4;

impl Secret {
    pub(super) fn new(value: String) -> Secret {
        Secret(value.trim().to_string())
    }

    /// The key itself, for a header.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }

    /// A text with the key masked, as it is and in its URL-encoded form.
    pub fn mask(&self, text: &str) -> String {
        if self.0.len() < SHORTEST {
            return text.to_string();
        }
        let spelt: String = url::form_urlencoded::byte_serialize(self.0.as_bytes()).collect();
        text.replace(&self.0, "[key]").replace(&spelt, "[key]")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_never_shown() {
        let key = Secret::new(" sk/abc+1\n".into());
        assert_eq!(format!("{key:?}"), "Secret(***)");
        assert_eq!(key.mask("a sk/abc+1 b ?key=sk%2Fabc%2B1"), "a [key] b ?key=[key]");
        assert_eq!(Secret::new("x".into()).mask("xyz"), "xyz");
    }
}
