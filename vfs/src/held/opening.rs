//! Directories that are closed to their owner, opened for as long as something is taken out of them.
//!
//! Each is opened and closed by what it is and not by its path: whatever is renamed meanwhile, no other
//! directory gets its bits.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::process::geteuid;

use crate::fs::{At, Errno, Fs, Open, Result};

/// What an owner needs to list a directory, to name things in it, and to move it.
const OPEN: u32 = 0o700;
/// The bits of these that count.
const BITS: u32 = 0o777;

/// An opened directory. Dropped, it gets the bits again that it had, unless somebody has changed
/// them since.
pub(super) struct Opened<'a> {
    fs: &'a dyn Fs,
    handle: OwnedFd,
    before: u32,
}

impl<'a> Opened<'a> {
    /// Opens a directory by its handle, or gives that back where there is nothing to do: it is open, or
    /// somebody else's.
    fn of(fs: &'a dyn Fs, handle: OwnedFd) -> Result<std::result::Result<Self, OwnedFd>> {
        let found = fs.status_of(handle.as_fd())?;
        if found.mode & OPEN == OPEN || found.uid != geteuid().as_raw() {
            return Ok(Err(handle));
        }
        fs.set_mode_at(itself(&handle), found.mode | OPEN)?;
        Ok(Ok(Self { fs, handle, before: found.mode }))
    }

    /// Opens what a name leads to, where it is a directory of this mount.
    pub(super) fn at(fs: &'a dyn Fs, at: At<'_>) -> Option<Self> {
        let handle = fs.open_below(at.dir, Path::new(at.name), Open::Handle).ok()?;
        Self::of(fs, handle).ok()?.ok()
    }
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        let found = self.fs.status_of(self.handle.as_fd());
        let given = self.before | OPEN;
        if found.is_ok_and(|found| found.mode & BITS == given & BITS) {
            // Were it not closed again, its owner could do no more than before.
            let _ = self.fs.set_mode_at(itself(&self.handle), self.before);
        }
    }
}

/// Opens the directories that lead to one below a root, both included, as far as there are any; returns
/// those that were closed.
pub(super) fn open_way<'a>(fs: &'a dyn Fs, root: BorrowedFd<'_>, path: &Path) -> Vec<Opened<'a>> {
    let mut opened = Vec::new();
    let mut at = root.try_clone_to_owned().map_err(|_| Errno::MFILE);
    for name in path.iter().map(Some).chain([None]) {
        let Ok(directory) = at else { break };
        let below = |above: &OwnedFd| match name {
            Some(name) => fs.open_below(above.as_fd(), Path::new(name), Open::Handle),
            None => Err(Errno::NOENT),
        };
        match Opened::of(fs, directory) {
            Ok(Ok(now_open)) => {
                at = below(&now_open.handle);
                opened.push(now_open);
            }
            Ok(Err(directory)) => at = below(&directory),
            Err(errno) => at = Err(errno),
        }
    }
    opened
}

fn itself(handle: &OwnedFd) -> At<'_> {
    At { dir: handle.as_fd(), name: OsStr::new("") }
}
