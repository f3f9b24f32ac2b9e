//! Which outputs are a build's: what was put at a path, noted before it was.
//!
//! ```text
//! <state>/outputs/DEVICE-INODE   for the directory of a build: digest, space, path as JSON, newline
//! ```
//!
//! It is no part of the cache: without the log a build can't tell its own outputs from somebody's files.
//!
//! A build holds the lock of its file: two of one directory would take each other's outputs away.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use endow_vfs::fs::{Errno, Fs, OsFs};
use rustix::fs::{Mode, OFlags, openat};

use crate::cli::error::{CommandError, Kind};

/// How often it is looked whether another build has ended.
const LOOK: Duration = Duration::from_millis(50);
/// A log is written anew when fewer than one of so many lines still count.
const WORTH: usize = 4;
/// How many of the newest entries of a path count.
const LAST: usize = 2;

/// What builds put into one directory.
pub(super) struct OutputLog {
    file: File,
    /// All that was put at a path, in the order of the log.
    put: BTreeMap<String, Vec<String>>,
}

impl OutputLog {
    /// Opens the log of a directory, and waits for another build of it; `waiting` is called once then. The logs of
    /// all are in `logs`.
    pub(super) fn open(
        directory: &Path,
        logs: &OwnedFd,
        waiting: &mut dyn FnMut(),
    ) -> Result<Self, CommandError> {
        let opened = fs::metadata(directory).and_then(|found| {
            let name = format!("{:x}-{:x}", found.dev(), found.ino());
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::APPEND | OFlags::CLOEXEC;
            let flags = flags | OFlags::NOFOLLOW;
            Ok(File::from(openat(logs, name, flags, Mode::from_raw_mode(0o600))?))
        });
        let mut log = Self { file: opened.map_err(failed)?, put: BTreeMap::new() };
        log.lock(waiting).map_err(|errno| failed(errno.into()))?;
        log.read().map_err(failed)?;
        Ok(log)
    }

    /// Returns whether a build put this at a path.
    pub(super) fn has(&self, path: &str, named: &str) -> bool {
        self.put.get(path).is_some_and(|all| all.iter().any(|it| it == named))
    }

    /// Notes what is about to be put at a path. Then it is the last of its path: the others are forgotten some day.
    pub(super) fn note(&mut self, path: &str, named: &str) -> Result<(), CommandError> {
        let last = self.put.get(path).and_then(|all| all.last());
        if last.is_some_and(|last| last == named) {
            return Ok(());
        }
        self.file.write_all(line(path, named).as_bytes()).map_err(failed)?;
        self.put.entry(path.to_owned()).or_default().push(named.to_owned());
        Ok(())
    }

    fn lock(&self, waiting: &mut dyn FnMut()) -> Result<(), Errno> {
        let mut is_told = false;
        loop {
            match OsFs.lock(self.file.as_fd()) {
                Err(Errno::WOULDBLOCK) => {}
                locked => return locked,
            }
            if !std::mem::replace(&mut is_told, true) {
                waiting();
            }
            std::thread::sleep(LOOK);
        }
    }

    /// A line that was cut off is none, nor is one that is damaged.
    fn read(&mut self) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.file.rewind()?;
        self.file.read_to_end(&mut bytes)?;
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        for (path, named) in lines.iter().filter_map(|line| parse(line)) {
            self.put.entry(path).or_default().push(named);
        }
        let is_cut = !bytes.is_empty() && !bytes.ends_with(b"\n");
        if is_cut || lines.len() > self.put.len() * WORTH {
            self.write_anew()?;
        }
        Ok(())
    }

    /// The last stands at a path, or the one before it where a build ended between the note and the rename.
    fn write_anew(&mut self) -> io::Result<()> {
        let last = |(path, all): (&String, &Vec<String>)| {
            let from = all.len().saturating_sub(LAST);
            all.iter().skip(from).map(|named| line(path, named)).collect::<String>()
        };
        let text: String = self.put.iter().map(last).collect();
        self.file.set_len(0)?;
        self.file.write_all(text.as_bytes())
    }
}

fn line(path: &str, named: &str) -> String {
    format!("{named} {}\n", serde_json::Value::from(path))
}

fn parse(line: &[u8]) -> Option<(String, String)> {
    let line = std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?;
    let (named, path) = line.split_once(' ')?;
    Some((serde_json::from_str(path).ok()?, named.to_owned()))
}

fn failed(error: io::Error) -> CommandError {
    CommandError::new(Kind::Setup, "can't note which outputs are the build's").cause(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_knows_what_was_put_also_when_it_was_cut_off() {
        let place = tempfile::tempdir().expect("a directory");
        let memory: OwnedFd = File::open(place.path()).expect("opened").into();
        let open = || OutputLog::open(place.path(), &memory, &mut || {}).expect("a log");
        let mut log = open();
        log.note("a\nb", "one").expect("noted");
        log.note("c", "two").expect("noted");
        log.note("c", "three").expect("noted");
        drop(log);
        let file = fs::read_dir(place.path()).expect("listed").next().expect("a file");
        let file = file.expect("a file").path();
        let whole = fs::read(&file).expect("read");
        fs::write(&file, &whole[..whole.len() - 3]).expect("cut off");
        let mut bytes = fs::read(&file).expect("read");
        bytes.splice(0..0, *b"one\xff \"d\"\nnonsense\n");
        fs::write(&file, bytes).expect("damaged");
        let mut log = open();
        assert!(log.has("a\nb", "one") && log.has("c", "two") && !log.has("c", "three"));
        log.note("c", "three").expect("noted");
        drop(log);
        assert!(open().has("c", "three"));
    }

    #[test]
    fn log_knows_what_stands_however_often_it_was_written_anew() {
        let place = tempfile::tempdir().expect("a directory");
        let memory: OwnedFd = File::open(place.path()).expect("opened").into();
        let open = || OutputLog::open(place.path(), &memory, &mut || {}).expect("a log");
        let mut before: Vec<String> = Vec::new();
        for number in (1..=60).map(|it| it * it % 7) {
            let name = number.to_string();
            let mut log = open();
            assert!(before.iter().all(|it| log.has("a", it)), "{before:?} before {name}");
            log.note("a", &name).expect("noted");
            log.note("b", "always").expect("noted");
            before = [before.pop(), Some(name)].into_iter().flatten().collect();
        }
    }

    #[test]
    fn log_does_not_grow_for_ever() {
        let place = tempfile::tempdir().expect("a directory");
        let memory: OwnedFd = File::open(place.path()).expect("opened").into();
        for number in 0..100 {
            let mut log = OutputLog::open(place.path(), &memory, &mut || {}).expect("a log");
            log.note("a", &number.to_string()).expect("noted");
        }
        let file = fs::read_dir(place.path()).expect("listed").next().expect("a file");
        let lines = fs::read_to_string(file.expect("a file").path()).expect("read");
        assert!(lines.lines().count() <= WORTH + 1, "{lines}");
        assert!(OutputLog::open(place.path(), &memory, &mut || {}).expect("a log").has("a", "99"));
    }
}
