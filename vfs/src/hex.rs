//! Bytes in hexadecimal.

/// Returns the digits of bytes, in lower case.
pub fn digits(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.extend([digit(byte >> 4), digit(byte & 15)]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::digits;

    #[test]
    fn byte_has_two_digits() {
        assert_eq!(digits(&[0, 0x0a, 0x9f, 0xff]), "000a9fff");
        assert_eq!(digits(&[]), "");
    }
}
