//! A model on loopback that follows a script, and remembers what it was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

/// No agent needs that many; one in a loop must end.
const REQUESTS_MAX: usize = 40;
const PATIENCE: Duration = Duration::from_mins(1);

/// One request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Method and path.
    pub(super) line: String,
    /// Names in lower case, and values.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Value,
}

/// What is answered to a request; `None` to one that asks for nothing of the script.
pub(super) type Answer = fn(&Request) -> Option<Reply>;

/// One answer.
pub(super) enum Reply {
    /// The events of a stream, named by their `type` where they have one.
    Stream(Vec<Value>),
    Whole(Value),
}

/// What the server's threads have in common.
#[derive(Default)]
struct Shared {
    requests: Mutex<Vec<Request>>,
    over: AtomicBool,
}

/// A server that ends when it is dropped.
pub(super) struct Model {
    pub(super) port: u16,
    shared: Arc<Shared>,
    server: Option<JoinHandle<()>>,
    /// Makes a connection, which has the server look whether it is over.
    wake: Box<dyn Fn()>,
}

impl Model {
    /// Starts to listen on a free port of 127.0.0.1.
    pub(super) fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let wake = move || drop(TcpStream::connect(("127.0.0.1", port)).expect("it listens"));
        let accept = move || listener.accept().map(|(stream, _)| stream);
        Self::of(port, Box::new(wake), move |shared| {
            serve(
                accept,
                |stream| {
                    stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
                    serve_one(stream, answer, shared);
                },
                shared,
            );
        })
    }

    /// Starts to listen on a socket with a path.
    pub(super) fn start_at(path: &Path, answer: Answer) -> Self {
        let listener = UnixListener::bind(path).expect("a socket");
        let path = path.to_owned();
        let wake = move || drop(UnixStream::connect(&path).expect("it listens"));
        let accept = move || listener.accept().map(|(stream, _)| stream);
        Self::of(0, Box::new(wake), move |shared| {
            serve(
                accept,
                |stream| {
                    stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
                    serve_one(stream, answer, shared);
                },
                shared,
            );
        })
    }

    fn of(port: u16, wake: Box<dyn Fn()>, run: impl FnOnce(&Shared) + Send + 'static) -> Self {
        let shared = Arc::<Shared>::default();
        let seen = Arc::clone(&shared);
        let server = std::thread::spawn(move || run(&seen));
        Self { port, shared, server: Some(server), wake }
    }

    /// Stops, and returns what was asked.
    pub(super) fn stop(mut self) -> Vec<Request> {
        self.end();
        std::mem::take(&mut self.shared.requests.lock().expect("no panic"))
    }

    fn end(&mut self) {
        let Some(server) = self.server.take() else { return };
        self.shared.over.store(true, Ordering::SeqCst);
        (self.wake)();
        server.join().expect("the server ends");
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.end();
    }
}

/// Serves each connection in a thread of its own; it is closed after its answer.
fn serve<S: Send>(
    accept: impl Fn() -> std::io::Result<S>,
    one: impl Fn(&S) + Sync,
    shared: &Shared,
) {
    std::thread::scope(|scope| {
        while let Ok(stream) = accept() {
            if shared.over.load(Ordering::SeqCst) {
                return;
            }
            let one = &one;
            scope.spawn(move || one(&stream));
        }
    });
}

fn serve_one<S>(mut stream: S, answer: Answer, shared: &Shared)
where
    S: Read + Write + Copy,
{
    let Some(request) = read(stream) else { return };
    let mut requests = shared.requests.lock().expect("no panic");
    if requests.len() < REQUESTS_MAX {
        reply(&mut stream, &request, answer);
        requests.push(request);
    }
}

fn read(stream: impl Read) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).expect("a header");
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(0, |(_, value)| value.parse().expect("a length"));
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(Request { line: line.trim_end().to_owned(), headers, body })
}

fn reply(stream: &mut impl Write, request: &Request, answer: Answer) {
    let (kind, text) = match answer(request) {
        Some(Reply::Stream(events)) => ("text/event-stream", events.iter().map(event).collect()),
        Some(Reply::Whole(it)) => ("application/json", it.to_string()),
        None => ("application/json", json!({ "data": [] }).to_string()),
    };
    let length = text.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    // An agent that went away is seen by what it did not do.
    drop(stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(text.as_bytes())));
}

fn event(it: &Value) -> String {
    let name = it["type"].as_str().map(|name| format!("event: {name}\n")).unwrap_or_default();
    format!("{name}data: {it}\n\n")
}
