//! What a call names: read from its caller, who may change it at any time.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, RenameFlags, ResolveFlags, StatxFlags, openat, openat2, statx,
};

use crate::supervise::caller::{descriptor, path_at, place_of};
use crate::sys::announced::Announced;

/// A name in an open directory of the sandbox's view.
#[derive(Debug)]
pub(super) struct Named {
    /// The directory.
    pub(super) parent: OwnedFd,
    /// The root of the view.
    root: OwnedFd,
    /// Where the directory is in the view.
    place: PathBuf,
    /// The name in it.
    pub(super) name: OsString,
}

impl Named {
    /// Returns whether the name lies on the very mount at `at`, and on none below that.
    pub(super) fn is_on_mount(&self, at: &Path) -> bool {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let top = openat2(&self.root, at, flags, Mode::empty(), resolve);
        let is_known = |number: Option<u64>| number.is_some() && number == mount(&self.parent);
        top.is_ok_and(|top| is_known(mount(&top)))
    }

    /// Returns where it is in the view.
    pub(super) fn path(&self) -> PathBuf {
        self.place.join(&self.name)
    }
}

/// Returns whether a call renames something.
pub(super) fn renames(call: &Announced) -> bool {
    match i64::from(call.number) {
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rename => true,
        number => matches!(number, libc::SYS_renameat | libc::SYS_renameat2),
    }
}

/// Returns what a call gives other names: what it renames, and what it exchanges that with. What can't be told is left
/// out, and so are names that no rename takes.
pub(super) fn moved(call: &Announced) -> impl Iterator<Item = Named> {
    let [first, second, third, fourth, flags, _] = call.arguments;
    let at = |directory, address| named(call.pid, descriptor(directory)?, address);
    let both = match i64::from(call.number) {
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rename => [named(call.pid, libc::AT_FDCWD, first), None],
        libc::SYS_renameat2 if is_exchange(flags) => [at(first, second), at(third, fourth)],
        libc::SYS_renameat | libc::SYS_renameat2 => [at(first, second), None],
        _ => [None, None],
    };
    both.into_iter().flatten()
}

/// The kernel looks at 32 bits of the flags.
fn is_exchange(flags: u64) -> bool {
    flags & u64::from(RenameFlags::EXCHANGE.bits()) != 0
}

fn named(pid: u32, directory: i32, address: u64) -> Option<Named> {
    let text = path_at(pid, address)?;
    let path = Path::new(OsStr::from_bytes(&text));
    let name = path.file_name()?.to_owned();
    let parent = place_of(pid, directory, path.parent()?)?;
    let root = open(&format!("/proc/{pid}/root"))?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    let parent = openat2(&root, parent, flags, Mode::empty(), resolve).ok()?;
    let place = where_is(&parent)?;
    Some(Named { parent, root, place, name })
}

fn open(path: &str) -> Option<OwnedFd> {
    openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// Returns the number of the mount that a directory is on.
fn mount(directory: &OwnedFd) -> Option<u64> {
    let found = statx(directory, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok()?;
    let is_told = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::MNT_ID);
    is_told.then_some(found.stx_mnt_id)
}

fn where_is(directory: &OwnedFd) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    std::fs::read_link(format!("/proc/self/fd/{}", directory.as_raw_fd())).ok()
}
