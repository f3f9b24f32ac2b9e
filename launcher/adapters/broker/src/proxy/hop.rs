//! Headers that are about one connection and never go beyond it (RFC 9110, 7.6.1).

use endow_policy::is_hop_by_hop;
use hyper::HeaderMap;
use hyper::header::{self, HeaderName, HeaderValue};

use super::alike;

/// Takes such headers away, and those that `Connection` names.
pub(super) fn strip(headers: &mut HeaderMap) {
    let named = words(headers, &header::CONNECTION).filter_map(|word| word.parse().ok());
    let named: Vec<HeaderName> = named.collect();
    for name in named {
        headers.remove(name);
    }
    alike::remove(headers, is_hop_by_hop);
}

/// Whether a header that is a list has that word.
pub(super) fn has_word(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    words(headers, name).any(|found| found.eq_ignore_ascii_case(word))
}

/// The words of a header that is a list.
pub(super) fn words<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(name).into_iter().map(HeaderValue::to_str);
    lines.flatten().flat_map(|line| line.split(',')).map(str::trim)
}

/// Returns headers as lines, sorted.
#[cfg(test)]
pub(super) fn shown(headers: &HeaderMap) -> Vec<String> {
    let line = |(name, value): (&hyper::header::HeaderName, &hyper::header::HeaderValue)| {
        format!("{name}: {}", value.to_str().expect("text"))
    };
    let mut lines: Vec<String> = headers.iter().map(line).collect();
    lines.sort();
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_the_connection_are_stripped() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Own"),
            ("connection", "x-other"),
            ("x-own", "1"),
            ("x-other", "1"),
            ("keep-alive", "timeout=5"),
            ("proxy-authorization", "Basic x"),
            ("te", "trailers"),
            ("transfer_encoding", "chunked"),
            ("proxy_authorization", "Basic x"),
            ("accept", "*/*"),
        ] {
            let name = HeaderName::from_static(name);
            headers.append(name, HeaderValue::from_static(value));
        }
        strip(&mut headers);
        assert_eq!(headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["accept"]);
    }
}
