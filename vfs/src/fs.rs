//! The few file calls this crate makes, as a trait, so that faults can be simulated.
//!
//! Every call names a thing by one name below an open directory and none follows a symbolic
//! link in that name. Callers decide; implementations only do.

mod beyond;
mod data;
#[cfg(test)]
pub(crate) mod faulty;
mod json;
mod os;
mod whole;

use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

pub(crate) use beyond::{is_beyond, set_attribute};
pub(crate) use data::{copy_bytes, next_data, next_hole};
pub(crate) use json::{JsonError, write_json};
pub use os::{OsFs, keeps_birth};
pub(crate) use os::{kind as kind_of, magic};
pub use rustix::fs::Timespec;
pub use rustix::io::{Errno, Result};
use serde::{Deserialize, Serialize};
pub use whole::write_all;
pub(crate) use whole::{read_all, read_own, room, write_anew};

/// By how much the times may be too early that the coarsest file system in use keeps, FAT: it has every other second.
/// What keeps whole seconds shows no nanoseconds.
pub const COARSEST: Duration = Duration::from_secs(2);

/// Which file this is, on this host, until it is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId {
    /// The device of its file system.
    pub dev: u64,
    /// Its inode number there.
    pub ino: u64,
}

/// The kinds of file this crate tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A device, socket or FIFO.
    Other,
}

/// What the names of overlayfs' own attributes begin with, in a user namespace.
pub(crate) const OVERLAYS: &str = "user.overlay.";

/// Returns whether an attribute is overlayfs' own.
pub(crate) fn is_overlays(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(OVERLAYS.as_bytes())
}

/// Returns whether an attribute is an ACL: the one that decides, or a directory's for new entries.
pub fn is_acl(name: &OsStr) -> bool {
    name == "system.posix_acl_access" || name == "system.posix_acl_default"
}

/// Takes the ACLs away that a directory has of the one above it: all that is made in it would have them.
///
/// # Errors
/// A failing call.
pub(crate) fn strip_acls(fs: &dyn Fs, at: At<'_>) -> Result<()> {
    let attributes = fs.attributes(at)?.into_iter();
    let mut acls = attributes.filter(|(name, _)| is_acl(name));
    acls.try_for_each(|(name, _)| fs.remove_attribute(at, &name))
}

/// One name of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name, any bytes but `/` and NUL.
    pub name: OsString,
    /// Its kind, when the file system told it with the name.
    pub kind: Option<Kind>,
}

/// What a file is, as far as this crate copies or compares it.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// Which file.
    pub id: FileId,
    /// What kind of file.
    pub kind: Kind,
    /// Permission bits, with set-user-id, set-group-id and sticky.
    pub mode: u32,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Its size in bytes.
    pub size: u64,
    /// The bytes it takes on the disk.
    pub allocated: u64,
    /// When it was read last.
    pub accessed: Timespec,
    /// When its content changed last.
    pub modified: Timespec,
    /// When anything of it changed last; no call can set it.
    pub changed: Timespec,
}

/// What a file is beyond the three kinds that are written back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// The character device 0:0, by which an overlay's layer says that a name is gone.
    Whiteout,
    /// Any other device.
    Device,
    /// A socket.
    Socket,
    /// A FIFO.
    Fifo,
}

/// What a name leads to, as far as write-back compares it.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// What [`Fs::status`] tells.
    pub status: Status,
    /// When the inode was made, where the file system knows.
    pub born: Option<Timespec>,
    /// Whether it is made at that time for as long as it is there: see [`keeps_birth`].
    pub keeps_birth: bool,
    /// How many names it has.
    pub links: u32,
    /// What it is when it is none of the kinds that are written back.
    pub special: Option<Special>,
    /// The mount it was found in.
    pub mount: u64,
}

