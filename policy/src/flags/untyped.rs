//! Mounts that a program asks for: as flags they would need escapes, and some paths have none.

use std::ffi::OsStr;

use super::mount::MountFlag;
use super::origin;
use crate::decode::{DEFAULT_MEMORY_MODE, DEFAULT_MEMORY_SIZE};
use crate::{Access, MountEntry, MountOptions, MountSource, Stated};

impl MountEntry {
    /// Shows all of a host path at a place, whatever names are in it.
    pub fn of_host(access: Access, source: &OsStr, place: &OsStr) -> Self {
        let host = (source != place).then(|| source.to_owned());
        let entry = untyped(MountFlag::Host(access), MountSource::Host { host }, place);
        let options = MountOptions { nodeny: true, ..MountOptions::default() };
        Self { access, options, ..entry }
    }

    /// Puts memory at a place.
    pub fn of_memory(place: &OsStr) -> Self {
        let source = MountSource::Memory {
            size_bytes: DEFAULT_MEMORY_SIZE,
            inodes: None,
            mode: DEFAULT_MEMORY_MODE,
        };
        Self { access: Access::Rw, ..untyped(MountFlag::Tmp, source, place) }
    }

    /// Mounts a tree of the store copy-on-write at a place.
    pub fn of_tree(digest: String, place: &OsStr) -> Self {
        let entry = untyped(MountFlag::Cas, MountSource::Cas { digest }, place);
        Self { access: Access::Cow, ..entry }
    }
}

fn untyped(flag: MountFlag, source: MountSource, place: &OsStr) -> MountEntry {
    MountEntry {
        at: Stated::new(place.to_owned(), origin(flag.word(), place)),
        source,
        access: Access::Ro,
        options: MountOptions::default(),
        reason: None,
    }
}
