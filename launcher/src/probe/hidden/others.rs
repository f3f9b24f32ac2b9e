//! Other runs, whose commands may move what is looked at.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_vfs::fs::{Errno, Fs, OsFs};
use endow_vfs::state::{JOURNAL, live_roots};
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

use crate::sys::mountinfo::{self, Mount};

/// Whether a run of this user's is going on whose command changes a directory at once that is in a tree, or that the tree
/// is in. One whose state can't be looked at counts.
pub(super) fn may_move(runs: &Path, tree: &Path) -> bool {
    let opened = runs.canonicalize().map_err(|error| error.kind());
    let runs = match opened.map(|runs| OsFs.open_canonical(&runs)) {
        Err(ErrorKind::NotFound) => return false,
        Ok(Ok(runs)) => runs,
        Err(_) | Ok(Err(_)) => return true,
    };
    let listed = OsFs.open_dir(runs.as_fd(), OsStr::new("."));
    let Ok(names) = listed.and_then(|it| OsFs.list(it.as_fd(), usize::MAX)) else { return true };
    let is_one = |name: &OsStr| match OsFs.open_dir(runs.as_fd(), name) {
        Ok(run) => is_going_on(run.as_fd()) && changes(run.as_fd(), tree),
        // It has ended meanwhile, or is none.
        Err(errno) => !matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP),
    };
    // One that is being made has no command yet, and nobody may be in the way of its lock.
    let mut made = names.iter().filter(|entry| !entry.name.as_bytes().starts_with(b"."));
    made.any(|entry| is_one(&entry.name))
}

fn is_going_on(run: BorrowedFd<'_>) -> bool {
    OsFs.lock_shared(run) == Err(Errno::WOULDBLOCK)
}

/// Whether a run moves names that have something in common with a tree: its command may in what is noted as live, and what
/// writes its changes back or undoes them may anywhere. One that has noted nothing has not started its command.
fn changes(run: BorrowedFd<'_>, tree: &Path) -> bool {
    let is_written_back = !matches!(OsFs.status(run, OsStr::new(JOURNAL)), Err(Errno::NOENT));
    is_written_back || live_roots(&OsFs, run).map_or(true, |roots| overlap(&roots, tree))
}

/// Part of a file system.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    device: (u32, u32),
    path: PathBuf,
}

impl Part {
    fn meets(&self, other: &Self) -> bool {
        let (one, other_path) = (&self.path, &other.path);
        self.device == other.device && (one.starts_with(other_path) || other_path.starts_with(one))
    }
}

/// Returns what a directory shows: the part of the file system that it is in, and of those that are mounted in it.
fn shown(directory: &Path, mounts: &[Mount]) -> Option<Vec<Part>> {
    let found = statx(CWD, directory, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::MNT_ID).ok()?;
    parts(directory, found.stx_mnt_id, mounts)
}

/// Returns the same for a directory that is in the mount of this number.
fn parts(directory: &Path, number: u64, mounts: &[Mount]) -> Option<Vec<Part>> {
    let own = mounts.iter().find(|mount| mount.number == number)?;
    let below = directory.strip_prefix(&own.place).ok()?;
    let own = Part { device: own.device, path: own.root.join(below) };
    let inside = mounts.iter().filter(|it| it.place.starts_with(directory));
    let inside = inside.map(|it| Part { device: it.device, path: it.root.clone() });
    Some(inside.chain([own]).collect())
}

/// Whether one of the directories and a tree show anything of the same file system in common: a path may lead through
/// mounts to the same. Where that can't be told they do.
fn overlap(roots: &[PathBuf], tree: &Path) -> bool {
    if roots.is_empty() {
        return false;
    }
    let Some(mounts) = mountinfo::own() else { return true };
    let Some(shown) = shown(tree, &mounts) else { return true };
    let has_part = |root: &PathBuf| {
        let parts = self::shown(root, &mounts);
        parts.is_none_or(|parts| parts.iter().any(|it| shown.iter().any(|other| it.meets(other))))
    };
    roots.iter().any(has_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_overlap_where_one_is_in_the_other() {
        let top = tempfile::tempdir().expect("a directory");
        let top = top.path().canonicalize().expect("a path");
        for name in ["a/b", "a/c"] {
            std::fs::create_dir_all(top.join(name)).expect("made");
        }
        for (one, other, expected) in [
            ("a", "a", true),
            ("a", "a/b", true),
            ("a/b", "a", true),
            ("a/b", "a/c", false),
            ("a/b", "gone", true),
        ] {
            assert_eq!(overlap(&[top.join(one)], &top.join(other)), expected, "{one} {other}");
        }
        assert!(!overlap(&[], &top));
    }

    #[test]
    fn what_is_mounted_twice_or_inside_meets_itself() {
        let table = b"1 0 8:1 / / rw - ext4 a rw
2 1 8:1 /home/u/p/sub /mnt rw - ext4 a rw
3 1 0:30 / /data rw - tmpfs b rw
4 1 0:30 /d /home/u/q/m rw - tmpfs b rw
";
        let mounts = mountinfo::parse(table);
        let meet = |one: (&str, u64), other: (&str, u64)| {
            let [one, other] = [one, other].map(|(directory, number)| {
                parts(Path::new(directory), number, &mounts).expect("a mount")
            });
            one.iter().any(|it| other.iter().any(|other| it.meets(other)))
        };
        assert!(meet(("/mnt", 2), ("/home/u/p", 1)));
        assert!(meet(("/mnt/x", 2), ("/home/u/p", 1)));
        assert!(!meet(("/mnt", 2), ("/home/u/other", 1)));
        assert!(meet(("/home/u/q", 1), ("/data/d/e", 3)), "what is mounted in it counts");
        assert!(!meet(("/home/u/q", 1), ("/data/f", 3)));
    }
}
