//! The first bytes of a file as text.

/// Number of bytes of a file that are needed for the detection.
pub const FILE_START: usize = 8 << 10;

/// The text of a file's bytes: UTF-8, or UTF-16 with a byte order mark or with the zeros of plain letters. Invalid bytes
/// are replaced.
pub fn decoded_text(bytes: &[u8]) -> String {
    match utf16(bytes) {
        Some((skip, unit)) => {
            let units = bytes[skip..]
                .chunks_exact(2)
                .map(|pair| unit([pair[0], pair[1]]));
            char::decode_utf16(units)
                .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect()
        }
        None => String::from_utf8_lossy(bytes).into_owned(),
    }
}

type DecodeUnit = fn([u8; 2]) -> u16;

/// The length of the byte order mark and the order of the bytes of a text in UTF-16. `None` for any other text.
fn utf16(bytes: &[u8]) -> Option<(usize, DecodeUnit)> {
    match bytes {
        [0xff, 0xfe, ..] => Some((2, u16::from_le_bytes)),
        [0xfe, 0xff, ..] => Some((2, u16::from_be_bytes)),
        [1..0x80, 0, 1..0x80, 0, ..] => Some((0, u16::from_le_bytes)),
        [0, 1..0x80, 0, 1..0x80, ..] => Some((0, u16::from_be_bytes)),
        _ => None,
    }
}

/// Whether bytes are a text in UTF-16.
pub fn is_utf16(bytes: &[u8]) -> bool {
    utf16(bytes).is_some()
}
