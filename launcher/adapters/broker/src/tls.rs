//! TLS to the servers, with the host's root certificates.

use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring::default_provider;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::order::Host;

/// How long a server may take to agree.
const PATIENCE: Duration = Duration::from_secs(20);

/// How connections to servers are made.
#[derive(Clone)]
pub(crate) struct Tls(TlsConnector);

/// Why there is no TLS at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    /// Nobody's word for a server could be believed.
    #[error("the host has no usable root certificate")]
    NoRoots,
    /// The library and its ciphers don't fit.
    #[error("no versions of TLS")]
    Versions(#[source] rustls::Error),
}

/// Why there is no connection to a server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    /// The handshake failed; the cause of TLS is inside.
    #[error("no TLS")]
    Handshake(#[source] std::io::Error),
    /// It took too long.
    #[error("no TLS within {} seconds", PATIENCE.as_secs())]
    TooSlow,
}

impl Tls {
    /// Reads the root certificates, which must happen while files can be read.
    pub(crate) fn of_the_host() -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            return Err(TlsError::NoRoots);
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let builder = builder.with_protocol_versions(&[&TLS13, &TLS12]);
        let builder = builder.map_err(TlsError::Versions)?;
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }

    /// Begins TLS with the host's server, whose certificate must be for its name.
    pub(crate) async fn connect(
        &self,
        host: &Host,
        socket: TcpStream,
    ) -> Result<TlsStream<TcpStream>, ConnectError> {
        let handshake = self.0.connect(host.server.clone(), socket);
        let done = timeout(PATIENCE, handshake).await.map_err(|_| ConnectError::TooSlow)?;
        done.map_err(ConnectError::Handshake)
    }
}
