//! What the host has at a path, as far as an answer depends on it.

use std::path::PathBuf;

use endow_policy::HostPath;

use crate::plan::step::FileId;

/// Answers for single names of the host; links are not followed.
pub trait HostTree {
    /// Returns what is at a path whose parent has no links, or the error's number.
    fn look(&self, path: &HostPath) -> Result<Entry, i32>;
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Of what kind it is.
    pub kind: EntryKind,
    /// Its permission bits.
    pub mode: u32,
    /// Its owner, by the host's number.
    pub uid: u32,
    /// Its group, by the host's number.
    pub gid: u32,
    /// Which file it is.
    pub id: Option<FileId>,
    /// Its access list beyond the permission bits; empty when it has none.
    pub acl: Vec<AclEntry>,
    /// It can't be changed, whoever asks (`chattr +i`, `+a`).
    pub frozen: bool,
    /// Whether it can be written where it lies.
    pub readonly: Readonly,
    /// Nothing on its mount is executed.
    pub noexec: bool,
    /// Devices on its mount can't be opened.
    pub nodev: bool,
}

/// The kind of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A symbolic link, and what it says.
    Link(PathBuf),
    /// A socket; `reachable` when a process may be listening on exactly this file.
    Socket {
        /// Not through a layered file system.
        reachable: bool,
    },
    /// A pipe with a name.
    Pipe,
    /// A device.
    Device,
}

/// Whether something can be written where it lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Readonly {
    /// It can.
    #[default]
    No,
    /// The mount is read-only: asked after the permission bits of an existing file.
    Mount,
    /// The whole file system is: asked before them.
    FileSystem,
}

/// One entry of a POSIX access list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AclEntry {
    /// Whom it is about: 1 owner, 2 a user, 4 the group, 8 a group, 16 the mask, 32 others.
    pub tag: u16,
    /// Read 4, write 2, execute 1.
    pub rights: u16,
    /// The user or group.
    pub id: u32,
}

impl Entry {
    /// Makes an entry of endow's own: the user's, without anything unusual.
    pub(super) fn own(kind: EntryKind, mode: u32, (uid, gid): (u32, u32)) -> Self {
        Self {
            kind,
            mode,
            uid,
            gid,
            id: None,
            acl: Vec::new(),
            frozen: false,
            readonly: Readonly::No,
            noexec: false,
            nodev: true,
        }
    }

    /// Returns whether it is a directory.
    pub fn is_directory(&self) -> bool {
        self.kind == EntryKind::Directory
    }

    /// Returns what `ls` would show first.
    pub(super) fn letters(&self) -> String {
        let letter = |bit: u32, letter: char| if self.mode & bit == 0 { '-' } else { letter };
        (0..3)
            .rev()
            .flat_map(|class| {
                [(4, 'r'), (2, 'w'), (1, 'x')].map(|(bit, it)| (bit << (3 * class), it))
            })
            .map(|(bit, it)| letter(bit, it))
            .collect()
    }
}
