//! The `Host` among the headers of an HTTP request.

use super::Asked;
use super::http::{has_control, host, is_of_token};

/// Reads the headers up to the empty line; a server that the first line names must be the same. All
/// lines end as that one did, with or without CR: servers differ in what else ends a line.
pub(super) fn of_headers<'a>(
    lines: impl Iterator<Item = &'a [u8]>,
    with_return: bool,
    server: Option<String>,
) -> Asked {
    let mut found = None;
    for line in lines {
        let Some(line) = line.strip_suffix(b"\n") else { return Asked::More };
        let line = match line.strip_suffix(b"\r") {
            Some(line) if with_return => line,
            None if !with_return => line,
            _ => return Asked::Nobody,
        };
        if line.is_empty() {
            let is_one = server.is_none() || server == found;
            return found.filter(|_| is_one).map_or(Asked::Nobody, Asked::For);
        }
        let Some((key, value)) = split(line) else { return Asked::Nobody };
        if key.eq_ignore_ascii_case(b"host") {
            // Two of them: which one the server takes nobody knows.
            let (None, Some(host)) = (&found, host(value.trim_ascii())) else {
                return Asked::Nobody;
            };
            found = Some(host);
        }
    }
    Asked::More
}

/// Splits a header that all servers read alike.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = line.iter().position(|byte| *byte == b':')?;
    let (key, value) = (line.get(..at)?, line.get(at + 1..)?);
    let is_clear = key.iter().all(|byte| is_of_token(*byte)) && !has_control(value);
    is_clear.then_some((key, value))
}
