//! Lines for a reader that may be slow, or gone: nothing of the run waits for it.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The most bytes that wait for a reader.
const WAITING_MAX: usize = 4 * 1024 * 1024;
/// So much a pipe takes without waiting when it takes anything (`PIPE_BUF`, pipe(7)).
const PART: usize = 4096;
/// How long the end of a run waits for a reader.
const PATIENCE: Duration = Duration::from_secs(5);

/// What was written, and what waits.
#[derive(Debug)]
pub(crate) struct EventStream {
    file: File,
    waiting: VecDeque<u8>,
    left_out: u64,
    failure: Option<io::Error>,
}

impl EventStream {
    /// One to a file, pipe or terminal.
    pub(crate) fn new(file: File) -> Self {
        Self { file, waiting: VecDeque::new(), left_out: 0, failure: None }
    }

    /// Writes a line as far as it is taken; the rest waits. A line that finds no room is left out.
    pub(crate) fn add(&mut self, line: &str) {
        if self.waiting.len() + line.len() < WAITING_MAX {
            self.append(line);
        } else {
            self.left_out += 1;
        }
        self.write(Instant::now());
    }

    /// Waits a while for the reader to take all. Returns how many lines were left out, which `last` tells the reader.
    pub(crate) fn end(&mut self, last: impl FnOnce(u64) -> String) -> u64 {
        if self.left_out > 0 {
            self.append(&last(self.left_out));
        }
        self.write(Instant::now() + PATIENCE);
        let rest = self.waiting.iter().filter(|byte| **byte == b'\n').count();
        self.left_out + rest as u64
    }

    /// Returns why no more is written; nobody wants to know of a reader that has gone.
    pub(crate) fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref().filter(|error| error.kind() != ErrorKind::BrokenPipe)
    }

    fn append(&mut self, line: &str) {
        if self.failure.is_none() {
            self.waiting.extend(line.bytes().chain([b'\n']));
        }
    }

    fn write(&mut self, until: Instant) {
        while self.failure.is_none() && !self.waiting.is_empty() && is_taken(&self.file, until) {
            let (part, _) = self.waiting.as_slices();
            match self.file.write(part.get(..PART).unwrap_or(part)) {
                Ok(length) => drop(self.waiting.drain(..length)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => {
                    self.failure = Some(error);
                    self.waiting.clear();
                }
            }
        }
    }
}

/// Waits until a file takes something, or answers with an error.
pub(crate) fn is_taken(file: impl AsFd, until: Instant) -> bool {
    let left = until.saturating_duration_since(Instant::now());
    let Ok(left) = Timespec::try_from(left) else { return false };
    let mut asked = [PollFd::new(&file, PollFlags::OUT)];
    poll(&mut asked, Some(&left)).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn piped() -> (File, EventStream) {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        (reader.into(), EventStream::new(writer.into()))
    }

    #[test]
    fn who_reads_gets_all_in_order() {
        let (mut reader, mut stream) = piped();
        let lines: String = (0..20_000).map(|number| format!("line {number}\n")).collect();
        let reading = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            let mut all = String::new();
            reader.read_to_string(&mut all).map(|_| all)
        });
        lines.lines().for_each(|line| stream.add(line));
        assert_eq!(stream.end(|_| unreachable!()), 0);
        drop(stream);
        assert!(reading.join().unwrap().unwrap() == lines);
    }

    #[test]
    fn nobody_waits_for_who_does_not_read() {
        let (mut reader, mut stream) = piped();
        let long = "x".repeat(100_000);
        (0..50).for_each(|_| stream.add(&long));
        assert!(stream.waiting.len() <= WAITING_MAX && stream.left_out > 5);
        let left_out = stream.left_out;
        let reading = std::thread::spawn(move || {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).map(|_| all)
        });
        assert_eq!(stream.end(|count| format!("left out {count}")), left_out);
        drop(stream);
        let all = String::from_utf8(reading.join().unwrap().unwrap()).unwrap();
        assert_eq!(all.lines().last(), Some(&*format!("left out {left_out}")));
    }

    #[test]
    fn failures_are_told_but_for_a_reader_that_has_gone() {
        let mut full = EventStream::new(File::options().write(true).open("/dev/full").unwrap());
        full.add("a line");
        assert!(full.failure().is_some());
        let (reader, mut stream) = piped();
        drop(reader);
        stream.add("a line");
        assert!(stream.failure.is_some() && stream.failure().is_none());
    }
}
