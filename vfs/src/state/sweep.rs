//! Sweeping: runs whose owner died are taken away, unless they hold something to keep.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::{Duration, SystemTime};

use endow_policy::SyncMode;

use super::error::failed;
use super::layout::{
    BEING_MADE, DENIALS, HELD, JOURNAL, LAYERS, LIVE, MASK, NEW_RECORD, RECORD, SOCKETS, STAGED,
    STARTED, TOLD,
};
use super::removal::{is_going, take_away};
use super::run::read_record;
use super::{MountRecord, Record, RunId, RunState, StateDir, StateError};
use crate::fs::{Entry, Errno, Fs, Kind, Result, Status};

/// Runs being made are left alone for this long.
const NEW_FOR: Duration = Duration::from_mins(1);
/// The most names of the runs directory that are looked at.
const NAMES: usize = 4096;
/// The most runs that are asked for a journal: one call each.
const JOURNALS: usize = 256;
/// The most names a run's directories may have to be looked at at all.
const FEW: usize = 1024;

/// How much a sweep may do.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    /// The most runs that are tried.
    pub candidates: usize,
    /// Where among the runs it begins: another number each time, so that kept runs at the
    /// beginning don't hide dead ones at the end.
    pub start: usize,
    /// The time by which new runs are young.
    pub now: SystemTime,
}

/// What a sweep did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Swept {
    /// The runs that were taken away.
    pub removed: Vec<OsString>,
    /// The runs whose removal was begun, and is finished now.
    pub gone: Vec<RunId>,
    /// Dead runs that hold something to keep.
    pub kept: Vec<OsString>,
    /// What could not be looked at, or taken away, and why.
    pub failed: Vec<(OsString, Errno)>,
    /// Dead runs whose write-back, or undo, is to be finished: they have a journal.
    pub begun: Vec<RunId>,
    /// Dead runs whose live mounts nobody may have looked through at the end, each told once.
    pub unguarded: Vec<Record>,
}

enum Fate {
    Alive,
    Removed(Option<Record>),
    Gone(RunId),
    Kept(Option<Record>),
}

impl StateDir {
    /// Removes dead runs that hold nothing to keep.
    ///
    /// A run is dead when its lock is free. What may go is listed and everything else is kept, so
    /// a later format of the state is safe from this one.
    ///
    /// # Errors
    /// When the runs can't be listed.
    pub fn sweep(&self, fs: &dyn Fs, sweep: Sweep) -> std::result::Result<Swept, StateError> {
        let names = fs.list(self.runs.dir.as_fd(), NAMES);
        let names = names.map_err(failed("list", &self.runs.path))?;
        let begun = candidates(names.clone(), Sweep { candidates: JOURNALS, ..sweep });
        let begun = begun.filter(|name| self.is_begun(fs, name));
        let begun = begun.filter_map(|name| RunId::parse(name.to_str()?).ok()).collect();
        let mut swept = Swept { begun, ..Swept::default() };
        for name in candidates(names, sweep) {
            let (list, unguarded) = match self.sweep_one(fs, &name) {
                Ok(Fate::Alive) | Err(Errno::NOENT | Errno::WOULDBLOCK) => continue,
                Ok(Fate::Gone(id)) => {
                    swept.gone.push(id);
                    continue;
                }
                Ok(Fate::Removed(unguarded)) => (&mut swept.removed, unguarded),
                Ok(Fate::Kept(unguarded)) => (&mut swept.kept, unguarded),
                Err(errno) => {
                    swept.failed.push((name, errno));
                    continue;
                }
            };
            list.push(name);
            swept.unguarded.extend(unguarded);
        }
        Ok(swept)
    }

    /// Returns whether nobody works on a run that has a journal.
    fn is_begun(&self, fs: &dyn Fs, name: &OsStr) -> bool {
        let runs = self.runs.dir.as_fd();
        fs.status(runs, Path::new(name).join(JOURNAL).as_os_str()).is_ok()
            && fs.open_dir(runs, name).is_ok_and(|dir| fs.lock(dir.as_fd()).is_ok())
    }

