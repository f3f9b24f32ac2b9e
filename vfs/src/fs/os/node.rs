//! statx(2): what a name leads to.

use std::ffi::OsStr;
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, FileType, Statx, StatxFlags, StatxTimestamp, makedev};

use super::{keeps_birth, kind};
use crate::fs::{FileId, Kind, Node, Result, Special, Status, Timespec};

pub(super) fn node(at: BorrowedFd<'_>, name: &OsStr) -> Result<Node> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
    let mask = StatxFlags::BASIC_STATS | StatxFlags::BTIME | StatxFlags::MNT_ID;
    let mut found = rustix::fs::statx(at, name, flags, mask).map(|found| convert(&found))?;
    found.keeps_birth = keeps_birth(at, name, found.status.id.dev);
    Ok(found)
}

fn convert(found: &Statx) -> Node {
    let file_type = FileType::from_raw_mode(found.stx_mode.into());
    let has_birth = found.stx_mask & StatxFlags::BTIME.bits() != 0;
    let status = Status {
        id: FileId { dev: makedev(found.stx_dev_major, found.stx_dev_minor), ino: found.stx_ino },
        kind: kind(file_type).unwrap_or(Kind::Other),
        mode: u32::from(found.stx_mode) & 0o7777,
        uid: found.stx_uid,
        gid: found.stx_gid,
        size: found.stx_size,
        allocated: found.stx_blocks.saturating_mul(512),
        accessed: time(found.stx_atime),
        modified: time(found.stx_mtime),
        changed: time(found.stx_ctime),
    };
    Node {
        status,
        born: has_birth.then(|| time(found.stx_btime)),
        keeps_birth: true,
        links: found.stx_nlink,
        special: special(file_type, found),
        mount: found.stx_mnt_id,
    }
}

fn special(file_type: FileType, found: &Statx) -> Option<Special> {
    match file_type {
        FileType::CharacterDevice if (found.stx_rdev_major, found.stx_rdev_minor) == (0, 0) => {
            Some(Special::Whiteout)
        }
        FileType::Socket => Some(Special::Socket),
        FileType::Fifo => Some(Special::Fifo),
        FileType::RegularFile | FileType::Directory | FileType::Symlink => None,
        _ => Some(Special::Device),
    }
}

fn time(time: StatxTimestamp) -> Timespec {
    Timespec { tv_sec: time.tv_sec, tv_nsec: time.tv_nsec.into() }
}
