//! Which requests are passed on, and how they are changed.

use endow_policy::CARRYING;
use hyper::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderName, HeaderValue, IF_RANGE,
    RANGE, SEC_WEBSOCKET_EXTENSIONS, TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Version};

use super::alike::{self, folded};
use super::naming::is_naming;
use super::{hop, path};
use crate::order::Host;
use crate::refusal::Refusal;

/// Methods that repeat what they are sent, or lead to other servers.
const REFUSED: [&str; 3] = ["CONNECT", "TRACE", "TRACK"];

/// A header by which servers take a request for one of another method, and how others end.
const OVERRIDE: &str = "x-http-method";
const OVERRIDES_END: &str = "method-override";

/// Headers that ask for a part of an answer (RFC 9110, 14.2; the last is an older word for it): of a
/// secret that a server repeats, a part could not be found.
const OF_PARTS: [HeaderName; 3] = [RANGE, IF_RANGE, HeaderName::from_static("request-range")];

/// What a request wants of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// An answer.
    Answer,
    /// To go on as a WebSocket.
    WebSocket,
}

/// Checks a request.
pub(super) fn check(parts: &Parts, host: &Host) -> Result<Wish, Refusal> {
    check_method(parts)?;
    let uri = &parts.uri;
    if uri.scheme().is_some() || uri.authority().is_some() || !uri.path().starts_with('/') {
        return Err(Refusal::Form);
    }
    if !path::is_below(uri.path(), &host.path) {
        return Err(Refusal::Outside { host: host.name.clone(), path: host.path.clone() });
    }
    if !host.path.is_empty() {
        check_narrowed(parts)?;
    }
    check_expectation(&parts.headers)?;
    match wish(parts) {
        Wish::WebSocket if !host.websocket => Err(Refusal::WebSocket(host.name.clone())),
        wish => Ok(wish),
    }
}

/// A method is refused however it is said.
fn check_method(parts: &Parts) -> Result<(), Refusal> {
    let overriding = parts.headers.iter().filter(|(name, _)| is_override(&folded(name)));
    let overriding = overriding.map(|(_, value)| String::from_utf8_lossy(value.as_bytes()));
    let mut methods = overriding.chain([parts.method.as_str().into()]);
    let is_refused = |method: &str| REFUSED.iter().any(|it| it.eq_ignore_ascii_case(method.trim()));
    let refused = methods.find(|said| said.split(',').any(is_refused));
    refused.map_or(Ok(()), |method| Err(Refusal::Method(method.into_owned())))
}

fn is_override(name: &str) -> bool {
    name == OVERRIDE || name.ends_with(OVERRIDES_END)
}

/// Where only some paths may be asked for, nothing may name another.
fn check_narrowed(parts: &Parts) -> Result<(), Refusal> {
    if path::is_ambiguous(parts.uri.path()) {
        return Err(Refusal::Ambiguous);
    }
    // A server that takes no body of such a request reads it as the next one, of any path.
    let has_body =
        [CONTENT_LENGTH, TRANSFER_ENCODING].iter().any(|it| parts.headers.contains_key(it));
    if has_body && [Method::GET, Method::HEAD].contains(&parts.method) {
        return Err(Refusal::Body);
    }
    let naming = parts.headers.keys().find(|name| is_naming(&folded(name)));
    naming.map_or(Ok(()), |name| Err(Refusal::Naming(name.as_str().to_owned())))
}

/// Whoever waits to be told to go on is told so by the broker, when the server's side is open.
fn check_expectation(headers: &HeaderMap) -> Result<(), Refusal> {
    let known = hop::words(headers, &EXPECT).all(|word| word.eq_ignore_ascii_case("100-continue"));
    if known { Ok(()) } else { Err(Refusal::Expectation) }
}

fn wish(parts: &Parts) -> Wish {
    let asks = parts.method == Method::GET
        && hop::has_word(&parts.headers, &CONNECTION, "upgrade")
        && hop::has_word(&parts.headers, &UPGRADE, "websocket");
    if asks { Wish::WebSocket } else { Wish::Answer }
}

