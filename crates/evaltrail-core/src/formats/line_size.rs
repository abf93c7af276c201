//! The limit of the length of a line.

/// Largest line of a file that is parsed as a whole, in bytes. A value takes several times the memory of its text.
pub const MAX_LINE: usize = 32 << 20;

/// Errors: the line is longer than [`MAX_LINE`]; the message has its size and the limit.
pub fn check_line_size(line: &str) -> Result<(), String> {
    // Rounded up, so that a size above the limit is not shown as the limit.
    let mega = |bytes: usize| bytes.div_ceil(1 << 20);
    match line.len() > MAX_LINE {
        true => Err(format!(
            "the line has {} MB; the limit is {} MB",
            mega(line.len()),
            mega(MAX_LINE)
        )),
        false => Ok(()),
    }
}
