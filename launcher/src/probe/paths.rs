//! Host paths as they are now: links resolved, identity noted.

use std::collections::hash_map::Entry;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use endow_policy::HostPath;
use rustc_hash::FxHashMap;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, openat2, readlink};
use rustix::io::Errno;

use crate::plan::host::{Found, PathFact, Paths};
use crate::plan::step::HostMount;
use crate::sys;
use crate::sys::identity::Identity;

/// The most links on the way to one path, as the kernel has it.
const LINKS_MAX: usize = 40;
/// The most directories that are kept open: there may be few descriptors, and any number of paths.
const OPENED_MAX: usize = 64;

/// Looks at each path that is not known yet.
pub(super) fn look_at_all(known: &mut Paths, paths: impl IntoIterator<Item = HostPath>) {
    let mut directories = Directories::default();
    for path in paths {
        if let Entry::Vacant(unknown) = known.entry(path) {
            let fact = directories.look_at(unknown.key());
            unknown.insert(fact);
        }
    }
}

/// What a path leads to, what it is, and by which mount.
type Seen = (Identity, FileType, HostMount);

/// Directories that were opened, or why they can't be: most paths have neighbours.
#[derive(Default)]
struct Directories {
    opened: FxHashMap<Vec<u8>, Result<OwnedFd, Errno>>,
    /// Mounts by their numbers: most paths are on a few.
    mounts: FxHashMap<u64, HostMount>,
}

impl Directories {
    fn look_at(&mut self, path: &HostPath) -> PathFact {
        match self.see(path.as_path()) {
            Ok(it) if it.1 != FileType::Symlink => found(path.clone(), Vec::new(), &it),
            Ok(_) | Err(Errno::LOOP) => self.look_through_links(path),
            Err(errno) => not_found(path.clone(), Vec::new(), errno),
        }
    }

    fn look_through_links(&mut self, path: &HostPath) -> PathFact {
        let Resolved { path: resolved, links, fault } = resolve(path);
        if let Some(errno) = fault {
            return not_found(resolved, links, errno);
        }
        match self.see(resolved.as_path()) {
            // It has become a link again since it was read: somebody swaps names.
            Ok(it) if it.1 == FileType::Symlink => not_found(resolved, links, Errno::LOOP),
            Ok(it) => found(resolved, links, &it),
            Err(errno) => not_found(resolved, links, errno),
        }
    }

    /// Returns what is at a path whose directory is reached without links.
    fn see(&mut self, path: &Path) -> Result<Seen, Errno> {
        let (identity, kind, mount) = self.identity(path)?;
        Ok((identity, kind, self.mount(path, mount)?))
    }

    fn identity(&mut self, path: &Path) -> Result<(Identity, FileType, u64), Errno> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return sys::identity::at_mount(open(path)?, "");
        };
        if let Some(directory) = self.opened.get(parent.as_os_str().as_bytes()) {
            return sys::identity::at_mount(directory.as_ref().map_err(|errno| *errno)?, name);
        }
        let directory = open(parent);
        let identity = match &directory {
            Ok(directory) => sys::identity::at_mount(directory, name),
            Err(errno) => Err(*errno),
        };
        if self.opened.len() == OPENED_MAX {
            self.opened.clear();
        }
        self.opened.insert(parent.as_os_str().as_bytes().to_vec(), directory);
        identity
    }

    /// Returns what a mount takes away, asked of what is at a path. Whoever has put something of another
    /// mount there meanwhile makes it a path that nobody can say anything about.
    fn mount(&mut self, path: &Path, number: u64) -> Result<HostMount, Errno> {
        if let Some(known) = self.mounts.get(&number) {
            return Ok(*known);
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_MAGICLINKS;
        let file = openat2(CWD, path, flags, Mode::empty(), resolve)?;
        if sys::identity::at_mount(&file, "")?.2 != number {
            return Err(Errno::STALE);
        }
        let mount = sys::mount::takes_away(&file)?.into();
        self.mounts.insert(number, mount);
        Ok(mount)
    }
}

fn open(directory: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(CWD, directory, flags, Mode::empty(), resolve)
}

