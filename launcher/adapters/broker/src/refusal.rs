//! What the broker answers itself, in the place of a server.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

/// Why a request has no answer of a server's. No variant holds a header's value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// It would repeat the header, or open a way to anywhere.
    #[error("requests of the method {0} are not passed on")]
    Method(String),
    /// It names a server, or nothing.
    #[error("only requests that name a path are passed on")]
    Form,
    /// It is outside of what was granted.
    #[error("at {host}, only {path} and what is below it may be asked for")]
    Outside {
        /// The host.
        host: String,
        /// What was granted of it.
        path: String,
    },
    /// What the path leads to depends on who reads it.
    #[error("the path has dot segments, or letters that may be read as such")]
    Ambiguous,
    /// A header names a path.
    #[error("requests with the header {0} are not passed on where paths are granted")]
    Naming(String),
    /// It has a body that a server may read as another request.
    #[error("requests of this method have no body where paths are granted")]
    Body,
    /// It expects something else than to be told to go on.
    #[error("the expectation is unknown")]
    Expectation,
    /// In its frames a server could send the secret in pieces.
    #[error(
        "WebSockets of {0} are not passed on (`websocket = true` in the secret's entry allows them)"
    )]
    WebSocket(String),
    /// There is no connection, or it broke.
    #[error("{host}: {cause}")]
    Unreachable {
        /// The host.
        host: String,
        /// What is wrong.
        cause: String,
    },
    /// There are as many connections as may be.
    #[error("as many connections to secrets' servers are open as may be")]
    Busy,
    /// The answer can't be searched.
    #[error("{host} sent an answer that can't be searched: {cause}")]
    Unsearchable {
        /// The host.
        host: String,
        /// In which way.
        cause: &'static str,
    },
}

impl Refusal {
    /// The answer to the client.
    pub(crate) fn answer(&self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::from(format!("endow: {self}\n")));
        *response.status_mut() = self.status();
        let kind = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        response
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::Form | Self::Body => StatusCode::BAD_REQUEST,
            Self::Outside { .. } | Self::Ambiguous | Self::Naming(_) | Self::WebSocket(_) => {
                StatusCode::FORBIDDEN
            }
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::Expectation => StatusCode::EXPECTATION_FAILED,
            Self::Unreachable { .. } | Self::Unsearchable { .. } => StatusCode::BAD_GATEWAY,
        }
    }
}
