//! The spellings of a secret that no decoding of escapes finds.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};
use std::collections::BTreeSet;

/// A secret unchanged, form-encoded (`+` for a blank), in hexadecimal digits, and in Base64, also with other bytes before
/// or after it (`user:KEY`).
pub(super) fn spellings(value: &str) -> BTreeSet<String> {
    let hexadecimal: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut all: BTreeSet<String> = [
        value.to_string(),
        value.replace(' ', "+"),
        hexadecimal.to_uppercase(),
        hexadecimal,
    ]
    .into();
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

#[cfg(test)]
mod tests {
    use crate::domain::Secrets;
    use base64::Engine;
    use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE};

    #[test]
    fn a_secret_is_found_in_base64_at_every_offset() {
        let key = "canary~12/é?>";
        let known = Secrets::new([key.to_string()]);
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

    /// The forms that programs in Go, Java, .NET, PHP and Python, and web pages, write.
    #[test]
    fn escaped_secret_is_masked_in_every_form() {
        let known = Secrets::new(["canary/k+1&x=<y>'\"==".to_string()]);
        for text in [
            r#"canary/k+1\u0026x=\u003cy\u003e'\"=="#,
            r#"canary/k+1\u0026x\u003d\u003cy\u003e\u0027\"\u003d\u003d"#,
            r#"canary/k\u002B1\u0026x=\u003Cy\u003E\u0027\u0022=="#,
            r#"canary\/k+1&x=<y>'\"=="#,
            r#"canary\\/k+1&x=<y>'\\\"=="#,
            r#"canary/k+1&x=<y>\'"=="#,
            "canary/k%2B1%26x%3D%3Cy%3E%27%22%3D%3D",
            "canary/k+1&x=%3Cy%3E'%22==",
            "canary%252Fk%252B1%2526x%253D%253Cy%253E%2527%2522%253D%253D",
            "canary/k+1&amp;x=&lt;y&gt;&#x27;&quot;==",
            "63616e6172792f6b2b3126783d3c793e27223d3d",
        ] {
            assert_eq!(known.mask(text), "[redacted]", "{text}");
        }
        let in_base64 = Secrets::new(["???>>>canary".to_string()]);
        assert_eq!(in_base64.mask(r"Pz8\/Pj4+Y2FuYXJ5"), "[redacted]", "of PHP");
        assert_eq!(in_base64.mask("Pz8%2FPj4%2BY2FuYXJ5"), "[redacted]");
        assert_eq!(known.mask(r"100 % of a \ b & c"), r"100 % of a \ b & c");
    }

    #[test]
    fn secret_in_any_percent_encoding_is_masked() {
        let known = Secrets::new(["a/b c~é!".to_string()]);
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
