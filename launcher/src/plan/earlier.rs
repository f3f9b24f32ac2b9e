//! A run that goes on from the changes of an earlier one, which stay where they are.

use std::path::PathBuf;

use endow_policy::{GuestPath, HostPath};
use endow_vfs::state::Moment;
use serde::Serialize;

use super::PlanError;
use super::step::{Buffered, FileId, PrepareStep, TakenLayer};
use super::view::ViewPlan;

/// A run whose changes wait, as its record says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Earlier {
    /// Which run.
    pub run: String,
    /// Its directory.
    pub directory: HostPath,
    /// Its copy-on-write mounts.
    pub mounts: Vec<EarlierMount>,
}

/// A copy-on-write mount of an earlier run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EarlierMount {
    /// Its place in the run's record.
    pub number: u32,
    /// Its place in the view.
    pub at: GuestPath,
    /// What it shows.
    pub source: HostPath,
    /// What was found there.
    pub id: FileId,
    /// Its layer, below the run's directory.
    pub layer: PathBuf,
    /// What changed outside since then may conflict.
    pub stamp: Moment,
}

/// Fills the layers with those of an earlier run. Every mount of that run must be there again: its
/// changes belong together.
pub(super) fn go_on(view: &mut ViewPlan, earlier: &Earlier) -> Result<(), PlanError> {
    let taken = earlier.mounts.iter().map(|it| take(&mut view.buffered, earlier, it));
    let layers = taken.collect::<Result<_, _>>()?;
    view.prepare.push(PrepareStep::GoOn { from: earlier.directory.clone(), layers });
    Ok(())
}

fn take(
    buffered: &mut [Buffered],
    earlier: &Earlier,
    mount: &EarlierMount,
) -> Result<TakenLayer, PlanError> {
    let cant =
        |reason| PlanError::NotAsEarlier { run: earlier.run.clone(), at: mount.at.clone(), reason };
    let mut numbered = (0..).zip(buffered.iter_mut());
    let found = numbered.find(|(_, it)| it.at == mount.at);
    let (number, now) = found.ok_or_else(|| cant("this run does not mount it copy-on-write"))?;
    if now.source != mount.source || (now.directory && now.id != mount.id) {
        return Err(cant("something else stands there now"));
    }
    if now.in_memory {
        return Err(cant("its layer would be in memory, for endow's own state lies in it"));
    }
    now.since = Some(mount.stamp);
    let (at, layer) = (now.layer.clone(), mount.layer.clone());
    Ok(TakenLayer { at, number, layer, was: mount.number })
}
