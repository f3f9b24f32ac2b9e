//! A server of TLS, which notes what comes to it.

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::client::header;
use crate::process::{HOST, SECRET};

/// The size of a large body.
pub(crate) const LARGE: usize = 20 << 20;

/// Certificates that all tests share.
struct Certificates {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// Whose certificate a server shows.
#[derive(Clone, Copy)]
pub(crate) enum Shows {
    /// One for its name, of the authority that is trusted.
    Its,
    /// One of the same authority for another name.
    AnotherName,
    /// One for its name of nobody that is trusted.
    AnotherAuthority,
}

/// A server that listens.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// The heads of all requests.
    heads: Mutex<Vec<String>>,
    connections: AtomicUsize,
    /// Whether the second event may be sent.
    released: AtomicBool,
    /// Whether the client of an endless answer has left.
    left: AtomicBool,
}

type Stream = BufReader<StreamOwned<ServerConnection, TcpStream>>;

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).expect("names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    CertifiedIssuer::self_signed(params, key).expect("a certificate")
}

/// The certificates, made once.
fn certificates() -> &'static Certificates {
    static MADE: OnceLock<Certificates> = OnceLock::new();
    MADE.get_or_init(|| Certificates { issuer: authority() })
}

/// A directory in which everybody can read `roots.pem`, the authority to trust.
pub(crate) fn roots() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("roots.pem");
    std::fs::write(&path, certificates().issuer.pem()).expect("written");
    for (path, mode) in [(dir.path(), 0o755), (&*path, 0o644)] {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("changed");
    }
    dir
}

fn config(shows: Shows) -> ServerConfig {
    let other = authority();
    let (name, issuer) = match shows {
        Shows::Its => (HOST, &certificates().issuer),
        Shows::AnotherName => ("other.example.com", &certificates().issuer),
        Shows::AnotherAuthority => (HOST, &other),
    };
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec![name.to_owned()]).expect("names");
    let certificate = params.signed_by(&key, issuer).expect("a certificate");
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().expect("versions");
    let builder = builder.with_no_client_auth();
    builder.with_single_cert(vec![certificate.der().clone()], key).expect("a configuration")
}

impl Server {
    /// Starts one that shows its own certificate.
    pub(crate) fn start() -> Self {
        Self::showing(Shows::Its)
    }

    /// Starts one. Its threads end with the test.
    pub(crate) fn showing(shows: Shows) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(State::default());
        let config = Arc::new(config(shows));
        let served = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (config, state) = (Arc::clone(&config), Arc::clone(&served));
                let stream = stream.expect("a connection");
                std::thread::spawn(move || serve(stream, config, &state));
            }
        });
        Self { address, state }
    }

    /// The heads of the requests so far.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.state.heads.lock().expect("no panic").clone()
    }

    /// How many connections got as far as TLS.
    pub(crate) fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// Whether the client of an endless answer leaves soon.
    pub(crate) fn is_left(&self) -> bool {
        for _ in 0..1000 {
            if self.state.left.load(Ordering::SeqCst) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    /// Lets the second event come.
    pub(crate) fn release(&self) {
        self.state.released.store(true, Ordering::SeqCst);
    }
}

fn serve(stream: TcpStream, config: Arc<ServerConfig>, state: &State) {
    let connection = ServerConnection::new(config).expect("a connection");
    let mut stream = BufReader::new(StreamOwned::new(connection, stream));
    let mut first = true;
    while let Some(head) = head(&mut stream) {
        if std::mem::take(&mut first) {
            state.connections.fetch_add(1, Ordering::SeqCst);
        }
        state.heads.lock().expect("no panic").push(head.clone());
        if answer(&mut stream, &head, state).is_err() {
            break;
        }
    }
    stream.get_mut().conn.send_close_notify();
    drop(stream.get_mut().flush());
}

fn head(stream: &mut Stream) -> Option<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if !stream.read_line(&mut head).is_ok_and(|length| length > 0) {
            return None;
        }
    }
    Some(head)
}

/// Answers; an error ends the connection.
fn answer(stream: &mut Stream, head: &str, state: &State) -> std::io::Result<()> {
    let target = head.split(' ').nth(1).unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default();
    match path {
        "/echo" => echo(stream, head),
        "/events" => events(stream, state),
        "/upload" => uploaded(stream, head),
        "/ranged" => ranged(stream, head),
        "/part" => part(stream, SECRET),
        "/forms" => forms(stream, head),
        "/download" => whole(stream, "", &large()),
        "/gzip" => whole(stream, "Content-Encoding: gzip\r\n", b"packed"),
        "/partial" => {
            let text = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf";
            say(stream, text.as_bytes())?;
            Err(std::io::ErrorKind::Other.into())
        }
        "/garbage" => {
            say(stream, b"no answer at all\r\n\r\n")?;
            Err(std::io::ErrorKind::Other.into())
        }
        "/last" => {
            whole(stream, "", b"last")?;
            Err(std::io::ErrorKind::Other.into())
        }
        "/slow" => {
            std::thread::sleep(Duration::from_secs(1));
            whole(stream, "", b"slow")
        }
        "/never" => {
            std::thread::sleep(Duration::from_mins(1));
            Err(std::io::ErrorKind::Other.into())
        }
        "/watch" => watch(stream, state),
        "/socket" => socket(stream),
        _ => whole(stream, "", format!("hello {target}").as_bytes()),
    }
}

