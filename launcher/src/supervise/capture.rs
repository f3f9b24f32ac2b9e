//! What the command writes, kept instead of passed on: for `run --json`.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::{Errno, ioctl_fionbio, read};
use rustix::pipe::{PipeFlags, pipe_with};

/// The most bytes that are kept of a stream; the rest is read and dropped, so that the command
/// never waits for a reader.
pub(crate) const BYTES_MAX: usize = 1 << 20;

/// One stream of the command.
#[derive(Debug)]
pub(crate) struct Stream {
    source: Option<OwnedFd>,
    bytes: Vec<u8>,
    truncated: bool,
}

/// Standard output and standard error of the command.
#[derive(Debug)]
pub(crate) struct Capture {
    streams: [Stream; 2],
}

impl Capture {
    /// Makes the pipes; the write ends are for the command.
    pub(crate) fn new() -> Result<(Self, [OwnedFd; 2]), Errno> {
        let (out, out_write) = Stream::new()?;
        let (err, err_write) = Stream::new()?;
        Ok((Self { streams: [out, err] }, [out_write, err_write]))
    }

    /// Returns what was written to each, and whether something is missing at its end.
    pub(crate) fn kept(&self) -> [(&[u8], bool); 2] {
        self.streams.each_ref().map(|stream| (stream.bytes.as_slice(), stream.truncated))
    }

    pub(super) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.streams.iter().filter_map(|stream| stream.source.as_ref().map(AsFd::as_fd))
    }

    /// Reads what is there, without waiting.
    pub(super) fn read(&mut self) {
        self.streams.iter_mut().for_each(Stream::read);
    }
}

impl Stream {
    fn new() -> Result<(Self, OwnedFd), Errno> {
        let (source, target) = pipe_with(PipeFlags::CLOEXEC)?;
        ioctl_fionbio(&source, true)?;
        Ok((Self { source: Some(source), bytes: Vec::new(), truncated: false }, target))
    }

    fn read(&mut self) {
        let mut chunk = [0; 16 * 1024];
        while let Some(source) = &self.source {
            match read(source, &mut chunk) {
                Ok(0) => self.source = None,
                Ok(length) => self.keep(chunk.get(..length).unwrap_or_default()),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => self.source = None,
            }
        }
    }

    fn keep(&mut self, chunk: &[u8]) {
        let room = BYTES_MAX - self.bytes.len();
        self.bytes.extend_from_slice(chunk.get(..room.min(chunk.len())).unwrap_or_default());
        self.truncated |= chunk.len() > room;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_kept_up_to_its_limit() {
        let (mut capture, [out, err]) = Capture::new().expect("pipes");
        rustix::io::write(&out, b"text").expect("written");
        drop((out, err));
        capture.read();
        capture.streams[1].keep(&vec![7; BYTES_MAX]);
        capture.streams[1].keep(b"more");
        let [(out, out_cut), (err, err_cut)] = capture.kept();
        assert_eq!((out, out_cut), (&b"text"[..], false));
        assert_eq!((err.len(), err_cut), (BYTES_MAX, true));
    }
}
