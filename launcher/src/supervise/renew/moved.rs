//! Hidden names that the command has moved with a directory above them.
//!
//! A name itself stays, for something is mounted over it. What covers it goes along with its directory, and is gone with
//! the run: where no pattern hides the new place, the next run would read what is there. So it goes back to where it was.

mod search;
mod way;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use endow_policy::HostPath;
use endow_vfs::fs::{At, Fs, Open, OsFs};
use endow_vfs::opening::{OpenedUp, open_way};
use rustix::io::{Errno, fcntl_dupfd_cloexec};

use super::super::watch::{Opened, Watch};
use super::{Name, Renewal, Seen};
use crate::plan::step::{Cover, FileId, Renew};
use crate::sys::identity;
use search::{search, search_taken};
use way::Way;

/// Whether a pattern hides a path below the source of a mount; the last says whether what is called `.git` counts
/// as git's, below which fewer patterns do: any can be made that by a later command.
pub(crate) type Hides<'a> = dyn Fn(&HostPath, &Path, bool) -> bool + 'a;

/// What names are put back by.
pub(crate) struct PutBack<'a> {
    /// What patterns say.
    pub(crate) hides: &'a Hides<'a>,
    /// The directory of the run, its real path: what was taken away may be in it.
    pub(crate) run: PathBuf,
    /// Whether nothing is looked at any more: only those are put back that were taken away, and nothing makes way.
    pub(crate) is_last: bool,
}

/// A hidden name that was moved to where nothing hides it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    /// Its number in the plan.
    pub(crate) number: usize,
    /// Where it was moved, in the view; the mount where that is too deep to be told, or unknown.
    pub(crate) to: PathBuf,
    /// What became of it.
    pub(crate) back: Result<Back, Errno>,
}

/// How a name came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Back {
    /// Its place was free, or held another hidden name, which is put back as well.
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

/// Where it is. Nothing is held open for it: there may be more names than descriptors.
enum Place {
    /// In a directory that is watched, by its number.
    Held(usize),
    /// In this directory below the root of the mount.
    Found(PathBuf),
    /// In this one below the directory of the run.
    Taken(PathBuf),
    /// Perhaps where nobody can look.
    Unknown,
}

impl Renewal {
    /// Moves hidden names back that would be seen where they are now. Nothing may run inside any more, and protected
    /// names are still to be looked for: what makes way for a name may be one where it is put.
    pub(crate) fn put_back(&self, rules: &PutBack<'_>) -> Vec<Moved> {
        let mut all = BTreeMap::new();
        // Each time one more is where it was, at least.
        for _ in 0..=self.names.len() {
            let (moved, has_displaced) = self.put_back_once(rules);
            all.extend(moved.into_iter().map(|it| (it.number, it)));
            // What made way may be another hidden name.
            if !has_displaced {
                break;
            }
        }
        // One that could not go back may have made way for another since, and be back by that.
        all.retain(|number, it| it.back.is_ok() || !self.is_at_home(*number));
        all.into_values().collect()
    }

    fn is_at_home(&self, number: usize) -> bool {
        let id = |name: &Name| {
            let root = OsFs.open_canonical(name.renew.source.as_path()).ok()?;
            Some(at_home(&root, &name.renew)? == name.seen?.id())
        };
        self.names.get(number).and_then(id).unwrap_or(false)
    }

    /// Whether a hidden name is elsewhere than it was.
    pub(in crate::supervise) fn has_moved(&self) -> bool {
        self.all_away().next().is_some()
    }

    fn hidden(&self) -> impl Iterator<Item = (usize, &Name)> {
        let names = self.names.iter().enumerate();
        names.filter(|(_, name)| name.renew.cover == Cover::Hidden)
    }

