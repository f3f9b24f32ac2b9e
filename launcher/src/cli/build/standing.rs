//! What stands at the place of an output: whether all of it is known.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use endow_vfs::fs::{Errno, Fs, Kind, OsFs, Status, Timespec};
use rustix::time::{ClockId, clock_gettime};

/// In more directories nothing is looked for: what is there is somebody's.
const DEPTH: usize = 256;

/// The time by the clock of files.
pub(super) fn now() -> Timespec {
    clock_gettime(ClockId::RealtimeCoarse)
}

/// What is known of a place: the files that stand there, by their whole paths.
pub(super) struct Known<'k> {
    pub(super) files: BTreeSet<&'k str>,
    /// What changed after this is not what was known.
    pub(super) since: Option<Timespec>,
}

impl Known<'_> {
    /// Returns the path of something at a place, or below it, that is not known. A directory is nobody's, and of
    /// what was hidden from the build nothing is known.
    pub(super) fn another(
        &self,
        (dir, name): (BorrowedFd<'_>, &OsStr),
        path: &Path,
    ) -> Result<Option<PathBuf>, Errno> {
        let status = match OsFs.status(dir, name) {
            Err(Errno::NOENT) => return Ok(None),
            status => status?,
        };
        if status.kind != Kind::Directory || path.components().count() > DEPTH {
            return Ok((!self.has(path, &status)).then(|| path.to_owned()));
        }
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

    fn has(&self, path: &Path, status: &Status) -> bool {
        let order = |time: Timespec| (time.tv_sec, time.tv_nsec);
        path.to_str().is_some_and(|path| self.files.contains(path))
            && self.since.is_none_or(|since| order(status.changed) <= order(since))
    }
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
        let another = |files: &[&str], since| {
            let known = Known { files: files.iter().copied().collect(), since };
            known.another((root.as_fd(), OsStr::new("out")), Path::new("out")).expect("looked")
        };
        assert_eq!(another(&["out/sub/file"], None), None);
        assert_eq!(another(&["out/sub/file"], Some(now())), None);
        assert_eq!(another(&[], None), Some("out/sub/file".into()));
        let earlier = Timespec { tv_sec: 1, tv_nsec: 0 };
        assert_eq!(another(&["out/sub/file"], Some(earlier)), Some("out/sub/file".into()));
        let socket = UnixListener::bind(place.path().join("out/sub/empty/s")).expect("a socket");
        assert_eq!(another(&["out/sub/file"], None), Some("out/sub/empty/s".into()));
        drop(socket);
    }
}
