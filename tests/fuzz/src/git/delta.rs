//! How one content comes from another, as packs write it.

/// Writes a delta: what both contents begin with, then the rest of the second.
pub(super) fn between(from: &[u8], to: &[u8]) -> Vec<u8> {
    let same = from.iter().zip(to).take_while(|(one, other)| one == other).count().min(0xffff);
    let mut delta = [length(from.len()), length(to.len())].concat();
    if same > 0 {
        let [low, high] = u16::try_from(same).expect("cut above").to_le_bytes();
        delta.extend_from_slice(&[0b1011_0000, low, high]);
    }
    for part in to[same..].chunks(127) {
        delta.push(u8::try_from(part.len()).expect("a part fits"));
        delta.extend_from_slice(part);
    }
    delta
}

/// The most bytes that come of a delta here.
const MOST: usize = 1 << 20;

/// Follows a delta; `None` when it is none.
pub(super) fn applied(from: &[u8], delta: &[u8]) -> Option<Vec<u8>> {
    let mut rest = delta.iter().copied();
    let (before, after) = (read_length(&mut rest)?, read_length(&mut rest)?);
    let mut content = Vec::new();
    while let Some(code) = rest.next() {
        if code & 128 == 0 {
            let part: Vec<u8> = rest.by_ref().take(usize::from(code)).collect();
            (code > 0 && part.len() == usize::from(code)).then_some(())?;
            content.extend(part);
        } else {
            let (at, count) = copied(code, &mut rest)?;
            content.extend_from_slice(from.get(at..at.checked_add(count)?)?);
        }
        (content.len() <= MOST).then_some(())?;
    }
    (before == from.len() && after == content.len()).then_some(content)
}

/// Reads where a copy begins and how long it is: the code tells which of their bytes are there.
fn copied(code: u8, rest: &mut impl Iterator<Item = u8>) -> Option<(usize, usize)> {
    let mut bytes = [0; 8];
    for bit in (0..7).filter(|bit| code >> bit & 1 == 1) {
        bytes[bit] = rest.next()?;
    }
    let [a, b, c, d, length @ ..] = bytes;
    let count = u32::from_le_bytes(length);
    let count = if count == 0 { 0x10000 } else { count };
    Some((usize::try_from(u32::from_le_bytes([a, b, c, d])).ok()?, usize::try_from(count).ok()?))
}

fn length(mut length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = u8::try_from(length & 127).expect("seven bits");
        length >>= 7;
        bytes.push(if length > 0 { byte | 128 } else { byte });
        if length == 0 {
            return bytes;
        }
    }
}

fn read_length(rest: &mut impl Iterator<Item = u8>) -> Option<usize> {
    let mut length = 0;
    for shift in (0..56).step_by(7) {
        let byte = rest.next()?;
        length |= usize::from(byte & 127) << shift;
        if byte & 128 == 0 {
            return Some(length);
        }
    }
    None
}
