//! Hidden names that the command has moved with a directory above them.
//!
//! A name itself stays, for something is mounted over it. What covers it goes along with its directory, and is gone with
//! the run: where no pattern hides the new place, the next run would read what is there. So it goes back to where it was.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_policy::HostPath;
use endow_vfs::fs::{At, Fs, Open, OsFs, Status};
use endow_vfs::names::{Foreign, NameRules, WalkOptions, walk};
use rustix::fs::{AtFlags, Gid, Uid, chownat, fstat};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::geteuid;

use super::super::watch::Opened;
use super::{Name, Renewal};
use crate::plan::step::{Cover, FileId, Renew};
use crate::sys::identity;

/// Threads of a search.
const THREADS: usize = 2;
/// What an owner needs to take a name out of a directory.
const TAKE: u32 = 0o300;

/// Whether a pattern hides a path below the source of a mount; the last says whether what is called `.git` counts
/// as git's, below which fewer patterns do: any can be made that by a later command.
pub(super) type Hides<'a> = dyn Fn(&HostPath, &Path, bool) -> bool + 'a;

/// A hidden name that was moved to where nothing hides it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    /// Its number in the plan.
    pub(crate) number: usize,
    /// Where it was moved, in the view.
    pub(crate) to: PathBuf,
    /// Why it is still there; `None` when it is back.
    pub(crate) left: Option<Errno>,
}

/// A name that is not where it was.
struct Away<'a> {
    number: usize,
    renew: &'a Renew,
    id: FileId,
    place: Option<Place>,
}

/// Where it is.
struct Place {
    directory: OwnedFd,
    /// The path of the directory on the host.
    path: PathBuf,
    /// What its mode was, where it is opened up for a while.
    mode: Option<u32>,
}

impl Place {
    /// Opens a directory as it is held; one that the command has closed to its owner is opened up.
    fn held(held: BorrowedFd<'_>, path: PathBuf) -> Option<Self> {
        let mode = OsFs.status_of(held).ok()?.mode;
        let is_opened = is_closed(mode) && OsFs.set_mode(held, mode | TAKE).is_ok();
        let directory = OsFs.open_handle(held, OsStr::new(".")).ok()?;
        Some(Self { directory, path, mode: is_opened.then_some(mode) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let close = |mode| OsFs.set_dir_mode(self.directory.as_fd(), OsStr::new("."), mode);
        // It stays open where the host took it away meanwhile.
        let _ = self.mode.map(close);
    }
}

fn is_closed(mode: u32) -> bool {
    mode & TAKE != TAKE && !geteuid().is_root()
}

impl Renewal {
    /// Moves hidden names back that would be seen where they are now. Nothing may run inside any more.
    pub(crate) fn put_back(&self, hides: &Hides<'_>) -> Vec<Moved> {
        let names = self.names.iter().enumerate();
        let hidden = names.filter(|(_, name)| name.renew.cover == Cover::Hidden);
        let mut away: Vec<Away<'_>> =
            hidden.filter_map(|(number, name)| self.away(number, name)).collect();
        away.retain(|it| hides(&it.renew.source, &it.renew.path, false));
        search(&mut away);
        away.iter().filter_map(|it| it.put_back(hides)).collect()
    }

    /// Costs one call for a name that stands where it was, where its directory is held open.
    fn away<'a>(&self, number: usize, name: &'a Name) -> Option<Away<'a>> {
        let (renew, id) = (&name.renew, name.seen?.id());
        let away = |place| Some(Away { number, renew, id, place });
        let opened = self.watch.open(name.directory);
        match &opened {
            Ok(Opened::Held(held)) => {
                let path = opened.as_ref().ok()?.path().ok()?;
                if path == renew.directory()?.as_path() {
                    return None;
                }
                let place = Place::held(*held, path);
                away(place.filter(|it| is_in(&it.directory, renew.name(), id)))
            }
            Ok(Opened::Own(directory)) if is_in(directory, renew.name(), id) => None,
            Ok(Opened::Own(_)) | Err(_) => away(None),
        }
    }
}