fn say(stream: &mut Stream, bytes: &[u8]) -> std::io::Result<()> {
    stream.get_mut().write_all(bytes)?;
    stream.get_mut().flush()
}

fn whole(stream: &mut Stream, headers: &str, body: &[u8]) -> std::io::Result<()> {
    let head = format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    say(stream, head.as_bytes())?;
    say(stream, body)
}

/// Repeats the request wherever it can, in pieces that end within the secret.
fn echo(stream: &mut Stream, head: &str) -> std::io::Result<()> {
    let key = header(head, "x-key").unwrap_or_default();
    let said = format!(
        "HTTP/1.1 200 {SECRET}\r\nX-Echo: <{key}>\r\nX-{SECRET}: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    say(stream, said.as_bytes())?;
    for piece in head.as_bytes().chunks(7) {
        say(stream, format!("{:x}\r\n", piece.len()).as_bytes())?;
        say(stream, piece)?;
        say(stream, b"\r\n")?;
    }
    say(stream, format!("0\r\nX-Trailer: {key}\r\n\r\n").as_bytes())
}

/// Says the secret, or four bytes of it when they are asked for.
fn ranged(stream: &mut Stream, head: &str) -> std::io::Result<()> {
    match ["range", "request-range"].iter().find_map(|name| header(head, name)) {
        None => whole(stream, "", SECRET.as_bytes()),
        Some(_) => part(stream, &SECRET[..4]),
    }
}

fn part(stream: &mut Stream, text: &str) -> std::io::Result<()> {
    say(
        stream,
        format!("HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\n\r\n{text}", text.len())
            .as_bytes(),
    )
}

/// Says what the client asks for in another header: a form of the secret.
fn forms(stream: &mut Stream, head: &str) -> std::io::Result<()> {
    whole(stream, "", header(head, "x-form").unwrap_or_default().as_bytes())
}

fn events(stream: &mut Stream, state: &State) -> std::io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                Transfer-Encoding: chunked\r\n\r\nb\r\ndata: one\n\n\r\n";
    say(stream, head.as_bytes())?;
    while !state.released.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(5));
    }
    say(stream, b"b\r\ndata: two\n\n\r\n0\r\n\r\n")
}

/// An answer that never ends, until the other side does.
fn watch(stream: &mut Stream, state: &State) -> std::io::Result<()> {
    say(stream, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")?;
    let read = stream.read(&mut [0; 1]);
    state.left.store(!matches!(read, Ok(1)), Ordering::SeqCst);
    Err(std::io::ErrorKind::Other.into())
}

/// Answers with the length and sum of what was sent.
fn uploaded(stream: &mut Stream, head: &str) -> std::io::Result<()> {
    let mut body = Vec::new();
    if let Some(length) = header(head, "content-length") {
        body = vec![0; length.parse().expect("a length")];
        stream.read_exact(&mut body)?;
    } else {
        loop {
            let mut line = String::new();
            stream.read_line(&mut line)?;
            let length = usize::from_str_radix(line.trim(), 16).expect("a length");
            let mut chunk = vec![0; length + 2];
            stream.read_exact(&mut chunk)?;
            body.extend_from_slice(&chunk[..length]);
            if length == 0 {
                break;
            }
        }
    }
    whole(stream, "", format!("{} {}", body.len(), sum(&body)).as_bytes())
}

/// Becomes a WebSocket that repeats the key, and then all that it hears.
fn socket(stream: &mut Stream) -> std::io::Result<()> {
    let head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                Sec-WebSocket-Accept: x\r\n\r\n";
    say(stream, format!("{head}key={SECRET};").as_bytes())?;
    let mut bytes = [0; 64];
    loop {
        match stream.read(&mut bytes)? {
            0 => return Err(std::io::ErrorKind::Other.into()),
            length => say(stream, &bytes[..length])?,
        }
    }
}

/// A large body, of which each part is different.
pub(crate) fn large() -> Vec<u8> {
    (0..LARGE / 4).flat_map(|number| (u32::try_from(number).unwrap_or(0)).to_le_bytes()).collect()
}

/// A sum in which places count.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(7, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)))
}