    fn sweep_one(&self, fs: &dyn Fs, name: &OsStr) -> Result<Fate> {
        let runs = self.runs.dir.as_fd();
        let dir = fs.open_dir(runs, name)?;
        match fs.lock(dir.as_fd()) {
            Err(Errno::WOULDBLOCK) => return Ok(Fate::Alive),
            result => result?,
        }
        if let Some(id) = is_going(name) {
            take_away(fs, runs, name).map_err(|left| left.errno)?;
            return Ok(Fate::Gone(id));
        }
        let Some(dead) = dead(fs, dir.as_fd(), name) else { return Ok(Fate::Kept(None)) };
        if !is_disposable(fs, dir.as_fd(), &dead)? {
            return Ok(Fate::Kept(dead.unguarded(fs, dir.as_fd())));
        }
        let unguarded = dead.unguarded(fs, dir.as_fd());
        take_away(fs, runs, name).map_err(|left| left.errno)?;
        Ok(Fate::Removed(unguarded))
    }
}

fn candidates(mut names: Vec<Entry>, sweep: Sweep) -> impl Iterator<Item = OsString> {
    names.retain(|entry| is_candidate(entry, sweep.now));
    names.sort_by(|a, b| a.name.cmp(&b.name));
    let start = sweep.start.checked_rem(names.len()).unwrap_or(0);
    names.rotate_left(start);
    names.into_iter().take(sweep.candidates).map(|entry| entry.name)
}

fn is_candidate(entry: &Entry, now: SystemTime) -> bool {
    let Some(name) = entry.name.to_str() else { return false };
    if is_going(&entry.name).is_some() {
        return true;
    }
    match name.strip_prefix(BEING_MADE).map(RunId::parse) {
        Some(Ok(id)) => now.duration_since(id.time()).is_ok_and(|age| age > NEW_FOR),
        Some(Err(_)) => false,
        None => RunId::parse(name).is_ok(),
    }
}

/// A run whose end nobody saw.
struct Dead {
    /// What it said; nothing when it died before its command started.
    record: Option<Record>,
}

/// Returns a run whose end nobody saw. Where somebody did, its record says what became of its
/// changes, and it is kept until it is taken away on purpose. A record that can't be understood
/// may be of a later program.
fn dead(fs: &dyn Fs, run: BorrowedFd<'_>, name: &OsStr) -> Option<Dead> {
    let Some(Ok(id)) = name.to_str().map(RunId::parse) else { return Some(Dead { record: None }) };
    let record = read_record(fs, run, &id).ok()?;
    let is_dead = record.as_ref().is_none_or(|record| record.state == RunState::Running);
    is_dead.then_some(Dead { record })
}

