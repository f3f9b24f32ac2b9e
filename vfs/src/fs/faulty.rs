//! A file system that fails one chosen call, for tests.

use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::sync::SCRATCH;

use super::{At, Attribute, Entry, Errno, Fs, Node, Open, OsFs, Result, Special, Status, Timespec};

/// Passes all calls on, but for the one with the chosen number.
pub(crate) struct FaultyFs {
    calls: AtomicUsize,
    fails: usize,
    errno: Errno,
    is_dead: bool,
    races: Mutex<Vec<Race>>,
    lacks: Option<(Lack, Errno)>,
}

/// A flag of renameat2(2) that the file system does not know, or that fails from some call on; or what else it
/// does not let happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// `RENAME_NOREPLACE`.
    NoReplace,
    /// `RENAME_EXCHANGE`.
    Exchange,
    /// Both, once scratch names were moved so.
    Later,
    /// Files whose names begin with `foreign` are somebody else's and closed.
    Reading,
    /// No bytes can be copied.
    Room,
    /// No attribute `user.large` can be kept.
    Attribute,
    /// Of times whole seconds are kept.
    Nanoseconds,
    /// Nothing can be given to another owner or group. What has a name that begins so and is sticky, as no copy is
    /// before it is whole, is somebody else's.
    Owner,
}

/// What happens around the next call that moves an entry from one directory to another, or looks for
/// data.
pub(crate) enum Race {
    /// Somebody does something right before it.
    Before(Box<dyn FnOnce() + Send>),
    /// The same right after it.
    After(Box<dyn FnOnce() + Send>),
    /// Somebody does something right after the next directory is listed, and before it is looked at what is in it.
    Listed(Box<dyn FnOnce() + Send>),
    /// Who was cutting a file short is done with it, which who looks for data waits for.
    Cut(Box<dyn FnOnce() + Send>),
    /// All calls after it fail.
    Death,
}

impl FaultyFs {
    /// Fails call number `fails`, counted from 0.
    pub(crate) fn new(fails: usize, errno: Errno) -> Self {
        let (calls, races) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        Self { calls, fails, errno, is_dead: false, races, lacks: None }
    }

    /// Fails call number `from` and all that follow: to the disk, what SIGKILL there would do.
    pub(crate) fn killed(from: usize) -> Self {
        Self { is_dead: true, ..Self::new(from, Errno::IO) }
    }

    /// Fails nothing and counts.
    pub(crate) fn counting() -> Self {
        Self::new(usize::MAX, Errno::IO)
    }

    /// Fails nothing, and lets others act at moves, in this order.
    pub(crate) fn racing(races: Vec<Race>) -> Self {
        Self { races: Mutex::new(races), ..Self::counting() }
    }

    /// Fails all calls that move an entry so.
    pub(crate) fn lacking(lack: Lack, errno: Errno) -> Self {
        Self { lacks: Some((lack, errno)), ..Self::counting() }
    }

    /// The same where something is lacking.
    pub(crate) fn and_lacking(self, lack: Lack, errno: Errno) -> Self {
        Self { lacks: Some((lack, errno)), ..self }
    }

