//! A file system that fails one chosen call, for tests.

use std::ffi::{OsStr, OsString};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Entry, Errno, Fs, OsFs, Result, Status};

/// Passes all calls on, but for the one with the chosen number.
pub(crate) struct FaultyFs {
    calls: AtomicUsize,
    fails: usize,
    errno: Errno,
}

impl FaultyFs {
    /// Fails call number `fails`, counted from 0.
    pub(crate) fn new(fails: usize, errno: Errno) -> Self {
        Self { calls: AtomicUsize::new(0), fails, errno }
    }

    /// Fails nothing and counts.
    pub(crate) fn counting() -> Self {
        Self::new(usize::MAX, Errno::IO)
    }

    /// Returns how many calls were made.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    fn tick(&self) -> Result<OsFs> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        if call == self.fails { Err(self.errno) } else { Ok(OsFs) }
    }
}

/// Runs `operation` with each of its calls failing in turn, until none does.
///
/// `operation` must return whether it succeeded; with a fault it may do either, but `check`
/// is called after each.
pub(crate) fn each_fault(errno: Errno, mut operation: impl FnMut(&FaultyFs)) -> usize {
    for call in 0..10_000 {
        let fs = FaultyFs::new(call, errno);
        operation(&fs);
        if fs.calls() <= call {
            return call;
        }
    }
    panic!("the operation never ends");
}

impl Fs for FaultyFs {
    fn open_dir(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd> {
        self.tick()?.open_dir(at, name)
    }

    fn open_dir_here(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd> {
        self.tick()?.open_dir_here(at, name)
    }

    fn open_handle(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd> {
        self.tick()?.open_handle(at, name)
    }

    fn open_canonical(&self, path: &Path) -> Result<OwnedFd> {
        self.tick()?.open_canonical(path)
    }

    fn open_file(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd> {
        self.tick()?.open_file(at, name)
    }

    fn create_file(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd> {
        self.tick()?.create_file(at, name)
    }

    fn status(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<Status> {
        self.tick()?.status(at, name)
    }

    fn status_of(&self, file: BorrowedFd<'_>) -> Result<Status> {
        self.tick()?.status_of(file)
    }

    fn list(&self, dir: BorrowedFd<'_>, limit: usize) -> Result<Vec<Entry>> {
        self.tick()?.list(dir, limit)
    }

    fn read_link(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<OsString> {
        self.tick()?.read_link(at, name)
    }

    fn read(&self, file: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize> {
        self.tick()?.read(file, buffer)
    }

    fn write(&self, file: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize> {
        // Half of it: writers must go on.
        self.tick()?.write(file, &bytes[..bytes.len().div_ceil(2)])
    }

    fn make_dir(&self, at: BorrowedFd<'_>, name: &OsStr, mode: u32) -> Result<()> {
        self.tick()?.make_dir(at, name, mode)
    }

    fn make_symlink(&self, target: &OsStr, at: BorrowedFd<'_>, name: &OsStr) -> Result<()> {
        self.tick()?.make_symlink(target, at, name)
    }

    fn make_whiteout(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<()> {
        self.tick()?.make_whiteout(at, name)
    }

    fn make_opaque(&self, dir: BorrowedFd<'_>) -> Result<()> {
        self.tick()?.make_opaque(dir)
    }

    fn set_mode(&self, file: BorrowedFd<'_>, mode: u32) -> Result<()> {
        self.tick()?.set_mode(file, mode)
    }

    fn set_dir_mode(&self, at: BorrowedFd<'_>, name: &OsStr, mode: u32) -> Result<()> {
        self.tick()?.set_dir_mode(at, name, mode)
    }

    fn set_times(&self, file: BorrowedFd<'_>, status: &Status) -> Result<()> {
        self.tick()?.set_times(file, status)
    }

    fn set_times_at(&self, at: BorrowedFd<'_>, name: &OsStr, status: &Status) -> Result<()> {
        self.tick()?.set_times_at(at, name, status)
    }

    fn rename(&self, at: BorrowedFd<'_>, from: &OsStr, to: &OsStr) -> Result<()> {
        self.tick()?.rename(at, from, to)
    }

    fn unlink(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<()> {
        self.tick()?.unlink(at, name)
    }

    fn remove_dir(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<()> {
        self.tick()?.remove_dir(at, name)
    }

    fn sync(&self, file: BorrowedFd<'_>) -> Result<()> {
        self.tick()?.sync(file)
    }

    fn lock(&self, file: BorrowedFd<'_>) -> Result<()> {
        self.tick()?.lock(file)
    }

    fn lock_shared(&self, file: BorrowedFd<'_>) -> Result<()> {
        self.tick()?.lock_shared(file)
    }
}