impl Away<'_> {
    fn put_back(&self, hides: &Hides<'_>) -> Option<Moved> {
        let (renew, place) = (self.renew, self.place.as_ref()?);
        let now = place.path.join(renew.name()?);
        // Out of its mount no command moves anything: what stands elsewhere the host has moved.
        let below = now.strip_prefix(renew.source.as_path()).ok()?;
        if hides(&renew.source, below, true) {
            return None;
        }
        let to = renew.at.as_path().join(below);
        Some(Moved { number: self.number, to, left: self.move_back(place).err() })
    }

    /// Puts nothing in the place of what is there by now.
    fn move_back(&self, Place { directory, .. }: &Place) -> Result<(), Errno> {
        let name = self.renew.name().ok_or(Errno::INVAL)?;
        let root = OsFs.open_canonical(self.renew.source.as_path())?;
        let model = OsFs.status_of(directory.as_fd())?;
        let mut way = Way { made: Vec::new(), opened: Vec::new() };
        let above = self.renew.path.parent().unwrap_or(Path::new(""));
        let moved = way.lead(&root, above, &model).and_then(|to| {
            if !is_in(directory, Some(name), self.id) {
                return Err(Errno::NOENT);
            }
            let from = At { dir: directory.as_fd(), name };
            OsFs.rename_new(from, At { dir: to.as_fd(), name })
        });
        if moved.is_err() {
            way.take_back();
        }
        moved
    }
}

/// Directories that lead to where a name was.
struct Way {
    /// Those that were made for it.
    made: Vec<(OwnedFd, OsString)>,
    /// Those that are opened up for a while, with their modes.
    opened: Vec<(OwnedFd, u32)>,
}

impl Way {
    /// Opens a directory below a mount, and makes what is missing of it like another.
    fn lead(&mut self, root: &OwnedFd, path: &Path, model: &Status) -> Result<OwnedFd, Errno> {
        let open =
            |at: &OwnedFd, name: &OsStr| OsFs.open_below(at.as_fd(), Path::new(name), Open::Handle);
        self.open_root(root)?;
        let mut at = open(root, OsStr::new("."))?;
        for name in path {
            let next = match open(&at, name) {
                Err(Errno::NOENT) => {
                    make(&at, name, model)?;
                    let made = open(&at, name)?;
                    self.made.push((at, name.to_owned()));
                    made
                }
                opened => {
                    let opened = opened?;
                    self.open_up(&at, name, &opened)?;
                    opened
                }
            };
            at = next;
        }
        Ok(at)
    }

    /// Opens up the root itself, which nothing else leads to.
    fn open_root(&mut self, root: &OwnedFd) -> Result<(), Errno> {
        let mode = OsFs.status_of(root.as_fd())?.mode;
        let itself = At { dir: root.as_fd(), name: OsStr::new("") };
        if is_closed(mode) && OsFs.set_mode_at(itself, mode | TAKE).is_ok() {
            self.opened.push((fcntl_dupfd_cloexec(root, 0)?, mode));
        }
        Ok(())
    }

    /// Opens up what the command may have closed to its owner.
    fn open_up(&mut self, at: &OwnedFd, name: &OsStr, opened: &OwnedFd) -> Result<(), Errno> {
        let mode = OsFs.status_of(opened.as_fd())?.mode;
        if is_closed(mode) && OsFs.set_dir_mode(at.as_fd(), name, mode | TAKE).is_ok() {
            self.opened.push((fcntl_dupfd_cloexec(opened, 0)?, mode));
        }
        Ok(())
    }

