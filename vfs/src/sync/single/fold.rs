//! A file that is published many times has one original.

use std::collections::HashSet;
use std::os::fd::AsFd;
use std::path::Path;

use super::{Alone, Single, gone};
use crate::fs::{At, Kind, Open, Result};
use crate::sync::apply::{number_name, open_readable, own_path};
use crate::sync::collect::io;
use crate::sync::journal::{Act, Batch, Ledger, MountBatch, Step};
use crate::sync::{Seen, SyncError};

impl Single<'_> {
    /// Joins the last write-back of this file with the one before, if what it displaced or set was
    /// that one's and nobody had touched it since: an undo brings back what stood there before both.
    ///
    /// # Errors
    /// A failing call; both write-backs can be undone as they are.
    pub fn fold(&self, alone: &dyn Alone) -> std::result::Result<(), SyncError> {
        let failed = |errno| io("join write-backs of", Path::new(&self.name))(errno);
        let mut ledger = Ledger::read(self.fs, self.run)?;
        if let Some(old) = displaced(&ledger, self.number)
            && !self.is_at_rest(old, alone).map_err(failed)?
        {
            return Ok(());
        }
        if join(&mut ledger, self.number) {
            ledger.store(self.fs, self.run)?;
            self.forget(&ledger).map_err(failed)?;
        }
        Ok(())
    }

    /// Returns whether what was displaced is what the write-back before had put there, and nobody on
    /// the host writes to it still.
    fn is_at_rest(&self, (number, old): (u32, Seen), alone: &dyn Alone) -> Result<bool> {
        let own = self.fs.open_below(self.run, &own_path(self.number), Open::Handle)?;
        let at = At { dir: own.as_fd(), name: &number_name(number) };
        let Some(node) = self.look(at)? else { return Ok(false) };
        let found = Seen::from(&node);
        let file = open_readable(self.fs, at, node.status.mode)?;
        let is_it = (found.size, found.modified) == (old.size, old.modified);
        Ok(is_it && alone.take(file.as_fd()))
    }

    /// Removes what no step of the ledger can bring back; a process that was killed here leaves such
    /// files, too.
    fn forget(&self, ledger: &Ledger) -> Result<()> {
        let own = self.fs.open_below(self.run, &own_path(self.number), Open::Handle)?;
        let known = ledger.steps(self.number).map(|step| number_name(step.number));
        let known: HashSet<_> = known.collect();
        let listed = self.fs.open_below(own.as_fd(), Path::new("."), Open::List)?;
        let entries = self.fs.list(listed.as_fd(), usize::MAX)?;
        let names = entries.into_iter().map(|entry| entry.name);
        let mut unknown = names.filter(|name| !known.contains(name));
        unknown.try_for_each(|name| gone(self.fs.unlink(own.as_fd(), &name)))
    }
}

/// Returns what the last write-back displaced, if joining it would give that up.
fn displaced(ledger: &Ledger, mount: u32) -> Option<(u32, Seen)> {
    let step = only_change(part_of(ledger.batches.last()?, mount)?)?;
    (step.act == Act::Swap).then_some((step.number, step.old?))
}

/// Takes a mount's part out of the last batch of a ledger, if its effect is that of the one before.
fn join(ledger: &mut Ledger, mount: u32) -> bool {
    let Some(mut last) = ledger.batches.pop() else { return false };
    let step = part_of(&last, mount).and_then(only_change);
    let is_joined = step.is_some_and(|step| join_to(ledger, mount, step));
    if is_joined {
        last.mounts.retain(|part| part.mount != mount);
    }
    if !last.mounts.is_empty() {
        ledger.batches.push(last);
    }
    is_joined
}

fn join_to(ledger: &mut Ledger, mount: u32, step: &Step) -> bool {
    let earlier = ledger.batches.iter_mut().rev().flat_map(|batch| &mut batch.mounts);
    let mut steps = earlier.filter(|part| part.mount == mount).flat_map(|part| &mut part.steps);
    let Some(earlier) = steps.find(|it| it.path == step.path) else { return false };
    let is_ours = matches!(earlier.act, Act::Put | Act::Swap)
        && step.old.is_some()
        && earlier.new == step.old;
    if is_ours {
        earlier.new = step.new;
    }
    is_ours
}

fn part_of(batch: &Batch, mount: u32) -> Option<&MountBatch> {
    batch.mounts.iter().find(|part| part.mount == mount)
}

/// Returns the only change of a mount, when it replaced a file or set its bits and times; that the
/// time of the directory was kept is none.
fn only_change(part: &MountBatch) -> Option<&Step> {
    let mut changes = part.steps.iter().filter(|step| step.change.is_some());
    let step = changes.next()?;
    let is_it = matches!(step.act, Act::Swap | Act::Amend) && step.node == Kind::File;
    (is_it && changes.next().is_none()).then_some(step)
}
