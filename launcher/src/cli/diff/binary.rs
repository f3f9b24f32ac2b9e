//! Contents that are no text, as `git diff --binary` writes them.

use super::blob::Blob;

const DIGITS: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
/// Bytes of a line.
const LINE: usize = 52;

/// Returns the body of a binary patch: the new content, then the old one, so that it can be taken
/// back. Both sides must be at hand.
pub(super) fn body(old: Option<&Blob>, new: Option<&Blob>) -> Option<String> {
    let bytes = |blob: Option<&Blob>| match blob {
        Some(blob) => blob.bytes().map(<[u8]>::to_vec),
        None => Some(Vec::new()),
    };
    let (old, new) = (bytes(old)?, bytes(new)?);
    Some(format!("GIT binary patch\n{}\n{}\n", literal(&new), literal(&old)))
}

fn literal(bytes: &[u8]) -> String {
    let mut text = format!("literal {}\n", bytes.len());
    for line in stored(bytes).chunks(LINE) {
        text.push(length_letter(line.len()));
        text.push_str(&encoded(line));
        text.push('\n');
    }
    text
}

/// `A` to `Z` are 1 to 26, `a` to `z` 27 to 52.
fn length_letter(length: usize) -> char {
    let length = u8::try_from(length).unwrap_or(0);
    char::from(if length <= 26 { b'A' + length.saturating_sub(1) } else { b'a' + length - 27 })
}

/// Five digits for four bytes, the first the highest.
fn encoded(line: &[u8]) -> String {
    let mut text = String::new();
    for chunk in line.chunks(4) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let word = byte(0) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3);
        for power in [52_200_625, 614_125, 7225, 85, 1] {
            let digit = usize::try_from(word / power % 85).unwrap_or(0);
            text.push(DIGITS.get(digit).copied().map_or('0', char::from));
        }
    }
    text
}

/// Wraps bytes as a zlib stream (RFC 1950) of stored blocks (RFC 1951): nothing is compressed.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut chunks = bytes.chunks(usize::from(u16::MAX)).peekable();
    if chunks.peek().is_none() {
        stream.extend([1, 0, 0, 0xff, 0xff]);
    }
    while let Some(chunk) = chunks.next() {
        let length = u16::try_from(chunk.len()).unwrap_or(0);
        stream.push(u8::from(chunks.peek().is_none()));
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend_from_slice(chunk);
    }
    stream.extend(adler32(bytes).to_be_bytes());
    stream
}

fn adler32(bytes: &[u8]) -> u32 {
    const BASE: u32 = 65_521;
    let (mut a, mut b) = (1, 0);
    for byte in bytes {
        a = (a + u32::from(*byte)) % BASE;
        b = (b + a) % BASE;
    }
    b << 16 | a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_of_a_known_text() {
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
        assert_eq!(adler32(b""), 1);
    }

    #[test]
    fn lines_tell_their_length() {
        assert_eq!([1, 26, 27, 52].map(length_letter), ['A', 'Z', 'a', 'z']);
    }

    #[test]
    fn words_become_five_digits() {
        assert_eq!(encoded(&[0, 0, 0, 0]), "00000");
        assert_eq!(encoded(&[0xff, 0xff, 0xff, 0xff]), "|NsC0");
        assert_eq!(encoded(&[1]).len(), 5);
    }
}
