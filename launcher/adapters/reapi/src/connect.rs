//! The connection to the server: addresses are asked for and certificates are read before files are given
//! up.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use endow_policy::{RemoteOrder, RemoteTls};
use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tower_service::Service;

/// How long a connection may take to be made.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// How often a server is asked whether it is still there, while it is to answer.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// Why there is nobody to speak with.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    /// The name leads nowhere.
    #[error("can't find {0}")]
    Name(String, #[source] io::Error),
    /// The host, or what TLS was told, can't be used.
    #[error("can't use {0}")]
    Endpoint(String, #[source] tonic::transport::Error),
    /// Nobody answers.
    #[error("no answer from {0}")]
    Connect(String, #[source] tonic::transport::Error),
}

/// Where the server is, and how it is spoken with.
pub(crate) struct Server {
    name: String,
    endpoint: Endpoint,
    ways: Ways,
}

/// Ways to the server, tried in order.
#[derive(Clone, Debug)]
enum Ways {
    Addresses(Vec<SocketAddr>),
    Socket(PathBuf),
}

impl Server {
    /// Finds out all that needs files: addresses, root certificates.
    pub(crate) fn find(order: &RemoteOrder) -> Result<Self, ConnectError> {
        let (name, ways) = ways(order)?;
        let cant = |error| ConnectError::Endpoint(name.clone(), error);
        let authority = if order.socket.is_some() { "localhost" } else { &name };
        let scheme = if order.tls.is_some() { "https" } else { "http" };
        let endpoint = Endpoint::from_shared(format!("{scheme}://{authority}")).map_err(cant)?;
        let mut endpoint = endpoint
            .connect_timeout(CONNECT_PATIENCE)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(CONNECT_PATIENCE);
        if let Some(tls) = &order.tls {
            endpoint = endpoint.tls_config(secret(tls, &order.host)).map_err(cant)?;
        }
        Ok(Self { name, endpoint, ways })
    }

    /// Connects. A connection that is lost later is made again.
    pub(crate) async fn connect(self) -> Result<Channel, ConnectError> {
        let connected = self.endpoint.connect_with_connector(Connector(self.ways)).await;
        connected.map_err(|error| ConnectError::Connect(self.name, error))
    }
}

fn ways(order: &RemoteOrder) -> Result<(String, Ways), ConnectError> {
    if let Some(socket) = &order.socket {
        return Ok((socket.clone(), Ways::Socket(socket.into())));
    }
    let (open, close) = if order.host.contains(':') { ("[", "]") } else { ("", "") };
    let name = format!("{open}{}{close}:{}", order.host, order.port);
    let found = (order.host.as_str(), order.port).to_socket_addrs();
    let found = found.map_err(|error| ConnectError::Name(name.clone(), error))?;
    // A name may lead elsewhere than it says: in the clear a token stays on this machine.
    let may_be_told = order.token.is_none() || order.tls.is_some();
    let found = found.filter(|address| may_be_told || address.ip().is_loopback());
    Ok((name, Ways::Addresses(found.collect())))
}

fn secret(tls: &RemoteTls, host: &str) -> ClientTlsConfig {
    let config = ClientTlsConfig::new().domain_name(host);
    let config = match &tls.ca {
        Some(ca) => config.ca_certificate(Certificate::from_pem(ca)),
        None => config.with_native_roots(),
    };
    match &tls.identity {
        Some((certificate, key)) => config.identity(Identity::from_pem(certificate, key)),
        None => config,
    }
}

/// A connection of either kind.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

type Connection = TokioIo<Box<dyn Stream>>;

/// Makes connections to what was found, whatever name is asked for.
#[derive(Clone, Debug)]
struct Connector(Ways);

impl Service<Uri> for Connector {
    type Response = Connection;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Connection>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let ways = self.0.clone();
        Box::pin(async move { Ok(TokioIo::new(connected(&ways).await?)) })
    }
}

async fn connected(ways: &Ways) -> io::Result<Box<dyn Stream>> {
    match ways {
        Ways::Socket(path) => Ok(Box::new(UnixStream::connect(path).await?)),
        Ways::Addresses(addresses) => {
            let stream = TcpStream::connect(addresses.as_slice()).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(host: &str, token: Option<&str>, tls: bool) -> usize {
        let order = RemoteOrder {
            socket: None,
            host: host.to_owned(),
            port: 1,
            tls: tls.then_some(RemoteTls { ca: None, identity: None }),
            instance: String::new(),
            token: token.map(str::to_owned),
            writes: false,
            retries: 0,
            patience_ms: 1,
        };
        match ways(&order).expect("an address") {
            (_, Ways::Addresses(addresses)) => addresses.len(),
            (_, Ways::Socket(path)) => panic!("{}", path.display()),
        }
    }

    /// Whatever the policy took the name for.
    #[test]
    fn token_in_the_clear_stays_on_this_machine() {
        assert_eq!(addresses("192.0.2.1", None, false), 1, "control");
        assert_eq!(addresses("192.0.2.1", Some("token"), true), 1, "control");
        assert_eq!(addresses("192.0.2.1", Some("token"), false), 0);
        assert_eq!(addresses("127.0.0.1", Some("token"), false), 1);
    }
}
