//! The lock between those who publish and the one who collects.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use super::store::failed;
use super::{Store, StoreError};
use crate::fs::{Errno, Fs, Result};

const NAME: &str = "lock";
/// The longest pause between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// The lock of a store, held until it is dropped.
#[derive(Debug)]
pub(super) struct StoreLock {
    file: OwnedFd,
}

impl AsFd for StoreLock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl StoreLock {
    /// Takes the lock that publishers share.
    pub(super) fn shared(store: &Store<'_>) -> std::result::Result<Self, StoreError> {
        Self::take(store, |fs, file| fs.lock_shared(file))
    }

    /// Takes the lock that only one can have.
    pub(super) fn exclusive(store: &Store<'_>) -> std::result::Result<Self, StoreError> {
        Self::take(store, |fs, file| fs.lock(file))
    }

    fn take(
        store: &Store<'_>,
        lock: impl Fn(&dyn Fs, BorrowedFd<'_>) -> Result<()>,
    ) -> std::result::Result<Self, StoreError> {
        let path = || store.path().join(NAME);
        let file = open(store).map_err(failed("open", path()))?;
        let (begin, mut pause) = (Instant::now(), Duration::from_millis(1));
        loop {
            match lock(store.fs, file.as_fd()) {
                Ok(()) => return Ok(Self { file }),
                Err(Errno::WOULDBLOCK) if begin.elapsed() < store.patience => {}
                Err(Errno::WOULDBLOCK) => return Err(StoreError::Busy { path: path() }),
                Err(errno) => return Err(failed("lock", path())(errno)),
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSE);
        }
    }
}

/// Opens the file anew each time: a lock of flock(2) belongs to the open file.
fn open(store: &Store<'_>) -> Result<OwnedFd> {
    let (at, name) = (store.root.as_fd(), OsStr::new(NAME));
    match store.fs.open_file(at, name) {
        Err(Errno::NOENT) => {}
        result => return result,
    }
    match store.fs.create_file(at, name) {
        Err(Errno::EXIST) => store.fs.open_file(at, name),
        result => result,
    }
}
