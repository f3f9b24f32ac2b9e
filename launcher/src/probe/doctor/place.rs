//! The state directory.

use std::path::Path;

use rustix::fs::{Access, access, statfs};

use super::{Finding, Status};

/// File systems by the number that statfs(2) gives, and whether one can hold a layer's changes.
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

/// Looks at the state directory, or at the place where it will be made.
pub(super) fn state(state: &Path) -> Finding {
    let existing = state.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let shown = existing.display();
    if access(existing, Access::WRITE_OK | Access::EXEC_OK).is_err() {
        return Finding::new("state", Status::Missing, format!("not writable: {shown}"))
            .remedy("name a directory of yours in ENDOW_STATE_DIR");
    }
    #[expect(clippy::cast_sign_loss, reason = "a number that stands for a name")]
    let number = statfs(existing).map_or(0, |found| found.f_type as u64 & 0xffff_ffff);
    match KINDS.iter().find(|(known, ..)| *known == number) {
        Some((_, name, true)) => Finding::ok("state", format!("{shown} on {name}")),
        Some((_, name, false)) => {
            let detail = format!("{shown} on {name}, which can't hold a layer's changes");
            Finding::new("state", Status::Limited, detail)
                .remedy("name a directory on ext4, xfs or btrfs in ENDOW_STATE_DIR")
        }
        None => Finding::new("state", Status::Note, format!("{shown} on file system {number:#x}")),
    }
}
