//! The directory of a store, and what is asked of single objects.

mod error;
mod link;
mod list;
mod read;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::CWD;

pub use error::{Damage, StoreError};
pub(super) use list::Object;
pub use list::Usage;

use super::Digest;
use super::lock::StoreLock;
use super::publish::Publishing;
use crate::fs::{Errno, Fs, Kind, Status, Timespec};
use crate::state::{make_private, open_below};

/// How long a publisher or a collection waits for the other.
const PATIENCE: Duration = Duration::from_mins(1);
/// How old the time of an object's last use may be before it is written again.
const FRESH_SECONDS: i64 = 3600;

/// An open store: objects by digest, in the layout of BuildBox.
///
/// `objects/<2 digits>/<62 digits>` hold the contents, readable for all and writable for nobody,
/// `tmp` what is being written, `leases` and `retained` what a collection keeps. All
/// directories are this user's and closed to others.
///
/// Objects are not written to the disk one by one: after a crash of the machine one may be
/// missing or have another size, as which it is found. [`Store::sync`] makes them durable.
pub struct Store<'fs> {
    pub(super) fs: &'fs dyn Fs,
    pub(super) root: OwnedFd,
    pub(super) objects: OwnedFd,
    pub(super) temporary: OwnedFd,
    pub(super) leases: OwnedFd,
    pub(super) retained: OwnedFd,
    pub(super) patience: Duration,
    path: PathBuf,
}

impl<'fs> Store<'fs> {
    /// Opens a store and makes it, with what is above it, when it is not there.
    ///
    /// # Errors
    /// A link or file in its place, another owner, bits for others, or a failing call.
    pub fn open(fs: &'fs dyn Fs, path: &Path) -> Result<Self, StoreError> {
        make_private(fs, path).map_err(|error| StoreError::Unusable {
            path: path.to_owned(),
            error: Box::new(error),
        })?;
        let root = fs.open_dir(CWD, path.as_os_str()).map_err(failed("open", path))?;
        let part = |name| {
            let opened = open_below(fs, root.as_fd(), OsStr::new(name));
            opened.map_err(failed("open", path.join(name)))
        };
        let store = Self {
            fs,
            objects: part("objects")?,
            temporary: part("tmp")?,
            leases: part("leases")?,
            retained: part("retained")?,
            patience: PATIENCE,
            path: path.to_owned(),
            root,
        };
        // Clients of the Remote Execution API never send it, and take it to be everywhere.
        if !store.has(&Digest::EMPTY)? {
            store.publish()?.put_bytes(&[])?;
        }
        Ok(store)
    }

