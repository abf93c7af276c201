//! Keys: taken from the environment or from a file that was allowed, sent as headers, shown nowhere.

use std::fmt;

/// A key.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// A shorter key is none that could be told from other words.
const SHORTEST: usize = 4;

impl Secret {
    pub(super) fn new(value: String) -> Secret {
        Secret(value.trim().to_string())
    }

    /// The key itself, for the header it belongs in.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }

    /// A text without the key, as it is or as an address would spell it.
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
