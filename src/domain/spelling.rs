//! The spellings of a secret in texts of other forms.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};
use serde_json::Value;
use std::collections::BTreeSet;

/// The characters besides letters and digits that are not encoded: in a form, in an address, and by `encodeURIComponent`.
const UNRESERVED: [&str; 3] = ["*-._", "-._~", "-_.!~*'()"];

/// A secret as it is, as it is in an address, in a text of JSON, in a text of JSON within another one, and in Base64, also if
/// other bytes stand before or after it (`user:KEY`).
pub(super) fn spellings(value: &str) -> BTreeSet<String> {
    let in_json = |text: &str| {
        let quoted = Value::from(text).to_string();
        quoted[1..quoted.len() - 1].to_string()
    };
    let once = in_json(value);
    let mut all: BTreeSet<String> = [value.to_string(), in_json(&once), once].into();
    for unreserved in UNRESERVED {
        let upper = percent_encoded(value, unreserved, "0123456789ABCDEF");
        let lower = percent_encoded(value, unreserved, "0123456789abcdef");
        all.extend([upper.replace("%20", "+"), lower.replace("%20", "+"), upper, lower]);
    }
    for engine in [BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD] {
        all.insert(engine.encode(value));
        all.extend((0..3).map(|before| {
            // The characters that contain only bits of the value.
            let bytes = [vec![0; before], value.as_bytes().to_vec()].concat();
            engine.encode(&bytes)[(before * 8).div_ceil(6)..bytes.len() * 8 / 6].to_string()
        }));
    }
    all
}

fn percent_encoded(value: &str, unreserved: &str, digits: &str) -> String {
    let digit = |four_bits: u8| char::from(digits.as_bytes()[usize::from(four_bits & 15)]);
    let mut out = String::new();
    for byte in value.bytes() {
        match byte.is_ascii_alphanumeric() || unreserved.as_bytes().contains(&byte) {
            true => out.push(char::from(byte)),
            false => out.extend(['%', digit(byte >> 4), digit(byte)]),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::domain::Secrets;
    use base64::Engine;
    use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE};

    #[test]
    fn a_secret_is_found_in_base64_at_every_place() {
        let key = "canary~12/é?>";
        let known = Secrets::of([key.to_string()]);
        for before in ["", "u", "us", "use", "user:", "user1:"] {
            for after in ["", "x", "xy", "xyz"] {
                let text = format!("{before}{key}{after}");
                for encoded in [BASE64_STANDARD.encode(&text), BASE64_URL_SAFE.encode(&text)] {
                    let masked = known.mask(&encoded);
                    assert!(
                        masked.contains("[redacted]") && masked.len() < encoded.len() + 4,
                        "{text}: {masked}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_secret_is_found_percent_encoded_in_both_cases() {
        let known = Secrets::of(["a/b c~é!".to_string()]);
        for text in [
            "a%2Fb%20c~%C3%A9!",
            "a%2fb%20c~%c3%a9!",
            "a%2Fb+c%7E%C3%A9%21",
            "a%2fb+c%7e%c3%a9%21",
            "a%2fb%20c~%c3%a9%21",
        ] {
            assert_eq!(known.mask(text), "[redacted]", "{text}");
        }
    }
}
