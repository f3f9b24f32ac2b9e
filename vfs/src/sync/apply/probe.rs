//! Whether the file system of a target moves names as the steps of a batch will, tried on scratch
//! names in the stage before anything of the batch is there: NFS, CIFS, 9p and ntfs3 know none, or not
//! all, of the flags of renameat2(2). Once the journal holds it would be too late to find that.

use std::ffi::OsStr;

use super::workplace::Workplace;
use crate::fs::{At, Errno, Fs};
use crate::sync::collect::io;
use crate::sync::journal::{Act, Step};
use crate::sync::{Operation, SyncError, SyncPlan};

/// The scratch names. No step has one: these are numbers.
pub(crate) const SCRATCH: [&str; 2] = ["probe", "probe.new"];

/// How the steps of a batch move names.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sync) struct Moves {
    /// To names that must be free.
    to_new: bool,
    /// Two change places.
    exchanged: bool,
}

impl Moves {
    /// Returns how a plan's operations do.
    pub(super) fn of_plan(plan: &SyncPlan) -> Self {
        plan.operations.iter().fold(Self::default(), |moves, operation| match operation {
            Operation::Place(place) if place.over.is_some() => Self { exchanged: true, ..moves },
            Operation::Place(_) | Operation::Take(_) => Self { to_new: true, ..moves },
            Operation::Amend(_) => moves,
        })
    }

    /// Returns how steps do, and the same steps backwards.
    pub(in crate::sync) fn of_steps<'s>(steps: impl Iterator<Item = &'s Step>) -> Self {
        steps.fold(Self::default(), |moves, step| match step.act {
            Act::Swap => Self { exchanged: true, ..moves },
            Act::Put | Act::Take => Self { to_new: true, ..moves },
            Act::Amend => moves,
        })
    }
}

/// Fails when names can't be moved so; nothing of the tree changes by that.
pub(in crate::sync) fn must_move(
    fs: &dyn Fs,
    workplace: &mut Workplace<'_>,
    moves: Moves,
) -> Result<(), SyncError> {
    let tried = try_moves(fs, workplace, moves);
    if tried.is_err() {
        // The error that counts is the first; what is left is swept by the next command.
        drop(workplace.leave(fs, workplace.root_time()));
    }
    tried
}

/// Returns whether two names can change places; nothing of the tree changes by that.
pub(in crate::sync) fn can_exchange(
    fs: &dyn Fs,
    workplace: &Workplace<'_>,
) -> Result<bool, SyncError> {
    match try_moves(fs, workplace, Moves { exchanged: true, ..Moves::default() }) {
        Err(SyncError::CantMove { .. }) => remove(fs, workplace).map(|()| false),
        tried => tried.map(|()| true),
    }
}

fn try_moves(fs: &dyn Fs, workplace: &Workplace<'_>, moves: Moves) -> Result<(), SyncError> {
    let [one, other] = SCRATCH.map(|name| At { dir: workplace.stage(), name: OsStr::new(name) });
    let make = |at: At<'_>| fs.create_file(at.dir, at.name).map(drop).map_err(failed("make", at));
    if moves.to_new {
        make(one)?;
        can(fs.rename_new(one, other), "rename without replacing", one)?;
    } else if moves.exchanged {
        make(other)?;
    }
    if moves.exchanged {
        make(one)?;
        can(fs.exchange(one, other), "exchange two names", one)?;
    }
    remove(fs, workplace)
}

fn remove(fs: &dyn Fs, workplace: &Workplace<'_>) -> Result<(), SyncError> {
    let names = SCRATCH.map(|name| At { dir: workplace.stage(), name: OsStr::new(name) });
    names.into_iter().try_for_each(|at| match fs.unlink(at.dir, at.name) {
        Err(Errno::NOENT) => Ok(()),
        result => result.map_err(failed("remove", at)),
    })
}

fn can(moved: crate::fs::Result<()>, what: &'static str, at: At<'_>) -> Result<(), SyncError> {
    match moved {
        Err(errno @ (Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)) => {
            Err(SyncError::CantMove { what, errno })
        }
        moved => moved.map_err(failed("rename", at)),
    }
}

fn failed(action: &'static str, at: At<'_>) -> impl FnOnce(Errno) -> SyncError + use<> {
    io(action, at.name.as_ref())
}
