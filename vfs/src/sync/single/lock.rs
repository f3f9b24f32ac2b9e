//! Locks beside the file: programs that read it, change it and replace it make a directory
//! `<name>.lock` first, and keep its time fresh while they have it.
//!
//! Nobody makes such a lock here, which a kill would leave behind. Whoever looks before and after
//! an exchange knows whether somebody may have read what was there before.

use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::Single;
use crate::fs::{At, Result};
use crate::state::Moment;
use crate::sync::collect::io;
use crate::sync::{Ledger, Seen, SyncError};

/// A lock that is older belongs to nobody. The libraries that make them say the same.
const STALE: Duration = Duration::from_secs(10);

impl Single<'_> {
    /// Returns whether a program of the host has locked its file, which is in `root`.
    ///
    /// # Errors
    /// A failing call.
    pub fn is_host_locked(&self, root: BorrowedFd<'_>) -> std::result::Result<bool, SyncError> {
        let host = At { dir: root, name: &self.name };
        self.is_locked(host).map_err(io("look for a lock of", Path::new(&self.name)))
    }

    /// Returns what the host has in `root`; `None` when that is nothing.
    ///
    /// # Errors
    /// A failing call.
    pub fn on_host(&self, root: BorrowedFd<'_>) -> std::result::Result<Option<Seen>, SyncError> {
        let host = At { dir: root, name: &self.name };
        let found = self.look(host).map_err(io("look at", Path::new(&self.name)))?;
        Ok(found.as_ref().map(Seen::from))
    }

    /// Returns whether a program of the host wrote its file since that was as `before`: one that locked and
    /// read it before something was written back wrote that away, and has no lock any more.
    ///
    /// # Errors
    /// A failing call.
    pub fn is_overwritten(
        &self,
        root: BorrowedFd<'_>,
        before: Option<&Seen>,
    ) -> std::result::Result<bool, SyncError> {
        let there = self.on_host(root)?;
        if there.as_ref() == before {
            return Ok(false);
        }
        let ledger = Ledger::read(self.fs, self.run)?;
        Ok(!there.is_some_and(|there| ledger.settled(self.number).has(&there)))
    }

    pub(super) fn is_locked(&self, at: At<'_>) -> Result<bool> {
        let mut name = OsString::from(at.name);
        name.push(".lock");
        let found = self.look(At { dir: at.dir, name: &name })?;
        Ok(found.is_some_and(|node| is_fresh(Moment::from(node.status.modified).into())))
    }
}

/// A time in the future is as good as one in the past.
fn is_fresh(time: SystemTime) -> bool {
    let age = time.elapsed().unwrap_or_else(|error| error.duration());
    age < STALE
}
