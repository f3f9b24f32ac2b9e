//! What became of a tree that was recorded.

use std::collections::{HashMap, HashSet};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use super::list::{FILES, Kept, Left, Recorded};
use crate::fs::{At, Attribute, Fs, Kind, Open, Result};
use crate::git_blob::{Name, name_of};
use crate::sync::apply::number_name;
use crate::sync::collect::{Buffers, users};
use crate::sync::root::{Closed, Root};
use crate::sync::{Clock, Identity, Seen, Time};

/// What became of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Became {
    /// Nothing was there.
    Created(Seen),
    /// Another content, or another kind of file.
    Changed { then: Seen, now: Seen },
    /// Other bits or times.
    Amended { then: Seen, now: Seen },
    /// Nothing is there.
    Deleted(Seen),
}

/// A change of a tree.
#[derive(Clone, Debug)]
pub(super) struct Difference {
    pub(super) path: PathBuf,
    pub(super) became: Became,
    /// Something changed there after the end, too: it may not be the run's.
    pub(super) is_later: bool,
    /// It is a file without another name: its time of change tells of every edit.
    pub(super) is_alone: bool,
}

/// What changed in a tree.
#[derive(Debug, Default)]
pub(super) struct Differences {
    /// By path, directories before what is in them; what is below a deleted one is not named.
    pub(super) changes: Vec<Difference>,
    /// What changed and can't be taken back.
    pub(super) uncovered: Vec<(PathBuf, Left)>,
    /// The attributes of directories that have others now: those they had, and those they have.
    pub(super) users: HashMap<PathBuf, [Vec<Attribute>; 2]>,
}

/// Where and when a run was, and what it did not see.
#[derive(Clone, Copy, Debug)]
pub struct Span<'a> {
    /// The directory that the tree's root was.
    pub root: Identity,
    /// Its start.
    pub stamp: Time,
    /// Its end: what changed then or later is not the run's. `None` where nobody else can have changed anything.
    pub end: Option<Time>,
    /// Whether what is older by its times is older than the start.
    pub clock: Clock,
    /// Names that were hidden from it, or that it changed elsewhere.
    pub hidden: &'a [PathBuf],
}

/// Compares a tree with what was recorded of it; nobody changes it any more.
pub(super) fn compare(
    fs: &dyn Fs,
    (root, place): (BorrowedFd<'_>, BorrowedFd<'_>),
    recorded: &Recorded,
    of_run: &Span<'_>,
) -> Result<Differences> {
    let mut comparing = Comparing {
        fs,
        // What the command closed is no less changed.
        root: Root::new(fs, root, Closed::Open),
        place,
        recorded,
        known: known(recorded),
        of_run: *of_run,
        buffers: Buffers::default(),
        found: HashSet::new(),
        made: HashSet::new(),
        replaced: HashSet::new(),
        stayed: HashMap::new(),
        differences: Differences::default(),
    };
    let compared = comparing.tree();
    let closed = comparing.root.close();
    compared.and(closed)?;
    comparing.gone();
    comparing.touched();
    let mut differences = comparing.differences;
    differences.changes.sort_by(|one, other| one.path.cmp(&other.path));
    differences.uncovered.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(differences)
}

struct Comparing<'c> {
    fs: &'c dyn Fs,
    root: Root<'c>,
    place: BorrowedFd<'c>,
    recorded: &'c Recorded,
    /// Inodes of which everything is kept, or that are directories: they can be had again.
    known: HashSet<(u64, Option<Time>)>,
    of_run: Span<'c>,
    buffers: Buffers,
    /// Recorded paths that are there.
    found: HashSet<PathBuf>,
    /// Directories that the run made, or moved.
    made: HashSet<PathBuf>,
    /// Directories that something else stands in the place of.
    replaced: HashSet<PathBuf>,
    /// Directories that were there and are.
    stayed: HashMap<PathBuf, (Seen, Seen)>,
    differences: Differences,
}