/// Makes it the host's request, with the header that the client does not know.
pub(super) fn rewrite(parts: &mut Parts, host: &Host, wish: Wish) {
    parts.version = Version::HTTP_11;
    parts.extensions.clear();
    let headers = &mut parts.headers;
    let is_chunked = headers.contains_key(TRANSFER_ENCODING);
    if is_chunked {
        headers.remove(CONTENT_LENGTH);
    }
    hop::strip(headers);
    if is_chunked && [Method::GET, Method::HEAD].contains(&parts.method) {
        // The client of hyper sends no body of these unless a header says that there is one.
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    alike::remove_disguised(headers, |name| CARRYING.contains(&name));
    headers.remove(EXPECT);
    alike::remove(headers, |name| OF_PARTS.iter().any(|it| it == name));
    if wish == Wish::WebSocket {
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        // Compressed messages could not be searched.
        headers.remove(SEC_WEBSOCKET_EXTENSIONS);
    }
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.insert(HOST, host.authority.clone());
    // Of two headers that a server reads as one, it may take the client's.
    let own = folded(&host.header);
    alike::remove(headers, |name| name == own);
    headers.insert(host.header.clone(), host.value.clone());
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;
    use crate::order::testing::host;

    fn parts(method: &str, target: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().method(method).uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).expect("a request").into_parts().0
    }

    fn checked(method: &str, target: &str) -> u16 {
        let refusal = check(&parts(method, target, &[]), &host("/v1")).err();
        refusal.map_or(200, |refusal| refusal.answer().status().as_u16())
    }

    #[test]
    fn request_for_a_granted_path_passes() {
        for target in ["/v1", "/v1?q=/../x", "/v1/a/b?c", "/v1/"] {
            assert_eq!(checked("GET", target), 200, "{target}");
        }
        assert_eq!(checked("PROPFIND", "/v1"), 200);
    }

    #[test]
    fn other_requests_are_refused() {
        for (method, target, status) in [
            ("GET", "http://api.example.com/v1", 400),
            ("GET", "https://other.example/v1", 400),
            ("OPTIONS", "*", 400),
            ("GET", "api.example.com:443", 400),
            ("CONNECT", "api.example.com:443", 405),
            ("TRACE", "/v1", 405),
            ("TRACK", "/v1", 405),
            ("trace", "/v1", 405),
            ("GET", "/v2", 403),
            ("GET", "/v1/../v2", 403),
            ("GET", "/v1/%2e%2E/v2", 403),
        ] {
            assert_eq!(checked(method, target), status, "{method} {target}");
        }
    }

    #[test]
    fn body_that_may_be_read_as_a_request_is_refused_where_paths_are() {
        for (method, header, refused) in [
            ("GET", "Content-Length", true),
            ("HEAD", "Transfer-Encoding", true),
            ("POST", "Content-Length", false),
            ("GET", "X-Length", false),
        ] {
            let parts = parts(method, "/v1/a", &[(header, "4")]);
            assert_eq!(check(&parts, &host("/v1")).is_err(), refused, "{method} {header}");
            assert_eq!(check(&parts, &host("")), Ok(Wish::Answer), "{method} {header}");
        }
    }

    #[test]
    fn header_that_names_a_path_is_refused_where_paths_are() {
        for name in [
            "Destination",
            "X-Original-URL",
            "x-rewrite-url",
            "X-Original-URI",
            "Forwarded",
            "X-Forwarded-Host",
            "X-Forwarded-Prefix",
            "X-Forwarded-Uri",
            "X-Envoy-Original-Path",
            "X-Script-Name",
            "X_Original_URL",
            "x.original~url",
            "X_Forwarded_Host",
            "X-Forwarded_Host",
            "SCRIPT_NAME",
            "X-Amz-Copy-Source",
        ] {
            let parts = parts("COPY", "/v1/a", &[(name, "/v1/b")]);
            let refusal = check(&parts, &host("/v1")).expect_err("refused");
            assert_eq!(refusal.answer().status(), 403, "{name}");
            assert_eq!(check(&parts, &host("")), Ok(Wish::Answer), "{name}");
        }
    }

    #[test]
    fn header_that_names_a_proxy_passes_where_paths_are() {
        for name in [
            "X-Forwarded-For",
            "X_Forwarded_For",
            "X-Forwarded-Proto",
            "X-Forwarded-Port",
            "X-HTTP-Method",
        ] {
            let parts = parts("POST", "/v1/a", &[(name, "1")]);
            assert_eq!(check(&parts, &host("/v1")), Ok(Wish::Answer), "{name}");
        }
    }

    #[test]
    fn method_is_refused_however_it_is_said() {
        for name in [
            "X-HTTP-Method",
            "X-HTTP-Method-Override",
            "x-method-override",
            "X_HTTP_Method_Override",
            "X_Http.Method",
        ] {
            for (value, refused) in
                [("TRACE", true), (" connect", true), ("a, trace", true), ("PATCH", false)]
            {
                let parts = parts("POST", "/v1/a", &[(name, value)]);
                assert_eq!(check(&parts, &host("")).is_err(), refused, "{name}: {value}");
            }
        }
    }

    #[test]
    fn expectations_other_than_to_go_on_are_refused() {
        let expecting = |what| check(&parts("PUT", "/v1", &[("expect", what)]), &host("/v1"));
        assert_eq!(expecting("100-Continue"), Ok(Wish::Answer));
        assert_eq!(expecting("miracles"), Err(Refusal::Expectation));
    }

    #[test]
    fn headers_become_those_of_the_host() {
        let mut parts = parts(
            "POST",
            "/v1",
            &[
                ("Host", "elsewhere"),
                ("X-Key", "mine"),
                ("x-key", "mine again"),
                ("Accept-Encoding", "gzip, br"),
                ("Connection", "X-Key, keep-alive, X-Gone"),
                ("X-Gone", "1"),
                ("Transfer-Encoding", "chunked"),
                ("Content-Length", "5"),
                ("Expect", "100-continue"),
                ("Range", "bytes=0-3"),
                ("If-Range", "x"),
                ("Request-Range", "bytes=0-3"),
                ("Upgrade", "h2c"),
                ("X-Kept", "1"),
            ],
        );
        rewrite(&mut parts, &host(""), Wish::Answer);
        assert_eq!(
            hop::shown(&parts.headers),
            [
                "accept-encoding: identity",
                "host: api.example.com",
                "x-kept: 1",
                "x-key: Bearer secret-of-mine",
            ]
        );
        assert!(parts.headers["x-key"].is_sensitive());
    }

    /// A server that reads `_` as `-` sees no other header than the broker's.
    #[test]
    fn headers_in_disguise_are_left_out() {
        let mut parts = parts(
            "POST",
            "/v1",
            &[
                ("X_Key", "mine"),
                ("x.key", "mine again"),
                ("Content-Length", "5"),
                ("Content_Length", "50"),
                ("Transfer_Encoding", "chunked"),
                ("Accept_Encoding", "gzip"),
                ("If_Range", "x"),
                ("Request_Range", "bytes=0-3"),
                ("Sec_WebSocket_Extensions", "permessage-deflate"),
                ("Proxy_Authorization", "Basic x"),
                ("Keep_Alive", "1"),
                ("X_Kept", "1"),
            ],
        );
        rewrite(&mut parts, &host(""), Wish::Answer);
        assert_eq!(
            hop::shown(&parts.headers),
            [
                "accept-encoding: identity",
                "content-length: 5",
                "host: api.example.com",
                "x-key: Bearer secret-of-mine",
                "x_kept: 1",
            ]
        );
    }

    #[test]
    fn web_socket_is_asked_for_without_compression() {
        let headers = [
            ("Connection", "keep-alive, Upgrade"),
            ("Upgrade", "WebSocket"),
            ("Sec-WebSocket-Extensions", "permessage-deflate"),
        ];
        let mut parts = parts("GET", "/v1", &headers);
        assert_eq!(check(&parts, &host("")), Ok(Wish::WebSocket));
        let refused = Host { websocket: false, ..host("") };
        assert_eq!(check(&parts, &refused), Err(Refusal::WebSocket("api.example.com".to_owned())));
        rewrite(&mut parts, &host(""), Wish::WebSocket);
        assert_eq!(parts.headers["connection"], "Upgrade");
        assert_eq!(parts.headers["upgrade"], "websocket");
        assert!(!parts.headers.contains_key("sec-websocket-extensions"));
    }
}
