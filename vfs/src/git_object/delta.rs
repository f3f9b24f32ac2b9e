//! The format of a delta (gitformat-pack(5)).

use std::ops::Range;

/// What a copy without a size takes.
const COPY: usize = 0x1_0000;

/// git takes none that is shorter.
const SHORTEST: usize = 4;

/// Returns the sizes that a delta says its base and its result have, and its instructions.
pub(super) fn sizes(delta: &[u8]) -> Option<(u64, u64, &[u8])> {
    (delta.len() >= SHORTEST).then_some(())?;
    let (base, rest) = size(delta)?;
    let (result, rest) = size(rest)?;
    Some((base, result, rest))
}

fn size(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let length = bytes.iter().take(9).position(|byte| byte & 0x80 == 0)? + 1;
    let digits = bytes.get(..length)?.iter().rev();
    let size = digits.fold(0, |size, byte| size << 7 | u64::from(byte & 0x7f));
    Some((size, bytes.get(length..)?))
}

/// Makes a result of exactly so many bytes.
pub(super) fn apply(base: &[u8], mut instructions: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut result = Vec::new();
    result.try_reserve_exact(size).ok()?;
    while let Some((first, rest)) = instructions.split_first() {
        let (part, rest) = match *first {
            0 => return None,
            copy if copy & 0x80 != 0 => {
                let (range, rest) = range(copy, rest)?;
                (base.get(range)?, rest)
            }
            length => rest.split_at_checked(length.into())?,
        };
        if result.len() + part.len() > size {
            return None;
        }
        result.extend_from_slice(part);
        instructions = rest;
    }
    (result.len() == size).then_some(result)
}

/// Reads what is copied: bits say which bytes of the place and the size follow.
fn range(bits: u8, mut rest: &[u8]) -> Option<(Range<usize>, &[u8])> {
    let (mut place, mut size) = (0_usize, 0_usize);
    for bit in (0..7).filter(|bit| bits & 1 << bit != 0) {
        let (byte, after) = rest.split_first()?;
        rest = after;
        match bit {
            0..4 => place |= usize::from(*byte) << (8 * bit),
            _ => size |= usize::from(*byte) << (8 * (bit - 4)),
        }
    }
    let size = if size == 0 { COPY } else { size };
    Some((place..place + size, rest))
}
