//! Caches of results that builds share, on this machine or another.

mod order;
mod url;

use std::ffi::OsString;

pub use order::{
    RemoteAnswer, RemoteContent, RemoteFound, RemoteOrder, RemoteProblem, RemoteRequest, RemoteTls,
};
pub use url::{RemoteUrl, RemoteUrlError};

use crate::{HostPath, SecretSource, Stated, WrittenSource};

/// The table `[remote]`, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteTable {
    /// Where results are shared.
    pub url: Option<Stated<RemoteUrl>>,
    /// The part of a server that is meant, when it has several.
    pub instance: Option<Stated<String>>,
    /// Whether own results are put there.
    pub mode: Option<Stated<RemoteMode>>,
    /// What says to a server who asks.
    pub token: Option<Stated<WrittenSource>>,
    /// A file with the certificates that a server's is believed by.
    pub ca: Option<Stated<OsString>>,
    /// A file with the certificate that says who asks.
    pub cert: Option<Stated<OsString>>,
    /// A file with the key of that certificate.
    pub key: Option<Stated<OsString>>,
}

/// What is done with a remote cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RemoteMode {
    /// Results are taken from it.
    Read,
    /// And own results are put there.
    #[default]
    ReadWrite,
}

/// A remote cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Where it is.
    pub url: Stated<RemoteUrl>,
    /// The part of a server that is meant; empty where it has one alone.
    pub instance: String,
    /// What is done with it.
    pub mode: RemoteMode,
    /// Where the token comes from that says who asks.
    pub token: Option<Stated<SecretSource>>,
    /// A file with the certificates that a server's is believed by, in the place of the host's.
    pub ca: Option<HostPath>,
    /// A file with the certificate that says who asks.
    pub cert: Option<HostPath>,
    /// A file with its key.
    pub key: Option<HostPath>,
}

impl Remote {
    /// A cache that nothing is said of but where it is.
    pub fn at(url: Stated<RemoteUrl>) -> Self {
        let (instance, mode) = (String::new(), RemoteMode::default());
        Self { url, instance, mode, token: None, ca: None, cert: None, key: None }
    }
}
