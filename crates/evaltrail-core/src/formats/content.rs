//! The content hash of a case, which shows whether a case was edited since a run.

use super::SetFile;
use xxhash_rust::xxh3::Xxh3;

impl SetFile {
    /// The hash of a case's text without the white space between JSON tokens, so that reindenting a file does not
    /// change it: 32 hexadecimal digits of XXH3-128. Empty when the case cannot be read.
    pub fn content_hash(&self, at: usize) -> String {
        let text = match self.case_text(at) {
            Some(text) => text,
            None => return String::new(),
        };
        let mut hash = Xxh3::new();
        // The same row is another case when other columns of it are read, or when it begins with another session.
        hash.update(self.hashed_context().as_bytes());
        let mut in_string = false;
        let mut escaped = false;
        let mut from = 0;
        let bytes = text.as_bytes();
        for (at, byte) in bytes.iter().enumerate() {
            match (in_string, byte) {
                (true, _) if escaped => escaped = false,
                (true, b'\\') => escaped = true,
                (_, b'"') => in_string = !in_string,
                (false, b' ' | b'\n' | b'\r' | b'\t') => {
                    hash.update(&bytes[from..at]);
                    from = at + 1;
                }
                _ => {}
            }
        }
        hash.update(&bytes[from..]);
        format!("{:032x}", hash.digest128())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn hash(case: &str) -> String {
        let text = format!("{{\"eval_set_id\": \"s\", \"eval_cases\": [{case}]}}");
        SetFile::open(Arc::from(text), "s").unwrap().content_hash(0)
    }

    #[test]
    fn layout_is_no_content_and_everything_else_is() {
        let case = r#"{"eval_id": "a", "conversation": [{"user_content": {"parts": [{"text": "a \" b"}]}}]}"#;
        let spread = case.replace(": ", " :\n\t").replace("[{", "[\r\n {");
        assert_eq!(hash(case), hash(&spread));
        assert_ne!(
            hash(case),
            hash(&case.replace("a \\\" b", "a  \\\" b")),
            "white space in a text counts"
        );
        assert_ne!(
            hash(case),
            hash(&case.replace("eval_id\": \"a", "eval_id\": \"b"))
        );
        assert_eq!(hash(case).len(), 32);
    }

    #[test]
    fn content_hash_includes_columns_and_session() {
        let text = "{\"prompt\": \"a\", \"other\": \"b\"}\n{\"prompt\": \"c\", \"other\": \"d\"}\n";
        let open = |columns: &str| {
            let columns = crate::formats::ColumnMap::parse(columns).unwrap();
            let read_as = crate::formats::FileHints {
                is_lines: true,
                columns,
            };
            SetFile::open_as(Arc::from(text), "s", &read_as).unwrap()
        };
        assert_ne!(
            open("").content_hash(0),
            open("prompt=other").content_hash(0)
        );
        let session = crate::domain::SessionInput {
            user_id: "u".into(),
            ..Default::default()
        };
        let given = open("").with_session(Some(Arc::new(session.clone())));
        assert_ne!(open("").content_hash(0), given.content_hash(0));
        assert_eq!(given.case(0).unwrap().session_input, Some(session));
        assert_eq!(open("").case(0).unwrap().session_input, None);
    }

    #[test]
    fn rows_of_every_form_have_a_hash_of_their_own() {
        for text in [
            "{\"prompt\": \"a\", \"response\": \"b\"}\n{\"prompt\": \"a\", \"response\": \"c\"}\n",
            "prompt,response\na,b\na,c\n",
            "[{\"prompt\": \"a\", \"response\": \"b\"}, {\"prompt\": \"a\", \"response\": \"c\"}]",
        ] {
            let file = SetFile::open(Arc::from(text), "s").unwrap();
            assert_eq!(file.len(), 2, "{text}");
            assert!(!file.content_hash(0).is_empty());
            assert_ne!(file.content_hash(0), file.content_hash(1), "{text}");
            assert_eq!(file.content_hash(2), "");
        }
    }
}
