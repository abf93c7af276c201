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
        let more = if self.count > self.names.len() { ", …" } else { "" };
        let names = names.join(", ");
        write!(
            out,
            "{} {objects} left out, whose keys cannot be paths of files here: {names}{more}",
            self.count
        )
    }
}
