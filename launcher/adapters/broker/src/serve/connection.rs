//! One connection: a client of plain HTTP on one side, a server of TLS on the other.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1 as upstream;
use hyper::server::conn::http1 as downstream;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;

use super::client::Client;
use super::tunnel;
use crate::control::Arrival;
use crate::order::Host;
use crate::proxy::Passage;
use crate::redact::Redactor;
use crate::refusal::Refusal;
use crate::tls::Tls;
use endow_policy::in_one_line;

/// The most bytes that are kept of one direction of one connection, so of the headers of a message.
const BUFFER_MAX: usize = 64 << 10;

/// The most headers of a message.
const HEADERS_MAX: usize = 200;

/// How long a request is waited for that is not served.
const TURNED_AWAY: Duration = Duration::from_secs(2);

/// Both sides, and what they are for.
pub(super) struct Connection {
    host: Rc<Host>,
    tls: Tls,
    client: Client,
    server: TcpStream,
    ending: watch::Receiver<()>,
}

impl Connection {
    /// Takes two sockets that are connected.
    pub(super) fn new(
        arrival: Arrival,
        host: Rc<Host>,
        tls: Tls,
        ending: watch::Receiver<()>,
    ) -> io::Result<Self> {
        let client = StdUnixStream::from(arrival.client);
        let server = std::net::TcpStream::from(arrival.server);
        client.set_nonblocking(true)?;
        server.set_nonblocking(true)?;
        server.set_nodelay(true)?;
        let client = Client::new(UnixStream::from_std(client)?);
        Ok(Self { host, tls, client, server: TcpStream::from_std(server)?, ending })
    }

    /// Serves it to its end.
    pub(super) async fn serve(self) {
        let Self { host, tls, client, server, ending } = self;
        let connecting = tls.connect(&host, server);
        let Some(connected) = while_wanted(connecting, &client, ending.clone()).await else {
            return;
        };
        let made = match connected {
            Ok(stream) => begun(stream).await.map_err(|error| in_one_line(&error)),
            Err(error) => Err(in_one_line(&error)),
        };
        match made {
            Ok((sender, server)) => {
                let passage = Rc::new(Passage::new(Rc::clone(&host), sender));
                let upstream = pass_all(&client, server, &passage, ending.clone()).await;
                if let Some(upgrade) = passage.take_upgrade() {
                    tunnel::join(upgrade, Redactor::new(&host.needles)).await;
                }
                drop(upstream);
            }
            Err(cause) => {
                let host = host.name.clone();
                refuse(&client, &Refusal::Unreachable { host, cause }).await;
            }
        }
        client.part(ending).await;
    }

    /// Answers that there are too many, if a request comes soon.
    pub(super) async fn turn_away(self) {
        let Self { client, server, ending, .. } = self;
        drop(server);
        drop(timeout(TURNED_AWAY, refuse(&client, &Refusal::Busy)).await);
        client.part(ending).await;
    }
}

/// What becomes of something that is done for a client; nothing when that leaves, or the supervisor has enough, before.
async fn while_wanted<T>(
    work: impl Future<Output = T>,
    client: &Client,
    mut ending: watch::Receiver<()>,
) -> Option<T> {
    let (mut work, mut left) = (pin!(work), pin!(client.leaves()));
    let mut ended = pin!(ending.changed());
    poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending if left.as_mut().poll(cx).is_ready() => Poll::Ready(None),
        Poll::Pending => ended.as_mut().poll(cx).map(|_| None),
    })
    .await
}

type Server = upstream::Connection<TokioIo<TlsStream<TcpStream>>, Incoming>;

async fn begun(
    stream: TlsStream<TcpStream>,
) -> hyper::Result<(upstream::SendRequest<Incoming>, Server)> {
    let mut builder = upstream::Builder::new();
    builder.max_buf_size(BUFFER_MAX).max_headers(HEADERS_MAX);
    builder.handshake(TokioIo::new(stream)).await
}

/// A client that has closed its side is one that has left, as most servers see it: what it asked
/// for may cost the user money, so it is not finished.
fn builder() -> downstream::Builder {
    let mut builder = downstream::Builder::new();
    builder.max_buf_size(BUFFER_MAX).max_headers(HEADERS_MAX).auto_date_header(false);
    builder
}

/// Passes on requests until one of both sides, or the supervisor, has enough. What comes back is
/// the server's side, which may not have ended.
async fn pass_all(
    client: &Client,
    server: Server,
    passage: &Rc<Passage>,
    mut ending: watch::Receiver<()>,
) -> JoinSet<hyper::Result<()>> {
    let service = service_fn(|request| Rc::clone(passage).pass(request));
    let serving = builder().serve_connection(TokioIo::new(client.clone()), service);
    let mut serving = pin!(serving.with_upgrades());
    let mut upstream = JoinSet::new();
    upstream.spawn_local(server.with_upgrades());
    let mut ended = pin!(ending.changed());
    let (mut over, mut told) = (false, false);
    let until_over = poll_fn(|cx| {
        // No more requests are taken, and those under way are finished.
        over = over || upstream.poll_join_next(cx).is_ready() || ended.as_mut().poll(cx).is_ready();
        if over && !told && !passage.is_upgrading() {
            told = true;
            serving.as_mut().graceful_shutdown();
        }
        serving.as_mut().poll(cx)
    });
    // Whatever broke, both sides learn of it by the end of their connections.
    drop(until_over.await);
    upstream
}

/// Answers the first request with the reason for which there is no server.
async fn refuse(client: &Client, refusal: &Refusal) {
    let answer = |_: Request<Incoming>| {
        let response: Response<Full<Bytes>> = refusal.answer();
        async { Ok::<_, Infallible>(response) }
    };
    let io = TokioIo::new(client.clone());
    drop(builder().keep_alive(false).serve_connection(io, service_fn(answer)).await);
}
