//! `plan`: the one pure function that decides everything about a run.
//!
//! A [`Plan`] leaves nothing open: applying it is a loop over its steps. Everything here is a
//! value made of the policy and of [`HostFacts`], so each feature is tested
//! against hosts that exist only on paper.

mod another_tree;
pub mod awaited;
pub mod bridges;
mod buffered;
mod cgroup;
mod check;
mod checkpoint;
mod confine;
pub(crate) mod dots;
mod earlier;
mod early;
mod environment;
mod error;
pub mod granted_as;
mod held;
pub mod host;
mod identity;
mod in_place;
pub mod landlock;
mod level;
mod live_names;
mod made;
mod mounts;
mod narrow;
pub mod network;
mod observed;
mod opening;
mod outside;
pub mod place;
mod planted;
mod readme;
pub mod registries;
pub(crate) mod remote;
mod render;
mod repository;
pub mod seccomp;
pub mod secrets;
mod shell_words;
mod single;
mod skeleton;
pub mod ssh_agent;
mod standing;
pub mod step;
mod stronger;
mod supervise;
pub mod switches;
mod tree;
pub mod variables;
pub mod verify;
mod view;
pub mod why;
mod work_trees;
mod working_copy;

pub use another_tree::Another;
pub use bridges::OpenBridges;
pub use check::{Finding, check};
pub use checkpoint::Checkpoint;
pub use earlier::{Earlier, EarlierMount};
pub use early::early;
pub use environment::Environment;
pub use error::{Beyond, PlanError};
pub use held::{POLICY_FILE, policy_files};
pub use in_place::KERNEL_FILES;
pub(crate) use level::{COVERED_PROC, UNCOVER_PROC};
pub use level::{Degradation, Enforcement};
pub use mounts::{HIDDEN_DIRECTORY, HIDDEN_FILE, content_key};
pub use observed::DENIALS;
pub use opening::{Namespaces, Opening, first as first_opening, opening, opens_early};
pub use outside::Search;
pub(crate) use outside::{Reach, named_sources, published_alone, sources};
pub use repository::{COPY, CopiedSettings};
pub use skeleton::DEVICES;
pub use ssh_agent::ChosenKeys;
pub use tree::{LAYERS_MAX, Presented, TreeBase, TreeFact, TreeFault, WhyCopied, tree_name};
pub(crate) use view::refuse_root;
pub use working_copy::{BorrowedFact, ChangedTree, CopyFact, GitStart};

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use endow_policy::{GuestPath, HostPath, Ids, Level, Network, Policy, Secret, Stated};
use rustc_hash::FxHashSet;
use serde::Serialize;

use awaited::Awaited;
use host::{ExecRequest, HiddenNames, HostFacts};
use place::Placement;
use seccomp::{Observe, SeccompPlan};
use step::{
    Buffered, ConfineStep, ExecSpec, FinishStep, InitStep, PayloadStep, PrepareStep, RunPath,
    Source, SupervisePlan,
};
use view::ViewPlan;

/// Everything that a run will do, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Host-side work before any process exists.
    pub prepare: Vec<PrepareStep>,
    /// The namespaces that are made, and what is done in them first.
    #[serde(flatten)]
    pub opening: Opening,
    /// What pid 1 does to build the view.
    pub init: Vec<InitStep>,
    /// What pid 1 gives up, for itself and the command.
    pub confine: Vec<ConfineStep>,
    /// The last steps of the command's process.
    pub payload: Vec<PayloadStep>,
    /// What is executed.
    pub exec: ExecSpec,
    /// The environment it gets.
    pub environment: Environment,
    /// Descriptors that it gets besides the standard streams.
    pub keep: Vec<i32>,
    /// What it uses without seeing it, or reads from a descriptor.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<Stated<Secret>>,
    /// The directories in which commands that write secrets find programs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secret_path: Vec<HostPath>,
    /// The caller's variables that programs outside don't get: they lead to where commands can write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld_outside: Vec<String>,
    /// The keys of the user's ssh-agent that it may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh_agent: Option<ChosenKeys>,
    /// The bridges to the desktop that it may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bridges: Option<OpenBridges>,
    /// What the supervisor does meanwhile.
    pub supervise: SupervisePlan,
    /// The copy-on-write mounts, whose changes are written back.
    pub buffered: Vec<Buffered>,
    /// The copy-on-write mounts whose changes are dropped: nothing of a run remembers them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<Buffered>,
    /// Places at which the command makes what does not exist on the host yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub awaited: Vec<Awaited>,
    /// The copy-on-write mounts of trees, whose changes become commits and digests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<ChangedTree>,
    /// The settings of live repositories, of which the command has copies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<CopiedSettings>,
    /// A live workspace that is recorded, for an undo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Checkpoint>,
    /// What follows when the last process is gone.
    pub finish: Vec<FinishStep>,
    /// What looking for hidden names cost.
    pub walks: Vec<Walk>,
    /// How much of the promise holds on this host.
    pub enforcement: Enforcement,
    /// What stands where, for the report and for `why`.
    pub placement: Placement,
}

