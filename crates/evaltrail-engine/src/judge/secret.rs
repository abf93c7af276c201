//! Keys: read from the environment or from an allowed file, sent in headers, never shown.

use evaltrail_core::domain::{Secrets, is_ordinary_value};
use std::fmt;

/// A key.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub(super) fn new(value: String) -> Secret {
        Secret(value.trim().to_string())
    }

    /// The key itself, for a header.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }

    /// A text without the key, in all its spellings. A short text, a word or a short number is not replaced, since it occurs in
    /// other texts, too: the judge's answer would change.
    pub fn mask(&self, text: &str) -> String {
        let key = (!is_ordinary_value(&self.0)).then(|| self.0.clone());
        Secrets::new(key).mask(text).into_owned()
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
    fn secret_is_never_formatted() {
        let key = Secret::new(" sk/abc+1\n".into());
        let answer = r#"{"verdict": "valid", "reason": null, "score": 0.100000, "id": 123456}"#;
        for ordinary in [
            "null",
            "valid",
            "reason",
            "verdict",
            "123456",
            "x",
            "0.1",
            "[redacted]",
        ] {
            assert_eq!(
                Secret::new(ordinary.into()).mask(answer),
                answer,
                "{ordinary}"
            );
        }
        assert_eq!(format!("{key:?}"), "Secret(***)");
        assert_eq!(
            key.mask("a sk/abc+1 b ?key=sk%2Fabc%2B1"),
            "a [redacted] b ?key=[redacted]"
        );
        assert_eq!(Secret::new("x".into()).mask("xyz"), "xyz");
    }
}
