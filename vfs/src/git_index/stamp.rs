//! What an index remembers of a file's state.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use crate::fs::Timespec;

/// Times, inode number and size of a file, as its index entry has them: each cut to four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    changed: [u32; 2],
    modified: [u32; 2],
    inode: u32,
    size: u32,
}

impl Stamp {
    /// Reads the stamp of an entry: ten numbers, of which device, mode and owner are left out.
    pub(super) fn parse(entry: &[u8]) -> Option<Self> {
        let word = |number: usize| {
            let bytes = entry.get(number * 4..)?.first_chunk::<4>()?;
            Some(u32::from_be_bytes(*bytes))
        };
        Some(Self {
            changed: [word(0)?, word(1)?],
            modified: [word(2)?, word(3)?],
            inode: word(5)?,
            size: word(9)?,
        })
    }

    /// Returns whether a file is still in the state that the index remembers.
    pub fn matches(&self, found: &Metadata) -> bool {
        *self == Self::of(found)
    }

    /// Returns whether the index was told of this state before a moment, as far as the file's times
    /// say: one that does not know them, or only whole seconds that may be too late, was not.
    pub fn is_before(&self, moment: Timespec) -> bool {
        let is_before = |[seconds, nanoseconds]: [u32; 2]| {
            let time = (i64::from(seconds), i64::from(nanoseconds));
            let end = if nanoseconds == 0 { 0 } else { moment.tv_nsec };
            time < (moment.tv_sec, end)
        };
        self.changed != [0, 0] && is_before(self.changed) && is_before(self.modified)
    }

    /// Returns the size of the file.
    pub fn size(&self) -> u32 {
        self.size
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the index cuts each number to its lower four bytes"
    )]
    fn of(found: &Metadata) -> Self {
        Self {
            changed: [found.ctime() as u32, found.ctime_nsec() as u32],
            modified: [found.mtime() as u32, found.mtime_nsec() as u32],
            inode: found.ino() as u32,
            size: found.size() as u32,
        }
    }
}
