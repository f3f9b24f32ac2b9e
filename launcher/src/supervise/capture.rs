//! What the command writes, kept instead of passed on: for `run --json`, and for actions of builds.
//!
//! The command has pipes, which it can open again under their names below `/dev`, and which name no file of the host's.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::{Errno, ioctl_fionbio, read, write};
use rustix::pipe::{PipeFlags, pipe_with};

/// The most bytes that are kept of a stream; the rest is read and dropped, so that the command
/// never waits for a reader.
pub(crate) const BYTES_MAX: usize = 1 << 20;
/// A command that writes without an end is read so often at a time: other things happen, too.
const TURNS: usize = 64;

/// One stream of the command.
#[derive(Debug)]
pub(crate) struct Stream {
    source: Option<OwnedFd>,
    bytes: Vec<u8>,
    truncated: bool,
    /// Where all of it is kept, in the place of `bytes`.
    file: Option<OwnedFd>,
    /// Why that could not be.
    failed: Option<Errno>,
}

/// Standard output and standard error of the command.
#[derive(Debug)]
pub(crate) struct Capture {
    streams: [Stream; 2],
}

impl Capture {
    /// Makes the pipes; the write ends are for the command.
    pub(crate) fn new() -> Result<(Self, [OwnedFd; 2]), Errno> {
        Self::of([None, None])
    }

    /// Makes the pipes, and has all that comes put into files; the write ends are for the command.
    pub(crate) fn to_files(files: [OwnedFd; 2]) -> Result<(Self, [OwnedFd; 2]), Errno> {
        Self::of(files.map(Some))
    }

    fn of([out, err]: [Option<OwnedFd>; 2]) -> Result<(Self, [OwnedFd; 2]), Errno> {
        let (out, out_write) = Stream::new(out)?;
        let (err, err_write) = Stream::new(err)?;
        Ok((Self { streams: [out, err] }, [out_write, err_write]))
    }

    /// Returns why not all could be kept in files.
    pub(crate) fn failed(&self) -> Option<Errno> {
        self.streams.iter().find_map(|stream| stream.failed)
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
        for stream in &mut self.streams {
            stream.read(TURNS);
        }
    }

    /// Reads all that is there, when nobody writes any more.
    pub(super) fn finish(&mut self) {
        for stream in &mut self.streams {
            stream.read(usize::MAX);
        }
    }
}

impl Stream {
    fn new(file: Option<OwnedFd>) -> Result<(Self, OwnedFd), Errno> {
        let (source, target) = pipe_with(PipeFlags::CLOEXEC)?;
        ioctl_fionbio(&source, true)?;
        let (source, bytes) = (Some(source), Vec::new());
        Ok((Self { source, bytes, truncated: false, file, failed: None }, target))
    }

    fn read(&mut self, turns: usize) {
        let mut chunk = [0; 16 * 1024];
        for _ in 0..turns {
            let Some(source) = &self.source else { return };
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
        if let Some(file) = &self.file {
            // What comes is read even so: the command waits for no reader until it is ended.
            let kept = if self.failed.is_none() { write_all(file, chunk) } else { Ok(()) };
            self.failed = self.failed.or(kept.err());
            return;
        }
        let room = BYTES_MAX - self.bytes.len();
        self.bytes.extend_from_slice(chunk.get(..room.min(chunk.len())).unwrap_or_default());
        self.truncated |= chunk.len() > room;
    }
}

fn write_all(file: &OwnedFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match write(file, bytes) {
            Ok(0) => return Err(Errno::NOSPC),
            Ok(length) => bytes = bytes.get(length..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn all_of_a_stream_is_kept_in_a_file() {
        let place = tempfile::tempdir().expect("a directory");
        let path = |name| place.path().join(name);
        let file = |name| OwnedFd::from(File::create(path(name)).expect("a file"));
        let full = OwnedFd::from(File::create("/dev/full").expect("a device"));
        let (mut capture, [out, err]) = Capture::to_files([file("out"), full]).expect("pipes");
        let mut written = 0;
        for _ in 0..3 * TURNS {
            written += rustix::io::write(&out, &[7; 8 * 1024]).expect("written");
            capture.read();
        }
        capture.finish();
        assert_eq!(fs::metadata(path("out")).expect("a file").len(), written as u64);
        assert_eq!(capture.failed(), None);
        rustix::io::write(&err, b"text").expect("written");
        capture.finish();
        assert_eq!(capture.failed(), Some(Errno::NOSPC));
    }

    #[test]
    fn one_that_is_written_without_an_end_is_left_after_a_while() {
        let (mut capture, [out, _err]) = Capture::new().expect("pipes");
        let writer =
            std::thread::spawn(move || while rustix::io::write(&out, &[7; 4096]).is_ok() {});
        while !capture.kept()[0].1 {
            capture.read();
        }
        drop(capture);
        writer.join().expect("ended");
    }

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
