//! All runs that are there.

use std::ffi::OsStr;
use std::os::fd::AsFd;

use super::error::failed;
use super::record::{Record, RecordError, RunState};
use super::run::read_record;
use super::{RunId, StateDir, StateError};
use crate::fs::{Errno, Fs};

/// A run that is there.
#[derive(Debug)]
pub struct Listed {
    /// Its name.
    pub id: RunId,
    /// Whether somebody holds its lock: it runs, or is being worked on.
    pub in_use: bool,
    /// What it is: `None` when it never said, as runs that buffer nothing; else its record, or why
    /// that can't be used.
    pub record: Option<Result<Record, RecordError>>,
}

impl Listed {
    /// Returns its record, when that can be used.
    pub fn record(&self) -> Option<&Record> {
        self.record.as_ref()?.as_ref().ok()
    }

    /// Returns its state; `None` when that is not known.
    ///
    /// What nobody runs is not running, whatever its record says: its owner died.
    pub fn state(&self) -> Option<RunState> {
        match (&self.record, self.in_use) {
            (Some(Ok(record)), false) if record.state == RunState::Running => {
                Some(RunState::Interrupted)
            }
            (Some(Ok(record)), _) => Some(record.state),
            (None, true) => Some(RunState::Running),
            _ => None,
        }
    }

    /// Returns what runs are ordered by, the oldest first. Ids tell times to 1/32 s, and records
    /// those of runs that followed each other faster.
    pub(super) fn age(&self) -> impl Ord + use<> {
        (self.id.time(), self.record().map(|record| record.started), self.id.clone())
    }

    /// Returns what the user calls it.
    pub fn name(&self) -> Option<&str> {
        self.record()?.name.as_deref()
    }
}

impl StateDir {
    /// Lists all runs, the oldest first. Nothing is changed, and none is waited for.
    ///
    /// # Errors
    /// When the runs can't be listed; one that can't be read is in the list.
    pub fn runs(&self, fs: &dyn Fs) -> Result<Vec<Listed>, StateError> {
        let names = fs.list(self.runs.dir.as_fd(), usize::MAX);
        let names = names.map_err(failed("list", &self.runs.path))?;
        let ids = names.iter().filter_map(|entry| RunId::parse(entry.name.to_str()?).ok());
        let mut runs: Vec<Listed> = ids.filter_map(|id| self.look_at(fs, id)).collect();
        runs.sort_by_cached_key(Listed::age);
        Ok(runs)
    }

    /// Looks at one run; `None` when it is gone.
    fn look_at(&self, fs: &dyn Fs, id: RunId) -> Option<Listed> {
        let unreadable = |errno| Some(Err(RecordError::Unreadable(errno)));
        let dir = match fs.open_dir(self.runs.dir.as_fd(), OsStr::new(id.as_str())) {
            Ok(dir) => dir,
            Err(Errno::NOENT) => return None,
            Err(errno) => return Some(Listed { id, in_use: false, record: unreadable(errno) }),
        };
        // The lock first: a run that ends in between has written its last state by then.
        let in_use = matches!(fs.lock_shared(dir.as_fd()), Err(Errno::WOULDBLOCK));
        let record = read_record(fs, dir.as_fd(), &id).transpose();
        Some(Listed { id, in_use, record })
    }
}
