//! Single names of the host, for `why`: what each is, without following it.

use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use endow_policy::HostPath;
use rustix::fs::{
    AtFlags, FileType, StatVfsMountFlags, Statx, StatxFlags, fstat, fstatvfs, readlinkat, statx,
};
use rustix::io::Errno;

use super::kernel::read_word;
use super::untouched::open_untouched;
use crate::plan::why::{AclEntry, Entry, EntryKind, HostTree, Readonly};
use crate::sys;

/// The host as this process sees it.
#[derive(Debug, Default)]
pub(crate) struct HostObjects {
    /// Numbers of mounts whose whole file system is read-only.
    readonly: Vec<u64>,
}

impl HostObjects {
    /// Reads the mount table, which knows what no call tells: who is read-only, mount or file
    /// system.
    pub(crate) fn new() -> Self {
        let mounts = sys::mountinfo::own().unwrap_or_default().into_iter();
        let readonly = mounts.filter(sys::mountinfo::Mount::is_file_system_readonly);
        Self { readonly: readonly.map(|mount| mount.number).collect() }
    }
}

/// Returns `fs.protected_symlinks`.
pub(crate) fn protects_links() -> bool {
    read_word("/proc/sys/fs/protected_symlinks").is_some_and(|word| word != "0")
}

impl HostTree for HostObjects {
    fn look(&self, path: &HostPath) -> Result<Entry, i32> {
        self.entry(path).map_err(Errno::raw_os_error)
    }
}

impl HostObjects {
    fn entry(&self, path: &HostPath) -> Result<Entry, Errno> {
        let file = open_untouched(path.as_path())?;
        let stat = fstat(&file)?;
        let kind = kind(&file, stat.st_mode)?;
        let mount = fstatvfs(&file)?.f_flag;
        Ok(Entry {
            acl: if kind == EntryKind::Directory || kind == EntryKind::File {
                acl(&file)
            } else {
                Vec::new()
            },
            kind,
            mode: stat.st_mode & 0o7777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            id: Some(super::file_id(&sys::identity::of(&file)?)),
            frozen: is_frozen(&file),
            readonly: self.readonly(&file, mount),
            noexec: mount.contains(StatVfsMountFlags::NOEXEC),
            nodev: mount.contains(StatVfsMountFlags::NODEV),
        })
    }

    fn readonly(&self, file: &OwnedFd, mount: StatVfsMountFlags) -> Readonly {
        if !mount.contains(StatVfsMountFlags::RDONLY) {
            return Readonly::No;
        }
        let number = look(file, StatxFlags::MNT_ID).map(|found| found.stx_mnt_id);
        let whole = number.is_ok_and(|number| self.readonly.contains(&number));
        if whole { Readonly::FileSystem } else { Readonly::Mount }
    }
}

fn look(file: &OwnedFd, wanted: StatxFlags) -> Result<Statx, Errno> {
    statx(file, c"", AtFlags::EMPTY_PATH, wanted)
}

fn is_frozen(file: &OwnedFd) -> bool {
    use rustix::fs::StatxAttributes;
    let frozen = StatxAttributes::IMMUTABLE | StatxAttributes::APPEND;
    look(file, StatxFlags::BASIC_STATS).is_ok_and(|found| found.stx_attributes.intersects(frozen))
}

fn kind(file: &OwnedFd, mode: u32) -> Result<EntryKind, Errno> {
    Ok(match FileType::from_raw_mode(mode) {
        FileType::Directory => EntryKind::Directory,
        FileType::RegularFile => EntryKind::File,
        FileType::Symlink => {
            let to = readlinkat(file.as_fd(), c"", Vec::new())?;
            EntryKind::Link(PathBuf::from(OsString::from_vec(to.into_bytes())))
        }
        FileType::Socket => EntryKind::Socket { reachable: true },
        FileType::Fifo => EntryKind::Pipe,
        _ => EntryKind::Device,
    })
}

/// Reads the access list; most files have none.
fn acl(file: &OwnedFd) -> Vec<AclEntry> {
    let mut list = [0u8; 4096];
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let length = rustix::fs::getxattr(path, c"system.posix_acl_access", &mut list[..]).unwrap_or(0);
    let entries = list.get(4..length).unwrap_or_default().chunks_exact(8);
    entries.filter_map(acl_entry).collect()
}

/// One entry as `linux/posix_acl_xattr.h` lays it out.
fn acl_entry(bytes: &[u8]) -> Option<AclEntry> {
    let word = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let id = u32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?);
    Some(AclEntry { tag: word(0)?, rights: word(2)?, id })
}
