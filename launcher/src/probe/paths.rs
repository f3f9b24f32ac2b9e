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
use crate::plan::step::{FileId, HostMount};
use crate::sys;
use crate::sys::identity::Identity;

/// The most links on the way to one path, as the kernel has it.
const LINKS_MAX: usize = 40;

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

/// Looks what the mount takes away that each path is reached by. Whoever swaps the path in between
/// makes it another file, which is then no longer found at all.
pub(super) fn look_at_mounts(known: &mut Paths, paths: impl IntoIterator<Item = HostPath>) {
    for path in paths {
        let Some(fact) = known.get_mut(&path) else { continue };
        let Some(expect) = fact.found.id() else { continue };
        match mount(&fact.resolved, expect) {
            Ok(mount) => fact.mount = mount,
            Err(errno) => fact.found = not_found(errno),
        }
    }
}

fn mount(path: &HostPath, expect: FileId) -> Result<HostMount, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file = openat2(CWD, path.as_path(), flags, Mode::empty(), resolve)?;
    if super::file_id(&sys::identity::of(&file)?) != expect {
        return Err(Errno::STALE);
    }
    Ok(sys::mount::takes_away(&file)?.into())
}

fn fact(resolved: HostPath, links: Vec<(HostPath, PathBuf)>, found: Found) -> PathFact {
    PathFact { resolved, links, found, mount: HostMount::default() }
}

/// Directories that were opened, or why they can't be: most paths have neighbours.
#[derive(Default)]
struct Directories(FxHashMap<Vec<u8>, Result<OwnedFd, Errno>>);

impl Directories {
    fn look_at(&mut self, path: &HostPath) -> PathFact {
        match self.identity(path.as_path()) {
            Ok(it) if it.1 != FileType::Symlink => fact(path.clone(), Vec::new(), found(&it)),
            Ok(_) | Err(Errno::LOOP) => self.look_through_links(path),
            Err(errno) => fact(path.clone(), Vec::new(), not_found(errno)),
        }
    }

    fn look_through_links(&mut self, path: &HostPath) -> PathFact {
        let (resolved, links) = match resolve(path) {
            Ok(resolved) => resolved,
            Err(errno) => {
                let (resolved, links) = (path.clone(), Vec::new());
                return fact(resolved, links, not_found(errno));
            }
        };
        let found = match self.identity(resolved.as_path()) {
            // It has become a link again since it was read: somebody swaps names.
            Ok(it) if it.1 == FileType::Symlink => not_found(Errno::LOOP),
            Ok(it) => found(&it),
            Err(errno) => not_found(errno),
        };
        fact(resolved, links, found)
    }

    /// Returns what is at a path whose directory is reached without links.
    fn identity(&mut self, path: &Path) -> Result<(Identity, FileType), Errno> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok((sys::identity::of(open(path)?)?, FileType::Directory));
        };
        if let Some(directory) = self.0.get(parent.as_os_str().as_bytes()) {
            return sys::identity::at(directory.as_ref().map_err(|errno| *errno)?, name);
        }
        let directory = open(parent);
        let identity = match &directory {
            Ok(directory) => sys::identity::at(directory, name),
            Err(errno) => Err(*errno),
        };
        self.0.insert(parent.as_os_str().as_bytes().to_vec(), directory);
        identity
    }
}

fn open(directory: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(CWD, directory, flags, Mode::empty(), resolve)
}

fn found((identity, kind): &(Identity, FileType)) -> Found {
    let id = super::file_id(identity);
    match kind {
        FileType::Directory => Found::Directory(id),
        FileType::RegularFile => Found::File(id),
        FileType::Socket => Found::Socket(id),
        _ => Found::Special(id),
    }
}

fn not_found(errno: Errno) -> Found {
    match errno {
        Errno::NOENT | Errno::NOTDIR => Found::Missing,
        errno => Found::Unreadable(errno.raw_os_error()),
    }
}

/// The canonical path, and each link on the way with what it says.
type Resolved = (HostPath, Vec<(HostPath, PathBuf)>);

/// Follows links name by name, as the kernel does, and notes each.
fn resolve(path: &HostPath) -> Result<Resolved, Errno> {
    let mut links = Vec::new();
    let mut done = PathBuf::from("/");
    let mut rest: Vec<PathBuf> = names(path.as_path());
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
                links.push((HostPath::new(&next).map_err(|_| Errno::INVAL)?, to));
            }
            Err(Errno::INVAL) => done = next,
            Err(errno) => return Err(errno),
        }
    }
    Ok((HostPath::new(done).map_err(|_| Errno::INVAL)?, links))
}

/// Returns the names of a path, last first.
fn names(path: &Path) -> Vec<PathBuf> {
    let wanted = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
    let names = path.components().filter(wanted).map(|part| PathBuf::from(part.as_os_str()));
    let mut names: Vec<PathBuf> = names.collect();
    names.reverse();
    names
}