impl Plan {
    /// Returns whether the command gets a session of its own.
    pub fn starts_own_session(&self) -> bool {
        self.payload.contains(&PayloadStep::NewSession)
    }

    /// Returns all copy-on-write mounts of the host, whatever becomes of their changes.
    pub fn layered(&self) -> impl Iterator<Item = &Buffered> {
        self.buffered.iter().chain(&self.dropped)
    }

    /// Returns the layers of copy-on-write mounts that are directories of the run, each with its mount's place in the view.
    pub fn layers_on_disk(&self) -> impl Iterator<Item = (&GuestPath, &RunPath)> {
        let on_disk = self.layered().filter(|it| it.directory && !it.in_memory);
        let of_host = on_disk.map(|it| (&it.at, &it.layer));
        of_host.chain(self.trees.iter().map(|it| (&it.at, &it.layer)))
    }

    /// Returns whether something may be left of the run when it is over.
    pub fn is_recorded(&self) -> bool {
        let is_guarded = !self.supervise.guards.is_empty();
        let is_buffered = !self.buffered.is_empty() || !self.trees.is_empty();
        is_buffered || !self.awaited.is_empty() || is_guarded || self.checkpoint.is_some()
    }

    /// Returns the same sandbox with endow's own helper in the place of the command, which gets
    /// `keep` besides the standard streams.
    #[must_use]
    pub fn with_helper(self, argv: Vec<OsString>, keep: Vec<i32>) -> Self {
        let exec = ExecSpec::Helper { argv };
        Self { exec, keep, secrets: Vec::new(), ssh_agent: None, bridges: None, ..self }
    }

    /// Returns the steps of the view that pid 1 can make before anything is prepared.
    pub fn unprepared(&self) -> &[InitStep] {
        let end = self.init.iter().position(InitStep::takes_prepared).unwrap_or(self.init.len());
        self.init.get(..end).unwrap_or_default()
    }

    /// Returns the filter of the run's processes.
    pub fn filter(&self) -> Option<&SeccompPlan> {
        self.payload.iter().find_map(|step| match step {
            PayloadStep::Seccomp(filter) => Some(filter),
            _ => None,
        })
    }

    /// Returns the command's name as it was given.
    pub fn command_name(&self) -> &OsStr {
        let (ExecSpec::Command { argv, .. } | ExecSpec::Helper { argv }) = &self.exec;
        argv.first().map(OsString::as_os_str).unwrap_or_default()
    }
}

/// A walk of names, which is all that a start does in proportion to a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Walk {
    /// The tree.
    pub source: HostPath,
    /// How many entries were looked at.
    pub entries: u64,
    /// How long it took, in microseconds.
    pub elapsed_us: u64,
    /// How many names are hidden.
    pub hidden: usize,
    /// Directories that are hidden because nobody could look through them, below the tree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unsearched: Vec<PathBuf>,
}

fn walk((source, names): (&HostPath, &HiddenNames)) -> Walk {
    let (entries, elapsed_us) = (names.entries, names.elapsed_us);
    let unsearched = names.unreadable.clone();
    Walk { source: source.clone(), entries, elapsed_us, hidden: names.names.len(), unsearched }
}

/// Decides everything.
pub fn plan(policy: &Policy, host: &HostFacts, request: &ExecRequest) -> Result<Plan, PlanError> {
    complete(sketch(policy, host, request)?, policy, host, request)
}

/// The first half of a plan: what stands where, and how much holds.
#[derive(Debug)]
pub struct Sketch {
    enforcement: Enforcement,
    placement: Placement,
    opening: Opening,
    /// The network, its registries named.
    network: Network,
    view: ViewPlan,
}

impl Sketch {
    /// Returns what pid 1 must have begun with.
    pub fn opening(&self) -> &Opening {
        &self.opening
    }

    /// Returns the steps of the view that pid 1 makes while the other half is planned: up to the
    /// first that takes what is prepared, or covers a name that the supervisor watches before.
    pub fn ahead(&self) -> &[InitStep] {
        let watched: FxHashSet<GuestPath> =
            self.view.renew.iter().filter_map(|it| it.at.join(&it.path).ok()).collect();
        let waits = |step: &InitStep| match step {
            InitStep::Bind { source: Source::Guest(_), at, .. } => watched.contains(at),
            step => step.takes_prepared(),
        };
        let steps = &self.view.init;
        let end = steps.iter().position(waits).unwrap_or(steps.len());
        steps.get(..end).unwrap_or_default()
    }
}

