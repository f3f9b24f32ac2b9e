//! Which file systems keep the time of a file's birth.

use std::sync::{Mutex, PoisonError};

use rustix::fd::AsFd;
use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags, fstatfs, makedev, openat, statx};
use rustix::path::Arg;

/// `OVERLAYFS_SUPER_MAGIC` (linux/magic.h).
const OVERLAY: i64 = 0x794c_7630;
/// The most devices that are remembered; further ones are asked for each time.
const MOST: usize = 64;

/// Devices that were seen, and whether they are overlays.
static SEEN: Mutex<Vec<(u64, bool)>> = Mutex::new(Vec::new());

/// Whether the time of birth of what a name leads to is the same for as long as it is there. An overlay's
/// is that of its copy, once a file of a lower layer has one (measured on Linux 6.18): by then it looks like another
/// file, that was made just now.
pub fn keeps_birth(at: impl AsFd, name: impl Arg, dev: u64) -> bool {
    let seen = || SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, is_overlay)) = seen().iter().find(|(known, _)| *known == dev) {
        return !is_overlay;
    }
    let Some(is_overlay) = is_overlay(at, name, dev) else { return true };
    let mut seen = seen();
    if seen.len() < MOST {
        seen.push((dev, is_overlay));
    }
    !is_overlay
}

/// Returns it of this device; `None` where the name leads to another by now.
fn is_overlay(at: impl AsFd, name: impl Arg, dev: u64) -> Option<bool> {
    let name = name.into_c_str().ok()?;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened =
        if name.is_empty() { None } else { Some(openat(&at, &*name, flags, Mode::empty()).ok()?) };
    let file = opened.as_ref().map_or(at.as_fd(), AsFd::as_fd);
    let found = statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::TYPE).ok()?;
    let is_it = makedev(found.stx_dev_major, found.stx_dev_minor) == dev;
    let kind = fstatfs(file).ok()?.f_type;
    is_it.then_some(kind == OVERLAY)
}
