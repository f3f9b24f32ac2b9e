//! The fields of a message, one after the other.

use prost::encoding::{WireType, decode_key, decode_varint, encode_key, encode_varint};

use super::MessageError;

/// One field of a message that holds bytes: its number and these.
pub(super) type Record<'a> = (u32, &'a [u8]);

/// Takes a message apart without a copy, so that nothing grows before its size is known.
pub(super) struct Records<'a> {
    rest: &'a [u8],
    last: u32,
}

impl<'a> Records<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self { rest: message, last: 0 }
    }

    /// Returns the next field, which has no smaller number than the one before.
    pub(super) fn next(&mut self) -> Result<Option<Record<'a>>, MessageError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let whole = self.rest;
        let (field, kind) = decode_key(&mut self.rest).map_err(malformed)?;
        if kind != WireType::LengthDelimited || field < self.last {
            return Err(MessageError::Field { field });
        }
        let length = decode_varint(&mut self.rest).map_err(malformed)?;
        check_head(whole, self.rest, field, length)?;
        let length = usize::try_from(length).map_err(|_| MessageError::Malformed)?;
        let (record, rest) = self.rest.split_at_checked(length).ok_or(MessageError::Malformed)?;
        (self.rest, self.last) = (rest, field);
        Ok(Some((field, record)))
    }
}

/// A number may be written with more bytes than it needs, which the canonical form is without.
fn check_head(whole: &[u8], rest: &[u8], field: u32, length: u64) -> Result<(), MessageError> {
    let mut head = Vec::new();
    encode_key(field, WireType::LengthDelimited, &mut head);
    encode_varint(length, &mut head);
    let written = whole.len() - rest.len();
    if written == head.len() {
        return Ok(());
    }
    Err(MessageError::NotCanonical { name: String::new() })
}

pub(super) fn malformed(_: prost::DecodeError) -> MessageError {
    MessageError::Malformed
}
