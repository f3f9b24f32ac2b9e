//! What the process tells the supervisor: what, which guard, a rule and a path, each ended by a NUL byte.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// A name that was taken out of a live mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeldName {
    /// The number of the guard in the plan.
    pub(crate) guard: usize,
    /// The path relative to its mount.
    pub(crate) path: PathBuf,
    /// The pattern that protects it.
    pub(crate) rule: String,
}

/// Something in a live mount that was not looked at, or not taken away, when the run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Missed {
    /// The number of the guard in the plan.
    pub(crate) guard: usize,
    /// The path relative to its mount; empty for the mount.
    pub(crate) path: PathBuf,
    /// What of it.
    pub(crate) why: Why,
}

/// What was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// What is there could not be searched for protected names.
    Unsearched,
    /// A protected name could not be taken away.
    Stays,
    /// What is held there is a file with further names, by which it can be written to still.
    Shared,
}

impl Why {
    /// Returns its name in events and reports.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Unsearched => "unseen",
            Self::Stays => "stays",
            Self::Shared => "shared",
        }
    }

    /// Returns the words that stand before the path in a message.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Unsearched => "could not be searched for new protected names",
            Self::Stays => "a protected name that could not be taken away",
            Self::Shared => "held, but can be written to still by further names of the file",
        }
    }
}

/// What became of a live mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// Something was taken out of it.
    Held(HeldName),
    /// Something could not be done.
    Missed(Missed),
}

impl News {
    fn encode(&self) -> Vec<u8> {
        let (what, guard, rule, path) = match self {
            Self::Held(name) => ("held", name.guard, name.rule.as_str(), name.path.as_path()),
            Self::Missed(it) => (it.why.word(), it.guard, "", it.path.as_path()),
        };
        let mut text = format!("{what}\0{guard}\0{rule}\0").into_bytes();
        text.extend_from_slice(path.as_os_str().as_bytes());
        text.push(0);
        text
    }

    fn decode([what, guard, rule, path]: [&[u8]; PARTS]) -> Option<Self> {
        let guard = std::str::from_utf8(guard).ok()?.parse().ok()?;
        let path = PathBuf::from(OsString::from_vec(path.to_vec()));
        let rule = String::from_utf8_lossy(rule).into_owned();
        let missed = |why: Why| Self::Missed(Missed { guard, path: path.clone(), why });
        match what {
            b"held" => Some(Self::Held(HeldName { guard, path, rule })),
            b"unseen" => Some(missed(Why::Unsearched)),
            b"stays" => Some(missed(Why::Stays)),
            b"shared" => Some(missed(Why::Shared)),
            _ => None,
        }
    }
}

/// How long is waited for room until it is asked again whether there is a reader.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// How many parts news have.
const PARTS: usize = 4;

/// Writes news. When nobody reads them there is no room: the end of the run tells of all.
pub(super) fn tell(to: &OwnedFd, news: &News) {
    let text = news.encode();
    // More at once could be torn.
    if text.len() <= rustix::pipe::PIPE_BUF {
        let _ = rustix::io::write(to, &text);
    }
}

/// Writes what nothing else tells: waits for room as long as there is a reader, and names a directory above where a
/// path is too long.
pub(super) fn tell_surely(to: &OwnedFd, is_heard: &dyn Fn() -> bool, mut missed: Missed) {
    while News::Missed(missed.clone()).encode().len() > rustix::pipe::PIPE_BUF {
        (missed.why, missed.path) = (Why::Unsearched, above(&missed.path));
    }
    let text = News::Missed(missed).encode();
    // This process has the other end, too: that nobody reads any more is not told by the pipe.
    while rustix::io::write(to, &text) == Err(Errno::AGAIN) && is_heard() {
        let _ = poll(&mut [PollFd::new(to, PollFlags::OUT)], Some(&PAUSE));
    }
}

fn above(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).to_owned()
}

/// What was read and is not whole yet.
#[derive(Debug, Default)]
pub(super) struct Told(Vec<u8>);

impl Told {
    /// Reads what there is; returns it, and whether more may come.
    pub(super) fn read(&mut self, from: &OwnedFd) -> (Vec<News>, bool) {
        let mut buffer = [0; 4096];
        loop {
            match rustix::io::read(from, &mut buffer) {
                Ok(0) => return (self.take(), false),
                Ok(length) => self.0.extend(buffer.iter().take(length)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return (self.take(), true),
                Err(_) => return (self.take(), false),
            }
        }
    }

    fn take(&mut self) -> Vec<News> {
        let mut parts = self.0.split(|byte| *byte == 0);
        let (mut names, mut length) = (Vec::new(), 0);
        loop {
            let read: [Option<&[u8]>; PARTS] = std::array::from_fn(|_| parts.next());
            // What follows the last NUL byte is not whole.
            let ([Some(what), Some(guard), Some(rule), Some(path)], true) =
                (read, parts.size_hint().1 != Some(0))
            else {
                break;
            };
            length += what.len() + guard.len() + rule.len() + path.len() + PARTS;
            names.extend(News::decode([what, guard, rule, path]));
        }
        self.0.drain(..length.min(self.0.len()));
        names
    }
}

#[cfg(test)]
mod tests {
    use rustix::pipe::{PipeFlags, pipe_with};

    use super::*;

    #[test]
    fn names_are_read_as_they_were_told() {
        let name = |path: &str| {
            News::Held(HeldName { guard: 3, path: path.into(), rule: "**/.x/**".into() })
        };
        let missed =
            |path: &str, why: Why| News::Missed(Missed { guard: 1, path: path.into(), why });
        let all = [
            missed("", Why::Unsearched),
            missed("x", Why::Stays),
            missed("y", Why::Shared),
            name("a\nb"),
            name("c"),
        ];
        let text: Vec<u8> = all.iter().flat_map(News::encode).collect();
        let (first, rest) = text.split_at(text.len() - 2);
        let mut told = Told(first.to_vec());
        assert_eq!(told.take(), all[..4]);
        told.0.extend_from_slice(rest);
        assert_eq!(told.take(), [name("c")]);
        assert_eq!(told.take(), []);
    }

    #[test]
    fn what_was_missed_is_told_though_nobody_reads_yet() {
        let flags = PipeFlags::CLOEXEC | PipeFlags::NONBLOCK;
        let (from, to) = pipe_with(flags).expect("a pipe");
        while rustix::io::write(&to, &[0; 4096]).is_ok() {}
        let path = PathBuf::from("sub").join("x".repeat(5000));
        let missed = Missed { guard: 0, path, why: Why::Stays };
        let teller = std::thread::spawn(move || tell_surely(&to, &|| true, missed));
        let (mut told, mut all, mut is_open) = (Told::default(), Vec::new(), true);
        while is_open {
            let (news, more) = told.read(&from);
            is_open = more;
            all.extend(news);
        }
        teller.join().expect("told");
        let at = Missed { guard: 0, path: "sub".into(), why: Why::Unsearched };
        assert_eq!(all, [News::Missed(at)]);
    }

    #[test]
    fn nothing_is_waited_for_when_nobody_reads_any_more() {
        let flags = PipeFlags::CLOEXEC | PipeFlags::NONBLOCK;
        let (_from, to) = pipe_with(flags).expect("a pipe");
        while rustix::io::write(&to, &[0; 4096]).is_ok() {}
        let asked = std::cell::Cell::new(0);
        let is_heard = || asked.replace(asked.get() + 1) < 2;
        tell_surely(&to, &is_heard, Missed { guard: 0, path: "x".into(), why: Why::Stays });
        assert_eq!(asked.get(), 3);
    }
}
