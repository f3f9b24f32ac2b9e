//! What the process is told: the server of a policy, with the values that its files and variables hold.

use std::fs::File;
use std::io::Read;

use endow_policy::{HostPath, Remote, RemoteMode, RemoteOrder, RemoteTls, RemoteUrl};

use crate::adapters::environment::Given;
use crate::adapters::secret::{self, Kind, SecretError};

/// How often a call is tried once more that failed for now.
const RETRIES: u32 = 4;
/// How long one call may take.
const PATIENCE_MS: u64 = 60_000;
/// The most bytes of certificates, and of a key: all of it goes in one message.
const PEM_MAX: u64 = 48 << 10;

/// Why there is no order for a server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OrderError {
    /// A directory is no server.
    #[error("it is no server")]
    Directory,
    /// A token would go over the line for everybody to read.
    #[error("a token goes to servers with TLS alone, or on this machine")]
    Readable,
    /// What only TLS has.
    #[error("`ca`, `cert` and `key` are for `grpcs://`")]
    NoTls,
    /// Half of what says who asks.
    #[error("`cert` and `key` go together")]
    Half,
    /// The token can't be read.
    #[error("can't read the token")]
    Token(#[source] SecretError),
    /// A file can't be read.
    #[error("can't read {path}")]
    File {
        /// Which one.
        path: HostPath,
        /// Why.
        source: std::io::Error,
    },
}

/// Reads what says who asks, and returns the order for a server. The token's command gets what is `given`.
pub(crate) fn order(remote: &Remote, given: Given<'_>) -> Result<RemoteOrder, OrderError> {
    let (socket, host, port, is_tls) = match &remote.url.value {
        RemoteUrl::Directory(_) => return Err(OrderError::Directory),
        RemoteUrl::Socket(path) => (Some(path.clone()), String::new(), 0, false),
        RemoteUrl::Server { tls, host, port } => (None, host.clone(), *port, *tls),
    };
    if remote.token.is_some() && !remote.url.value.is_private() {
        return Err(OrderError::Readable);
    }
    Ok(RemoteOrder {
        socket,
        host,
        port,
        tls: tls(remote, is_tls)?,
        instance: remote.instance.clone(),
        token: token(remote, given)?,
        writes: remote.mode == RemoteMode::ReadWrite,
        retries: RETRIES,
        patience_ms: PATIENCE_MS,
    })
}

fn token(remote: &Remote, given: Given<'_>) -> Result<Option<String>, OrderError> {
    let Some(token) = &remote.token else { return Ok(None) };
    let value = secret::read(&token.value, Kind::Header, given).map_err(OrderError::Token)?;
    Ok(Some(value.as_text().to_owned()))
}

fn tls(remote: &Remote, is_tls: bool) -> Result<Option<RemoteTls>, OrderError> {
    let files = [&remote.ca, &remote.cert, &remote.key];
    if !is_tls {
        let has_none = files.iter().all(|file| file.is_none());
        return if has_none { Ok(None) } else { Err(OrderError::NoTls) };
    }
    let identity = match (&remote.cert, &remote.key) {
        (Some(cert), Some(key)) => Some((pem(cert)?, pem(key)?)),
        (None, None) => None,
        _ => return Err(OrderError::Half),
    };
    Ok(Some(RemoteTls { ca: remote.ca.as_ref().map(pem).transpose()?, identity }))
}

fn pem(path: &HostPath) -> Result<String, OrderError> {
    let failed = |source| OrderError::File { path: path.clone(), source };
    let file = File::open(path.as_path()).map_err(failed)?;
    let mut text = String::new();
    file.take(PEM_MAX + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > PEM_MAX {
        return Err(failed(std::io::ErrorKind::FileTooLarge.into()));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use endow_policy::{Origin, SecretSource, Stated};

    use super::*;

    fn at(url: &str) -> Remote {
        Remote::at(Stated::new(RemoteUrl::parse(url).expect(url), Origin::Default))
    }

    fn with_token(url: &str) -> Remote {
        let source = SecretSource::Command("echo abc".to_owned());
        Remote { token: Some(Stated::new(source, Origin::Default)), ..at(url) }
    }

    #[test]
    fn token_goes_nowhere_in_the_clear() {
        for url in ["grpcs://cache", "grpc://127.0.0.1:1", "unix:/run/cache"] {
            let order = order(&with_token(url), Given::default()).expect(url);
            assert_eq!(order.token.as_deref(), Some("abc"));
        }
        let refused = order(&with_token("grpc://cache:1"), Given::default()).map(|_| ());
        assert!(matches!(refused, Err(OrderError::Readable)));
    }

    #[test]
    fn what_says_who_asks_is_whole_or_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("pem");
        std::fs::write(&path, "PEM").expect("written");
        let path = || Some(HostPath::new(path.to_str().expect("text")).expect("a path"));
        let refused = |remote| order(&remote, Given::default()).map(|_| ()).expect_err("refused");
        let half = Remote { cert: path(), ..at("grpcs://cache") };
        assert!(matches!(refused(half), OrderError::Half));
        let plain = Remote { ca: path(), ..at("grpc://cache:1") };
        assert!(matches!(refused(plain), OrderError::NoTls));
        let whole = Remote { cert: path(), key: path(), ca: path(), ..at("grpcs://cache") };
        let tls = order(&whole, Given::default()).ok().and_then(|order| order.tls).expect("TLS");
        assert_eq!(tls.ca.as_deref(), Some("PEM"));
        assert!(tls.identity == Some(("PEM".to_owned(), "PEM".to_owned())));
        let missing = HostPath::new("/no/such/file").expect("a path");
        let missing = Remote { ca: Some(missing), ..at("grpcs://cache") };
        assert!(matches!(refused(missing), OrderError::File { .. }));
        // All of it must fit into one message, and a file may be longer than it says.
        std::fs::write(dir.path().join("large"), "x".repeat(49 << 10)).expect("written");
        for path in [dir.path().join("large").as_path(), std::path::Path::new("/dev/zero")] {
            let path = HostPath::new(path).expect("a path");
            let large = Remote { ca: Some(path), ..at("grpcs://cache") };
            assert!(matches!(refused(large), OrderError::File { .. }));
        }
    }
}