/// Decides as much of the view as depends on nothing that is protected, nor on repositories; `None` where that can't
/// be told, and the whole sketch says why.
pub fn ahead(policy: &Policy, host: &HostFacts, wish: Observe) -> Option<Sketch> {
    let enforcement = level::decide(policy, host).ok()?;
    if enforcement.level == Level::Landlock {
        return None;
    }
    let placement = place::place(policy, host).ok()?;
    let observe = confine::observed((policy, host), enforcement.level, wish);
    let view = view::ahead(policy, &placement, host, observe).ok()?;
    let (network, opening) = opened(policy, host).ok()?;
    Some(Sketch { enforcement, placement, opening, network, view })
}

/// Decides the opening, and the network with its registries named.
fn opened(policy: &Policy, host: &HostFacts) -> Result<(Network, Opening), PlanError> {
    let network = registries::named(&policy.network, &host.registries)?;
    let own = Ids { uid: host.user.uid, gid: host.user.gid };
    let opening = opening(&network, &policy.process, own);
    Ok((network, opening))
}

/// Decides the view.
pub fn sketch(
    policy: &Policy,
    host: &HostFacts,
    request: &ExecRequest,
) -> Result<Sketch, PlanError> {
    let mut enforcement = level::decide(policy, host)?;
    let placement = place::place(policy, host)?;
    let mut network = policy.network.clone();
    let (placement, opening, mut view) = if enforcement.level == Level::Landlock {
        let narrowed = narrow::narrow(policy, &placement, host)?;
        enforcement.degradations.extend(level::accept_all(policy, narrowed.losses)?);
        enforcement.degradations.extend(narrowed.told);
        let view = ViewPlan { prepare: in_place::prepare(request), ..ViewPlan::default() };
        (narrowed.placement, Opening::in_place(), view)
    } else {
        let observe = confine::observed((policy, host), enforcement.level, request.observe);
        let view = view::plan(policy, &placement, host, (enforcement.level, observe))?;
        enforcement.degradations.extend(level::accept_nested(policy, &view.renew)?);
        let opening;
        (network, opening) = opened(policy, host)?;
        (placement, opening, view)
    };
    request.earlier.iter().try_for_each(|earlier| earlier::go_on(&mut view, earlier, policy))?;
    Ok(Sketch { enforcement, placement, opening, network, view })
}

/// Decides the rest, from the same policy and facts.
pub fn complete(
    sketch: Sketch,
    policy: &Policy,
    host: &HostFacts,
    request: &ExecRequest,
) -> Result<Plan, PlanError> {
    let Sketch { enforcement, placement, opening, network, mut view } = sketch;
    let (confine, temporary) = if enforcement.level == Level::Landlock {
        let confine = in_place::confine(policy, &placement, host, &enforcement, request);
        (confine, in_place::scratch(request))
    } else {
        (confine::plan(policy, &placement, host, &enforcement, request.captured), None)
    };
    view.prepare.extend(cgroup::plan(policy, host, &request.run).map(PrepareStep::Cgroup));
    view.prepare.extend(live_names::noted(&placement));
    let checkpoint = checkpoint::plan(policy, &placement, host);
    view.prepare.extend(checkpoint.as_ref().map(Checkpoint::prepare));
    let environment = environment::plan(policy, &placement, host, request, temporary.as_ref());
    let observe = confine::observed((policy, host), enforcement.level, request.observe);
    let payload = confine::payload(policy, &placement, host, &enforcement, observe)?;
    let secrets = secrets::plan(policy, &placement, host, request)?;
    let secret_path = secrets::path(policy, host, request);
    let withheld_outside = variables::of_run(policy, host, request);
    let ssh_agent = ssh_agent::plan(policy, host, request)?;
    let bridges = bridges::plan(policy, host, request);
    let finish = finish(&view);
    let supervise = supervise::plan(policy, network, request, &mut view);
    Ok(Plan {
        prepare: view.prepare,
        opening,
        init: view.init,
        confine,
        payload,
        exec: environment.exec(&request.argv),
        environment,
        keep: request.keep.clone(),
        secrets,
        secret_path,
        withheld_outside,
        ssh_agent,
        bridges,
        supervise,
        finish,
        buffered: view.buffered,
        dropped: view.dropped,
        awaited: view.awaited,
        trees: view.trees,
        settings: view.settings,
        checkpoint,
        walks: host.hidden.iter().map(walk).collect(),
        enforcement,
        placement,
    })
}

fn finish(view: &ViewPlan) -> Vec<FinishStep> {
    let buffers = !(view.buffered.is_empty() && view.awaited.is_empty() && view.trees.is_empty());
    let write_back = buffers.then_some(FinishStep::WriteBack);
    write_back.into_iter().chain([FinishStep::RemoveRun]).collect()
}
