//! Counts in sentences.

/// A count with its noun: "1 case", "2 cases".
pub fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}
