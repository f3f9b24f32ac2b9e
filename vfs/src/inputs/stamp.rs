//! What tells whether a file changed, without reading it.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::fs::{COARSEST, FileId, Status, Timespec};

/// What of a file's status changes with its content. No call sets the time of the last change back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) id: FileId,
    pub(super) size: u64,
    pub(super) mode: u32,
    pub(super) modified: (i64, u32),
    pub(super) changed: (i64, u32),
}

impl Stamp {
    pub(super) fn of(status: &Status) -> Self {
        Self {
            id: status.id,
            size: status.size,
            mode: status.mode,
            modified: parts(status.modified),
            changed: parts(status.changed),
        }
    }

    pub(super) fn is_executable(&self) -> bool {
        self.mode & 0o111 != 0
    }
}

/// The moment up to which a time tells of all that happens from now on: within the grain of a file system's clock a
/// content can change without the time moving.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settled {
    before: i64,
}

impl Settled {
    pub(super) fn now() -> Self {
        let limit = SystemTime::now().checked_sub(COARSEST);
        let since = limit.and_then(|it| it.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        Self { before: i64::try_from(since.as_secs()).unwrap_or_default() }
    }

    pub(super) fn holds(self, stamp: &Stamp) -> bool {
        let is_old = |(seconds, _): (i64, u32)| seconds < self.before;
        is_old(stamp.modified) && is_old(stamp.changed)
    }
}

fn parts(time: Timespec) -> (i64, u32) {
    // Below a thousand million.
    (time.tv_sec, u32::try_from(time.tv_nsec).unwrap_or_default())
}
