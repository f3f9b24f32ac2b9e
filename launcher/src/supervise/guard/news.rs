//! What the process tells the supervisor: names, each ended by a NUL byte.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

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

/// What became of a live mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// Something was taken out of it.
    Held(HeldName),
    /// It could not be walked at the end: the number of the guard in the plan.
    Unseen(usize),
}

impl News {
    /// An unseen mount has no name and no rule.
    fn encode(&self) -> Vec<u8> {
        let (guard, rule, path) = match self {
            Self::Held(name) => (name.guard, name.rule.as_str(), name.path.as_path()),
            Self::Unseen(guard) => (*guard, "", Path::new("")),
        };
        let mut text = format!("{guard}\0{rule}\0").into_bytes();
        text.extend_from_slice(path.as_os_str().as_bytes());
        text.push(0);
        text
    }

    fn decode(guard: usize, rule: &[u8], path: &[u8]) -> Self {
        if path.is_empty() {
            return Self::Unseen(guard);
        }
        let rule = String::from_utf8_lossy(rule).into_owned();
        let path = PathBuf::from(OsString::from_vec(path.to_vec()));
        Self::Held(HeldName { guard, path, rule })
    }
}

/// Writes news. When nobody reads them there is no room: the end of the run tells of all.
pub(super) fn tell(to: &OwnedFd, news: &News) {
    let text = news.encode();
    // More at once could be torn.
    if text.len() <= rustix::pipe::PIPE_BUF {
        let _ = rustix::io::write(to, &text);
    }
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
        while let (Some(guard), Some(rule), Some(path), true) =
            (parts.next(), parts.next(), parts.next(), parts.size_hint().1 != Some(0))
        {
            length += guard.len() + rule.len() + path.len() + 3;
            let guard = std::str::from_utf8(guard).ok().and_then(|guard| guard.parse().ok());
            names.extend(guard.map(|guard| News::decode(guard, rule, path)));
        }
        self.0.drain(..length.min(self.0.len()));
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_were_told() {
        let name = |path: &str| {
            News::Held(HeldName { guard: 3, path: path.into(), rule: "**/.x/**".into() })
        };
        let all = [News::Unseen(1), name("a\nb"), name("c")];
        let text: Vec<u8> = all.iter().flat_map(News::encode).collect();
        let (first, rest) = text.split_at(text.len() - 2);
        let mut told = Told(first.to_vec());
        assert_eq!(told.take(), [News::Unseen(1), name("a\nb")]);
        told.0.extend_from_slice(rest);
        assert_eq!(told.take(), [name("c")]);
        assert_eq!(told.take(), []);
    }
}
