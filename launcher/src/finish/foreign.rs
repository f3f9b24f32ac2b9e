//! Why a command could not change something: files of other owners or groups, found where it
//! worked.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use endow_policy::GuestPath;
use endow_vfs::foreign::foreign_names;
use endow_vfs::fs::{Fs, Kind, Open, OsFs};
use rustix::io::Errno;

use super::Target;

/// The most directories that are looked at.
const DIRECTORIES_MAX: usize = 1024;

/// Returns the names, as the command saw them, that it could not change whatever it tried, in the
/// directories it came to: copying up begins with the directories above, so that these are in the
/// layer even where the copy then fails.
pub(super) fn foreign(targets: &[Target], user: (u32, u32)) -> Vec<GuestPath> {
    // Beside a single file, or a place that did not exist, stands what the command did not see.
    let shown = targets.iter().filter(|target| !target.is_single() && target.absent().is_none());
    shown.flat_map(|target| foreign_in(target, user)).collect()
}

fn foreign_in(target: &Target, user: (u32, u32)) -> Vec<GuestPath> {
    let (mut pending, mut found) = (vec![PathBuf::new()], Vec::new());
    let mut looked = 0;
    while let Some(path) = pending.pop() {
        looked += 1;
        if looked > DIRECTORIES_MAX {
            break;
        }
        let Some(directories) = directories_of(target, &path) else { continue };
        let Ok(host) = list_below(target.root.as_fd(), &path) else { continue };
        let names = foreign_names(host.as_fd(), user).into_iter();
        let places = names.map(|name| target.shown.place(&path).join(name));
        found.extend(places.filter_map(|place| GuestPath::new(place).ok()));
        pending.extend(directories);
    }
    found.sort();
    found
}

fn list_below(root: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    OsFs.open_below(root, path, Open::List)
}

/// Returns the directories in a directory of the layer.
fn directories_of(target: &Target, path: &Path) -> Option<Vec<PathBuf>> {
    let layer = target.upper.as_ref()?;
    let opened = list_below(layer.as_fd(), path).ok()?;
    let entries = OsFs.list(opened.as_fd(), DIRECTORIES_MAX).ok()?;
    let directories = entries.into_iter().filter(|entry| {
        let kind = entry
            .kind
            .or_else(|| OsFs.status(opened.as_fd(), &entry.name).ok().map(|status| status.kind));
        kind == Some(Kind::Directory)
    });
    Some(directories.map(|entry| path.join(entry.name)).collect())
}
