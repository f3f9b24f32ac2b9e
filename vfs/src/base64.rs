//! Base64, for the names that are no text.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns the text of some bytes, padded.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |number: usize| u32::from(chunk.get(number).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for (number, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let digit = usize::try_from(word >> shift & 63).ok().and_then(|at| DIGITS.get(at));
            let digit = digit.filter(|_| number <= chunk.len()).copied();
            text.push(digit.map_or('=', char::from));
        }
    }
    text
}

/// Returns the bytes of a text; `None` when it is not what [`encode`] makes.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut word, mut bits) = (0u32, 0u32);
    for digit in digits.bytes() {
        let value = DIGITS.iter().zip(0u32..).find(|(it, _)| **it == digit)?.1;
        (word, bits) = (word << 6 | value, bits + 6);
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(word >> bits & 255).ok()?);
            word &= (1 << bits) - 1;
        }
    }
    (encode(&bytes) == text).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{decode, encode};

    #[test]
    fn known_texts() {
        for (plain, coded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(encode(plain.as_bytes()), coded);
            assert_eq!(decode(coded).as_deref(), Some(plain.as_bytes()));
        }
        for wrong in ["Zg", "Zg=", "Zh==", "Z", "Zm9v=", "Zm 9", "Zg==Zg==", "é"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_read_back(bytes: Vec<u8>) {
            prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }
    }
}
