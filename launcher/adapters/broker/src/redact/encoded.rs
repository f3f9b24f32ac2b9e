//! Other ways in which programs write a text: what they decode or encode is still the text.

use zeroize::Zeroizing;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const FOR_URLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Shorter ones stand in a large encoded text by chance.
const SHORTEST: usize = 8;

/// Returns what a secret and the value with it are known by: themselves, other forms of the secret, and
/// the credentials of a `Basic` header (RFC 7617, 2).
pub(crate) fn all(secret: &str, value: &str) -> Vec<Zeroizing<String>> {
    let mut texts = forms(secret);
    texts.extend([secret, value].map(|text| Zeroizing::new(text.to_owned())));
    let scheme = value.get(..BASIC.len()).filter(|it| it.eq_ignore_ascii_case(BASIC));
    if let Some(credentials) = scheme.and_then(|_| decoded(value.get(BASIC.len()..)?.trim())) {
        let password = credentials.split_once(':').map(|(_, password)| password.to_owned());
        texts.extend(password.map(Zeroizing::new));
        texts.push(credentials);
    }
    texts
}

const BASIC: &str = "Basic ";

/// Returns a text in base64, in the middle of others as well, and as a part of a URL.
fn forms(text: &str) -> Vec<Zeroizing<String>> {
    let alphabets = [STANDARD, FOR_URLS].into_iter();
    let encoded = alphabets.flat_map(|letters| (0..3).map(|shift| base64(text, shift, letters)));
    let hex = [UPPER, LOWER].map(|digits| for_url(text, digits));
    encoded.filter(|it| it.len() >= SHORTEST).chain(hex).collect()
}

/// Returns the letters that a text has in base64 behind `shift` other bytes, whatever comes before
/// and after it.
fn base64(text: &str, shift: usize, letters: &[u8; 64]) -> Zeroizing<String> {
    let others = std::iter::repeat_n(0, shift);
    let bytes = Zeroizing::new(others.chain(text.bytes()).collect::<Vec<u8>>());
    let bit = |at: usize| bytes[at / 8] >> (7 - at % 8) & 1;
    let letter = |at: usize| {
        let number = (at * 6..at * 6 + 6).fold(0, |number, at| number << 1 | bit(at));
        char::from(letters[usize::from(number)])
    };
    let first = (shift * 8).div_ceil(6);
    Zeroizing::new((first..bytes.len() * 8 / 6).map(letter).collect())
}

const UPPER: &[u8; 16] = b"0123456789ABCDEF";
const LOWER: &[u8; 16] = b"0123456789abcdef";

/// Returns a text as RFC 3986 has it in a part of a URL, 2.1 and 2.3.
fn for_url(text: &str, digits: &[u8; 16]) -> Zeroizing<String> {
    let mut written = Zeroizing::new(String::with_capacity(text.len() * 3));
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            written.push(byte.into());
        } else {
            let digit = |number: u8| char::from(digits[usize::from(number)]);
            written.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    written
}

/// Returns what base64 stands for, if it is that, and text.
fn decoded(text: &str) -> Option<Zeroizing<String>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len()));
    let (mut bits, mut count) = (0_u32, 0_u32);
    for letter in text.trim_end_matches('=').bytes() {
        let number =
            [STANDARD, FOR_URLS].iter().find_map(|it| it.iter().position(|it| *it == letter));
        bits = bits << 6 | u32::try_from(number?).ok()?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    String::from_utf8(bytes.to_vec()).ok().map(Zeroizing::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(text: &str, form: &str) -> bool {
        forms(text).iter().any(|it| it.as_str() == form)
    }

    #[test]
    fn base64_of_a_text_between_others() {
        // Of `secret-of-mine`, `1secret-of-mine!` and `a:secret-of-mine!`, as base64(1) writes them.
        for form in ["c2VjcmV0LW9mLW1pbm", "NlY3JldC1vZi1taW5l", "zZWNyZXQtb2YtbWluZ"] {
            assert!(has("secret-of-mine", form), "{form}");
        }
        assert!(has("a?b>c~~~", "YT9iPmN-fn") && has("a?b>c~~~", "YT9iPmN+fn"));
        assert!(!forms("ab").iter().any(|it| it.len() > 2));
    }

    #[test]
    fn credentials_are_their_password_too() {
        let texts = all("dXNlcjpwYXNz", "basic dXNlcjpwYXNz");
        for text in ["dXNlcjpwYXNz", "basic dXNlcjpwYXNz", "user:pass", "pass"] {
            assert!(texts.iter().any(|it| it.as_str() == text), "{text}");
        }
        let texts = all("dXNlcjpwYXNz", "Bearer dXNlcjpwYXNz");
        assert!(!texts.iter().any(|it| it.as_str() == "pass"));
    }

    #[test]
    fn text_as_a_part_of_a_url() {
        assert!(has("a b/c=", "a%20b%2Fc%3D") && has("a b/c=", "a%20b%2fc%3d"));
    }

    #[test]
    fn base64_is_read() {
        for (text, read) in [
            ("dXNlcjpwYXNz", Some("user:pass")),
            ("dXNlcjpwYQ==", Some("user:pa")),
            ("dXNlcjpwYQ", Some("user:pa")),
            ("a key!", None),
            ("_____w==", None),
        ] {
            assert_eq!(decoded(text).as_deref().map(String::as_str), read, "{text}");
        }
    }
}