impl Comparing<'_> {
    fn tree(&mut self) -> Result<()> {
        let top = PathBuf::new();
        let (dir, name) = self.root.above(&top)?;
        let now = Seen::from(&self.fs.node(dir.as_fd(), name)?);
        self.one(top.clone(), now)?;
        let mut pending = vec![top];
        while let Some(path) = pending.pop() {
            let Ok(listed) = self.root.list(&path) else {
                // What is in it can't be told.
                self.keep_below(&path);
                self.uncovered(path, Left::Unreadable);
                continue;
            };
            pending.extend(self.names(&path, &listed)?);
        }
        Ok(())
    }

    /// Compares what is in a directory; returns the directories that are to be looked into.
    fn names(&mut self, above: &Path, listed: &OwnedFd) -> Result<Vec<PathBuf>> {
        let mut directories = Vec::new();
        for entry in self.fs.list(listed.as_fd(), usize::MAX)? {
            let path = above.join(&entry.name);
            if self.of_run.hidden.contains(&path) {
                continue;
            }
            let node = self.fs.node(listed.as_fd(), &entry.name)?;
            let (now, known) = (Seen::from(&node), self.differences.changes.len());
            let is_looked_into = self.one(path.clone(), now)?;
            for difference in self.differences.changes.iter_mut().skip(known) {
                difference.is_alone = node.links == 1 && now.kind != Kind::Directory;
            }
            if is_looked_into && now.kind == Kind::Directory {
                directories.push(path);
            }
        }
        Ok(directories)
    }

    fn keep_below(&mut self, top: &Path) {
        let all = self.recorded.entries.keys();
        self.found.extend(all.filter(|path| path.starts_with(top)).cloned());
    }

    /// Compares one path; returns whether what is in it is to be compared.
    fn one(&mut self, path: PathBuf, now: Seen) -> Result<bool> {
        let Some((then, kept)) = self.recorded.entries.get(&path).copied() else {
            return Ok(self.unrecorded(path, now));
        };
        self.found.insert(path.clone());
        let is_as_it_was = now.is_same_inode(&then) && now.changed == then.changed;
        match kept {
            Kept::Left(Left::Changed) => self.uncovered(path, Left::Changed),
            Kept::Left(left) if now.kind == Kind::Directory && then.kind == Kind::Directory => {
                if !now.is_same_inode(&then) {
                    self.uncovered(path, left);
                }
            }
            Kept::Left(left) if !is_as_it_was => self.uncovered(path, left),
            Kept::Name if !is_as_it_was => self.uncovered(path, self.why(&now)),
            Kept::Left(_) | Kept::Name => {}
            Kept::Directory if now.kind == Kind::Directory => {
                let is_later = self.is_later(&now);
                let has_other_user = self.has_other_user(&path, &now)?;
                let is_amended = now.mode != then.mode || has_other_user;
                if is_amended || (now.modified != then.modified && !is_later) {
                    self.add(path.clone(), Became::Amended { then, now }, is_later);
                }
                // Names may have gone before anybody looked.
                if !self.recorded.listed.contains(&path) && self.is_since(&now) {
                    self.uncovered(path.clone(), Left::Changed);
                }
                self.stayed.insert(path, (then, now));
                return Ok(true);
            }
            _ if is_as_it_was => {}
            _ => return self.changed(path, (then, now), kept),
        }
        Ok(false)
    }

    /// Returns whether a directory has other attributes than it had, and notes both.
    fn has_other_user(&mut self, path: &Path, now: &Seen) -> Result<bool> {
        // None was set since where its time of change is older.
        let is_since = self.is_since(now);
        let Some(then) = self.recorded.user(path).filter(|_| is_since) else { return Ok(false) };
        let (dir, leaf) = self.root.above(path)?;
        // What can't be read can't be compared.
        let now = self.fs.attributes(dir.at(leaf)).map(users);
        let Some(now) = now.ok().filter(|now| now != then) else { return Ok(false) };
        self.differences.users.insert(path.to_owned(), [then.to_vec(), now]);
        Ok(true)
    }

    fn changed(&mut self, path: PathBuf, (then, now): (Seen, Seen), kept: Kept) -> Result<bool> {
        if now.kind == Kind::Other {
            self.uncovered(path, Left::Special);
            return Ok(false);
        }
        if !(self.is_later(&now) || now.is_same_inode(&then) || self.can_go(&now)) {
            self.uncovered(path, Left::Changed);
            return Ok(now.kind == Kind::Directory);
        }
        // What is set right of a file with several names is set of all of them.
        let is_alone = now.is_same_inode(&then) || self.names_of(&path)? == 1;
        let is_same = is_alone && self.is_same_content(&path, (then, now), kept)?;
        if self.is_later(&now) {
            return Ok(self.changed_later(path, (then, now), is_same));
        }
        if !is_same {
            if now.kind == Kind::Directory {
                self.made.insert(path.clone());
            }
            if then.kind == Kind::Directory {
                self.replaced.insert(path.clone());
            }
            self.push(path, Became::Changed { then, now });
            return Ok(now.kind == Kind::Directory);
        }
        if now.mode != then.mode || now.modified != then.modified {
            self.push(path, Became::Amended { then, now });
        }
        Ok(false)
    }

    /// What somebody changed after the end stays as it is, and so do the copies of what was there: nobody
    /// can tell who else changed it before. Returns whether what is in it is to be compared.
    fn changed_later(&mut self, path: PathBuf, (then, now): (Seen, Seen), is_same: bool) -> bool {
        if is_same && now.mode == then.mode && now.modified == then.modified {
            return false;
        }
        if then.kind == Kind::Directory {
            self.replaced.insert(path.clone());
        }
        // An undo that expects what was there finds it changed.
        self.add(path, Became::Changed { then, now: then }, true);
        now.kind == Kind::Directory
    }

    fn names_of(&mut self, path: &Path) -> Result<u32> {
        let (dir, leaf) = self.root.above(path)?;
        Ok(self.fs.node(dir.as_fd(), leaf)?.links)
    }

    fn is_same_content(
        &mut self,
        path: &Path,
        (then, now): (Seen, Seen),
        kept: Kept,
    ) -> Result<bool> {
        if now.kind != then.kind || now.size != then.size {
            return Ok(false);
        }
        let number = match kept {
            Kept::Copy(number) => number,
            Kept::Git(name) => return self.is_named(path, now.size, &name),
            Kept::Directory | Kept::Name | Kept::Left(_) => return Ok(false),
        };
        let name = number_name(number);
        let files = self.fs.open_below(self.place, Path::new(FILES), Open::Handle)?;
        let copy = At { dir: files.as_fd(), name: &name };
        let (dir, leaf) = self.root.above(path)?;
        if now.kind == Kind::Symlink {
            let targets = [dir.at(leaf), copy].map(|at| self.fs.read_link(at.dir, at.name));
            let [one, other] = targets;
            return Ok(one? == other?);
        }
        // What can't be read any more is not the same.
        let Ok(file) = self.fs.open_file(dir.as_fd(), leaf) else { return Ok(false) };
        let Ok(held) = self.fs.open_file(copy.dir, copy.name) else { return Ok(false) };
        if !self.buffers.equal(self.fs, [file.as_fd(), held.as_fd()], now.size)? {
            return Ok(false);
        }
        let attributes = [dir.at(leaf), copy].map(|at| self.fs.attributes(at).map(users));
        Ok(attributes[0] == attributes[1])
    }

    fn is_named(&mut self, path: &Path, size: u64, name: &Name) -> Result<bool> {
        let (dir, leaf) = self.root.above(path)?;
        let Ok(file) = self.fs.open_file(dir.as_fd(), leaf) else { return Ok(false) };
        let is_plain = self.fs.attributes(dir.at(leaf)).is_ok_and(|it| users(it).is_empty());
        Ok(is_plain && name_of(self.fs, file.as_fd(), size).is_ok_and(|found| found == *name))
    }

    /// Judges a path that was not recorded; returns whether what is in it is to be looked at.
    fn unrecorded(&mut self, path: PathBuf, now: Seen) -> bool {
        let is_younger = now.born.zip(self.of_run.end).is_some_and(|(born, end)| born >= end);
        if is_younger && self.of_run.clock == Clock::Steady {
            return now.kind == Kind::Directory;
        }
        if now.kind == Kind::Other {
            self.uncovered(path, Left::Special);
            return false;
        }
        let above = path.parent().unwrap_or(Path::new(""));
        let is_new = self.recorded.listed.contains(above) || self.made.contains(above);
        if is_new && self.can_go(&now) && !self.is_later(&now) {
            if now.kind == Kind::Directory {
                self.made.insert(path.clone());
            }
            self.push(path, Became::Created(now));
        } else if self.is_since(&now) {
            // It may have been there before, or be all that is left of what was.
            self.uncovered(path, self.why(&now));
        }
        now.kind == Kind::Directory
    }

    /// Returns whether an undo may take something away: what is as old as the run was made by it,
    /// and of what is older everything must be kept.
    fn can_go(&self, now: &Seen) -> bool {
        let is_younger = now.born.is_some_and(|born| born >= self.of_run.stamp);
        is_younger || self.known.contains(&(now.ino, now.born))
    }

    /// Returns whether something may have changed since the run began.
    fn is_since(&self, now: &Seen) -> bool {
        self.of_run.clock == Clock::SetBack || now.changed.may_be_since(self.of_run.stamp)
    }

    fn is_later(&self, now: &Seen) -> bool {
        self.of_run.end.is_some_and(|end| now.changed.may_be_since(end))
    }

    /// Returns why a change can't be taken back of which nothing is kept.
    fn why(&self, now: &Seen) -> Left {
        if self.is_later(now) { Left::Since } else { Left::Changed }
    }

    /// Finds what was recorded and is not there.
    fn gone(&mut self) {
        let mut top: Option<&Path> = None;
        for (path, (then, kept)) in &self.recorded.entries {
            if self.found.contains(path) || top.is_some_and(|top| path.starts_with(top)) {
                continue;
            }
            if self.of_run.hidden.iter().any(|hidden| path.starts_with(hidden)) {
                continue;
            }
            // What replaced a directory tells of all that was in it.
            if path.ancestors().skip(1).any(|above| self.replaced.contains(above)) {
                continue;
            }
            // Where somebody changed names after the end, it may be his doing.
            let above = path.parent().and_then(|above| self.stayed.get(above));
            let is_later = above.is_some_and(|(_, now)| self.is_later(now));
            match kept.left() {
                Some(left) => self.differences.uncovered.push((path.clone(), left)),
                None => self.differences.changes.push(Difference {
                    path: path.clone(),
                    became: Became::Deleted(*then),
                    is_later,
                    is_alone: false,
                }),
            }
            top = Some(path);
        }
    }

    /// Notes the time of each directory in which an undo will change names, for it must have that
    /// again even where the run left it. Where names changed after the end the time is that of it.
    fn touched(&mut self) {
        let mut known: HashSet<PathBuf> = HashSet::new();
        let mut above: HashSet<PathBuf> = HashSet::new();
        for Difference { path, became, .. } in &self.differences.changes {
            match became {
                Became::Amended { .. } => drop(known.insert(path.clone())),
                _ => above.extend(path.parent().map(Path::to_owned)),
            }
        }
        for path in above.difference(&known) {
            let stayed = self.stayed.get(path).copied();
            if let Some((then, now)) = stayed.filter(|(_, now)| !self.is_later(now)) {
                self.push(path.clone(), Became::Amended { then, now });
            }
        }
    }

    fn push(&mut self, path: PathBuf, became: Became) {
        self.add(path, became, false);
    }

    fn add(&mut self, path: PathBuf, became: Became, is_later: bool) {
        self.differences.changes.push(Difference { path, became, is_later, is_alone: false });
    }

    fn uncovered(&mut self, path: PathBuf, left: Left) {
        self.differences.uncovered.push((path, left));
    }
}

/// Returns the inodes of which an undo has all that it needs.
fn known(recorded: &Recorded) -> HashSet<(u64, Option<Time>)> {
    let kept = recorded.entries.iter().filter(|(path, (_, kept))| match kept {
        Kept::Copy(_) | Kept::Git(_) => true,
        Kept::Directory => recorded.listed.contains(*path),
        Kept::Name | Kept::Left(_) => false,
    });
    kept.map(|(_, (seen, _))| (seen.ino, seen.born)).collect()
}