    /// Returns how many calls were made.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    fn tick(&self) -> Result<OsFs> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let fails = call == self.fails || (self.is_dead && call > self.fails);
        if fails || self.is_killed() { Err(self.errno) } else { Ok(OsFs) }
    }

    fn is_killed(&self) -> bool {
        self.races.lock().is_ok_and(|races| matches!(races.first(), Some(Race::Death)))
    }

    /// Makes a call that moves an entry, and lets others act around it.
    fn moving(&self, name: &OsStr, call: impl FnOnce(OsFs) -> Result<()>) -> Result<()> {
        let os = self.tick()?;
        if SCRATCH.iter().any(|scratch| name == *scratch) {
            return call(os);
        }
        if let Some((Lack::Later, errno)) = self.lacks {
            return Err(errno);
        }
        if let Some(Race::Before(act)) = self.next(|race| matches!(race, Race::Before(_))) {
            act();
        }
        let result = call(os);
        if let Some(Race::After(act)) = self.next(|race| matches!(race, Race::After(_))) {
            act();
        }
        result
    }

    fn has(&self, flag: Lack) -> Result<()> {
        match self.lacks {
            Some((lack, errno)) if lack == flag => Err(errno),
            _ => Ok(()),
        }
    }

    fn may_read(&self, name: &OsStr) -> Result<()> {
        if self.is_foreign(name) { self.has(Lack::Reading) } else { Ok(()) }
    }

    fn is_owner(&self) -> bool {
        matches!(self.lacks, Some((Lack::Owner, _)))
    }

    fn is_foreign(&self, name: &OsStr) -> bool {
        let is_so = self.is_owner() || matches!(self.lacks, Some((Lack::Reading, _)));
        is_so && name.to_string_lossy().starts_with("foreign")
    }

    fn next(&self, is_it: impl FnOnce(&Race) -> bool) -> Option<Race> {
        let mut races = self.races.lock().ok()?;
        races.first().is_some_and(is_it).then(|| races.remove(0))
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
        self.may_read(name)?;
        self.tick()?.open_file(at, name)
    }

    fn open_to_write(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd> {
        self.tick()?.open_to_write(at, name)
    }

    fn create_file(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd> {
        self.tick()?.create_file(at, name)
    }

    fn create_file_as(&self, at: At<'_>, mode: u32) -> Result<OwnedFd> {
        self.tick()?.create_file_as(at, mode)
    }

    fn status(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<Status> {
        self.tick()?.status(at, name)
    }

    fn status_of(&self, file: BorrowedFd<'_>) -> Result<Status> {
        self.tick()?.status_of(file)
    }

    fn list(&self, dir: BorrowedFd<'_>, limit: usize) -> Result<Vec<Entry>> {
        let listed = self.tick()?.list(dir, limit);
        if let Some(Race::Listed(act)) = self.next(|race| matches!(race, Race::Listed(_))) {
            act();
        }
        listed
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

    fn make_special(&self, at: At<'_>, special: Special) -> Result<()> {
        self.tick()?.make_special(at, special)
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

    fn set_modified(&self, at: At<'_>, time: Timespec) -> Result<()> {
        self.tick()?.set_modified(at, time)
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

    fn lock(&self, file: BorrowedFd<'_>) -> Result<()> {
        self.tick()?.lock(file)
    }

    fn lock_shared(&self, file: BorrowedFd<'_>) -> Result<()> {
        self.tick()?.lock_shared(file)
    }

    fn node(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<Node> {
        let mut node = self.tick()?.node(at, name)?;
        let is_copy = self.is_owner() && node.status.mode & 0o1000 == 0;
        node.status.uid ^= u32::from(self.is_foreign(name) && !is_copy);
        if matches!(self.lacks, Some((Lack::Nanoseconds, _))) {
            node.status.modified.tv_nsec = 0;
            node.status.changed.tv_nsec = 0;
        }
        Ok(node)
    }

    fn open_below(&self, at: BorrowedFd<'_>, path: &Path, open: Open) -> Result<OwnedFd> {
        self.tick()?.open_below(at, path, open)
    }

    fn rename_new(&self, from: At<'_>, to: At<'_>) -> Result<()> {
        self.has(Lack::NoReplace)?;
        self.moving(from.name, |os| os.rename_new(from, to))
    }

    fn exchange(&self, one: At<'_>, other: At<'_>) -> Result<()> {
        self.has(Lack::Exchange)?;
        self.moving(one.name, |os| os.exchange(one, other))
    }

    fn link(&self, from: At<'_>, to: At<'_>) -> Result<()> {
        self.tick()?.link(from, to)
    }

    fn attributes(&self, at: At<'_>) -> Result<Vec<Attribute>> {
        self.tick()?.attributes(at)
    }

    fn set_attribute(&self, at: At<'_>, name: &OsStr, value: &[u8]) -> Result<()> {
        if name == "user.large" {
            self.has(Lack::Attribute)?;
        }
        self.tick()?.set_attribute(at, name, value)
    }

    fn remove_attribute(&self, at: At<'_>, name: &OsStr) -> Result<()> {
        self.tick()?.remove_attribute(at, name)
    }

    fn set_mode_at(&self, at: At<'_>, mode: u32) -> Result<()> {
        if self.is_foreign(at.name) {
            self.has(Lack::Reading).map_err(|_| Errno::PERM)?;
        }
        self.tick()?.set_mode_at(at, mode)
    }

    fn set_owner(&self, at: At<'_>, uid: u32, gid: u32) -> Result<()> {
        self.has(Lack::Owner)?;
        self.tick()?.set_owner(at, uid, gid)
    }

    fn next_data(&self, file: BorrowedFd<'_>, offset: u64) -> Result<Option<u64>> {
        let os = self.tick()?;
        if let Some(Race::Cut(act)) = self.next(|race| matches!(race, Race::Cut(_))) {
            act();
        }
        os.next_data(file, offset)
    }

    fn next_hole(&self, file: BorrowedFd<'_>, offset: u64) -> Result<u64> {
        self.tick()?.next_hole(file, offset)
    }

    fn read_at(&self, file: BorrowedFd<'_>, buffer: &mut [u8], offset: u64) -> Result<usize> {
        self.tick()?.read_at(file, buffer, offset)
    }

    fn copy_range(
        &self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        range: Range<u64>,
    ) -> Result<u64> {
        self.has(Lack::Room)?;
        // A short copy, which every caller must go on from.
        let end = range.start + (range.end - range.start).div_ceil(2);
        self.tick()?.copy_range(from, to, range.start..end)
    }

    fn set_size(&self, file: BorrowedFd<'_>, size: u64) -> Result<()> {
        self.tick()?.set_size(file, size)
    }

    fn allocate(&self, file: BorrowedFd<'_>, size: u64) -> Result<()> {
        self.tick()?.allocate(file, size)
    }

    fn sync_file(&self, file: BorrowedFd<'_>) -> Result<()> {
        self.tick()?.sync_file(file)
    }

    fn sync_all(&self, file: BorrowedFd<'_>) -> Result<()> {
        self.tick()?.sync_all(file)
    }
}
