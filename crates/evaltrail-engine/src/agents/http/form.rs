//! Forms as bodies of requests.

use crate::agents::messages::text_of;
use evaltrail_core::domain::FormEncoding;
use serde_json::Value;

/// The content type and the bytes of a form. The members of `fields` are its fields; those that are null are left out.
pub(super) fn encoded(fields: &Value, encoding: FormEncoding) -> (String, Vec<u8>) {
    let members = fields
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, value)| !value.is_null());
    let fields: Vec<(&str, String)> = members
        .map(|(name, value)| (name.as_str(), text_of(value)))
        .collect();
    match encoding {
        FormEncoding::Urlencoded => {
            let text = url::form_urlencoded::Serializer::new(String::new())
                .extend_pairs(fields)
                .finish();
            (
                "application/x-www-form-urlencoded".into(),
                text.into_bytes(),
            )
        }
        FormEncoding::Multipart => {
            let boundary = format!("evaltrail-{}", uuid::Uuid::new_v4().simple());
            let mut body = String::new();
            for (name, value) in fields {
                body.push_str(&format!(
                    "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"\r\n\r\n{value}\r\n",
                    quoted(name)
                ));
            }
            body.push_str(&format!("--{boundary}--\r\n"));
            (
                format!("multipart/form-data; boundary={boundary}"),
                body.into_bytes(),
            )
        }
    }
}

/// A name in quotes, escaped as browsers do.
fn quoted(name: &str) -> String {
    name.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn forms_are_encoded() {
        let fields = json!({"message": "a&b=ü", "stream": false, "n": 2, "none": null});
        let (kind, bytes) = encoded(&fields, FormEncoding::Urlencoded);
        assert_eq!(kind, "application/x-www-form-urlencoded");
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            "message=a%26b%3D%C3%BC&stream=false&n=2"
        );
        let (kind, bytes) = encoded(&json!({"a\"": "x\r\n"}), FormEncoding::Multipart);
        let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
        let expected = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"a%22\"\r\n\r\nx\r\n\r\n--{boundary}--\r\n"
        );
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }
}
