//! What a name led to when it was looked at: enough to tell when it leads to something else.

use std::ffi::OsStr;
use std::os::fd::BorrowedFd;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FileType, StatxFlags, statx};

use crate::plan::step::FileId;
use crate::sys::identity::Identity;

/// The kernel's clock for files moves in steps, at most of this length on the slowest.
const STEP: Duration = Duration::from_millis(20);

/// A file or directory as it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    id: FileId,
    directory: bool,
    changed: (i64, u32),
    /// It changed within a step of the clock before it was looked at: another change may have
    /// left the same times, and a number may have been used again.
    young: bool,
}

impl Seen {
    /// Looks at a name of a directory; `None` when there is nothing.
    pub(super) fn look(directory: BorrowedFd<'_>, name: &OsStr) -> Option<Self> {
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let found = statx(directory, name, AtFlags::SYMLINK_NOFOLLOW, wanted).ok()?;
        let changed = (found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec);
        Some(Self {
            id: Identity::new(directory, name, &found).parts().into(),
            directory: FileType::from_raw_mode(found.stx_mode.into()) == FileType::Directory,
            changed,
            young: is_young(changed, SystemTime::now()),
        })
    }

    /// Returns whether what was found can't be told from what replaced it at once.
    pub(super) fn is_young(self) -> bool {
        self.young
    }

    pub(super) fn id(self) -> FileId {
        self.id
    }

    pub(super) fn is_directory(self) -> bool {
        self.directory
    }
}

/// A time that lies ahead, as another machine's clock may say, tells nothing either.
fn is_young((seconds, nanos): (i64, u32), now: SystemTime) -> bool {
    let Ok(seconds) = u64::try_from(seconds) else { return false };
    let changed = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos);
    now.duration_since(changed).map_or(true, |age| age < STEP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_in_the_last_step_of_the_clock_is_young() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
        assert!(is_young((100, 0), now));
        assert!(is_young((99, 990_000_000), now));
        assert!(is_young((101, 0), now));
        assert!(!is_young((99, 900_000_000), now));
        assert!(!is_young((-1, 0), now));
    }
}
