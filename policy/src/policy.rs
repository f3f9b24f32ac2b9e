//! What holds after merging and with all variables out.

use serde::Serialize;

use crate::{
    EnvironmentRules, GuestPath, Limits, MountSpec, Network, PatternRule, ProcessRules, Require,
};

/// The resolved policy: absolute paths, no variables, every entry with its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Policy {
    /// The mounts, sorted by guest path; one for each path.
    pub mounts: Vec<MountSpec>,
    /// The workspace's place in the view, when there is one.
    pub workspace: Option<GuestPath>,
    /// Where the command starts.
    pub chdir: GuestPath,
    /// Patterns of names that are hidden in physical mounts, in order: the last match decides.
    pub deny: Vec<PatternRule>,
    /// Patterns of names that somebody else runs later.
    pub protect: Vec<PatternRule>,
    /// Which variables the command receives.
    pub environment: EnvironmentRules,
    /// What the network is.
    pub network: Network,
    /// What the run may use.
    pub limits: Limits,
    /// What its processes may ask of the kernel.
    pub process: ProcessRules,
    /// How much of this must hold.
    pub require: Require,
    /// The names of the files and profiles this came from, weakest first.
    pub sources: Vec<String>,
}
