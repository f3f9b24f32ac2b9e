//! What stands at the place of an output: whether all of it is known.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_vfs::fs::{Errno, Fs, Kind, Open, OsFs, Status};

use super::place::PREFIX;

/// In more directories nothing is looked for: what is there is somebody's.
const DEPTH: usize = 256;

/// Which files stand at a place, by their whole paths. Another file, or the same with another time of change, which no
/// call can set, is another one.
pub(super) type Stamps = BTreeMap<PathBuf, Stamp>;
/// The number of a file, and its time of change.
type Stamp = (u64, i64, i64);
/// Whether a file, by its whole path, is known.
type Known<'k> = dyn Fn(&Path, Stamp) -> bool + 'k;

/// Looks at what stands at the places of outputs, before anything is read of it.
pub(super) fn stamps<'p>(
    directory: &Path,
    outputs: impl Iterator<Item = &'p str>,
) -> Result<Stamps, Errno> {
    let root = OsFs.open_canonical(directory)?;
    let mut look = Look::new(&|_, _| true);
    // What can't be looked at now is not known later.
    outputs.for_each(|path| drop(look.at(root.as_fd(), path)));
    Ok(look.seen)
}

/// Looks at all files at a place, and below it. A directory is nobody's, and what is half made is a build's.
pub(super) struct Look<'k> {
    /// The files that are known, by their whole paths.
    known: &'k Known<'k>,
    /// What was seen.
    pub(super) seen: Stamps,
    /// The directories that were, by their whole paths.
    pub(super) directories: BTreeSet<PathBuf>,
}

impl<'k> Look<'k> {
    pub(super) fn new(known: &'k Known<'k>) -> Self {
        Self { known, seen: Stamps::new(), directories: BTreeSet::new() }
    }

    /// Returns the path of something at a path, or below it, that is not known.
    pub(super) fn at(
        &mut self,
        root: BorrowedFd<'_>,
        path: &str,
    ) -> Result<Option<PathBuf>, Errno> {
        let (above, name) = path.rsplit_once('/').unwrap_or((".", path));
        let dir = match OsFs.open_below(root, Path::new(above), Open::Handle) {
            Err(Errno::NOENT) => return Ok(None),
            dir => dir?,
        };
        self.another((dir.as_fd(), OsStr::new(name)), Path::new(path))
    }

    fn another(
        &mut self,
        (dir, name): (BorrowedFd<'_>, &OsStr),
        path: &Path,
    ) -> Result<Option<PathBuf>, Errno> {
        let status = match OsFs.status(dir, name) {
            Err(Errno::NOENT) => return Ok(None),
            status => status?,
        };
        if name.as_bytes().starts_with(PREFIX.as_bytes()) {
            return Ok(None);
        }
        if status.kind != Kind::Directory || path.components().count() > DEPTH {
            let stamp = stamp(&status);
            self.seen.insert(path.to_owned(), stamp);
            return Ok((!(self.known)(path, stamp)).then(|| path.to_owned()));
        }
        self.directories.insert(path.to_owned());
        let opened = OsFs.open_dir(dir, name)?;
        for entry in OsFs.list(opened.as_fd(), usize::MAX)? {
            let below = path.join(&entry.name);
            let another = self.another((opened.as_fd(), &entry.name), &below)?;
            if another.is_some() {
                return Ok(another);
            }
        }
        Ok(None)
    }
}

fn stamp(status: &Status) -> Stamp {
    (status.id.ino, status.changed.tv_sec, status.changed.tv_nsec)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn what_is_not_known_is_found_wherever_it_is() {
        let place = tempfile::tempdir().expect("a directory");
        let root = File::open(place.path()).expect("opened");
        fs::create_dir_all(place.path().join("out/sub/empty")).expect("made");
        fs::write(place.path().join("out/sub/file"), "text").expect("written");
        let another = |known: &Known<'_>| {
            let mut look = Look::new(known);
            (look.at(root.as_fd(), "out").expect("looked"), look.seen, look.directories)
        };
        let is_file = |path: &Path, _| path == Path::new("out/sub/file");
        let (found, seen, directories) = another(&is_file);
        assert_eq!((found, seen.len()), (None, 1));
        let places = ["out", "out/sub", "out/sub/empty"].map(PathBuf::from);
        assert!(directories.iter().eq(&places), "{directories:?}");
        assert_eq!(another(&|_, _| false).0, Some("out/sub/file".into()));
        let is_as_seen = |path: &Path, stamp| seen.get(path) == Some(&stamp);
        assert_eq!(another(&is_as_seen).0, None);
        fs::write(place.path().join("out/.endow-build-x"), "half").expect("written");
        assert_eq!(another(&is_as_seen).0, None);
        fs::write(place.path().join("new"), "text").expect("written");
        fs::rename(place.path().join("new"), place.path().join("out/sub/file")).expect("moved");
        assert_eq!(another(&is_as_seen).0, Some("out/sub/file".into()));
        let socket = UnixListener::bind(place.path().join("out/sub/empty/s")).expect("a socket");
        assert_eq!(another(&is_file).0, Some("out/sub/empty/s".into()));
        drop(socket);
    }
}
