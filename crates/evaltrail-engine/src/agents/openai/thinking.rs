//! Thoughts that a local model writes into its response, between tags.

/// The tags in use, without brackets.
const TAGS: [&str; 3] = ["think", "thinking", "reasoning"];

/// The text without thoughts between `<think>` and `</think>` (or `thinking`, `reasoning`) at its beginning, and the thoughts.
/// The first tag may be missing, because templates write it into the prompt; the last one, if the response was cut.
pub(super) fn without_thoughts(text: &str) -> (String, Vec<String>) {
    let mut thoughts = Vec::new();
    let mut rest = text;
    while let Some((thought, after)) = first_thought(rest, thoughts.is_empty()) {
        thoughts.push(thought.trim().to_string());
        rest = after;
    }
    match thoughts.is_empty() {
        true => (text.to_string(), thoughts),
        false => (rest.trim_start().to_string(), thoughts),
    }
}

/// The thought at the beginning of a text, and what comes after it.
fn first_thought(text: &str, is_beginning: bool) -> Option<(&str, &str)> {
    for tag in TAGS {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        let begun = text.trim_start().strip_prefix(open.as_str());
        match (begun, text.split_once(close.as_str())) {
            (Some(inner), _) => {
                return Some(inner.split_once(close.as_str()).unwrap_or((inner, "")));
            }
            (None, Some((before, after)))
                if is_beginning && !before.contains(open.as_str()) && tag == "think" =>
            {
                return Some((before, after));
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_separated_from_the_response() {
        for (text, response, thoughts) in [
            (
                "<think>hm hm</think>The answer is 4.",
                "The answer is 4.",
                vec!["hm hm"],
            ),
            (
                "\n<think>\na\n</think>\n\n<think>b</think> 4",
                "4",
                vec!["a", "b"],
            ),
            ("hm</think>\n4", "4", vec!["hm"]),
            ("<think>cut of", "", vec!["cut of"]),
            ("<thinking>x</thinking>4", "4", vec!["x"]),
            (
                "Write <think>x</think> around it.",
                "Write <think>x</think> around it.",
                vec![],
            ),
            (" plain ", " plain ", vec![]),
        ] {
            let found = without_thoughts(text);
            assert_eq!(
                found,
                (
                    response.to_string(),
                    thoughts.into_iter().map(String::from).collect()
                ),
                "{text}"
            );
        }
    }
}