    /// Waits for other publishers, or for a collection, no longer than this.
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Returns its path as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins to publish: until the guard is dropped nothing is collected.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when a collection takes too long, or a failing call.
    pub fn publish(&self) -> Result<Publishing<'_>, StoreError> {
        Ok(Publishing::new(self, StoreLock::shared(self)?))
    }

    /// Returns whether there is a sound object of this name; its bytes are not looked at.
    ///
    /// # Errors
    /// A failing call.
    pub fn has(&self, digest: &Digest) -> Result<bool, StoreError> {
        let status = self.status(digest).map_err(failed("look at", self.object_path(digest)))?;
        Ok(status.is_some_and(|status| check(digest, &status).is_ok()))
    }

    /// Opens an object for reading, and marks it as used. Its bytes are not looked at.
    ///
    /// # Errors
    /// [`StoreError::Missing`], [`StoreError::Damaged`] for what can be seen from outside, or a
    /// failing call.
    pub fn open_object(&self, digest: &Digest) -> Result<OwnedFd, StoreError> {
        let (file, status) = self.open_unused(digest)?;
        if let Some(now) = is_stale(&status) {
            // A store that can't be written is no reason not to read it.
            let _ = self.fs.set_times(file.as_fd(), &now);
        }
        Ok(file)
    }

    /// Removes an object, whatever it is. Meant for one that is damaged: no lease and no
    /// publisher is asked.
    ///
    /// # Errors
    /// [`StoreError::Missing`], or a failing call.
    pub fn remove(&self, digest: &Digest) -> Result<(), StoreError> {
        let (fan, name) = names(digest);
        let removed = self.fs.open_handle(self.objects.as_fd(), &fan);
        match removed.and_then(|fan| self.fs.unlink(fan.as_fd(), &name)) {
            Err(Errno::NOENT) => Err(StoreError::Missing { digest: *digest }),
            result => result.map_err(failed("remove", self.object_path(digest))),
        }
    }

    /// Writes all that was published to the disk.
    ///
    /// # Errors
    /// A failing call.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.fs.sync_all(self.objects.as_fd()).map_err(failed("sync", &self.path))
    }

    /// Opens an object without marking it as used.
    pub(super) fn open_unused(&self, digest: &Digest) -> Result<(OwnedFd, Status), StoreError> {
        let (fan, name) = names(digest);
        let opened = self.fs.open_handle(self.objects.as_fd(), &fan).and_then(|fan| {
            let file = self.fs.open_file(fan.as_fd(), &name)?;
            let status = self.fs.status_of(file.as_fd())?;
            Ok((file, status))
        });
        let (file, status) = match opened {
            Err(Errno::NOENT) => return Err(StoreError::Missing { digest: *digest }),
            Err(Errno::LOOP) => {
                return Err(StoreError::Damaged { digest: *digest, damage: Damage::Kind });
            }
            result => result.map_err(failed("open", self.object_path(digest)))?,
        };
        check(digest, &status)?;
        Ok((file, status))
    }

    /// Marks an object as used when that was not done of late.
    pub(super) fn touch(&self, fan: BorrowedFd<'_>, name: &OsStr, status: &Status) {
        if let Some(now) = is_stale(status) {
            let _ = self.fs.set_times_at(fan, name, &now);
        }
    }

    /// Opens the directory of an object and makes it when it is not there.
    pub(super) fn fan(&self, digest: &Digest) -> Result<(OwnedFd, OsString), StoreError> {
        let (fan, name) = names(digest);
        let opened = open_below(self.fs, self.objects.as_fd(), &fan);
        Ok((opened.map_err(failed("open", self.path.join("objects").join(&fan)))?, name))
    }

    pub(super) fn object_path(&self, digest: &Digest) -> PathBuf {
        let (fan, name) = names(digest);
        [self.path.as_os_str(), OsStr::new("objects"), &fan, &name].iter().collect()
    }

    fn status(&self, digest: &Digest) -> Result<Option<Status>, Errno> {
        let (fan, name) = names(digest);
        let fan = self.fs.open_handle(self.objects.as_fd(), &fan);
        match fan.and_then(|fan| self.fs.status(fan.as_fd(), &name)) {
            Err(Errno::NOENT) => Ok(None),
            result => result.map(Some),
        }
    }
}

/// Returns a conversion of an errno into the error of `action` on `path`.
pub(super) fn failed(
    action: &'static str,
    path: impl Into<PathBuf>,
) -> impl FnOnce(Errno) -> StoreError {
    move |errno| StoreError::Io { action, path: path.into(), errno }
}

/// Checks what can be seen of an object without reading it.
pub(super) fn check(digest: &Digest, status: &Status) -> Result<(), StoreError> {
    let damage = if status.kind != Kind::File {
        Damage::Kind
    } else if status.size != digest.size {
        Damage::Size
    } else if status.uid != rustix::process::geteuid().as_raw() {
        Damage::Owner
    } else {
        return Ok(());
    };
    Err(StoreError::Damaged { digest: *digest, damage })
}

/// Returns where an object is: its directory, and its name there.
fn names(digest: &Digest) -> (OsString, OsString) {
    let digits = digest.to_hex();
    let (fan, name) = digits.split_at(2);
    (fan.into(), name.into())
}

/// Returns the status with the time of now, when the time of the last use is too old.
fn is_stale(status: &Status) -> Option<Status> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = Timespec {
        tv_sec: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: since.subsec_nanos().into(),
    };
    let age = now.tv_sec.saturating_sub(status.modified.tv_sec);
    (age > FRESH_SECONDS).then_some(Status { accessed: now, modified: now, ..*status })
}
