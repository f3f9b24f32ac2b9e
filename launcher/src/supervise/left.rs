//! What is left of a run that is over.

use std::os::fd::OwnedFd;

use super::capture::Capture;
use super::guard::{End, News};
use super::observe::Observed;
use super::renew::Renewal;
use crate::adapters::Asked;
use crate::network::Log;

/// What is left of a sandbox that has ended.
#[derive(Debug)]
pub(crate) struct Left {
    /// What the command wrote, when that was kept.
    pub(crate) captured: Option<Capture>,
    /// The layers of copy-on-write mounts that are in memory.
    pub(crate) layers: Vec<OwnedFd>,
    /// Directories of the view, in the order of the plan.
    pub(crate) handed: Vec<OwnedFd>,
    /// What was connected and refused, when a network was served.
    pub(crate) connections: Option<Log>,
    /// What was asked for over bridges, when any were open.
    pub(crate) bridges: Option<Asked>,
    /// What was taken out of live mounts at the very end, and how the process ended that does so.
    pub(crate) held: Option<(Vec<News>, End)>,
    /// Where hidden names of live mounts are.
    pub(crate) renewal: Option<Renewal>,
    /// What was asked for and refused, when that was seen.
    pub(crate) observed: Option<Observed>,
    /// What keeps its namespaces. The kernel takes them apart when it is closed, and whoever closes it waits.
    pub(crate) namespaces: Vec<OwnedFd>,
}
