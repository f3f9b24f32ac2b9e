//! Hidden names that the command has moved with a directory above them.
//!
//! A name itself stays, for something is mounted over it. What covers it goes along with its directory, and is gone with
//! the run: where no pattern hides the new place, the next run would read what is there. So it goes back to where it was.

mod search;
mod way;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use endow_policy::HostPath;
use endow_vfs::fs::{At, Fs, OsFs};
use endow_vfs::opening::OpenedUp;
use rustix::io::{Errno, fcntl_dupfd_cloexec};

use super::super::watch::Opened;
use super::{Name, Renewal};
use crate::plan::step::{Cover, FileId, Renew};
use crate::sys::identity;
use search::search;
use way::Way;

/// How often names are looked for that made way for others.
const ROUNDS: usize = 16;

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
    /// What became of it.
    pub(crate) back: Result<Back, Errno>,
}

/// How a name came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Back {
    /// Its place was free.
    Free,
    /// What stood in the way is there now, in the view.
    For(PathBuf),
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
    directory: OpenedUp<'static>,
    /// The path of the directory on the host.
    path: PathBuf,
}

impl Renewal {
    /// Moves hidden names back that would be seen where they are now. Nothing may run inside any more.
    pub(crate) fn put_back(&self, hides: &Hides<'_>) -> Vec<Moved> {
        let mut all = BTreeMap::new();
        for _ in 0..ROUNDS {
            let moved = self.put_back_once(hides);
            let has_displaced = moved.iter().any(|it| matches!(it.back, Ok(Back::For(_))));
            all.extend(moved.into_iter().map(|it| (it.number, it)));
            // What made way may be another hidden name.
            if !has_displaced {
                break;
            }
        }
        all.into_values().collect()
    }

    fn put_back_once(&self, hides: &Hides<'_>) -> Vec<Moved> {
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
                away(place.filter(|it| is_in(it.directory.as_fd(), renew.name(), id)))
            }
            Ok(Opened::Own(directory)) if is_in(directory.as_fd(), renew.name(), id) => None,
            Ok(Opened::Own(_)) | Err(_) => away(None),
        }
    }
}

impl Place {
    /// Takes a directory as it is held; one that the command has closed to its owner is opened up.
    fn held(held: BorrowedFd<'_>, path: PathBuf) -> Option<Self> {
        let directory = fcntl_dupfd_cloexec(held, 0).ok()?;
        Some(Self { directory: OpenedUp::of(&OsFs, directory).ok()?, path })
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
        let back = self.move_back(place.directory.as_fd()).map(|taken| match taken {
            None => Back::Free,
            Some(name) => Back::For(to.with_file_name(name)),
        });
        Some(Moved { number: self.number, to, back })
    }

    /// Returns the name by which what stood in the way is beside what it was taken for: nothing is lost.
    fn move_back(&self, directory: BorrowedFd<'_>) -> Result<Option<OsString>, Errno> {
        let name = self.renew.name().ok_or(Errno::INVAL)?;
        let root = OsFs.open_canonical(self.renew.source.as_path())?;
        let mut way = Way::from(directory)?;
        let above = self.renew.path.parent().unwrap_or(Path::new(""));
        let moved = way.lead(root, above).and_then(|to| {
            if !is_in(directory, Some(name), self.id) {
                return Err(Errno::NOENT);
            }
            swap(At { dir: directory, name }, At { dir: to.as_fd(), name })
        });
        if moved.is_err() {
            way.take_back();
        }
        let is_swapped = moved?;
        Ok(way.aside().or_else(|| is_swapped.then(|| name.to_owned())))
    }
}

/// Moves a name; returns whether another took its place, which stood where it is now.
fn swap(from: At<'_>, to: At<'_>) -> Result<bool, Errno> {
    // A directory gets another parent, which is written into it.
    let _opened = [OpenedUp::at(&OsFs, from), OpenedUp::at(&OsFs, to)];
    match OsFs.rename_new(from, to) {
        Err(Errno::EXIST) => OsFs.exchange(from, to).map(|()| true),
        moved => moved.map(|()| false),
    }
}

fn is_in(directory: BorrowedFd<'_>, name: Option<&OsStr>, id: FileId) -> bool {
    name.is_some_and(|name| identity_at(directory, name) == Some(id))
}

fn identity_at(at: BorrowedFd<'_>, path: &OsStr) -> Option<FileId> {
    Some(identity::at(at, path).ok()?.0.parts().into())
}

#[cfg(test)]
mod tests;
