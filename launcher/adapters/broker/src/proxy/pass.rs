//! The way of requests from one client to one server.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response, StatusCode};

use super::request::{self, Wish};
use super::response;
use crate::order::Host;
use crate::redact::{RedactedBody, Redactor};
use crate::refusal::Refusal;
use endow_policy::in_one_line;

/// The body of an answer: the server's, or the broker's own.
pub(crate) type Answer = Either<RedactedBody, Full<Bytes>>;

/// One client, and the connection to its server.
pub(crate) struct Passage {
    host: Rc<Host>,
    server: RefCell<SendRequest<Incoming>>,
    /// Whether the server has answered already.
    answered: Cell<bool>,
    /// Whether a request may make the connection something else.
    upgrading: Cell<bool>,
    upgrade: RefCell<Option<(OnUpgrade, OnUpgrade)>>,
}

/// The server closed a connection that was used before. The client sees just that, and tries
/// again on a new one, as it would without a broker.
#[derive(Debug, thiserror::Error)]
#[error("the server closed the connection")]
pub(crate) struct Gone;

/// Why a request is not answered by the server.
enum Unanswered {
    Refused(Refusal),
    Gone,
}

impl From<Refusal> for Unanswered {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Passage {
    /// A connection to the host's server that stands.
    pub(crate) fn new(host: Rc<Host>, server: SendRequest<Incoming>) -> Self {
        let (answered, upgrading) = (Cell::new(false), Cell::new(false));
        let (server, upgrade) = (RefCell::new(server), RefCell::new(None));
        Self { host, server, answered, upgrading, upgrade }
    }

    /// Passes one request on. An error ends the connection.
    pub(crate) async fn pass(
        self: Rc<Self>,
        request: Request<Incoming>,
    ) -> Result<Response<Answer>, Gone> {
        match self.forward(request).await {
            Ok(response) => Ok(response.map(Either::Left)),
            Err(Unanswered::Refused(refusal)) => Ok(refusal.answer().map(Either::Right)),
            Err(Unanswered::Gone) => Err(Gone),
        }
    }

    /// Whether the connections may go on as a WebSocket.
    pub(crate) fn is_upgrading(&self) -> bool {
        self.upgrading.get()
    }

    /// Takes both sides of a WebSocket, client first, when HTTP is over.
    pub(crate) fn take_upgrade(&self) -> Option<(OnUpgrade, OnUpgrade)> {
        self.upgrade.borrow_mut().take()
    }

    async fn forward(
        &self,
        mut request: Request<Incoming>,
    ) -> Result<Response<RedactedBody>, Unanswered> {
        let client = hyper::upgrade::on(&mut request);
        let (mut parts, body) = request.into_parts();
        let wish = request::check(&parts, &self.host)?;
        request::rewrite(&mut parts, &self.host, wish);
        self.upgrading.set(wish == Wish::WebSocket);
        let answered = self.send(Request::from_parts(parts, body)).await;
        let response = answered.and_then(|response| self.answer(response, client, wish));
        self.upgrading.set(self.upgrade.borrow().is_some());
        response
    }

    async fn send(&self, request: Request<Incoming>) -> Result<Response<Incoming>, Unanswered> {
        let ready = poll_fn(|cx| self.server.borrow_mut().poll_ready(cx)).await;
        ready.map_err(|error| self.unanswered(&error))?;
        let answer = self.server.borrow_mut().send_request(request);
        let answer = answer.await.map_err(|error| self.unanswered(&error))?;
        self.answered.set(true);
        Ok(answer)
    }

    /// A server may close a connection whenever nothing is asked on it.
    fn unanswered(&self, error: &hyper::Error) -> Unanswered {
        let closed = error.is_canceled() || error.is_closed() || error.is_incomplete_message();
        if closed && self.answered.get() {
            return Unanswered::Gone;
        }
        Unanswered::Refused(Refusal::Unreachable {
            host: self.host.name.clone(),
            cause: in_one_line(error),
        })
    }

    fn answer(
        &self,
        mut response: Response<Incoming>,
        client: OnUpgrade,
        wish: Wish,
    ) -> Result<Response<RedactedBody>, Unanswered> {
        let server = hyper::upgrade::on(&mut response);
        let (mut parts, body) = response.into_parts();
        response::check(&parts, &self.host, wish)?;
        response::rewrite(&mut parts, &self.host);
        if parts.status == StatusCode::SWITCHING_PROTOCOLS {
            *self.upgrade.borrow_mut() = Some((client, server));
        }
        let body = RedactedBody::new(body, Redactor::new(&self.host.needles));
        Ok(Response::from_parts(parts, body))
    }
}
