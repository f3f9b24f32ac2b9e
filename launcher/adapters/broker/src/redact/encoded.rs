//! Other ways in which programs write a text: what they decode or encode is still the text.

use base64ct::{Base64Unpadded, Base64UrlUnpadded, Encoding};
use zeroize::Zeroizing;

use super::needles::SHORTEST as SHORTEST_NEEDLE;

/// Shorter ones stand in a large encoded text by chance.
const SHORTEST: usize = 8;

/// Returns what a secret and the value with it are known by: themselves, other forms of the secret, and
/// the credentials of a `Basic` header (RFC 7617, 2).
pub(crate) fn all(secret: &str, value: &str) -> Vec<Zeroizing<String>> {
    let mut texts = forms(secret);
    texts.extend([secret, value].map(|text| Zeroizing::new(text.to_owned())));
    let scheme = value.get(..BASIC.len()).filter(|it| it.eq_ignore_ascii_case(BASIC));
    if let Some(credentials) = scheme.and_then(|_| decoded(value.get(BASIC.len()..)?.trim())) {
        let key = credentials.split_once(':').map(|(user, password)| {
            let is_filler = password.len() < SHORTEST_NEEDLE || FILLERS.contains(&password);
            Zeroizing::new(if is_filler { user } else { password }.to_owned())
        });
        texts.extend(key.iter().flat_map(|key| forms(key)));
        texts.extend(key);
        texts.push(credentials);
    }
    texts
}

const BASIC: &str = "Basic ";

/// What services document as the password where the user's name is the key.
const FILLERS: [&str; 2] = ["x-oauth-basic", "api_token"];

/// Returns a text in base64, in the middle of others as well, and as a part of a URL.
fn forms(text: &str) -> Vec<Zeroizing<String>> {
    let encoded = (0..3).flat_map(|shift| {
        [base64::<Base64Unpadded>(text, shift), base64::<Base64UrlUnpadded>(text, shift)]
    });
    let hex = FOR_URLS.iter().flat_map(|left| [UPPER, LOWER].map(|it| for_url(text, left, it)));
    encoded.filter(|it| it.len() >= SHORTEST).chain(hex).collect()
}

/// Returns the letters that a text has in base64 behind `shift` other bytes, whatever comes before
/// and after it.
fn base64<E: Encoding>(text: &str, shift: usize) -> Zeroizing<String> {
    let others = std::iter::repeat_n(0, shift);
    let bytes = Zeroizing::new(others.chain(text.bytes()).collect::<Vec<u8>>());
    let letters = Zeroizing::new(E::encode_string(&bytes));
    let own = letters.get((shift * 8).div_ceil(6)..bytes.len() * 8 / 6);
    Zeroizing::new(own.unwrap_or_default().to_owned())
}

const UPPER: &[u8; 16] = b"0123456789ABCDEF";
const LOWER: &[u8; 16] = b"0123456789abcdef";

/// What encoders for URLs leave as it is, beside letters, digits and `-._`. A blank among them stands for `+` in its place.
const FOR_URLS: [&[u8]; 10] = [
    // RFC 3986, 2.3, and Go's `PathEscape` and its whole paths.
    b"~",
    b"~$&+:=@",
    b"~$&+,/:;=@",
    // Python's `quote`.
    b"~/",
    // `encodeURIComponent` and `encodeURI` (ECMA-262, 19.2.6).
    b"~!'()*",
    b"~!'()*;/?:@&=+$,#",
    // Forms: of browsers and Java, of Python and Go, and of PHP; the last is of older browsers' `escape`.
    b"* ",
    b"~ ",
    b" ",
    b"@*+/",
];

/// Returns a text as it stands in a part of a URL (RFC 3986, 2.1), where these characters are left.
fn for_url(text: &str, left: &[u8], digits: &[u8; 16]) -> Zeroizing<String> {
    let mut written = Zeroizing::new(String::with_capacity(text.len() * 3));
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._".contains(&byte) || left.contains(&byte) {
            written.push(if byte == b' ' { '+' } else { byte.into() });
        } else {
            let digit = |number: u8| char::from(digits[usize::from(number)]);
            written.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    written
}

/// Returns what base64 stands for, if it is that, and text. A server may be as lenient: letters of both alphabets
/// may be mixed, and bits behind the last whole byte are of no account.
fn decoded(text: &str) -> Option<Zeroizing<String>> {
    let text = text.trim_end_matches('=');
    let size = text.len().next_multiple_of(4);
    let mut letters = Zeroizing::new(String::with_capacity(size));
    letters.extend(text.chars().map(|letter| match letter {
        '-' => '+',
        '_' => '/',
        letter => letter,
    }));
    // `A` stands for bits that are zero.
    letters.extend(std::iter::repeat_n('A', size - text.len()));
    let mut bytes = Zeroizing::new(vec![0; size / 4 * 3]);
    Base64Unpadded::decode(letters.as_bytes(), &mut bytes).ok()?;
    let whole = bytes.get(..text.len() * 6 / 8)?;
    std::str::from_utf8(whole).ok().map(|text| Zeroizing::new(text.to_owned()))
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
    fn key_may_stand_before_an_empty_password() {
        for (credentials, key) in [
            ("c2tfbGl2ZV94eXo6", "sk_live_xyz"),
            ("c2tfbGl2ZV94eXo6eA==", "sk_live_xyz"),
            ("Z2hwX3h5ejp4LW9hdXRoLWJhc2lj", "ghp_xyz"),
            ("dXNlcjpzay9saXZl", "sk/live"),
        ] {
            let texts = all(credentials, &format!("Basic {credentials}"));
            let has = |text: &str| texts.iter().any(|it| it.as_str() == text);
            assert!(has(key) && has(&for_url(key, b"~", UPPER)), "{key}");
            assert!(has(&base64::<Base64Unpadded>(key, 0)), "{key}");
            assert!(!has("user") && !has("x-oauth-basic"));
        }
    }

    #[test]
    fn text_as_a_part_of_a_url() {
        assert!(has("a b/c=", "a%20b%2Fc%3D") && has("a b/c=", "a%20b%2fc%3d"));
        // As Python's `quote`, Go's `PathEscape`, `encodeURIComponent`, `encodeURI` and forms write them.
        for (text, form) in [
            ("ab+/cd/Ef==", "ab%2B/cd/Ef%3D%3D"),
            ("ab+/cd/Ef==", "ab+%2Fcd%2FEf=="),
            ("it's (mine)!", "it's%20(mine)!"),
            ("it's a/b <c>", "it's%20a/b%20%3Cc%3E"),
            ("a b~*/", "a+b%7E*%2F"),
            ("a b~*/", "a+b~%2a%2f"),
            ("a b~*/", "a+b%7E%2A%2F"),
        ] {
            assert!(has(text, form), "{form}");
        }
    }

    #[test]
    fn base64_is_read() {
        for (text, read) in [
            ("dXNlcjpwYXNz", Some("user:pass")),
            ("dXNlcjpwYQ==", Some("user:pa")),
            ("dXNlcjpwYQ", Some("user:pa")),
            ("dXNlcjpwYR", Some("user:pa")),
            ("dXNlcjpwYXNzd", Some("user:pass")),
            ("dTpwPj4-Pj4+Pz8_Pz8/", Some("u:p>>>>>>??????")),
            ("", Some("")),
            ("é", None),
            ("a key!", None),
            ("_____w==", None),
        ] {
            assert_eq!(decoded(text).as_deref().map(String::as_str), read, "{text}");
        }
    }
}
