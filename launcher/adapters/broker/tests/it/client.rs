//! The client inside the sandbox: plain HTTP, written by hand so that it can be wrong.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// One connection.
pub(crate) struct Client {
    pub(crate) stream: UnixStream,
    pub(crate) reader: BufReader<UnixStream>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The status line and the headers.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Client {
    pub(crate) fn new(stream: UnixStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        stream.set_write_timeout(Some(PATIENCE)).expect("a limit");
        let reader = BufReader::new(stream.try_clone().expect("a copy"));
        Self { stream, reader }
    }

    /// Writes what is not to be a whole request.
    pub(crate) fn write(&mut self, text: impl AsRef<[u8]>) {
        self.stream.write_all(text.as_ref()).expect("written");
    }

    /// Asks for a path and returns the answer.
    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: inside\r\n\r\n"))
    }

    /// Writes a request and returns the answer.
    pub(crate) fn ask(&mut self, request: &str) -> Answer {
        self.write(request);
        self.answer()
    }

    /// Reads an answer with its body.
    pub(crate) fn answer(&mut self) -> Answer {
        let head = self.head();
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status");
        let body = if header(&head, "transfer-encoding").is_some() {
            let mut body = Vec::new();
            while let Some(chunk) = self.chunk() {
                body.extend(chunk);
            }
            body
        } else {
            let length =
                header(&head, "content-length").map_or(0, |it| it.parse().expect("a size"));
            let mut body = vec![0; length];
            self.reader.read_exact(&mut body).expect("a body");
            body
        };
        Answer { status, head, body }
    }

    /// Reads a status line and headers.
    pub(crate) fn head(&mut self) -> String {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(
                self.reader.read_line(&mut head).expect("a line"),
                0,
                "the end after: {head}"
            );
        }
        head
    }

    /// Reads one chunk; `None` at the last.
    pub(crate) fn chunk(&mut self) -> Option<Vec<u8>> {
        let mut line = String::new();
        self.reader.read_line(&mut line).expect("a line");
        let length = usize::from_str_radix(line.trim(), 16).expect("a length");
        let mut chunk = vec![0; length + 2];
        self.reader.read_exact(&mut chunk).expect("a chunk");
        chunk.truncate(length);
        (length > 0).then_some(chunk)
    }

    /// Reads to the end of the connection.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        // The end may be an error where something was left unread.
        drop(self.reader.read_to_end(&mut rest));
        rest
    }
}

/// The value of a header.
pub(crate) fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let fields = head.lines().filter_map(|line| line.split_once(':'));
    fields.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, it)| it.trim()).next()
}
