//! What a command left of the copies of repositories' settings that it had: nothing of it is written
//! back, so that the user can be told.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

use endow_policy::HostPath;
use endow_vfs::git_config::{self, Change, MAX};
use rustix::fs::{FileType, Mode, OFlags, fstat, openat};

use crate::plan::{COPY, CopiedSettings};

/// Settings that a command changed.
#[derive(Debug)]
pub(crate) struct LeftSettings {
    /// The file on the host.
    pub(crate) file: HostPath,
    /// What differs; `None` when that can't be read.
    pub(crate) changes: Option<Vec<Change>>,
}

/// Returns what differs in the copies of a run that is over; `handed` are their directories.
pub(crate) fn left(copies: &[CopiedSettings], handed: &[OwnedFd]) -> Vec<LeftSettings> {
    let left = copies.iter().zip(handed).map(|(copied, directory)| {
        let before = git_config::parse(&copied.text).unwrap_or_default();
        let after = read(directory).and_then(|text| git_config::parse(&text));
        let changes = after.map(|after| git_config::changes(&before, &after));
        LeftSettings { file: copied.file.clone(), changes }
    });
    left.filter(|it| it.changes.as_ref().is_none_or(|changes| !changes.is_empty())).collect()
}

/// Reads a file that the command may have made anything of.
fn read(directory: &OwnedFd) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(directory, COPY, flags, Mode::empty()).ok()?;
    let found = fstat(&file).ok()?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return None;
    }
    let mut text = Vec::new();
    File::from(file).take(MAX + 1).read_to_end(&mut text).ok()?;
    (text.len() as u64 <= MAX).then_some(text)
}
