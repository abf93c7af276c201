//! A change of a text, as a list of replacements.

use serde::{Deserialize, Serialize};

/// A replacement of a part of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Splice {
    /// Byte offset in the text before the change.
    pub at: usize,
    /// The text that is replaced.
    pub old: String,
    /// The text that replaces it.
    pub new: String,
}

/// A change of a text: replacements in order that do not overlap. It can be inverted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextChange(pub Vec<Splice>);

impl TextChange {
    /// A change with one replacement, reduced to the part that differs.
    pub fn one(at: usize, old: &str, new: &str) -> TextChange {
        let same = old
            .bytes()
            .zip(new.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        let same = old
            .floor_char_boundary(same)
            .min(new.floor_char_boundary(same));
        let (old, new) = (&old[same..], &new[same..]);
        let tail = old
            .bytes()
            .rev()
            .zip(new.bytes().rev())
            .take_while(|(a, b)| a == b)
            .count();
        let from = |text: &str| text.ceil_char_boundary(text.len() - tail);
        let tail = (old.len() - from(old)).min(new.len() - from(new));
        let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
        if old.is_empty() && new.is_empty() {
            return TextChange::default();
        }
        TextChange(vec![Splice {
            at: at + same,
            old: old.into(),
            new: new.into(),
        }])
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text after the change; `None` when the change does not belong to this text.
    pub fn apply(&self, text: &str) -> Option<String> {
        let grown: usize = self.0.iter().map(|splice| splice.new.len()).sum();
        let mut out = String::with_capacity(text.len() + grown);
        let mut at = 0;
        for splice in &self.0 {
            out.push_str(text.get(at..splice.at)?);
            at = splice.at + splice.old.len();
            if text.get(splice.at..at)? != splice.old {
                return None;
            }
            out.push_str(&splice.new);
        }
        out.push_str(text.get(at..)?);
        Some(out)
    }

    /// The change that undoes this one.
    pub fn inverse(&self) -> TextChange {
        let mut grown: isize = 0;
        let turned = self.0.iter().map(|splice| {
            let at = splice.at.saturating_add_signed(grown);
            grown += splice.new.len() as isize - splice.old.len() as isize;
            Splice {
                at,
                old: splice.new.clone(),
                new: splice.old.clone(),
            }
        });
        TextChange(turned.collect())
    }

    /// Creates a change from replacements in any order.
    pub(super) fn new(mut splices: Vec<Splice>) -> TextChange {
        splices.retain(|splice| splice.old != splice.new);
        // At the same position, insertions come before removals. The sort is stable.
        splices.sort_by_key(|splice| (splice.at, !splice.old.is_empty()));
        TextChange(splices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_change_is_taken_back(old in "[aä\u{1F600}b]{0,8}", new in "[aä\u{1F600}b]{0,8}") {
            let text = format!("<{old}>");
            let change = TextChange::one(1, &old, &new);
            let changed = change.apply(&text).unwrap();
            prop_assert_eq!(&changed, &format!("<{new}>"));
            prop_assert_eq!(change.inverse().apply(&changed).unwrap(), text);
        }
    }

    #[test]
    fn only_differences_are_replaced() {
        let change = TextChange::one(10, "device_2", "device_3");
        assert_eq!(
            change.0,
            [Splice {
                at: 17,
                old: "2".into(),
                new: "3".into()
            }]
        );
        assert!(TextChange::one(0, "é", "é").is_empty());
        assert_eq!(TextChange::one(0, "é", "è").0[0].old, "é");
        assert_eq!(
            TextChange(vec![Splice {
                at: 0,
                old: "x".into(),
                new: String::new()
            }])
            .apply("y"),
            None
        );
    }
}
