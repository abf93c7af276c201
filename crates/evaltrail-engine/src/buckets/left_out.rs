//! Keys of objects that cannot be paths of files.

use std::fmt;

/// The number of keys that are named.
const NAMED: usize = 3;
/// The number of characters of a key that are shown.
const SHOWN: usize = 120;

/// Keys that were left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LeftOut {
    /// Their number.
    pub count: usize,
    /// The first of them, shortened. They may contain any character.
    pub names: Vec<String>,
}

impl LeftOut {
    /// Counts a key.
    pub fn add(&mut self, key: &str) {
        self.count += 1;
        if self.names.len() < NAMED {
            let shown: String = key.chars().take(SHOWN).collect();
            let cut = if shown.len() < key.len() { "…" } else { "" };
            self.names.push(format!("{shown}{cut}"));
        }
    }

    /// Counts the keys of another listing, too.
    pub fn extend(&mut self, other: LeftOut) {
        self.count += other.count;
        self.names.extend(other.names);
        self.names.truncate(NAMED);
    }
}

impl fmt::Display for LeftOut {
    /// One line: `2 objects left out, whose keys cannot be paths of files here: "a//b", "c/../d"`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let objects = if self.count == 1 { "object" } else { "objects" };
        let names: Vec<String> = self.names.iter().map(|name| format!("{name:?}")).collect();
        let more = if self.count > self.names.len() {
            ", …"
        } else {
            ""
        };
        let names = names.join(", ");
        write!(
            out,
            "{} {objects} left out, whose keys cannot be paths of files here: {names}{more}",
            self.count
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_out(keys: &[&str]) -> LeftOut {
        let mut left_out = LeftOut::default();
        keys.iter().for_each(|key| left_out.add(key));
        left_out
    }

    #[test]
    fn first_keys_are_named_others_counted() {
        let words = "left out, whose keys cannot be paths of files here:";
        assert_eq!(
            left_out(&["a//b"]).to_string(),
            format!("1 object {words} \"a//b\"")
        );
        assert_eq!(
            left_out(&["a", "b", "c"]).to_string(),
            format!("3 objects {words} \"a\", \"b\", \"c\"")
        );
        assert_eq!(
            left_out(&["a", "b", "c", "d"]).to_string(),
            format!("4 objects {words} \"a\", \"b\", \"c\", …")
        );
    }

    #[test]
    fn long_keys_are_cut() {
        let (whole, long) = ("ä".repeat(SHOWN), "ä".repeat(SHOWN + 1));
        assert_eq!(
            left_out(&[&whole, &long]).names,
            [whole.clone(), format!("{whole}…")]
        );
    }

    #[test]
    fn the_keys_of_several_listings_are_added() {
        let mut all = left_out(&["a", "b"]);
        all.extend(left_out(&["c", "d"]));
        assert_eq!(all, left_out(&["a", "b", "c", "d"]));
    }
}
