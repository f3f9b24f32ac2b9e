//! Names as git quotes them, so that none drives the terminal and every one reads back.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use endow_policy::is_invisible;

/// Returns a name behind a prefix, in quotes where something in it has to be escaped.
///
/// What is printable stays as it is, in any script. Control characters, those that turn the
/// direction of the text, and bytes that are no UTF-8 become octal escapes, as `git apply` reads
/// them.
pub(crate) fn quoted(prefix: &str, name: &Path) -> String {
    let bytes = name.as_os_str().as_bytes();
    let mut text = String::with_capacity(prefix.len() + bytes.len());
    let mut is_plain = true;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            is_plain &= push(&mut text, c);
        }
        for byte in chunk.invalid() {
            is_plain = false;
            push_octal(&mut text, *byte);
        }
    }
    if is_plain { format!("{prefix}{text}") } else { format!("\"{prefix}{text}\"") }
}

/// Adds a character; tells whether it stayed as it is.
fn push(text: &mut String, c: char) -> bool {
    match c {
        '"' | '\\' => text.extend(['\\', c]),
        '\t' => text.push_str("\\t"),
        '\n' => text.push_str("\\n"),
        '\r' => text.push_str("\\r"),
        c if is_invisible(c) => {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                push_octal(text, byte);
            }
        }
        c => {
            text.push(c);
            return true;
        }
    }
    false
}

fn push_octal(text: &mut String, byte: u8) {
    let digit = |shift: u32| char::from(b'0' + (byte >> shift & 7));
    text.extend(['\\', digit(6), digit(3), digit(0)]);
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn names_are_quoted_as_git_does() {
        for (name, expected) in [
            (&b"src/main.rs"[..], "a/src/main.rs"),
            (b"a b", "a/a b"),
            ("é".as_bytes(), "a/é"),
            (b"a\nb", "\"a/a\\nb\""),
            (b"\x1b]0;x\x07", "\"a/\\033]0;x\\007\""),
            (b"q\"\\", "\"a/q\\\"\\\\\""),
            (b"\xffx", "\"a/\\377x\""),
            ("\u{9b}1m".as_bytes(), "\"a/\\302\\2331m\""),
            ("\u{202e}".as_bytes(), "\"a/\\342\\200\\256\""),
        ] {
            assert_eq!(quoted("a/", Path::new(OsStr::from_bytes(name))), expected);
        }
    }
}
