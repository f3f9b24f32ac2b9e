//! What a file is, so that it is known again: `statx(2)`.

use std::os::fd::AsFd;

use endow_vfs::fs::keeps_birth;
use rustix::fs::{AtFlags, FileType, Statx, StatxFlags, makedev, statx};
use rustix::io::Errno;
use rustix::path::Arg;

/// A file, told from every other that exists or existed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The device number as `stat` gives it.
    pub(crate) dev: u64,
    /// The inode number, which a file made later may have again.
    pub(crate) ino: u64,
    /// The time of birth in nanoseconds; 0 where the file system does not keep it.
    pub(crate) born: u64,
}

impl Identity {
    /// Takes what was asked for, of a name in a directory, with `StatxFlags::BTIME`.
    pub(crate) fn new(directory: impl AsFd, name: impl Arg, found: &Statx) -> Self {
        let dev = makedev(found.stx_dev_major, found.stx_dev_minor);
        let born = if keeps_birth(directory, name, dev) { born(found) } else { 0 };
        Self { dev, ino: found.stx_ino, born }
    }

    /// Returns device, inode and birth, as a plan takes them.
    pub(crate) fn parts(self) -> (u64, u64, u64) {
        (self.dev, self.ino, self.born)
    }
}

/// Returns what an open file is.
pub(crate) fn of(file: impl AsFd) -> Result<Identity, Errno> {
    at_mount(file, c"").map(|(identity, _, _)| identity)
}

/// Returns what a name in a directory is, a symbolic link being one; the last name alone may be
/// one, as the directory is open.
pub(crate) fn at(directory: impl AsFd, name: impl Arg) -> Result<(Identity, FileType), Errno> {
    at_mount(directory, name).map(|(identity, kind, _)| (identity, kind))
}

/// Returns likewise what a name in a directory is, or with an empty name what the file itself is, and the
/// number of the mount by which it is reached.
pub(crate) fn at_mount(
    directory: impl AsFd,
    name: impl Arg,
) -> Result<(Identity, FileType, u64), Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::EMPTY_PATH;
    let wanted = StatxFlags::TYPE | StatxFlags::INO | StatxFlags::BTIME | StatxFlags::MNT_ID;
    let name = name.into_c_str()?;
    let found = statx(&directory, &*name, flags, wanted)?;
    let kind = FileType::from_raw_mode(found.stx_mode.into());
    Ok((Identity::new(directory, &*name, &found), kind, found.stx_mnt_id))
}

fn born(found: &Statx) -> u64 {
    let is_known = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::BTIME);
    let seconds = found.stx_btime.tv_sec.cast_unsigned();
    let nanos = seconds.wrapping_mul(1_000_000_000).wrapping_add(found.stx_btime.tv_nsec.into());
    if is_known { nanos } else { 0 }
}

#[cfg(test)]
mod tests {
    use std::fs::{File, remove_file};

    use super::*;

    #[test]
    fn file_made_again_is_another_whatever_its_number() {
        let root = tempfile::tempdir().expect("a directory");
        let path = root.path().join("file");
        let made = || {
            let seen = of(File::create_new(&path).expect("made")).expect("seen");
            remove_file(&path).expect("removed");
            seen
        };
        let first = made();
        assert_ne!(first.born, 0, "this file system keeps no time of birth");
        // The kernel's clock for files moves in steps of some milliseconds.
        let later = (0..1_000_000).map(|_| made()).find(|it| it.born != first.born);
        assert_ne!(later.expect("a later birth").parts(), first.parts());
    }
}
