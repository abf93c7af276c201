//! The fields of a message of Protobuf.

use super::batch::UnusableBatch;

/// The value of a field.
#[derive(Debug, PartialEq)]
pub(super) enum WireField<'a> {
    Varint(u64),
    Fixed64(u64),
    /// A text, bytes, or a message.
    Bytes(&'a [u8]),
    Fixed32,
}

/// The fields of a message with their numbers. Nothing follows an error.
pub(super) struct WireFields<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for WireFields<'a> {
    type Item = Result<(u32, WireField<'a>), UnusableBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(
            field.ok_or_else(|| UnusableBatch::Invalid("the message is not valid Protobuf".into())),
        )
    }
}

impl<'a> WireFields<'a> {
    /// The next field; `None` if it is broken.
    fn field(&mut self) -> Option<(u32, WireField<'a>)> {
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).ok().filter(|number| *number > 0)?;
        let field = match key & 7 {
            0 => WireField::Varint(self.varint()?),
            1 => WireField::Fixed64(u64::from_le_bytes(self.bytes(8)?.try_into().ok()?)),
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                WireField::Bytes(self.bytes(length)?)
            }
            5 => {
                self.bytes(4)?;
                WireField::Fixed32
            }
            _ => return None,
        };
        Some((number, field))
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for at in 0..10 {
            let byte = *self.bytes(1)?.first()?;
            value |= u64::from(byte & 0x7f) << (7 * at);
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }
}
