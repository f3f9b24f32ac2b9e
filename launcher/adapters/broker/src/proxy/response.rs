//! Which answers are passed back, and how they are changed.

use std::rc::Rc;

use hyper::header::{
    CONNECTION, CONTENT_ENCODING, HeaderName, HeaderValue, SEC_WEBSOCKET_EXTENSIONS,
    TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::response::Parts;
use hyper::{HeaderMap, StatusCode};

use super::hop;
use super::request::Wish;
use crate::order::Host;
use crate::redact::{Needles, Redactor};
use crate::refusal::Refusal;

/// Checks that an answer is one to the request, in a form that can be searched.
pub(super) fn check(parts: &Parts, host: &Host, wish: Wish) -> Result<(), Refusal> {
    let headers = &parts.headers;
    let switches = parts.status == StatusCode::SWITCHING_PROTOCOLS;
    let unsearchable = if other_than(headers, &CONTENT_ENCODING, "identity") {
        Some("it is encoded")
    } else if other_than(headers, &TRANSFER_ENCODING, "chunked") {
        Some("it is encoded for the transfer")
    } else if parts.status == StatusCode::PARTIAL_CONTENT {
        Some("it is a part of one")
    } else if switches && wish != Wish::WebSocket {
        Some("it changes the protocol")
    } else if headers.contains_key(SEC_WEBSOCKET_EXTENSIONS) {
        Some("its messages may be compressed")
    } else {
        None
    };
    match unsearchable {
        None => Ok(()),
        Some(cause) => Err(Refusal::Unsearchable { host: host.name.clone(), cause }),
    }
}

fn other_than(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let is_text = headers.get_all(name).iter().all(|value| value.to_str().is_ok());
    !is_text || hop::words(headers, name).any(|found| !found.eq_ignore_ascii_case(word))
}

/// Makes it the client's answer. The server's own words for the status are left out with the
/// extensions.
pub(super) fn rewrite(parts: &mut Parts, host: &Host) {
    parts.extensions.clear();
    hop::strip(&mut parts.headers);
    parts.headers = redacted(&parts.headers, host);
    if parts.status == StatusCode::SWITCHING_PROTOCOLS {
        parts.headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        parts.headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    }
}

fn redacted(headers: &HeaderMap, host: &Host) -> HeaderMap {
    let mut redacted = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let name = HeaderName::from_bytes(&blanked(&host.small_needles, name.as_ref()));
        let value = HeaderValue::from_bytes(&blanked(&host.needles, value.as_bytes()));
        // Stars are allowed wherever other letters are.
        if let (Ok(name), Ok(value)) = (name, value) {
            redacted.append(name, value);
        }
    }
    redacted
}

fn blanked(needles: &Rc<Needles>, text: &[u8]) -> Vec<u8> {
    Redactor::redact(needles, text)
}

#[cfg(test)]
mod tests {
    use hyper::Response;

    use super::*;
    use crate::order::testing::host;

    fn parts(status: u16, headers: &[(&str, &str)]) -> Parts {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        response.body(()).expect("a response").into_parts().0
    }

    fn passes(status: u16, headers: &[(&str, &str)], wish: Wish) -> bool {
        check(&parts(status, headers), &host(""), wish).is_ok()
    }

    #[test]
    fn encoded_answer_is_refused() {
        let answer = Wish::Answer;
        assert!(passes(200, &[], answer));
        assert!(passes(200, &[("content-encoding", "identity")], answer));
        assert!(passes(200, &[("transfer-encoding", "chunked")], answer));
        assert!(!passes(206, &[], answer));
        assert!(!passes(200, &[("content-encoding", "gzip")], answer));
        assert!(!passes(200, &[("content-encoding", "identity, br")], answer));
        assert!(!passes(200, &[("transfer-encoding", "gzip, chunked")], answer));
    }

    #[test]
    fn protocol_changes_only_when_it_was_asked_for() {
        assert!(passes(101, &[], Wish::WebSocket));
        assert!(!passes(101, &[], Wish::Answer));
        let deflated = [("sec-websocket-extensions", "permessage-deflate")];
        assert!(!passes(101, &deflated, Wish::WebSocket));
    }

    #[test]
    fn headers_are_redacted() {
        let mut parts = parts(
            200,
            &[
                ("x-echo", "a=Bearer secret-of-mine;b"),
                ("x-Secret-Of-Mine-x", "secret-of-min"),
                ("location", "/?k=secret-of-mine"),
                ("connection", "x-gone"),
                ("x-gone", "1"),
            ],
        );
        rewrite(&mut parts, &host(""));
        assert_eq!(
            hop::shown(&parts.headers),
            [
                "location: /?k=**************",
                "x-**************-x: secret-of-min",
                "x-echo: a=*********************;b",
            ]
        );
    }
}
