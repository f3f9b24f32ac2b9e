//! Blanks the comments and literals of Rust text, so that rules see code only.

/// Replaces every byte of a comment, string or character literal by a space; newlines stay.
pub(super) fn blank(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let end =
            (at + literal_len(&bytes[at..], at.checked_sub(1).map(|i| bytes[i]))).min(bytes.len());
        if end == at {
            out.push(if bytes[at].is_ascii() { bytes[at] } else { b' ' });
            at += 1;
        } else {
            let hidden =
                bytes[at..end].iter().map(|byte| if *byte == b'\n' { b'\n' } else { b' ' });
            out.extend(hidden);
            at = end;
        }
    }
    String::from_utf8(out).unwrap_or_default()
}

/// The length of the comment or literal that starts here, or 0.
fn literal_len(rest: &[u8], before: Option<u8>) -> usize {
    let in_word = before.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match rest {
        [b'/', b'/', ..] => rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => block_comment_len(rest),
        [b'"', ..] => string_len(rest),
        [b'r', b'"' | b'#', ..] if !in_word => raw_string_len(rest, 1),
        [b'b' | b'c', b'r', b'"' | b'#', ..] if !in_word => raw_string_len(rest, 2),
        [b'\'', ..] => char_len(rest),
        _ => 0,
    }
}

fn block_comment_len(rest: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at + 1 < rest.len() {
        match &rest[at..at + 2] {
            b"/*" => {
                depth += 1;
                at += 2;
            }
            b"*/" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    rest.len()
}

fn string_len(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

fn raw_string_len(rest: &[u8], prefix: usize) -> usize {
    let hashes = rest[prefix..].iter().take_while(|byte| **byte == b'#').count();
    let open = prefix + hashes;
    if rest.get(open) != Some(&b'"') {
        return 0; // a raw identifier
    }
    let mut close = vec![b'"'];
    close.resize(1 + hashes, b'#');
    let body = &rest[open + 1..];
    let end = body.windows(close.len()).position(|window| window == close);
    end.map_or(rest.len(), |end| open + 1 + end + close.len())
}

/// A character literal; a lifetime has length 0.
fn char_len(rest: &[u8]) -> usize {
    match rest.get(1) {
        Some(b'\\') => {
            let end = rest.iter().skip(3).position(|byte| *byte == b'\'');
            end.map_or(rest.len(), |end| end + 4)
        }
        Some(_) => {
            let end = rest.iter().take(6).skip(2).position(|byte| *byte == b'\'');
            let text = end.and_then(|end| std::str::from_utf8(&rest[1..end + 2]).ok());
            if text.is_some_and(|text| text.chars().count() == 1) {
                end.unwrap_or(0) + 3
            } else {
                0
            }
        }
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let found = blank(text);
        assert_eq!(found.len(), text.len(), "{text}");
        assert_eq!(found.split_whitespace().collect::<Vec<_>>().join(" "), expected, "{text}");
    }

    #[test]
    fn comments_go() {
        check("a // unsafe\nb", "a b");
        check("a /* x /* y */ z */ b", "a b");
        check("/// docs\nfn f() {}", "fn f() {}");
    }

    #[test]
    fn literals_go() {
        check(r#"a("x \" unsafe") b"#, "a( ) b");
        check(r##"a(r#"un"safe"#) b"##, "a( ) b");
        check(r#"a(br"x\") b"#, "a( ) b");
        check(r"a('\'', '{', '\u{1F600}', '{') b", "a( , , , ) b");
        check("a(\"ä\") é", "a( )");
    }

    #[test]
    fn lifetimes_and_raw_identifiers_stay() {
        check("fn f<'a>(x: &'a str) -> r#type", "fn f<'a>(x: &'a str) -> r#type");
    }

    #[test]
    fn unfinished_text_ends() {
        for text in ["\"abc", "/* x", "r#\"x", "'\\", "'", "\"\\"] {
            assert_eq!(blank(text).len(), text.len(), "{text}");
        }
    }
}
