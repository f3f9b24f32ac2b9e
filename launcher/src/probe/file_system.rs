//! What is known of file systems.

use std::path::Path;

use rustix::fs::statfs;

/// File systems by the number that statfs(2) gives, and whether one can hold a layer of overlayfs:
/// whiteouts and attributes of users.
const KINDS: [(u64, &str, bool); 11] = [
    (0xef53, "ext4", true),
    (0x5846_5342, "xfs", true),
    (0x9123_683e, "btrfs", true),
    (0x2fc1_2fc1, "zfs", true),
    (0xf2f5_2010, "f2fs", true),
    (0x0102_1994, "tmpfs", true),
    (0x794c_7630, "overlay", false),
    (0x6969, "nfs", false),
    (0x6573_5546, "fuse", false),
    (0x0102_1997, "9p", false),
    (0x4d44, "vfat", false),
];

/// A file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileSystem {
    /// One of the table: its name, and whether it can hold a layer.
    Known(&'static str, bool),
    /// Any other: its number.
    Unknown(u64),
}

impl FileSystem {
    /// Returns whether it is known to hold a layer.
    pub(crate) fn holds_layers(self) -> bool {
        matches!(self, Self::Known(_, true))
    }
}

/// Returns the file system of a path, or of the nearest directory above that is there.
pub(crate) fn of(path: &Path) -> FileSystem {
    let existing = path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    #[expect(clippy::cast_sign_loss, reason = "a number that stands for a name")]
    let number = statfs(existing).map_or(0, |found| found.f_type as u64 & 0xffff_ffff);
    match KINDS.iter().find(|(known, ..)| *known == number) {
        Some((_, name, holds_layers)) => FileSystem::Known(name, *holds_layers),
        None => FileSystem::Unknown(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_system_of_what_is_not_there_is_that_above() {
        assert_eq!(of(Path::new("/dev/shm/nowhere/x")), FileSystem::Known("tmpfs", true));
        assert!(matches!(of(Path::new("/proc/self")), FileSystem::Unknown(0x9fa0)));
    }
}
