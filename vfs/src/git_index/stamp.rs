//! What an index remembers of a file's state.

use crate::fs::Timespec;

/// Times and size of a file, as its index entry has them: each cut to four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    changed: [u32; 2],
    modified: [u32; 2],
    size: u32,
}

impl Stamp {
    /// Reads the stamp of an entry: ten numbers, of which device, inode, mode and owner are left out.
    pub(super) fn parse(entry: &[u8]) -> Option<Self> {
        let word = |number: usize| {
            let bytes = entry.get(number * 4..)?.first_chunk::<4>()?;
            Some(u32::from_be_bytes(*bytes))
        };
        Some(Self { changed: [word(0)?, word(1)?], modified: [word(2)?, word(3)?], size: word(9)? })
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
}
