//! A live workspace that is recorded while the command starts, so that its changes can be taken
//! back.

use std::path::PathBuf;

use endow_policy::{Access, GuestPath, HostPath, Policy};
use endow_vfs::sync::checkpoint::PLACE;
use serde::Serialize;

use super::host::HostFacts;
use super::place::Placement;
use super::step::{FileId, PrepareStep, RunPath};

/// What is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Checkpoint {
    /// The workspace's place in the view.
    pub at: GuestPath,
    /// What it shows.
    pub source: HostPath,
    /// What was found there.
    pub id: FileId,
    /// Where the record goes.
    pub place: RunPath,
    /// Names in it that the command does not see.
    pub hidden: Vec<PathBuf>,
}

/// Returns what is to be recorded. A workspace that is not live needs no record: what is buffered
/// can be undone by itself.
pub(super) fn plan(policy: &Policy, placement: &Placement, host: &HostFacts) -> Option<Checkpoint> {
    let at = policy.workspace.as_ref().filter(|_| policy.checkpoint)?;
    let placed = placement.covering(at)?;
    let is_live = placed.is_physical() && placed.spec.access == Access::Rw;
    let source = placed.source.as_ref().filter(|source| is_live && source.directory)?;
    let hidden = host.hidden.get(&source.path).map_or(&[][..], |hidden| &hidden.names);
    let hidden = hidden.iter().filter(|name| name.is_for(&placed.spec));
    Some(Checkpoint {
        at: placed.spec.at.clone(),
        source: source.path.clone(),
        id: source.id,
        place: RunPath(PLACE.into()),
        hidden: hidden.map(|name| name.path.clone()).collect(),
    })
}

impl Checkpoint {
    pub(super) fn prepare(&self) -> PrepareStep {
        PrepareStep::Checkpoint { at: self.place.clone() }
    }
}