fn found(
    resolved: HostPath,
    links: Vec<(HostPath, PathBuf)>,
    (identity, kind, mount): &Seen,
) -> PathFact {
    let id = super::file_id(identity);
    let found = match kind {
        FileType::Directory => Found::Directory(id),
        FileType::RegularFile => Found::File(id),
        FileType::Socket => Found::Socket(id),
        _ => Found::Special(id),
    };
    PathFact { resolved, links, found, mount: *mount }
}

fn not_found(resolved: HostPath, links: Vec<(HostPath, PathBuf)>, errno: Errno) -> PathFact {
    let found = match errno {
        Errno::NOENT | Errno::NOTDIR => Found::Missing,
        errno => Found::Unreadable(errno.raw_os_error()),
    };
    PathFact { resolved, links, found, mount: HostMount::default() }
}

/// Where a path leads.
struct Resolved {
    /// The canonical path; from where it can't be followed on, the rest as it is named.
    path: HostPath,
    /// Each link on the way with what it says.
    links: Vec<(HostPath, PathBuf)>,
    /// Why it can't be followed to its end.
    fault: Option<Errno>,
}

/// Follows links name by name, as the kernel does, and notes each.
fn resolve(path: &HostPath) -> Resolved {
    let mut links = Vec::new();
    match follow(path.as_path(), &mut links) {
        Ok((end, fault)) => Resolved { path: end, links, fault },
        Err(errno) => Resolved { path: path.clone(), links, fault: Some(errno) },
    }
}

/// Returns the end of an absolute path, which may have dots, and each link on the way; what is missing stays as it is said.
pub(super) fn way(path: &Path) -> Option<(HostPath, Vec<(HostPath, PathBuf)>)> {
    let mut links = Vec::new();
    follow(path, &mut links).ok().map(|(end, _)| (end, links))
}

/// Returns the end of a path, and why it goes no further, if it does not.
fn follow(
    path: &Path,
    links: &mut Vec<(HostPath, PathBuf)>,
) -> Result<(HostPath, Option<Errno>), Errno> {
    let mut done = PathBuf::from("/");
    let mut rest: Vec<PathBuf> = names(path);
    while let Some(name) = rest.pop() {
        if name.as_os_str() == ".." {
            done.pop();
            continue;
        }
        let next = done.join(&name);
        match readlink(&next, Vec::new()) {
            Ok(to) => {
                if links.len() == LINKS_MAX {
                    return Err(Errno::LOOP);
                }
                let to = PathBuf::from(OsString::from_vec(to.into_bytes()));
                if to.is_absolute() {
                    done = PathBuf::from("/");
                }
                rest.extend(names(&to));
                links.push((host_path(next)?, to));
            }
            Err(Errno::INVAL) => done = next,
            Err(errno) => {
                let left = rest.iter().rev().filter(|name| name.as_os_str() != "..");
                let end = left.fold(next, |path, name| path.join(name));
                return Ok((host_path(end)?, Some(errno)));
            }
        }
    }
    Ok((host_path(done)?, None))
}

fn host_path(path: PathBuf) -> Result<HostPath, Errno> {
    HostPath::new(path).map_err(|_| Errno::INVAL)
}

/// Returns the names of a path, last first.
fn names(path: &Path) -> Vec<PathBuf> {
    let wanted = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
    let names = path.components().filter(wanted).map(|part| PathBuf::from(part.as_os_str()));
    let mut names: Vec<PathBuf> = names.collect();
    names.reverse();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_directories_are_kept_open() {
        let root = tempfile::tempdir().expect("a directory");
        let root = root.path().canonicalize().expect("a path");
        let mut directories = Directories::default();
        for number in 0..3 * OPENED_MAX {
            let path = root.join(number.to_string()).join("x");
            std::fs::create_dir_all(&path).expect("a directory");
            let fact = directories.look_at(&HostPath::new(path).expect("a path"));
            assert!(matches!(fact.found, Found::Directory(_)), "{fact:?}");
            assert!(directories.opened.len() <= OPENED_MAX);
        }
    }
}
