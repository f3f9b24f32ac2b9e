//! Whether a path stays below another, whoever reads it.
//!
//! Servers decode paths in different ways, some twice, and resolve dot segments before or after.
//! A path that any of them might take for another place is refused.

/// How often a path may be decoded until it no longer changes.
const DEPTH_MAX: usize = 4;

/// Whether `path` is `granted`, or below it.
pub(super) fn is_below(path: &str, granted: &str) -> bool {
    let rest = path.strip_prefix(granted);
    granted.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a reader might take a path for another place.
pub(super) fn is_ambiguous(path: &str) -> bool {
    let mut path = path.as_bytes().to_vec();
    for _ in 0..DEPTH_MAX {
        if leads_elsewhere(&path) {
            return true;
        }
        match decoded(&path) {
            None => return true,
            Some(next) if next == path => return false,
            Some(next) => path = next,
        }
    }
    true
}

fn leads_elsewhere(path: &[u8]) -> bool {
    let is_odd = |byte: &u8| matches!(byte, b'\\' | 0);
    path.iter().any(is_odd)
        || path.windows(2).any(|pair| is_long(pair) || pair.eq_ignore_ascii_case(b"%u"))
        || path.split(|byte| *byte == b'/').any(is_dots)
}

/// Whether a letter of UTF-8 begins so, written longer than allowed, as a dot or slash may be. `%u`
/// is another way, of Windows.
fn is_long(pair: &[u8]) -> bool {
    matches!(
        pair,
        [0xc0 | 0xc1, _]
            | [0xe0, 0x80..=0x9f]
            | [0xf0, 0x80..=0x8f]
            | [0xf8, 0x80..=0x87]
            | [0xfc, 0x80..=0x83]
    )
}

/// `.` and `..`, with what some servers leave out: parameters, blanks and control bytes, and what
/// stands behind the end of a path.
fn is_dots(segment: &[u8]) -> bool {
    let name = segment.split(|byte| b";?#".contains(byte)).next().unwrap_or_default();
    let mut seen = name.iter().filter(|byte| !byte.is_ascii_control() && **byte != b' ');
    matches!((seen.next(), seen.next(), seen.next()), (Some(b'.'), None | Some(b'.'), None))
}

/// Decodes one time; `None` when a slash comes out that was none.
fn decoded(path: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((byte, after)) = rest.split_first() {
        let (byte, after) = match (byte, after) {
            (b'%', [high, low, after @ ..]) => match (digit(*high), digit(*low)) {
                (Some(high), Some(low)) if matches!(high << 4 | low, b'/' | b'\\') => return None,
                (Some(high), Some(low)) => (high << 4 | low, after),
                _ => (b'%', &rest[1..]),
            },
            (byte, after) => (*byte, after),
        };
        plain.push(byte);
        rest = after;
    }
    Some(plain)
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_below_at_a_slash_only() {
        for (path, below) in [
            ("/v1", true),
            ("/v1/", true),
            ("/v1/a", true),
            ("/v10", false),
            ("/v", false),
            ("/V1/a", false),
            ("//v1/a", false),
            ("/%761/a", false),
            ("/", false),
        ] {
            assert_eq!(is_below(path, "/v1"), below, "{path}");
            assert!(is_below(path, ""), "{path}");
        }
    }

    #[test]
    fn path_that_may_lead_elsewhere_is_ambiguous() {
        for path in [
            "/v1/..",
            "/v1/../v2",
            "/v1/./a",
            "/v1/.",
            "/v1/%2e%2e/a",
            "/v1/%2E./a",
            "/v1/.%2e",
            "/v1/%252e%252e/a",
            "/v1/%25252e./a",
            "/v1/%25%32%65./a",
            "/v1/a%2fb",
            "/v1/a%2Fb",
            "/v1/a%252fb",
            "/v1/a%5cb",
            "/v1/a%255Cb",
            "/v1/a\\b",
            "/v1/..;/a",
            "/v1/..;x=1/a",
            "/v1/..%00/a",
            "/v1/a%00",
            "/v1/%20../a",
            "/v1/..%09/a",
            "/v1/%c0%ae%c0%ae/a",
            "/v1/%e0%80%ae%e0%80%ae/a",
            "/v1/%25e0%2580%25af",
            "/v1/%f0%80%80%ae./a",
            "/v1/%fc%80%80%80%80%ae./a",
            "/v1/%u002e%u002e/a",
            "/v1/%U002E./a",
            "/v1/%25u2216a",
            "/v1/..%3f/a",
            "/v1/..%23",
            "/v1/%252525252525252e/a",
        ] {
            assert!(is_ambiguous(path), "{path}");
        }
    }

    #[test]
    fn ordinary_path_is_not_ambiguous() {
        for path in [
            "/v1/a.b/..c/c../...",
            "/v1/100%25",
            "/v1/a%20b/%C3%BC%E2%82%AC",
            "/v1/%E0%A4%85%F0%9F%98%80%FC",
            "/v1/a%3fb/a%23",
            "/v1/%",
            "/v1/%zz/%2",
            "/v1/a;b=c",
            "/v1/models/claude:generate",
            "/v1//a",
            "/.well-known/x",
        ] {
            assert!(!is_ambiguous(path), "{path}");
        }
    }

    #[test]
    fn long_path_is_read_a_few_times_only() {
        assert!(is_ambiguous(&format!("/%{}2e", "25".repeat(20_000))));
    }
}
