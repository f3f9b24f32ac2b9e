//! Directories that are closed to their owner, opened for as long as something is taken out of them or
//! put there.
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

/// A directory that is open to its owner meanwhile. Dropped, it gets the bits again that it had, unless
/// somebody has changed them since.
pub struct OpenedUp<'a> {
    fs: &'a dyn Fs,
    handle: OwnedFd,
    /// The bits it had, where it was closed.
    before: Option<u32>,
}

impl<'a> OpenedUp<'a> {
    /// Opens a directory up by its handle; one that is open, or somebody else's, stays as it is.
    ///
    /// # Errors
    /// Nothing is known of it.
    pub fn of(fs: &'a dyn Fs, handle: OwnedFd) -> Result<Self> {
        let found = fs.status_of(handle.as_fd())?;
        let is_closed = found.mode & OPEN != OPEN && found.uid == geteuid().as_raw();
        // One that can't be opened up is told of by what is done with it.
        let is_opened = is_closed && fs.set_mode_at(itself(&handle), found.mode | OPEN).is_ok();
        Ok(Self { fs, handle, before: is_opened.then_some(found.mode) })
    }

    /// Opens up what a name leads to, where it is a directory of this mount.
    pub fn at(fs: &'a dyn Fs, at: At<'_>) -> Option<Self> {
        let handle = fs.open_below(at.dir, Path::new(at.name), Open::Handle).ok()?;
        Self::of(fs, handle).ok()
    }

    /// Whether it will be closed again.
    #[must_use]
    pub fn was_closed(&self) -> bool {
        self.before.is_some()
    }
}

impl AsFd for OpenedUp<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

impl Drop for OpenedUp<'_> {
    fn drop(&mut self) {
        let Some(before) = self.before else { return };
        let found = self.fs.status_of(self.handle.as_fd());
        let given = before | OPEN;
        if found.is_ok_and(|found| found.mode & BITS == given & BITS) {
            // Were it not closed again, its owner could do no more than before.
            let _ = self.fs.set_mode_at(itself(&self.handle), before);
        }
    }
}

/// Opens up the directories that lead to one below a root, both included, as far as there are any;
/// returns those that were closed.
#[must_use]
pub fn open_way<'a>(fs: &'a dyn Fs, root: BorrowedFd<'_>, path: &Path) -> Vec<OpenedUp<'a>> {
    let mut opened = Vec::new();
    let mut at = root.try_clone_to_owned().map_err(|_| Errno::MFILE);
    for name in path.iter().map(Some).chain([None]) {
        let Ok(directory) = at.and_then(|directory| OpenedUp::of(fs, directory)) else { break };
        at = match name {
            Some(name) => fs.open_below(directory.as_fd(), Path::new(name), Open::Handle),
            None => Err(Errno::NOENT),
        };
        opened.extend(directory.was_closed().then_some(directory));
    }
    opened
}

fn itself(handle: &OwnedFd) -> At<'_> {
    At { dir: handle.as_fd(), name: OsStr::new("") }
}
