//! Runs that were killed together with what guards their live mounts, by a loss of power for instance: nobody has looked
//! these mounts through at the end, so what was protected and came into being since is told.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use endow_policy::ProtectSet;
use endow_vfs::fs::{Fs, Open, OsFs};
use endow_vfs::state::{MountRecord, Record};

use crate::cli::output::Output;
use crate::plan::step::FileId;
use crate::probe::HiddenOptions;
use crate::{finish, probe, sys};

/// The most names that are told of a mount.
const NAMES: usize = 8;

/// Tells of each run what is new at protected names of its live mounts.
pub(crate) fn tell(records: &[Record], output: &Output) {
    for record in records {
        for mount in record.mounts.iter().filter(|mount| mount.is_held()) {
            let source = mount.source.as_path().display();
            let killed = format!("{} was killed with what guarded {source}", record.id);
            match new_names(record, mount) {
                None => output.caution(&format!("{killed}, and it can't be searched now")),
                Some(names) if names.is_empty() => {}
                Some(names) => {
                    let names = listed(&names);
                    output.caution(&format!("{killed}: new at protected names since: {names}"));
                    output.hint("look at them before a program of the host does");
                }
            }
        }
    }
}

fn listed(names: &[PathBuf]) -> String {
    let shown = names.iter().take(NAMES).map(|name| name.display().to_string());
    let more = names.len().saturating_sub(NAMES);
    let more = (more > 0).then(|| format!("{more} more"));
    shown.chain(more).collect::<Vec<_>>().join(", ")
}

/// Returns what a walk finds; `None` when it can't be made. A mount that is gone holds nothing.
fn new_names(record: &Record, mount: &MountRecord) -> Option<Vec<PathBuf>> {
    let Ok(root) = OsFs.open_canonical(mount.source.as_path()) else { return Some(Vec::new()) };
    let found = FileId::from(sys::identity::of(&root).ok()?.parts());
    if (found.dev, found.ino) != (mount.id.dev, mount.id.ino) {
        return Some(Vec::new());
    }
    let protect = finish::protected(record, mount)?;
    let options = HiddenOptions { own: None, cache: None, work_tree: None, runs: None };
    let noted = probe::noted(&protect, (&mount.source, found), &options)?;
    // By the clock that file systems take.
    let since = SystemTime::from(mount.stamp);
    let names = noted.names.into_iter().map(|(path, _)| path);
    let names = names.filter(|path| is_told(&root, path, &protect, since));
    let is_new = |path: &PathBuf| born(&root, path).is_none_or(|born| born >= since);
    Some(names.chain(noted.repositories.into_iter().filter(is_new)).collect())
}

/// Whether a name is protected and came since. What git itself writes in a repository that was there is left out: the command
/// could not write it.
fn is_told(root: &OwnedFd, path: &Path, protect: &ProtectSet, since: SystemTime) -> bool {
    let born = |path: &Path| born(root, path).unwrap_or(since);
    let is_gits = |path: &&Path| path.file_name().is_some_and(|name| name == ".git");
    let repository = path.ancestors().skip(1).find(is_gits);
    protect.matching(path).is_some()
        && born(path) >= since
        && repository.is_none_or(|repository| born(repository) >= since)
}

fn born(root: &OwnedFd, path: &Path) -> Option<SystemTime> {
    let (above, name) = path.parent().zip(path.file_name())?;
    let above = OsFs.open_below(root.as_fd(), above, Open::List).ok()?;
    let (found, _) = sys::identity::at(&above, name).ok()?;
    (found.born != 0).then(|| UNIX_EPOCH + Duration::from_nanos(found.born))
}
