//! Committing: names are swapped, one step after the other.

mod back;
mod below;
mod judge;
mod stageless;

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::amend::{set, with_writable};
use super::workplace::{Workplace, name};
use crate::fs::{At, Errno, Fs, Kind, Result, is_beyond, is_overlays};
use crate::sync::change::Traits;
use crate::sync::collect::io;
use crate::sync::journal::{Act, Batch, Direction, MountBatch, Step};
use crate::sync::repository::GitDirs;
use crate::sync::root::{Dir, Opened};
use crate::sync::{Conflict, Seen, SyncError};
use below::is_same_below;
pub(in crate::sync) use judge::GIVEN_UP;
pub(in crate::sync) use judge::judge;

/// How often a step that a signal interrupted is tried.
const TRIES: usize = 4;

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sync) enum Outcome {
    Done,
    /// The host's side is not what the step expects; nothing was done.
    Lost(Conflict),
    /// As before, but what was displaced could not go back, since its place was taken: it stays
    /// with the undo data.
    Kept(Conflict),
    /// The kernel does not allow it.
    Failed(Errno),
    /// It would take away what the run moved to where it could not be put.
    Stays,
    /// There was nothing to do it on.
    Skipped,
}

/// Carries all steps of a batch out. With `is_again` some may be done already.
pub(in crate::sync) fn carry(
    fs: &dyn Fs,
    workplaces: &mut [Workplace<'_>],
    batch: &Batch,
    is_again: bool,
) -> std::result::Result<Vec<Vec<Outcome>>, SyncError> {
    let mut all = Vec::new();
    for (workplace, part) in workplaces.iter_mut().zip(&batch.mounts) {
        let git_dirs = GitDirs::below(fs, workplace.top())?;
        let carrier = Carrier::new(fs, workplace, part, (batch.direction, is_again));
        let outcomes = Carrier { git_dirs, ..carrier }.carry(part);
        let closed = workplace.close(fs);
        all.push(outcomes?);
        closed.map_err(io("close", Path::new("")))?;
    }
    Ok(all)
}

struct Carrier<'c, 'a> {
    fs: &'c dyn Fs,
    workplace: &'c mut Workplace<'a>,
    direction: Direction,
    is_again: bool,
    /// It goes on after somebody took the stage away.
    is_stage_new: bool,
    parents: HashMap<&'c Path, &'c Seen>,
    /// The directory whose inode was compared last.
    checked: Option<PathBuf>,
    /// Directories that should have been made, and were not.
    lost: HashSet<PathBuf>,
    git_dirs: GitDirs,
    /// Git directories that lack an object that was to be placed.
    lacking: HashSet<PathBuf>,
    /// Inodes whose time of change is of our own making.
    moved: HashSet<u64>,
    /// What should have been put in place, and was not.
    unplaced: HashSet<Traits>,
}

impl<'c, 'a> Carrier<'c, 'a> {
    fn new(
        fs: &'c dyn Fs,
        workplace: &'c mut Workplace<'a>,
        part: &'c MountBatch,
        (direction, is_again): (Direction, bool),
    ) -> Self {
        let parents = part.parents.iter().map(|(path, seen)| (path.as_path(), seen)).collect();
        if is_again {
            for (path, seen) in &part.parents {
                let (path, ino, mode) = (path.clone(), seen.ino, seen.mode);
                workplace.root.was_open(Opened { path, ino, mode });
            }
        }
        let (lost, lacking, moved) = (HashSet::new(), HashSet::new(), HashSet::new());
        let (checked, git_dirs) = (None, GitDirs::default());
        let is_stage_new = is_again && workplace.is_stage_new();
        Self {
            fs,
            workplace,
            direction,
            is_again,
            is_stage_new,
            parents,
            checked,
            lost,
            git_dirs,
            lacking,
            moved,
            unplaced: HashSet::new(),
        }
    }

    fn carry(&mut self, part: &MountBatch) -> std::result::Result<Vec<Outcome>, SyncError> {
        let mut outcomes = Vec::with_capacity(part.steps.len());
        for step in &part.steps {
            let outcome = self.step(step)?;
            self.note_lacking(step, outcome);
            if outcome != Outcome::Done && matches!(step.act, Act::Put | Act::Swap) {
                self.unplaced.extend(step.new.map(|new| new.traits()));
            }
            if outcome != Outcome::Done && step.node == Kind::Directory && step.act != Act::Amend {
                self.lost.insert(step.path.clone());
            }
            if [step.node, step.old.map_or(step.node, |old| old.kind)].contains(&Kind::Directory) {
                self.workplace.root.forget();
                self.checked = None;
            }
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    fn step(&mut self, step: &Step) -> std::result::Result<Outcome, SyncError> {
        let is_amend = step.act == Act::Amend;
        if is_amend && self.lost.contains(&step.path) {
            return Ok(Outcome::Skipped);
        }
        if self.direction == Direction::Apply
            && step.path.parent().is_some_and(|above| self.lost.contains(above))
        {
            return Ok(Outcome::Lost(Conflict::Ancestor));
        }
        if self.direction == Direction::Apply
            && let Some(outcome) = Self::decided(step)
        {
            return Ok(outcome);
        }
        if self.lacks_objects(&step.path) {
            return Ok(Outcome::Lost(Conflict::Ancestor));
        }
        let is_again = self.is_again;
        let done = self.tried(step);
        self.is_again = is_again;
        match done {
            Ok(outcome) => Ok(outcome),
            Err(errno) => outcome_of(errno).ok_or_else(|| io("write", &step.path)(errno)),
        }
    }

    /// Returns what becomes of a step whatever stands there.
    fn decided(step: &Step) -> Option<Outcome> {
        if step.is_beyond {
            Some(Outcome::Failed(Errno::TOOBIG))
        } else if step.is_barred {
            Some(Outcome::Failed(Errno::ACCESS))
        } else {
            step.is_within.then_some(Outcome::Done)
        }
    }

    fn tried(&mut self, step: &Step) -> Result<Outcome> {
        for _ in 0..TRIES {
            let result = match step.act {
                Act::Amend => self.amend(step),
                _ if self.lacks_its_stage(step)? => self.without_stage(step),
                Act::Put => self.put(step),
                Act::Swap => self.swap(step),
                Act::Take => self.take(step),
            };
            match result {
                // What was tried may be done.
                Err(Errno::INTR) => self.is_again = true,
                Err(Errno::ACCESS) if self.opens_way(step) => {}
                result => return result,
            }
        }
        Err(Errno::INTR)
    }

    /// Opens directories that keep their owner out of a place, in an undo: the run closed them.
    fn opens_way(&mut self, step: &Step) -> bool {
        let above = step.path.parent().filter(|_| self.direction == Direction::Undo);
        above.is_some_and(|above| matches!(self.workplace.root.open_up(above), Ok(true)))
    }

    fn lacks_objects(&self, path: &Path) -> bool {
        let lacks = |git_dir: PathBuf| self.lacking.contains(&git_dir);
        !self.lacking.is_empty() && self.git_dirs.names_objects_of(path).is_some_and(lacks)
    }

    /// Notes a git directory that lacks an object now. One that has appeared meanwhile is the same:
    /// its name says what is in it.
    fn note_lacking(&mut self, step: &Step, outcome: Outcome) {
        let is_there = matches!(outcome, Outcome::Done | Outcome::Lost(Conflict::Appeared));
        if self.direction == Direction::Apply && step.act == Act::Put && !is_there {
            self.lacking.extend(self.git_dirs.has_object_at(&step.path));
        }
    }

    fn put(&mut self, step: &Step) -> Result<Outcome> {
        if self.is_again && !self.is_staged(step)? {
            return Ok(Outcome::Done);
        }
        let (dir, leaf) = self.parent(step)?;
        self.strip(step)?;
        let (fs, number) = (self.fs, name(step.number));
        let moved = self.moving(
            step,
            dir.at(leaf),
            |staged, target| fs.rename_new(staged, target),
            &number,
        );
        match moved {
            Err(Errno::EXIST) => Ok(Outcome::Lost(Conflict::Appeared)),
            result => result.map(|()| Outcome::Done),
        }
    }

    fn swap(&mut self, step: &Step) -> Result<Outcome> {
        // Done already, it is judged by what it displaced: the directories that lead to it may be
        // gone by later steps.
        if self.is_again && !self.is_staged(step)? {
            return self.displaced(step);
        }
        let (dir, leaf) = self.parent(step)?;
        if let Some(conflict) = self.differs(step, dir.at(leaf))? {
            return Ok(Outcome::Lost(conflict));
        }
        self.strip(step)?;
        let (fs, number) = (self.fs, name(step.number));
        let exchange = |staged: At<'_>, target: At<'_>| fs.exchange(staged, target);
        self.moving(step, dir.at(leaf), exchange, &number)?;
        self.displaced(step)
    }

    fn take(&mut self, step: &Step) -> Result<Outcome> {
        let (fs, number) = (self.fs, name(step.number));
        if self.is_again && self.is_taken(&number)? {
            return self.displaced(step);
        }
        if self.was_moved(step) {
            return Ok(Outcome::Stays);
        }
        let (dir, leaf) = self.parent(step)?;
        if let Some(conflict) = self.differs(step, dir.at(leaf))? {
            return Ok(Outcome::Lost(conflict));
        }
        let take = |staged: At<'_>, target: At<'_>| fs.rename_new(target, staged);
        self.moving(step, dir.at(leaf), take, &number)?;
        self.displaced(step)
    }

    /// Returns whether the run moved what the step takes away to where it could not be put.
    fn was_moved(&self, step: &Step) -> bool {
        let mut all = step.old.iter().chain(step.below.iter().map(|(_, seen)| seen));
        self.direction == Direction::Apply && all.any(|seen| self.unplaced.contains(&seen.traits()))
    }

    fn amend(&mut self, step: &Step) -> Result<Outcome> {
        let Some(on) = step.new else { return Ok(Outcome::Skipped) };
        let (dir, leaf) = self.parent(step)?;
        let found = match self.fs.node(dir.as_fd(), leaf) {
            Err(Errno::NOENT) => None,
            result => Some(result?),
        };
        let is_reached = found.is_some_and(|found| step.links.is_some_and(|it| found.links > it));
        let found = found.map(|found| Seen::from(&found));
        let is_change = step.change.is_some();
        // One that was killed may have set them before.
        if is_reached && self.is_again && matches!(self.judge_amend(step), Outcome::Done) {
            return Ok(Outcome::Done);
        }
        match found {
            // What was linked to it meanwhile would get them too.
            Some(_) if is_reached => return Ok(Outcome::Lost(Conflict::Changed)),
            Some(found) if found.is_same_inode(&on) && (!is_change || is_as(&found, &on, step)) => {
            }
            _ if !is_change => return Ok(Outcome::Skipped),
            None => return Ok(Outcome::Lost(Conflict::Vanished)),
            Some(_) => return Ok(Outcome::Lost(Conflict::Changed)),
        }
        match set(self.fs, dir.at(leaf), &on, &step.after) {
            Err(errno) if is_beyond(errno) => {
                // Some of them may be set.
                let _ = set(self.fs, dir.at(leaf), &on, &step.before);
                return Ok(Outcome::Failed(errno));
            }
            result => result?,
        }
        if let Some(mode) = step.after.mode {
            self.workplace.root.will_have(&step.path, mode);
        }
        Ok(Outcome::Done)
    }

    /// Opens the directory that a step names something in, if it is the one that was planned for.
    fn parent<'p>(&mut self, step: &'p Step) -> Result<(Dir<'a>, &'p OsStr)> {
        let (dir, leaf) = match self.workplace.root.above(&step.path) {
            // Another file system is mounted on the way.
            Err(Errno::XDEV) => return Err(Errno::NOTDIR),
            result => result?,
        };
        let Some(above) = step.path.parent() else { return Ok((dir, leaf)) };
        if self.checked.as_deref() == Some(above) {
            return Ok((dir, leaf));
        }
        if let Some(expected) = self.parents.get(above) {
            let found = Seen::from(&self.fs.node(dir.as_fd(), OsStr::new(""))?);
            if !found.is_same_inode(expected) {
                return Err(Errno::NOTDIR);
            }
        }
        self.checked = Some(above.to_owned());
        Ok((dir, leaf))
    }

    /// Returns what speaks against displacing what stands at the target.
    fn differs(&mut self, step: &Step, at: At<'_>) -> Result<Option<Conflict>> {
        let Some(old) = step.old else { return Ok(Some(Conflict::Appeared)) };
        let found = match self.fs.node(at.dir, at.name) {
            Err(Errno::NOENT) => return Ok(Some(Conflict::Vanished)),
            result => Seen::from(&result?),
        };
        let mode = self.workplace.root.opened(&step.path, found.ino).unwrap_or(found.mode);
        let found = Seen { mode, ..found };
        let is_told = self.direction == Direction::Apply || step.exact;
        let is_own = self.is_again || !is_told || self.moved.contains(&old.ino);
        let is_untouched = is_own || old.kind == Kind::Directory || found.changed == old.changed;
        if !found.is_still(&old) || !is_untouched {
            return Ok(Some(Conflict::Changed));
        }
        // Looked at where it stands first: users of a directory that stays see no gap.
        let is_same = old.kind != Kind::Directory || is_same_below(self.fs, at, &step.below)?;
        Ok((!is_same).then_some(Conflict::Changed))
    }

    /// Returns whether the stage has what the step puts in place.
    fn is_staged(&self, step: &Step) -> Result<bool> {
        match self.fs.node(self.workplace.stage(), &name(step.number)) {
            Err(Errno::NOENT) => Ok(false),
            result => {
                let found = Seen::from(&result?);
                Ok(step.new.is_some_and(|new| found.is_same_inode(&new)))
            }
        }
    }

    fn is_taken(&self, number: &OsStr) -> Result<bool> {
        match self.fs.node(self.workplace.stage(), number) {
            Err(Errno::NOENT) => Ok(false),
            result => result.map(|_| true),
        }
    }

    /// Returns whether what was displaced is what was expected there.
    fn is_displaced(&mut self, step: &Step) -> Result<bool> {
        let Some(old) = step.old else { return Ok(true) };
        self.moved.insert(old.ino);
        let number = name(step.number);
        let mut found = Seen::from(&self.fs.node(self.workplace.stage(), &number)?);
        let at = At { dir: self.workplace.stage(), name: &number };
        if old.kind == Kind::Directory && found.mode != old.mode && found.mode == old.mode | 0o700 {
            // Opened up for what was taken out of it.
            self.fs.set_mode_at(at, old.mode)?;
            found.mode = old.mode;
        }
        if !found.is_still(&old) {
            return Ok(false);
        }
        if old.kind != Kind::Directory {
            return Ok(true);
        }
        is_same_below(self.fs, at, &step.below)
    }

    /// Takes overlayfs' own attributes from a file that comes out of a layer by a link.
    fn strip(&self, step: &Step) -> Result<()> {
        let (Direction::Apply, Kind::File, Some(new)) = (self.direction, step.node, step.new)
        else {
            return Ok(());
        };
        let (fs, number) = (self.fs, name(step.number));
        let at = At { dir: self.workplace.stage(), name: &number };
        with_writable(fs, at, new.mode, || {
            let attributes = fs.attributes(at)?.into_iter();
            for (name, _) in attributes.filter(|(name, _)| is_overlays(name)) {
                fs.remove_attribute(at, &name)?;
            }
            Ok(())
        })?;
        if self.is_again { fs.set_mode_at(at, new.mode) } else { Ok(()) }
    }

    /// Renames between stage and target, opening directories up that forbid it to their owner.
    fn moving(
        &mut self,
        step: &Step,
        target: At<'_>,
        call: impl Fn(At<'_>, At<'_>) -> Result<()>,
        number: &OsStr,
    ) -> Result<()> {
        let staged = At { dir: self.workplace.stage(), name: number };
        let mut result = call(staged, target);
        if result != Err(Errno::ACCESS) {
            return result;
        }
        let above = step.path.parent().unwrap_or(Path::new(""));
        self.workplace.root.open_up(above)?;
        let staged = At { dir: self.workplace.stage(), name: number };
        result = call(staged, target);
        if result != Err(Errno::ACCESS) {
            return result;
        }
        // A directory that changes its parent must be writable itself.
        let fs = self.fs;
        let places = [staged, target];
        set_modes(fs, places, step, 0o700);
        result = call(staged, target);
        set_modes(fs, places, step, 0);
        result
    }
}

/// Gives the directories of a step their bits and some more, wherever they are now.
pub(super) fn set_modes(fs: &dyn Fs, places: [At<'_>; 2], step: &Step, more: u32) {
    for at in places {
        let Ok(found) = fs.node(at.dir, at.name).map(|node| Seen::from(&node)) else { continue };
        for seen in [step.new, step.old].into_iter().flatten() {
            if seen.kind == Kind::Directory && seen.is_same_inode(&found) {
                // One that can't be opened up fails the rename that follows.
                let _ = fs.set_mode_at(at, seen.mode | more);
            }
        }
    }
}

/// Returns whether attributes are as the step expects them, before it or after it.
fn is_as(found: &Seen, on: &Seen, step: &Step) -> bool {
    let mode = [Some(on.mode), Some(on.mode | 0o700), step.after.mode].contains(&Some(found.mode));
    let is_dir = on.kind == Kind::Directory;
    let modified = [Some(on.modified), step.after.modified].contains(&Some(found.modified));
    mode && (is_dir || (modified && found.size == on.size))
}

/// Returns what an error of one step means, when it is no reason to stop.
fn outcome_of(errno: Errno) -> Option<Outcome> {
    match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP => Some(Outcome::Lost(Conflict::Ancestor)),
        Errno::EXIST | Errno::NOTEMPTY | Errno::ISDIR => Some(Outcome::Lost(Conflict::Changed)),
        // A name does not go to a directory that is encrypted, or has another project (rename(2)).
        Errno::XDEV
        | Errno::ACCESS
        | Errno::PERM
        | Errno::ROFS
        | Errno::BUSY
        | Errno::NAMETOOLONG => Some(Outcome::Failed(errno)),
        _ => None,
    }
}
