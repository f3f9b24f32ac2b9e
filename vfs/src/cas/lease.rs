//! Objects that a living process needs.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use super::lock::StoreLock;
use super::store::failed;
use super::temporary::unique_name;
use super::{Digest, Store, StoreError, roots};
use crate::fs::{Errno, Fs, Result, write_all};

const TRIES: usize = 64;

/// What it names, and all that is reachable from there, is kept until it is dropped, or until the
/// process ends, however that happens.
pub struct Lease<'fs> {
    fs: &'fs dyn Fs,
    at: OwnedFd,
    name: OsString,
    file: OwnedFd,
}

impl<'fs> Store<'fs> {
    /// Keeps objects, and the trees below those that are directories, while the lease is held.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when one of them is not there, [`StoreError::Busy`] when a
    /// collection takes too long, or a failing call.
    pub fn lease(&self, roots: &[Digest]) -> std::result::Result<Lease<'fs>, StoreError> {
        // A collection must see all of the lease or be over.
        let _lock = StoreLock::shared(self)?;
        self.check_all(roots)?;
        let path = || self.path().join("leases");
        let at = self.leases.try_clone();
        let at = at.map_err(|_| failed("open", path())(Errno::MFILE))?;
        let created = (0..TRIES).find_map(|_| {
            let name = unique_name();
            let created = self.fs.create_file(at.as_fd(), &name);
            (!matches!(created, Err(Errno::EXIST))).then(|| created.map(|file| (name, file)))
        });
        let (name, file) = created.unwrap_or(Err(Errno::EXIST)).map_err(failed("lease", path()))?;
        let lease = Lease { fs: self.fs, at, name, file };
        lease.begin(roots).map_err(failed("lease", path()))?;
        Ok(lease)
    }

    /// Checks that objects are there.
    pub(super) fn check_all(&self, roots: &[Digest]) -> std::result::Result<(), StoreError> {
        roots.iter().try_for_each(|digest| self.open_object(digest).map(drop))
    }

    /// Returns what living leases name, and how many dead ones were removed. Only who holds the
    /// exclusive lock may ask: a lease that is being made looks like a dead one.
    pub(super) fn leased(&self) -> std::result::Result<(Vec<Digest>, usize), StoreError> {
        let (mut leased, mut dead) = (Vec::new(), 0);
        let path = self.path().join("leases");
        let entries = self.fs.list(self.leases.as_fd(), usize::MAX);
        for entry in entries.map_err(failed("list", &path))? {
            let path = path.join(&entry.name);
            match self.is_live(&entry.name).map_err(failed("look at", &path))? {
                Live::Yes => leased.extend(self.leased_by(&entry.name, path)?),
                Live::No => dead += 1,
                Live::Gone => {}
            }
        }
        Ok((leased, dead))
    }

    /// Reads a lease; one that was dropped in between names nothing.
    fn leased_by(
        &self,
        name: &OsStr,
        path: PathBuf,
    ) -> std::result::Result<Vec<Digest>, StoreError> {
        match roots::read(self.fs, self.leases.as_fd(), name, path) {
            Err(StoreError::Io { errno: Errno::NOENT, .. }) => Ok(Vec::new()),
            result => result,
        }
    }

    fn is_live(&self, name: &OsStr) -> Result<Live> {
        let dir = self.leases.as_fd();
        let locked = self.fs.open_file(dir, name).and_then(|file| self.fs.lock(file.as_fd()));
        match locked.and_then(|()| self.fs.unlink(dir, name)) {
            Ok(()) => Ok(Live::No),
            Err(Errno::WOULDBLOCK) => Ok(Live::Yes),
            Err(Errno::NOENT) => Ok(Live::Gone),
            Err(errno) => Err(errno),
        }
    }
}

/// What a lease is worth.
enum Live {
    Yes,
    No,
    Gone,
}

impl Lease<'_> {
    fn begin(&self, roots: &[Digest]) -> Result<()> {
        self.fs.lock_shared(self.file.as_fd())?;
        write_all(self.fs, self.file.as_fd(), roots::render(roots).as_bytes())
    }
}

impl fmt::Debug for Lease<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Lease").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        // Without its lock it is dead, with or without a name.
        let _ = self.fs.unlink(self.at.as_fd(), &self.name);
    }
}