    fn all_away(&self) -> impl Iterator<Item = Away<'_>> {
        self.hidden().filter_map(|(number, name)| self.away(number, name))
    }

    /// Returns the names that may have been taken away, also where the command has made others in their place since.
    fn all_taken(&self) -> impl Iterator<Item = Away<'_>> {
        let all = self.hidden().filter_map(|(number, name)| {
            let root = OsFs.open_canonical(name.renew.source.as_path()).ok()?;
            let (home, seen) = (at_home(&root, &name.renew), name.seen.map(Seen::id));
            // The host may have replaced it since.
            let ids = [seen, name.first.filter(|first| seen != Some(*first))];
            let is_home = home.is_some() && ids.contains(&home);
            let away = move |id| Away { number, renew: &name.renew, id, place: None };
            (!is_home).then(|| ids.into_iter().flatten().map(away))
        });
        all.flatten()
    }

    fn put_back_once(&self, rules: &PutBack<'_>) -> (Vec<Moved>, bool) {
        let is_hidden = |it: &Away<'_>| (rules.hides)(&it.renew.source, &it.renew.path, false);
        let mut away: Vec<Away<'_>>;
        if rules.is_last {
            away = self.all_taken().filter(is_hidden).collect();
            search_taken(&mut away, &rules.run);
        } else {
            away = self.all_away().filter(is_hidden).collect();
            search(&mut away);
        }
        let (mut all, mut has_displaced) = (Vec::new(), false);
        for it in &away {
            let Some((to, swapped)) = self.put_one_back(it, rules) else { continue };
            has_displaced |= matches!(swapped, Ok(Swapped::WithHidden | Swapped::With(_)));
            let back = swapped.map(|swapped| match swapped {
                Swapped::No | Swapped::WithHidden => Back::Free,
                Swapped::With(name) if to == it.renew.at.as_path() => Back::For(to.join(name)),
                Swapped::With(name) => Back::For(to.with_file_name(name)),
            });
            all.push(Moved { number: it.number, to, back });
        }
        (all, has_displaced)
    }

    /// Returns a name that the command has moved away; `None` for one that stands where it was, or whose directory the
    /// host removed. For the former it costs one call where the directory is held open.
    fn away<'a>(&'a self, number: usize, name: &'a Name) -> Option<Away<'a>> {
        let (renew, id) = (&name.renew, name.seen?.id());
        let opened = self.watch.open(name.directory);
        let place = match &opened {
            Ok(Opened::Held(held)) => {
                // A mount point keeps the command from removing its directory: the host has.
                if is_removed(*held) {
                    return None;
                }
                // One that is too deep has no path, and is not where it was either.
                if opened.as_ref().ok()?.path().as_deref() == Ok(renew.directory()?.as_path()) {
                    return None;
                }
                let is_there = is_in(opened_up(*held).ok()?.as_fd(), renew.name(), id);
                is_there.then_some(Place::Held(name.directory))
            }
            Ok(Opened::Own(directory)) if is_in(directory.as_fd(), renew.name(), id) => {
                return None;
            }
            Ok(Opened::Own(_)) | Err(_) => None,
        };
        Some(Away { number, renew, id, place })
    }

    /// Returns where the name was and what came of it, where it was anywhere and is not hidden there.
    fn put_one_back(
        &self,
        away: &Away<'_>,
        rules: &PutBack<'_>,
    ) -> Option<(PathBuf, Result<Swapped, Errno>)> {
        let (renew, root) = (away.renew, OsFs.open_canonical(away.renew.source.as_path()).ok()?);
        let at_home = at_home(&root, renew);
        if at_home == Some(away.id) {
            return None;
        }
        let mount = || renew.at.as_path().to_owned();
        let place = match away.place.as_ref()?.open(&self.watch, (renew, &root), &rules.run) {
            Ok(opened) => opened,
            Err(errno) => return Some((mount(), Err(errno))),
        };
        let is_held = place.path.as_ref().is_some_and(|path| path.starts_with(&rules.run));
        if is_held != rules.is_last {
            return None;
        }
        let mut to = mount();
        if let Some(path) = place.path.as_ref().filter(|_| !is_held) {
            let now = path.join(renew.name()?);
            // Out of its mount no command moves anything: what stands elsewhere the host has moved.
            let below = now.strip_prefix(renew.source.as_path()).ok()?;
            // Nothing takes the place of a name that the command could not have replaced there.
            if at_home.is_none() && (rules.hides)(&renew.source, below, true) {
                return None;
            }
            to.push(below);
        }
        if is_held && at_home.is_some() {
            return Some((to, Err(Errno::EXIST)));
        }
        let is_hidden = |id| self.names.iter().any(|it| it.is_hidden_as(id));
        let way = Way::from(place.directory.as_fd(), !rules.is_last);
        Some((
            to,
            way.and_then(|way| away.move_back(way, place.directory.as_fd(), (root, &is_hidden))),
        ))
    }
}

