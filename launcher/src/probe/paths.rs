//! Host paths as they are now: links resolved, identity noted, and pinned.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use endow_policy::HostPath;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2, readlink};
use rustix::io::Errno;

use crate::plan::host::{Found, PathFact};
use crate::plan::step::FileId;

/// The most links on the way to one path, as the kernel has it.
const LINKS_MAX: usize = 40;

/// Descriptors of everything that was found.
#[derive(Debug, Default)]
pub(crate) struct Pins(Vec<OwnedFd>);

impl Pins {
    /// Returns the descriptors.
    pub(crate) fn into_descriptors(self) -> Vec<OwnedFd> {
        self.0
    }

    /// Looks at each path and holds on to it.
    pub(super) fn look_at_all(
        &mut self,
        paths: impl IntoIterator<Item = HostPath>,
    ) -> BTreeMap<HostPath, PathFact> {
        let facts = paths.into_iter().map(|path| {
            let fact = self.look_at(&path);
            (path, fact)
        });
        facts.collect()
    }

    fn look_at(&mut self, path: &HostPath) -> PathFact {
        match open(path.as_path()) {
            Ok(file) if !is_link(&file) => self.fact(path.clone(), Vec::new(), file),
            Ok(_) | Err(Errno::LOOP) => self.look_through_links(path),
            Err(errno) => {
                PathFact { resolved: path.clone(), links: Vec::new(), found: not_found(errno) }
            }
        }
    }

    fn look_through_links(&mut self, path: &HostPath) -> PathFact {
        let (resolved, links) = match resolve(path) {
            Ok(resolved) => resolved,
            Err(errno) => {
                let (resolved, links) = (path.clone(), Vec::new());
                return PathFact { resolved, links, found: not_found(errno) };
            }
        };
        match open(resolved.as_path()) {
            // It has become a link again since it was read: somebody swaps names.
            Ok(file) if is_link(&file) => {
                PathFact { resolved, links, found: not_found(Errno::LOOP) }
            }
            Ok(file) => self.fact(resolved, links, file),
            Err(errno) => PathFact { resolved, links, found: not_found(errno) },
        }
    }

    fn fact(
        &mut self,
        resolved: HostPath,
        links: Vec<(HostPath, PathBuf)>,
        file: OwnedFd,
    ) -> PathFact {
        let found = found(&file);
        self.0.push(file);
        PathFact { resolved, links, found }
    }
}

fn open(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(CWD, path, flags, Mode::empty(), resolve)
}

/// With O_PATH and O_NOFOLLOW a link at the end is opened itself.
fn is_link(file: &OwnedFd) -> bool {
    fstat(file).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

fn found(file: &OwnedFd) -> Found {
    let Ok(stat) = fstat(file) else { return Found::Unreadable(Errno::IO.raw_os_error()) };
    let id = FileId { dev: stat.st_dev, ino: stat.st_ino };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Found::Directory(id),
        FileType::RegularFile => Found::File(id),
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
