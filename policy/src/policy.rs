//! What holds after merging and with all variables out.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    Action, Bridge, BuildRoot, EnvironmentRules, Expected, GuestPath, Limits, MountSpec, Network,
    Origin, PatternRule, ProcessRules, Require, Secret, SshAgent, StateRules, Stated, SyncRules,
};

/// The resolved policy: absolute paths, no variables, every entry with its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Policy {
    /// The mounts, sorted by guest path; one for each path.
    pub mounts: Vec<MountSpec>,
    /// The workspace's place in the view, when there is one.
    pub workspace: Option<GuestPath>,
    /// Whether what a live workspace held is recorded, so that it can be had again.
    pub checkpoint: bool,
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
    /// What it uses without seeing it, or sees at one place alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<Stated<Secret>>,
    /// Which keys of the user's ssh-agent it may use; at least one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh_agent: Option<SshAgent>,
    /// Ways to what the user has on the desktop.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bridges: Vec<Stated<Bridge>>,
    /// What the run may use.
    pub limits: Limits,
    /// What its processes may ask of the kernel.
    pub process: ProcessRules,
    /// How much of this must hold.
    pub require: Require,
    /// How the changes of copy-on-write mounts are written back.
    pub sync: SyncRules,
    /// How long finished runs are kept.
    pub state: StateRules,
    /// What `endow verify` checks in the running sandbox.
    pub expect: Vec<Expected>,
    /// What `endow build` can do; no run is changed by it.
    #[serde(skip)]
    pub actions: Vec<Action>,
    /// What stands at `/` of every action; the host's programs where nothing is said.
    #[serde(skip)]
    pub build_root: Option<Stated<BuildRoot>>,
    /// Whether results that depend on the host's programs are shared.
    #[serde(skip)]
    pub share_host_root: bool,
    /// Where results are shared.
    #[serde(skip)]
    pub remote: Option<crate::Remote>,
    /// Who else had an entry at a mount's path, weakest first, where the later replaced it.
    pub replaced: BTreeMap<GuestPath, Vec<Origin>>,
    /// The names of the files and profiles this came from, weakest first.
    pub sources: Vec<String>,
}

impl Policy {
    /// Returns whether a tree stands at `/`, with programs of its own.
    pub fn has_tree_as_root(&self) -> bool {
        self.mounts.iter().any(|spec| spec.at.is_root() && spec.backend.is_tree())
    }
}
