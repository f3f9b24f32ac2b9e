//! Finding a tree: as many calls, however large it is.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{ROOT, Seal, TreeCache, TreeError, TreeKey, beside};
use crate::fs::{At, Errno, Fs, Kind, Timespec, read_all};

/// A seal that is as old as that is made new when the tree is used: what was not used for longest
/// goes first.
const USED_EVERY: Duration = Duration::from_hours(1);
/// How often a lock is tried that somebody holds for a moment.
const TRIES: usize = 50;
const PAUSE: Duration = Duration::from_millis(10);

/// A tree of the cache, which stays as long as this does.
#[derive(Debug)]
pub struct Tree {
    /// What it holds.
    pub seal: Seal,
    path: PathBuf,
    /// The seal, with its shared lock.
    lease: OwnedFd,
}

impl Tree {
    pub(super) fn new(cache: &TreeCache, key: &TreeKey, seal: Seal, lease: OwnedFd) -> Self {
        Self { seal, path: cache.path.join(key.as_str()).join(ROOT), lease }
    }

    /// Returns where the tree is. The directory above it is closed to all but pid 1 of a sandbox,
    /// whose user namespace gives it the power to pass.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what keeps the tree, once this value is gone, for as long as it is open.
    pub fn into_lease(self) -> OwnedFd {
        self.lease
    }

    /// Returns whether the machine was started again since the tree was written, and it was not
    /// compared since.
    pub fn is_doubtful(&self, boot: &str) -> bool {
        self.seal.boot.as_deref().is_some_and(|written| written != boot)
    }
}

impl TreeCache {
    /// Finds a tree, whole, and keeps it from being taken away; `None` when it is to be made.
    ///
    /// # Errors
    /// A failing call.
    pub fn find(&self, fs: &dyn Fs, key: &TreeKey) -> Result<Option<Tree>, TreeError> {
        let name = beside(key, ".seal");
        for _ in 0..TRIES {
            let lease = match fs.open_file(self.fd(), &name) {
                Err(Errno::NOENT) => return Ok(None),
                opened => opened.map_err(self.failed("open", &name))?,
            };
            match fs.lock_shared(lease.as_fd()) {
                Ok(()) if self.is_still(fs, &name, &lease)? => return self.opened(fs, key, lease),
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => std::thread::sleep(PAUSE),
                Err(errno) => return Err(self.failed("lock", &name)(errno)),
            }
        }
        Ok(None)
    }

    /// Returns whether a name still leads to an open file: it may have gone before it was locked.
    pub(super) fn is_still(
        &self,
        fs: &dyn Fs,
        name: &OsStr,
        file: &OwnedFd,
    ) -> Result<bool, TreeError> {
        let open = fs.status_of(file.as_fd()).map_err(self.failed("look at", name))?;
        match fs.status(self.fd(), name) {
            Err(Errno::NOENT) => Ok(false),
            found => Ok(found.map_err(self.failed("look at", name))?.id == open.id),
        }
    }

    fn opened(
        &self,
        fs: &dyn Fs,
        key: &TreeKey,
        lease: OwnedFd,
    ) -> Result<Option<Tree>, TreeError> {
        let name = beside(key, ".seal");
        let text = read_all(fs, self.fd(), Path::new(&name)).map_err(self.failed("read", &name))?;
        let Ok(seal) = serde_json::from_slice::<Seal>(&text) else { return Ok(None) };
        if !self.is_sealed(fs, key, &seal)? {
            return Ok(None);
        }
        note_use(fs, &lease);
        Ok(Some(Tree::new(self, key, seal, lease)))
    }

    /// Returns whether the directory is the one that was sealed, and closes it if it was left open.
    fn is_sealed(&self, fs: &dyn Fs, key: &TreeKey, seal: &Seal) -> Result<bool, TreeError> {
        let name = OsStr::new(key.as_str());
        let node = match fs.node(self.fd(), name) {
            Err(Errno::NOENT) => return Ok(false),
            node => node.map_err(self.failed("look at", name))?,
        };
        if node.status.kind != Kind::Directory || !seal.is_of(&node) {
            return Ok(false);
        }
        if node.status.mode != 0 {
            let at = At { dir: self.fd(), name };
            fs.set_mode_at(at, 0).map_err(self.failed("close", name))?;
        }
        Ok(true)
    }
}

/// Makes a seal new that is older than an hour.
fn note_use(fs: &dyn Fs, lease: &OwnedFd) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let Ok(status) = fs.status_of(lease.as_fd()) else { return };
    let every = i64::try_from(USED_EVERY.as_secs()).unwrap_or(i64::MAX);
    if now.saturating_sub(status.modified.tv_sec) > every {
        let at = At { dir: lease.as_fd(), name: OsStr::new("") };
        // A tree that seems older than it is goes sooner, which costs time and nothing else.
        let _ = fs.set_modified(at, Timespec { tv_sec: now, tv_nsec: 0 });
    }
}
