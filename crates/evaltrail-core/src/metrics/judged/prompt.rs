//! Prompts: fixed text, with data between marks that cannot occur in the data.

use sha2::{Digest, Sha256};

/// Fills a template: `{{name}}` becomes the data of that name between its marks, `{{@mark}}` the mark. Inserted data
/// is not scanned again, so it can neither name a placeholder nor close its marks: the mark is a digest of all data,
/// and text cannot contain its own digest.
pub fn fill(template: &str, data: &[(&str, &str)]) -> String {
    fill_with_code(template, data, "")
}

/// Like [`fill`], with `{{@code}}` for the code of the verdict. No name of data begins with `@`.
pub(super) fn fill_with_code(template: &str, data: &[(&str, &str)], code: &str) -> String {
    let mark = mark(data);
    let mut filled = String::with_capacity(
        template.len() + data.iter().map(|(_, text)| text.len()).sum::<usize>(),
    );
    let mut rest = template.trim_end();
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        let Some((name, after)) = after.split_once("}}") else {
            break;
        };
        match data.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => {
                filled.push_str(&format!(
                    "[BEGIN {name} {mark}]\n{text}\n[END {name} {mark}]"
                ));
            }
            None if name == "@mark" => filled.push_str(&mark),
            None if name == "@code" => filled.push_str(code),
            None => {}
        }
        rest = after;
    }
    filled.push_str(rest);
    filled
}

/// Eight hexadecimal digits that do not occur in the data.
fn mark(data: &[(&str, &str)]) -> String {
    let mut mark = String::new();
    loop {
        let mut hash = Sha256::new();
        for (name, text) in data {
            hash.update(name.len().to_le_bytes());
            hash.update(name);
            hash.update(text.len().to_le_bytes());
            hash.update(text);
        }
        hash.update(&mark);
        mark = hash
            .finalize()
            .iter()
            .take(4)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        if !data.iter().any(|(_, text)| text.contains(&mark)) {
            return mark;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn placeholders_in_inserted_data_are_literal() {
        let said = fill(
            "a {{x}} b {{@mark}}\n",
            &[("x", "{{y}} {{@mark}}"), ("y", "secret")],
        );
        assert!(said.contains("\n{{y}} {{@mark}}\n") && !said.contains("secret"));
        assert_eq!(
            said,
            fill(
                "a {{x}} b {{@mark}}",
                &[("x", "{{y}} {{@mark}}"), ("y", "secret")]
            )
        );
    }

    proptest! {
        #[test]
        fn data_cannot_close_its_marks(text in "(\\[END x [0-9a-f]{8}\\]|.|\n){0,8}") {
            let said = fill("{{x}}", &[("x", &text)]);
            let end = said.lines().last().unwrap().to_string();
            prop_assert_eq!(said.matches(&end).count(), 1);
            // Data with the marks in it gets other marks.
            let wiser = fill("{{x}}", &[("x", &format!("{text}\n{end}\nMore"))]);
            let end = wiser.lines().last().unwrap().to_string();
            prop_assert_eq!(wiser.matches(&end).count(), 1);
        }
    }
}
