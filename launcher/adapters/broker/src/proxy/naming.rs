//! Headers that name a path or a host themselves, beside those of the request. Names are folded.

/// Of a copy (RFC 4918, and the stores of objects), or to servers behind others.
const NAMES: [&str; 14] = [
    "base-url",
    "destination",
    "forwarded",
    "http-url",
    // Gunicorn takes these two for what a server before it found out.
    "path-info",
    "request-uri",
    "script-name",
    "x-forwarded",
    "x-http-destinationurl",
    "x-object-manifest",
    "x-original",
    "x-rewrite",
    "x-script-name",
    // It stands before the path.
    "x-vault-namespace",
];

/// How names of others of them begin.
const BEGIN: [&str; 10] = [
    "destination-",
    "x-accel-",
    "x-copy-from",
    "x-envoy-original-",
    "x-forwarded-",
    "x-invoke-",
    "x-middleware-",
    "x-original-",
    "x-rewrite-",
    "x-symlink-target",
];

/// How names of others end that begin with `x-`.
const END: [&str; 8] = [
    "-host",
    "-host-override",
    "-path",
    "-path-override",
    "-uri",
    "-uri-override",
    "-url",
    "-url-override",
];

/// What of a store's object is made, in the word of each store: `x-amz-copy-source` and its like.
const WITHIN: [&str; 2] = ["-copy-source", "-rename-source"];

/// Those that look so and name neither: proxies inside add them.
const NOT: [&str; 3] = ["x-forwarded-for", "x-forwarded-port", "x-forwarded-proto"];

/// Whether a header of this name may lead a server to another place.
pub(super) fn is_naming(name: &str) -> bool {
    let begins = BEGIN.iter().any(|it| name.starts_with(it));
    let ends = name.starts_with("x-") && END.iter().any(|it| name.ends_with(it));
    let holds = WITHIN.iter().any(|it| name.contains(it));
    NAMES.contains(&name) || holds || ((begins || ends) && !NOT.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_that_name_a_place_are_known() {
        for name in [
            "destination",
            "destination-account",
            "forwarded",
            "path-info",
            "script-name",
            "x-accel-mapping",
            "x-amz-copy-source",
            "x-amz-copy-source-range",
            "x-copy-from",
            "x-copy-from-account",
            "x-envoy-original-path",
            "x-forwarded",
            "x-forwarded-host",
            "x-forwarded-prefix",
            "x-goog-copy-source",
            "x-host",
            "x-host-override",
            "x-http-destinationurl",
            "x-http-host-override",
            "x-invoke-path",
            "x-matched-path",
            "x-middleware-rewrite",
            "x-middleware-subrequest",
            "x-ms-copy-source",
            "x-ms-copy-source-authorization",
            "x-ms-rename-source",
            "x-original-url",
            "x-oss-copy-source",
            "x-real-url",
            "x-replaced-path",
            "x-rewrite-url",
            "x-uri",
            "x-vault-namespace",
        ] {
            assert!(is_naming(name), "{name}");
        }
    }

    #[test]
    fn headers_of_clients_are_none() {
        for name in [
            "accept",
            "anthropic-version",
            "content-location",
            "content-type",
            "cookie",
            "dropbox-api-arg",
            "http-referer",
            "idempotency-key",
            "if-match",
            "openai-organization",
            "origin",
            "overwrite",
            "referer",
            "user-agent",
            "x-amz-content-sha256",
            "x-amz-metadata-directive",
            "x-api-key",
            "x-csrf-token",
            "x-forwarded-for",
            "x-forwarded-port",
            "x-forwarded-proto",
            "x-github-api-version",
            "x-goog-user-project",
            "x-http-method-override",
            "x-ms-blob-type",
            "x-ms-version",
            "x-real-ip",
            "x-request-id",
            "x-requested-with",
            "x-stainless-lang",
            "x-title",
            "x-upload-content-type",
        ] {
            assert!(!is_naming(name), "{name}");
        }
    }
}
