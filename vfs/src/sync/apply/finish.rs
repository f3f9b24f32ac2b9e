//! Before and after the commits: the journal holds, the ledger holds, nothing else is left.

use std::collections::{HashMap, HashSet};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::home::{Homeless, SetAside, bring_home, forget, give_back};
use super::workplace::{Workplace, name};
use super::{Outcome, RunPlace};
use crate::fs::{At, Errno, Fs, Kind, Open};
use crate::sync::chain::superseded;
use crate::sync::collect::io;
use crate::sync::journal::{
    self, Act, Batch, Direction, Ledger, Merged, MountBatch, Step, publish_journal, remove_journal,
};
use crate::sync::{Attributes, Identity, Seen, SyncError, Time, room};
use crate::tree::remove_tree;

/// Writes all that is staged to the disk, and then the journal: from here on the batch goes
/// forward.
pub(in crate::sync) fn publish(
    fs: &dyn Fs,
    run: &RunPlace<'_>,
    batch: &Batch,
    workplaces: &[Workplace<'_>],
) -> Result<(), SyncError> {
    let written = batch.write_journal(fs, run.dir);
    let written = written.and_then(|bytes| room::reserve(fs, run.dir, bytes));
    let written = written.and_then(|()| sync_all(fs, workplaces));
    // A journal that is not published says nothing, and is not left.
    if written.is_err() {
        let _ = journal::remove_unfinished(fs, run.dir);
    }
    written?;
    publish_journal(fs, run.dir).map_err(io("write", Path::new(journal::JOURNAL)))
}

/// Notes what was done, so that it can be undone, and takes journal and stage away; returns what of the trees had
/// to be set aside.
pub(in crate::sync) fn finish(
    fs: &dyn Fs,
    run: &RunPlace<'_>,
    ledger: &mut Ledger,
    (batch, workplaces): (&mut Batch, &mut [Workplace<'_>]),
    (outcomes, homeless): (&mut [Vec<Outcome>], Homeless),
) -> Result<Vec<SetAside>, SyncError> {
    let direction = batch.direction;
    let mut set_aside: Vec<_> = workplaces.iter().filter_map(Workplace::set_aside_before).collect();
    let goes_back = homeless == Homeless::GoesBack && direction == Direction::Apply;
    let parts = batch.mounts.iter_mut().zip(workplaces.iter_mut());
    for ((part, workplace), outcomes) in parts.zip(outcomes.iter_mut()) {
        note_modes(&mut part.steps, outcomes);
        let mount = part.mount;
        for (step, outcome) in part.steps.iter_mut().zip(outcomes) {
            let cleared = clear_step(fs, workplace, step, *outcome, direction);
            let place = cleared
                .or_else(|errno| give_back(fs, workplace, step, (outcome, errno, goes_back)));
            let place = place.map_err(io("clear the stage of", &step.path))?;
            let path = step.path.clone();
            set_aside.extend(place.map(|place| SetAside { mount, path, place }));
            if step.act == Act::Amend && *outcome != Outcome::Done {
                // Nor is it set when the stage in the root has gone.
                step.after = Attributes::default();
            }
            if matches!(outcome, Outcome::Done | Outcome::Kept(_)) {
                step.displaced = displaced(fs, workplace, step);
                let seen = settled(fs, workplace, step, direction);
                ledger.settle_all(part.mount, seen.map_err(io("look at", &step.path))?);
            }
        }
    }
    note_merged(ledger, batch, outcomes);
    enter(ledger, batch, outcomes);
    ledger.forget_earlier();
    let undo = fs.open_below(run.dir, Path::new(journal::UNDO), Open::List);
    let undo = undo.map_err(io("open", Path::new(journal::UNDO)))?;
    ledger.write(fs, undo.as_fd())?;
    sync_all(fs, workplaces)?;
    Ledger::publish(fs, undo.as_fd()).map_err(io("write", Path::new(journal::UNDO)))?;
    end(fs, run, ledger, (batch, workplaces)).map(|()| set_aside)
}

/// Notes what of the layers is part of what stands in the tree now.
fn note_merged(ledger: &mut Ledger, batch: &Batch, outcomes: &[Vec<Outcome>]) {
    if batch.direction == Direction::Undo {
        return;
    }
    for (part, outcomes) in batch.mounts.iter().zip(outcomes) {
        let done = part.steps.iter().zip(outcomes).filter(|(_, it)| **it == Outcome::Done);
        let merged = done.filter_map(|(step, _)| {
            Some(Merged { mount: part.mount, path: step.path.clone(), upper: step.merged? })
        });
        ledger.merged.extend(merged);
    }
}

/// Takes the stages and the journal of a batch away that is in the ledger.
pub(in crate::sync) fn end(
    fs: &dyn Fs,
    run: &RunPlace<'_>,
    ledger: &mut Ledger,
    (batch, workplaces): (&Batch, &mut [Workplace<'_>]),
) -> Result<(), SyncError> {
    let mut has_noted = false;
    for (workplace, part) in workplaces.iter_mut().zip(&batch.mounts) {
        has_noted |= leave(fs, workplace, ledger, root_time(part))?;
    }
    ledger.forget_earlier();
    // Without it, the next write-back takes the stage for a change of the host's, and says so.
    if !has_noted || ledger.store(fs, run.dir).is_err() {
        // Also of one who was killed while he noted it.
        let removed = journal::remove_unfinished(fs, run.dir);
        removed.map_err(io("remove", Path::new(journal::UNDO)))?;
    }
    remove_journal(fs, run.dir).map_err(io("remove", Path::new(journal::JOURNAL)))
}

/// Takes a stage away, and notes what that leaves of a root that nobody else changed: to make and take one is no
/// change of the host's. Returns whether it was noted.
pub(in crate::sync) fn leave(
    fs: &dyn Fs,
    workplace: &mut Workplace<'_>,
    ledger: &mut Ledger,
    time: Option<Time>,
) -> Result<bool, SyncError> {
    let (mount, root) = (workplace.mount(), workplace.look(fs).filter(|_| workplace.is_beside()));
    let settled = ledger.settled(mount);
    // Alone, the root would say that something was written back.
    let is_ours = !settled.is_empty()
        && root.is_some_and(|root| workplace.is_ours(&root) || settled.has(&root));
    workplace.leave(fs, time)?;
    let left = workplace.look(fs).filter(|_| is_ours);
    ledger.settle_all(mount, left);
    Ok(left.is_some())
}

/// One sync of each file system that the batch is on.
fn sync_all(fs: &dyn Fs, workplaces: &[Workplace<'_>]) -> Result<(), SyncError> {
    let mut synced = HashSet::new();
    for workplace in workplaces {
        for dir in [workplace.stage(), workplace.undo()] {
            let status = fs.status_of(dir).map_err(io("look at", Path::new("")))?;
            if synced.insert(status.id.dev) {
                fs.sync_all(dir).map_err(io("write", Path::new("")))?;
            }
        }
    }
    Ok(())
}

/// Removes what was staged in vain, and brings originals to the run's directory. Whatever else is left in a stage in the
/// tree is set aside; returns where.
fn clear_step(
    fs: &dyn Fs,
    workplace: &mut Workplace<'_>,
    step: &mut Step,
    outcome: Outcome,
    direction: Direction,
) -> Result<Option<PathBuf>, Errno> {
    let is_apply = direction == Direction::Apply;
    match outcome {
        Outcome::Done if step.is_kept && has_copy(fs, workplace, step) => Ok(None),
        Outcome::Done | Outcome::Kept(_) if step.displaces() && is_apply => {
            if workplace.is_beside() {
                bring_home(fs, workplace, step)?;
            }
            Ok(None)
        }
        Outcome::Lost(_) | Outcome::Failed(_) if is_apply => {
            forget(fs, workplace, step)?;
            clear_staged(fs, workplace, step)
        }
        Outcome::Kept(_) if workplace.is_beside() => clear_staged(fs, workplace, step),
        _ if is_apply => forget(fs, workplace, step).map(|()| None),
        // Undo of a batch within one file system: it can be had again.
        _ => Ok(None),
    }
}

/// Removes what a step would have put in place, and no file that anybody wrote to.
fn clear_staged(
    fs: &dyn Fs,
    workplace: &mut Workplace<'_>,
    step: &Step,
) -> Result<Option<PathBuf>, Errno> {
    let number = name(step.number);
    let staged = At { dir: workplace.stage(), name: &number };
    let found = match fs.node(staged.dir, staged.name) {
        Err(Errno::NOENT) => return Ok(None),
        result => Seen::from(&result?),
    };
    if matches!(step.act, Act::Put | Act::Swap) && step.has_left(&found) {
        return remove_tree(fs, staged.dir, staged.name).map(|()| None).map_err(|left| left.errno);
    }
    if workplace.is_beside() { workplace.set_aside(fs, &number).map(Some) } else { Ok(None) }
}

/// Whether the copy that was made before is there, and what was copied is as it was: somebody may have gone on to write
/// what he had open, and an earlier try may have removed the copy of what it did not take away.
fn has_copy(fs: &dyn Fs, workplace: &Workplace<'_>, step: &Step) -> bool {
    let number = name(step.number);
    let seen = |dir| fs.node(dir, &number).ok().map(|node| Seen::from(&node));
    let is_still = |found: Seen| step.old.is_none_or(|old| found.is_still(&old));
    seen(workplace.undo()).is_some() && seen(workplace.stage()).is_none_or(is_still)
}

/// Returns the time of change of a file that is among the originals, and has other names in the tree: there
/// it looks as if the host had changed it.
fn displaced(fs: &dyn Fs, workplace: &Workplace<'_>, step: &Step) -> Option<Time> {
    let old = step.old.filter(|old| old.kind == Kind::File)?;
    // Copied there, it is another one.
    let node = fs.node(workplace.undo(), &name(step.number)).ok().filter(|_| step.displaces())?;
    let found = Seen::from(&node);
    (node.links > 1 && found.is_still(&old)).then_some(found.changed)
}

/// Notes the bits that directories got after they had been put in place: in one that is closed by now nobody
/// can look.
fn note_modes(steps: &mut [Step], outcomes: &[Outcome]) {
    let done = steps.iter().zip(outcomes).filter(|(_, outcome)| **outcome == Outcome::Done);
    let amended = done.filter(|(step, _)| step.act == Act::Amend && step.node == Kind::Directory);
    let modes: HashMap<PathBuf, u32> =
        amended.filter_map(|(step, _)| Some((step.path.clone(), step.after.mode?))).collect();
    for step in steps.iter_mut().filter(|step| step.act != Act::Take) {
        let new = step.new.as_mut().filter(|new| new.kind == Kind::Directory);
        if let (Some(new), Some(mode)) = (new, modes.get(&step.path)) {
            new.mode = *mode;
        }
    }
}

/// Notes what a step left at its path, if nobody changed it meanwhile.
fn refresh(
    fs: &dyn Fs,
    workplace: &mut Workplace<'_>,
    step: &mut Step,
) -> Result<Option<Seen>, Errno> {
    if step.act == Act::Take || step.new.is_none() {
        return Ok(None);
    }
    let (dir, leaf) = match workplace.root.above(&step.path) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::ACCESS) => {
            return Ok(None);
        }
        result => result?,
    };
    let found = match fs.node(dir.as_fd(), leaf) {
        Err(Errno::NOENT | Errno::ACCESS) => return Ok(None),
        result => Seen::from(&result?),
    };
    let is_same = step.has_left(&found);
    if is_same {
        step.new = Some(found);
    }
    Ok(is_same.then_some(found))
}

/// Returns what a step left that is no change of the host's.
fn settled(
    fs: &dyn Fs,
    workplace: &mut Workplace<'_>,
    step: &mut Step,
    direction: Direction,
) -> Result<Vec<Seen>, Errno> {
    let seen = refresh(fs, workplace, step)?;
    let is_put = matches!(step.act, Act::Put | Act::Swap);
    let is_copy = workplace.is_beside() && direction == Direction::Undo && is_put;
    let has_copies = is_copy && seen.is_some_and(|seen| seen.kind == Kind::Directory);
    let mut all = if has_copies { below(fs, workplace, &step.path)? } else { Vec::new() };
    // Where nothing was set, the host's own changes are still to be seen.
    let is_ours = step.act != Act::Amend || step.after != Attributes::default();
    all.extend(seen.filter(|_| is_ours));
    Ok(all)
}

/// Returns all that is in a directory: copies of originals, which no host changed.
fn below(fs: &dyn Fs, workplace: &mut Workplace<'_>, top: &Path) -> Result<Vec<Seen>, Errno> {
    let (mut pending, mut found) = (vec![top.to_owned()], Vec::new());
    while let Some(path) = pending.pop() {
        let listed = match workplace.root.list(&path) {
            // What is in a closed directory counts as the host's.
            Err(Errno::ACCESS) => continue,
            result => result?,
        };
        for entry in fs.list(listed.as_fd(), usize::MAX)? {
            let seen = Seen::from(&fs.node(listed.as_fd(), &entry.name)?);
            if seen.kind == Kind::Directory {
                pending.push(path.join(&entry.name));
            }
            found.push(seen);
        }
    }
    Ok(found)
}

/// Returns the time that the root gets when the stage in it is gone.
fn root_time(part: &MountBatch) -> Option<Time> {
    let amends = part.steps.iter().filter(|step| step.act == Act::Amend);
    let amends = amends.filter(|step| step.path.as_os_str().is_empty());
    let last = amends.rev().find_map(|step| step.after.modified);
    last.or(part.root_time)
}

/// Returns the bits that the root has when all is done, where they keep its owner out of it.
pub(in crate::sync) fn root_mode(part: &MountBatch) -> Option<u32> {
    let before = part.root_mode?;
    let amends = part.steps.iter().filter(|step| step.act == Act::Amend);
    let mut amends = amends.filter(|step| step.path.as_os_str().is_empty());
    Some(
        amends
            .rfind(|step| step.after.mode.is_some())
            .and_then(|step| step.after.mode)
            .unwrap_or(before),
    )
}

/// Enters a batch into the ledger.
fn enter(ledger: &mut Ledger, batch: &Batch, outcomes: &[Vec<Outcome>]) {
    ledger.last = batch.serial;
    match batch.direction {
        Direction::Apply => {
            let mut done = batch.clone();
            for (part, outcomes) in done.mounts.iter_mut().zip(outcomes) {
                let mut outcomes = outcomes.iter();
                part.steps
                    .retain(|_| matches!(outcomes.next(), Some(Outcome::Done | Outcome::Kept(_))));
            }
            if done.mounts.iter().any(|part| !part.steps.is_empty()) {
                ledger.batches.push(done);
            }
            ledger.next = batch.next;
        }
        Direction::Undo => {
            for (part, outcomes) in batch.mounts.iter().zip(outcomes) {
                strike(ledger, part, outcomes);
            }
        }
    }
}

/// Strikes out what was undone.
fn strike(ledger: &mut Ledger, part: &MountBatch, outcomes: &[Outcome]) {
    let steps = part.steps.iter().zip(outcomes);
    let done = steps.filter(|(_, outcome)| **outcome == Outcome::Done).map(|(step, _)| step);
    let (kept, gone): (Vec<&Step>, Vec<&Step>) = done.partition(|step| step.keeps);
    let stands: HashMap<&Path, Seen> = gone
        .iter()
        .filter(|step| matches!(step.act, Act::Put | Act::Swap))
        .filter_map(|step| Some((step.path.as_path(), step.new?)))
        .collect();
    let mut gone: HashSet<u32> = gone.iter().map(|step| step.number).collect();
    // What nothing stands of any more can't be taken back.
    let is_here = |root: &Identity| root.is_same(&part.root);
    let here = ledger.batches.iter().flat_map(|batch| &batch.mounts);
    let here = here.filter(|known| known.mount == part.mount && is_here(&known.root));
    let here = here.flat_map(|known| &known.steps);
    gone.extend(superseded(here, |step| gone.contains(&step.number)));
    let parts = ledger.batches.iter_mut().flat_map(|batch| &mut batch.mounts);
    for known in parts.filter(|known| known.mount == part.mount && is_here(&known.root)) {
        known.steps.retain(|step| !gone.contains(&step.number));
        let made: HashSet<_> = known
            .steps
            .iter()
            .filter(|step| step.act != Act::Amend)
            .map(|step| step.path.clone())
            .collect();
        known.steps.retain(|step| {
            step.act != Act::Amend || step.old.is_some() || made.contains(&step.path)
        });
        for step in &mut known.steps {
            if let Some(kept) = kept.iter().find(|kept| kept.number == step.number) {
                step.new = kept.new;
            }
            // An earlier step at the same path left what a copy stands for now.
            if let (Some(seen), Act::Put | Act::Swap) = (stands.get(step.path.as_path()), step.act)
            {
                step.new = Some(*seen);
            }
        }
    }
    ledger.batches.retain(|batch| batch.mounts.iter().any(|part| !part.steps.is_empty()));
}