    fn take_back(&self) {
        for (above, name) in self.made.iter().rev() {
            // One that holds something by now stays.
            let _ = OsFs.remove_dir(above.as_fd(), name);
        }
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        for (directory, mode) in self.opened.iter().rev() {
            // It stays open where the host took it away meanwhile.
            let _ = OsFs.set_dir_mode(directory.as_fd(), OsStr::new("."), *mode);
        }
    }
}

fn make(above: &OwnedFd, name: &OsStr, model: &Status) -> Result<(), Errno> {
    OsFs.make_dir(above.as_fd(), name, 0o700)?;
    OsFs.set_dir_mode(above.as_fd(), name, (model.mode & 0o777) | TAKE)?;
    if geteuid().is_root() {
        let group = Gid::from_raw(fstat(above)?.st_gid);
        let owner = Some(Uid::from_raw(model.uid));
        chownat(above, name, owner, Some(group), AtFlags::SYMLINK_NOFOLLOW)?;
    }
    Ok(())
}

fn is_in(directory: &OwnedFd, name: Option<&OsStr>, id: FileId) -> bool {
    name.is_some_and(|name| identity_at(directory.as_fd(), name) == Some(id))
}

fn identity_at(at: BorrowedFd<'_>, path: &OsStr) -> Option<FileId> {
    Some(identity::at(at, path).ok()?.0.parts().into())
}

/// Looks through mounts for names of which nobody knows where they are.
fn search(away: &mut [Away<'_>]) {
    let mut sought: BTreeMap<&HostPath, Vec<&mut Away<'_>>> = BTreeMap::new();
    for it in away.iter_mut().filter(|it| it.place.is_none()) {
        sought.entry(&it.renew.source).or_default().push(it);
    }
    for (source, mut away) in sought {
        let Ok(root) = OsFs.open_canonical(source.as_path()) else { continue };
        for (path, id) in found(root.as_fd(), &away) {
            let above = path.parent().unwrap_or(Path::new(""));
            let named = if above.as_os_str().is_empty() { Path::new(".") } else { above };
            let Ok(directory) = OsFs.open_below(root.as_fd(), named, Open::Handle) else {
                continue;
            };
            if let Some(it) = away.iter_mut().find(|it| it.id == id) {
                let path = source.as_path().join(above);
                it.place = Some(Place { directory, path, mode: None });
            }
        }
    }
}

fn found(root: BorrowedFd<'_>, away: &[&mut Away<'_>]) -> Vec<(PathBuf, FileId)> {
    let sought = away.iter().filter_map(|it| Some((it.renew.name()?.to_owned(), it.id)));
    let rules = Sought { root, names: sought.collect() };
    let options = WalkOptions { threads: THREADS, ..WalkOptions::default() };
    let Ok(walked) = walk(root, &rules, &options) else { return Vec::new() };
    let known = walked.hidden.into_iter().filter_map(|name| {
        let id = rules.sought(name.path.as_os_str().as_bytes())?;
        Some((name.path, id))
    });
    known.collect()
}

/// Finds files by what they are; their last name is as it was.
struct Sought<'a> {
    root: BorrowedFd<'a>,
    names: Vec<(OsString, FileId)>,
}

impl Sought<'_> {
    fn sought(&self, path: &[u8]) -> Option<FileId> {
        let id = identity_at(self.root, OsStr::from_bytes(path))?;
        self.names.iter().any(|(_, sought)| *sought == id).then_some(id)
    }
}

impl NameRules for Sought<'_> {
    fn may_match_name(&self, _above: &[u8], name: &[u8]) -> bool {
        self.names.iter().any(|(sought, _)| sought.as_bytes() == name)
    }

    fn decide(&self, relative: &[u8], _is_dir: bool) -> Option<bool> {
        self.sought(relative).map(|_| true)
    }

    fn decide_foreign(&self, _foreign: Foreign, relative: &[u8]) -> Option<bool> {
        self.sought(relative).map(|_| true)
    }

    fn enters_foreign(&self, _foreign: Foreign, _relative: &[u8]) -> bool {
        true
    }

    fn needs_walk(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