impl Name {
    fn is_hidden_as(&self, id: FileId) -> bool {
        self.renew.cover == Cover::Hidden && self.seen.is_some_and(|seen| seen.id() == id)
    }
}

/// The directory that a name is in.
struct OpenPlace {
    directory: OpenedUp<'static>,
    /// Its path on the host, unless that is too long for the kernel to tell.
    path: Option<PathBuf>,
    /// What leads there and was closed.
    _way: Vec<OpenedUp<'static>>,
}

impl Place {
    /// Opens the directory, up where the command has closed it to its owner.
    fn open(
        &self,
        watch: &Watch,
        (renew, root): (&Renew, &OwnedFd),
        run: &Path,
    ) -> Result<OpenPlace, Errno> {
        match self {
            Self::Held(number) => {
                let held = watch.open(*number)?;
                let path = match held.path() {
                    Err(Errno::NAMETOOLONG) => None,
                    path => Some(path?),
                };
                Ok(OpenPlace { directory: opened_up(held.as_fd())?, path, _way: Vec::new() })
            }
            Self::Found(above) => OpenPlace::below(root, (renew.source.as_path(), above)),
            Self::Taken(above) => OpenPlace::below(&OsFs.open_canonical(run)?, (run, above)),
            Self::Unknown => Err(Errno::NOENT),
        }
    }
}

impl OpenPlace {
    fn below(root: &OwnedFd, (path, above): (&Path, &Path)) -> Result<Self, Errno> {
        let way = open_way(&OsFs, root.as_fd(), above);
        let directory = OsFs.open_below(root.as_fd(), above, Open::Handle)?;
        let directory = OpenedUp::of(&OsFs, directory)?;
        Ok(Self { directory, path: Some(path.join(above)), _way: way })
    }
}

/// What stood where a name goes.
enum Swapped {
    No,
    /// Another hidden name; it has the place of the first now.
    WithHidden,
    /// Something of this name, in the directory where the first was.
    With(OsString),
}

impl Away<'_> {
    /// Nothing is lost: what stands in the way takes the place that the name had.
    fn move_back(
        &self,
        mut way: Way<'_>,
        directory: BorrowedFd<'_>,
        (root, is_hidden): (OwnedFd, &dyn Fn(FileId) -> bool),
    ) -> Result<Swapped, Errno> {
        let name = self.renew.name().ok_or(Errno::INVAL)?;
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
        let other = moved?;
        Ok(match (way.aside(), other) {
            (Some(aside), _) => Swapped::With(aside),
            (None, None) => Swapped::No,
            (None, Some(id)) if is_hidden(id) => Swapped::WithHidden,
            (None, Some(_)) => Swapped::With(name.to_owned()),
        })
    }
}

/// Moves a name; returns what took its place, which stood where it is now.
fn swap(from: At<'_>, to: At<'_>) -> Result<Option<FileId>, Errno> {
    // A directory gets another parent, which is written into it.
    let _opened = [OpenedUp::at(&OsFs, from), OpenedUp::at(&OsFs, to)];
    match OsFs.rename_new(from, to) {
        Err(Errno::EXIST) => {
            OsFs.exchange(from, to)?;
            identity_at(from.dir, from.name).ok_or(Errno::STALE).map(Some)
        }
        moved => moved.map(|()| None),
    }
}

fn opened_up(held: BorrowedFd<'_>) -> Result<OpenedUp<'static>, Errno> {
    OpenedUp::of(&OsFs, fcntl_dupfd_cloexec(held, 0)?)
}

fn is_in(directory: BorrowedFd<'_>, name: Option<&OsStr>, id: FileId) -> bool {
    name.is_some_and(|name| identity_at(directory, name) == Some(id))
}

fn is_removed(directory: BorrowedFd<'_>) -> bool {
    rustix::fs::fstat(directory).is_ok_and(|found| found.st_nlink == 0)
}

/// Returns what stands where a name was, by no link.
fn at_home(root: &OwnedFd, renew: &Renew) -> Option<FileId> {
    let above = renew.path.parent().unwrap_or(Path::new(""));
    let directory = OsFs.open_below(root.as_fd(), above, Open::Handle).ok()?;
    identity_at(directory.as_fd(), renew.name()?)
}

fn identity_at(at: BorrowedFd<'_>, path: &OsStr) -> Option<FileId> {
    Some(identity::at(at, path).ok()?.0.parts().into())
}

#[cfg(test)]
mod tests;
