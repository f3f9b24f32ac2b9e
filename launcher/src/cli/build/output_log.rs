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
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use endow_vfs::fs::{Errno, Fs, OsFs};
use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat};

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
        let found = fs::metadata(directory).map_err(failed)?;
        let name = format!("{:x}-{:x}", found.dev(), found.ino());
        let file = locked((logs, &name), waiting).map_err(failed)?;
        let mut log = Self { file, put: BTreeMap::new() };
        log.read((logs, &name)).map_err(failed)?;
        Ok(log)
    }

    /// Returns whether a build put this at a path.
    pub(super) fn has(&self, path: &str, named: &str) -> bool {
        self.put.get(path).is_some_and(|all| all.iter().any(|it| it == named))
    }

    /// Returns whether a build put anything at a path, or was about to.
    pub(super) fn knows(&self, path: &str) -> bool {
        self.put.contains_key(path)
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

    /// A line that was cut off is none, nor is one that is damaged.
    fn read(&mut self, at: (&OwnedFd, &str)) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        for (path, named) in lines.iter().filter_map(|line| parse(line)) {
            self.put.entry(path).or_default().push(named);
        }
        let is_cut = !bytes.is_empty() && !bytes.ends_with(b"\n");
        if is_cut || lines.len() > self.put.len() * WORTH {
            self.write_anew(at)?;
        }
        Ok(())
    }

    /// The last stands at a path, or the one before it where a build ended between the note and the rename. The old
    /// log stays until all of the new one is there.
    fn write_anew(&mut self, (logs, name): (&OwnedFd, &str)) -> io::Result<()> {
        let last = |(path, all): (&String, &Vec<String>)| {
            let from = all.len().saturating_sub(LAST);
            all.iter().skip(from).map(|named| line(path, named)).collect::<String>()
        };
        let text: String = self.put.iter().map(last).collect();
        let new = format!("{name}.new");
        let mut file = opened(logs, &new, OFlags::TRUNC)?;
        OsFs.lock(file.as_fd())?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_data());
        let written = written.and_then(|()| Ok(renameat(logs, &new, logs, name)?));
        match written {
            Ok(()) => self.file = file,
            Err(_) => drop(unlinkat(logs, &new, AtFlags::empty())),
        }
        written
    }
}

/// Opens a log and locks it; `waiting` is called once while another build has it.
fn locked((logs, name): (&OwnedFd, &str), waiting: &mut dyn FnMut()) -> io::Result<File> {
    let mut is_told = false;
    loop {
        let file = opened(logs, name, OFlags::empty())?;
        match OsFs.lock(file.as_fd()) {
            // The other build may have written the log anew.
            Ok(()) if is_named((logs, name), &file)? => return Ok(file),
            Ok(()) => continue,
            Err(Errno::WOULDBLOCK) => {}
            Err(errno) => return Err(errno.into()),
        }
        if !std::mem::replace(&mut is_told, true) {
            waiting();
        }
        std::thread::sleep(LOOK);
    }
}

fn opened(logs: &OwnedFd, name: &str, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::RDWR | OFlags::CREATE | OFlags::APPEND;
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(logs, name, flags, Mode::from_raw_mode(0o600))?.into())
}

fn is_named((logs, name): (&OwnedFd, &str), file: &File) -> io::Result<bool> {
    match OsFs.status(logs.as_fd(), name.as_ref()) {
        Ok(named) => Ok(named.id.ino == file.metadata()?.ino()),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(errno.into()),
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

    /// There may be no room for another.
    #[test]
    fn log_that_can_not_be_written_anew_stays() {
        let place = tempfile::tempdir().expect("a directory");
        let memory: OwnedFd = File::open(place.path()).expect("opened").into();
        let open = || OutputLog::open(place.path(), &memory, &mut || {});
        let mut log = open().expect("a log");
        (0..=WORTH).for_each(|it| log.note("a", &it.to_string()).expect("noted"));
        drop(log);
        let found = fs::metadata(place.path()).expect("found");
        let name = format!("{:x}-{:x}", found.dev(), found.ino());
        let new = place.path().join(format!("{name}.new"));
        fs::create_dir(&new).expect("made");
        let before = fs::read(place.path().join(&name)).expect("read");
        assert!(open().is_err());
        assert_eq!(fs::read(place.path().join(&name)).expect("read"), before);
        fs::remove_dir(&new).expect("removed");
        assert!(open().expect("a log").has("a", &WORTH.to_string()));
        assert!(!new.exists());
    }

    #[test]
    fn whoever_waited_has_the_log_that_was_written_anew() {
        let place = tempfile::tempdir().expect("a directory");
        let memory: OwnedFd = File::open(place.path()).expect("opened").into();
        let found = fs::metadata(place.path()).expect("found");
        let path = place.path().join(format!("{:x}-{:x}", found.dev(), found.ino()));
        let old = File::create(&path).expect("made");
        OsFs.lock(old.as_fd()).expect("locked");
        std::thread::scope(|scope| {
            let (tell, told) = std::sync::mpsc::channel();
            let wait = move || {
                OutputLog::open(place.path(), &memory, &mut || tell.send(()).expect("told"))
            };
            let waiting = scope.spawn(wait);
            told.recv().expect("it waits");
            let new = path.with_extension("other");
            fs::write(&new, line("a", "one")).expect("written");
            fs::rename(&new, &path).expect("renamed");
            drop(old);
            assert!(waiting.join().expect("no panic").expect("a log").has("a", "one"));
        });
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
