//! A file that is published many times has one original.

use std::os::fd::AsFd;

use super::Single;
use crate::fs::{Errno, Open};
use crate::sync::SyncError;
use crate::sync::apply::{number_name, own_path};
use crate::sync::collect::io;
use crate::sync::journal::{Act, Batch, Ledger, Step};

impl Single<'_> {
    /// Joins the last write-back of this file with the one before, if what it displaced was that
    /// one's and nobody had touched it since: an undo brings back what stood there before both.
    ///
    /// # Errors
    /// A failing call; both write-backs can be undone as they are.
    pub fn fold(&self) -> Result<(), SyncError> {
        let mut ledger = Ledger::read(self.fs, self.run)?;
        let Some(number) = joined(&mut ledger, self.number) else { return Ok(()) };
        ledger.store(self.fs, self.run)?;
        self.forget(number)
    }

    /// What no ledger knows is removed by whoever comes next, too.
    fn forget(&self, number: u32) -> Result<(), SyncError> {
        let own = own_path(self.number);
        let dir = self.fs.open_below(self.run, &own, Open::Handle).map_err(io("open", &own))?;
        match self.fs.unlink(dir.as_fd(), &number_name(number)) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(io("remove", &own)(errno)),
        }
    }
}

/// Takes the last batch out of a ledger whose effect is that of the one before; returns the number
/// of what it displaced.
fn joined(ledger: &mut Ledger, mount: u32) -> Option<u32> {
    let last = ledger.batches.pop()?;
    let swapped =
        swapped(&last, mount).map(|step| (step.number, step.path.clone(), step.old, step.new));
    let found = swapped.and_then(|(number, path, old, new)| {
        let earlier = ledger.batches.iter_mut().rev().flat_map(|batch| &mut batch.mounts);
        let mut steps = earlier.filter(|part| part.mount == mount).flat_map(|part| &mut part.steps);
        let earlier = steps.find(|step| step.path == path)?;
        let is_ours =
            matches!(earlier.act, Act::Put | Act::Swap) && old.is_some() && earlier.new == old;
        is_ours.then(|| {
            earlier.new = new;
            number
        })
    });
    if found.is_none() {
        ledger.batches.push(last);
    }
    found
}

/// Returns the only change of a batch, when it replaced the one file of a mount; that the time of
/// the directory was kept is none.
fn swapped(batch: &Batch, mount: u32) -> Option<&Step> {
    let [part] = batch.mounts.as_slice() else { return None };
    let mut changes = part.steps.iter().filter(|step| step.change.is_some());
    let step = changes.next()?;
    (part.mount == mount && step.act == Act::Swap && changes.next().is_none()).then_some(step)
}