/// Returns whether a run holds only masks, sockets, private directories, what was refused, and layers
/// without a change to keep. What was taken out of live mounts is kept in any case.
fn is_disposable(fs: &dyn Fs, run: BorrowedFd<'_>, dead: &Dead) -> Result<bool> {
    let Some(entries) = few(fs, run)? else { return Ok(false) };
    for entry in entries {
        let is_disposable = match entry.name.to_str() {
            Some(MASK | SOCKETS | STARTED | DENIALS | LIVE | TOLD | RECORD | NEW_RECORD) => true,
            Some(STAGED) => dead.record.is_none(),
            Some(LAYERS) => each_below(fs, run, &entry.name, |fs, layers, layer| {
                Ok(numbered(&layer.name, "")
                    && dead.is_disposable_layer(fs, layers, &layer.name)?)
            })?,
            Some(HELD) => each_below(fs, run, &entry.name, |fs, held, layer| {
                Ok(numbered(&layer.name, "") && each_below(fs, held, &layer.name, is_empty)?)
            })?,
            _ => false,
        };
        if !is_disposable {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Dead {
    /// Returns its record where it had live mounts that were watched, unless that was told before.
    fn unguarded(self, fs: &dyn Fs, run: BorrowedFd<'_>) -> Option<Record> {
        let record = self.record.filter(|it| it.mounts.iter().any(MountRecord::is_held))?;
        // Where no mark can be made it is told once more.
        let is_told = matches!(fs.create_file(run, OsStr::new(TOLD)), Err(Errno::EXIST));
        (!is_told).then_some(record)
    }

    fn is_disposable_layer(
        &self,
        fs: &dyn Fs,
        layers: BorrowedFd<'_>,
        layer: &OsStr,
    ) -> Result<bool> {
        let path = Path::new(LAYERS).join(layer);
        each_below(fs, layers, layer, |fs, dir, part| {
            self.holds_nothing(fs, dir, part, &path.join(&part.name))
        })
    }

    /// Returns whether part of a layer is a private directory, or a copy-on-write mount's in which
    /// nothing was changed, or nothing that the user wanted.
    fn holds_nothing(
        &self,
        fs: &dyn Fs,
        layer: BorrowedFd<'_>,
        part: &Entry,
        path: &Path,
    ) -> Result<bool> {
        if part.kind != Some(Kind::Directory) {
            return Ok(false);
        }
        let is_unchanged = |fs: &dyn Fs, mount: BorrowedFd<'_>, entry: &Entry| {
            match entry.name.to_str() {
                // What the kernel was doing when it ended; no name of it was ever seen.
                Some("work") => Ok(true),
                Some("upper") => Ok(self.is_like_made(path, &fs.status(mount, &entry.name)?)
                    && each_below(fs, mount, &entry.name, |_, _, _| Ok(false))?),
                _ => Ok(false),
            }
        };
        let is_private = numbered(&part.name, "p");
        let is_changed = |mount: &Entry| Ok(!each_below(fs, layer, &mount.name, is_unchanged)?);
        Ok(match () {
            () if is_private => true,
            () if numbered(&part.name, "m") => self.is_dropped() || !is_changed(part)?,
            // Without a record the command had not begun.
            () if numbered(&part.name, "t") => self.is_dropped() || self.record.is_none(),
            () => false,
        })
    }

    /// Returns whether the run's changes were to be dropped.
    fn is_dropped(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.sync.mode == SyncMode::Discard)
    }

    /// Returns whether the root of a layer has the bits and the time it was made with.
    fn is_like_made(&self, layer: &Path, root: &Status) -> bool {
        let Some(record) = &self.record else { return true };
        let mount = record.mounts.iter().find(|mount| mount.layer == layer);
        let made_like = mount.and_then(|mount| mount.made_like);
        made_like.is_some_and(|made_like| made_like.is_still(root))
    }
}

/// Returns whether nothing was taken out of a live mount.
fn is_empty(fs: &dyn Fs, held: BorrowedFd<'_>, part: &Entry) -> Result<bool> {
    match part.name.to_str() {
        Some("work") => Ok(true),
        Some("upper") => each_below(fs, held, &part.name, |_, _, _| Ok(false)),
        _ => Ok(false),
    }
}

fn each_below(
    fs: &dyn Fs,
    at: BorrowedFd<'_>,
    name: &OsStr,
    test: impl Fn(&dyn Fs, BorrowedFd<'_>, &Entry) -> Result<bool>,
) -> Result<bool> {
    let dir = fs.open_dir(at, name)?;
    let Some(entries) = few(fs, dir.as_fd())? else { return Ok(false) };
    for entry in entries {
        if !test(fs, dir.as_fd(), &entry)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Lists a directory; `None` when there is more than can be looked at.
fn few(fs: &dyn Fs, dir: BorrowedFd<'_>) -> Result<Option<Vec<Entry>>> {
    let entries = fs.list(dir, FEW + 1)?;
    Ok((entries.len() <= FEW).then_some(entries))
}

fn numbered(name: &OsStr, prefix: &str) -> bool {
    let number = name.to_str().and_then(|name| name.strip_prefix(prefix));
    number.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests;