/// File calls below open directories.
pub trait Fs: Sync {
    /// Opens a directory for listing.
    fn open_dir(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd>;

    /// Opens a directory of the same mount for listing; fails with `XDEV` for a mount point, also
    /// of a bind mount within one file system.
    fn open_dir_here(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd>;

    /// Opens a handle of a directory, which needs no right to list it.
    fn open_handle(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd>;

    /// Opens a handle of a directory by an absolute path that has no links in it; fails with
    /// `LOOP` when it has.
    fn open_canonical(&self, path: &Path) -> Result<OwnedFd>;

    /// Opens a file for reading; returns at once also for a FIFO.
    fn open_file(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd>;

    /// Opens a file for reading and writing; returns at once also for a FIFO.
    fn open_to_write(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd>;

    /// Creates a file for writing; the name must be free.
    fn create_file(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd>;

    /// Creates a file for writing, with these bits but for those that the process's mask takes
    /// away; the name must be free.
    fn create_file_as(&self, at: At<'_>, mode: u32) -> Result<OwnedFd>;

    /// Returns the status of a name, of the link itself for a link.
    fn status(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<Status>;

    /// Returns the status of an open file.
    fn status_of(&self, file: BorrowedFd<'_>) -> Result<Status>;

    /// Lists a directory from its beginning, `.` and `..` left out, at most `limit` names.
    fn list(&self, dir: BorrowedFd<'_>, limit: usize) -> Result<Vec<Entry>>;

    /// Returns the target of a symbolic link.
    fn read_link(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<OsString>;

    /// Reads some bytes; 0 at the end.
    fn read(&self, file: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize>;

    /// Writes some bytes.
    fn write(&self, file: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize>;

    /// Makes a directory.
    fn make_dir(&self, at: BorrowedFd<'_>, name: &OsStr, mode: u32) -> Result<()>;

    /// Makes a symbolic link.
    fn make_symlink(&self, target: &OsStr, at: BorrowedFd<'_>, name: &OsStr) -> Result<()>;

    /// Makes a whiteout: the device file 0:0 that hides a name in an overlay.
    fn make_whiteout(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<()>;

    /// Makes a FIFO or a socket that nobody listens on.
    fn make_special(&self, at: At<'_>, special: Special) -> Result<()>;

    /// Marks a directory as opaque: in an overlay nothing of the layers below shows through.
    fn make_opaque(&self, dir: BorrowedFd<'_>) -> Result<()>;

    /// Sets the permission bits of an open file.
    fn set_mode(&self, file: BorrowedFd<'_>, mode: u32) -> Result<()>;

    /// Sets the permission bits of a directory that can't be opened for reading.
    fn set_dir_mode(&self, at: BorrowedFd<'_>, name: &OsStr, mode: u32) -> Result<()>;

    /// Sets the times of last access and modification of an open file.
    fn set_times(&self, file: BorrowedFd<'_>, status: &Status) -> Result<()>;

    /// Sets the times of a name, of the link itself for a link.
    fn set_times_at(&self, at: BorrowedFd<'_>, name: &OsStr, status: &Status) -> Result<()>;

    /// Sets the time of the last modification of a name, of the link itself for a link; an empty
    /// name is `at` itself. The time of the last access stays.
    fn set_modified(&self, at: At<'_>, time: Timespec) -> Result<()>;

    /// Renames within one directory, replacing what is there.
    fn rename(&self, at: BorrowedFd<'_>, from: &OsStr, to: &OsStr) -> Result<()>;

    /// Removes a name that is not a directory.
    fn unlink(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<()>;

    /// Removes an empty directory.
    fn remove_dir(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<()>;

    /// Takes the exclusive lock of an open file or directory, or fails with `WOULDBLOCK`.
    fn lock(&self, file: BorrowedFd<'_>) -> Result<()>;

    /// Takes a lock that others may share, or fails with `WOULDBLOCK`.
    fn lock_shared(&self, file: BorrowedFd<'_>) -> Result<()>;

    /// Returns all that write-back compares of a name, of the link itself for a link; an empty
    /// name is `at` itself.
    fn node(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<Node>;

    /// Opens a directory some levels below `at`, or `at` itself when the path is empty: it follows no link, leaves
    /// neither `at` nor the mount.
    fn open_below(&self, at: BorrowedFd<'_>, path: &Path, open: Open) -> Result<OwnedFd>;

    /// Renames; fails with `EXIST` when the new name is taken.
    fn rename_new(&self, from: At<'_>, to: At<'_>) -> Result<()>;

    /// Exchanges what two names lead to.
    fn exchange(&self, one: At<'_>, other: At<'_>) -> Result<()>;

    /// Gives a file, or a symbolic link, a further name.
    fn link(&self, from: At<'_>, to: At<'_>) -> Result<()>;

    /// Returns the `user.*` attributes, the ACLs and the file capability of a name, with their values.
    fn attributes(&self, at: At<'_>) -> Result<Vec<Attribute>>;

    /// Sets one attribute.
    fn set_attribute(&self, at: At<'_>, name: &OsStr, value: &[u8]) -> Result<()>;

    /// Removes one attribute.
    fn remove_attribute(&self, at: At<'_>, name: &OsStr) -> Result<()>;

    /// Sets the permission bits of a name that is no symbolic link; an empty name is `at` itself.
    fn set_mode_at(&self, at: At<'_>, mode: u32) -> Result<()>;

    /// Gives a name another owner and group, the link itself for a link.
    fn set_owner(&self, at: At<'_>, uid: u32, gid: u32) -> Result<()>;

    /// Returns where data begins at or behind `offset`; `None` when none follows.
    fn next_data(&self, file: BorrowedFd<'_>, offset: u64) -> Result<Option<u64>>;

    /// Returns where a hole, or the end, begins at or behind `offset`.
    fn next_hole(&self, file: BorrowedFd<'_>, offset: u64) -> Result<u64>;

    /// Reads some bytes at a place; 0 at the end.
    fn read_at(&self, file: BorrowedFd<'_>, buffer: &mut [u8], offset: u64) -> Result<usize>;

    /// Copies some bytes to the same place of another file; 0 at the end.
    fn copy_range(
        &self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        range: Range<u64>,
    ) -> Result<u64>;

    /// Sets the size of a file open for writing.
    fn set_size(&self, file: BorrowedFd<'_>, size: u64) -> Result<()>;

    /// Gives a file open for writing that many bytes on the disk, so that writing them needs no more.
    fn allocate(&self, file: BorrowedFd<'_>, size: u64) -> Result<()>;

    /// Writes an open file, or the names of an open directory, to the disk.
    fn sync_file(&self, file: BorrowedFd<'_>) -> Result<()>;

    /// Writes all of the file system that holds an open file to the disk.
    fn sync_all(&self, file: BorrowedFd<'_>) -> Result<()>;
}

/// A name in an open directory.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// The directory.
    pub dir: BorrowedFd<'a>,
    /// The name there.
    pub name: &'a OsStr,
}

/// What a directory is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// To name things below it, which needs no right to list it.
    Handle,
    /// To list it.
    List,
}

/// An extended attribute: its name and its value.
pub type Attribute = (OsString, Vec<u8>);
