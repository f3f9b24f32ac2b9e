//! `probe`: read-only questions to the host, answered once, as values.
//!
//! Nothing here fails: what can't be found out is a fact too.

mod buffered;
mod cgroup;
mod contents;
pub(crate) mod data_layers;
pub(crate) mod deep;
pub(crate) mod doctor;
mod explored;
pub(crate) mod file_system;
pub(crate) mod git_dirs;
pub(crate) mod git_user;
mod hidden;
mod host_root;
mod inside;
mod kernel;
pub(crate) mod leads;
mod listening;
mod live_names;
mod object;
mod paths;
mod proc;
pub(crate) mod programs;
pub(crate) mod real_path;
mod registries;
mod repositories;
pub(crate) mod small_file;
mod sockets;
mod streams;
mod untouched;
mod user;
mod userns;
mod work_trees;

pub(crate) use host_root::{host_root, settled};
pub(crate) use listening::{has_abstract_outside, listens, listens_outside};
pub(crate) use object::{HostObjects, protects_links};
pub(crate) use registries::known as known_registries;
pub(crate) use repositories::settings_of;
pub(crate) use userns::refusal as userns_refusal;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use endow_policy::{
    BackendSpec, GuestPath, HostPath, Level, MountClass, MountSpec, PatternError, PatternRule,
    Policy, ProtectSet, Vars,
};
use rustc_hash::FxHashMap;

use crate::plan::host::{HostFacts, KernelFiles, LiveNames, Paths};
use crate::plan::step::FileId;
use crate::plan::{self, DEVICES, Search, policy_files};
use crate::sys::identity::Identity;

pub(crate) use hidden::{DeniedNames, HiddenBelow, HiddenOptions, noted};
use leads::LeadsError;

/// What is asked about besides the policy's own paths.
#[derive(Debug)]
pub(crate) struct Questions<'a> {
    /// The policy whose sources are looked at.
    pub(crate) policy: &'a Policy,
    /// The policy files that it was made of, but for a project's.
    pub(crate) policies: &'a [HostPath],
    /// Who and where the user is.
    pub(crate) vars: &'a Vars,
    /// The caller's environment.
    pub(crate) environment: &'a [(OsString, OsString)],
    /// How names that deny patterns hide are looked for.
    pub(crate) hidden: HiddenOptions<'a>,
}

/// The paths that a policy leads to, as they are.
#[derive(Debug)]
pub(crate) struct Looked {
    /// What was found at each.
    pub(crate) paths: Paths,
    files: KernelFiles,
}

/// The caller, as far as programs outside have to do with it.
#[derive(Debug)]
pub(crate) struct Caller<'a> {
    /// Where programs are looked for.
    pub(crate) search: Search,
    /// The directories of the project around it.
    pub(crate) projects: Vec<HostPath>,
    /// Its variables.
    pub(crate) environment: &'a [(OsString, OsString)],
}

/// Asks what every plan asks, whatever the policy.
pub(crate) fn kernel_files(uid: u32) -> KernelFiles {
    let terminal = streams::terminal();
    let outer_level = inside::level();
    let mut paths = Paths::default();
    paths::look_at_all(&mut paths, devices(terminal.as_ref()));
    KernelFiles {
        kernel: kernel::facts(outer_level.as_deref()),
        paths,
        proc_entries: proc::entries(uid),
        terminal,
        outer_level,
    }
}

/// Looks at every path that the policy leads to, at where programs are looked for, at the project around the
/// caller, and at the files that the policy was made of.
pub(crate) fn look(
    policy: &Policy,
    caller: Caller<'_>,
    policies: &[HostPath],
    mut files: KernelFiles,
) -> Looked {
    let is_inside = files.outer_level.is_some();
    let Caller { search, projects, environment } = caller;
    let mut wanted = sources(policy);
    wanted.extend(plan::variables::places(policy, environment, &search));
    wanted.extend(below_proc(policy));
    wanted.extend(plan::awaited::ancestors(policy));
    wanted.extend(plan::secrets::files(policy).cloned());
    wanted.extend(plan::secrets::programs(policy, &search));
    wanted.extend(plan::ssh_agent::files(policy, &search));
    wanted.extend(search.path);
    wanted.extend(projects);
    wanted.extend(plan::published_alone(&policy.mounts));
    wanted.extend(policies.iter().cloned());
    if is_inside || policy.require.level == Level::Landlock {
        wanted.extend(inside::kernel_files());
    }
    if is_inside {
        wanted.extend(inside::small_files(policy));
    }
    // Those that pid 1 has already stay as they were found.
    let mut paths = std::mem::take(&mut files.paths);
    paths::look_at_all(&mut paths, wanted);
    let points = mount_points(&policy.mounts, &paths);
    paths::look_at_all(&mut paths, points);
    let secrets = plan::secrets::places(policy, &paths);
    paths::look_at_all(&mut paths, secrets);
    let own = policies.iter().filter_map(|file| Some(paths.get(file)?.resolved.clone()));
    let mut held: BTreeSet<HostPath> = held_files(policy, &paths).into_iter().chain(own).collect();
    if is_inside {
        inside::leave_out_held(&mut held);
    }
    paths::look_at_all(&mut paths, held);
    Looked { paths, files }
}

/// Looks at some paths alone.
pub(crate) fn look_at(paths: impl IntoIterator<Item = HostPath>) -> Paths {
    let mut found = Paths::default();
    paths::look_at_all(&mut found, paths);
    found
}

/// Answers everything else that a plan asks about this host; returns also the patterns of protected names,
/// where a mount is live. `begun` gets the answers when only those about protected names and repositories are missing.
///
/// # Errors
/// What is to be protected, or hidden, is not known.
pub(crate) fn host_facts(
    questions: &Questions<'_>,
    looked: Looked,
    begun: &mut dyn FnMut(&HostFacts),
) -> Result<(HostFacts, Option<ProtectSet>), UnknownNames> {
    let (policy, vars) = (questions.policy, questions.vars);
    let Looked { paths, files } = looked;
    let KernelFiles { kernel, proc_entries, terminal, outer_level, .. } = files;
    let protect = live_names::compiled(policy, &paths)?;
    let roots = || live_names::guarded(policy, &paths).cloned().collect();
    let live = protect.as_ref().map(|protect| hidden::Live { protect, roots: roots() });
    let live = live.filter(|live| !live.roots.is_empty());
    let mut hidden = hidden::find(policy, &paths, live.as_ref(), &questions.hidden)?;
    if policy.require.level != Level::Landlock {
        sockets::add(&mut hidden, policy, &paths);
    }
    if outer_level.is_some() {
        inside::leave_out_covered(&mut hidden);
    }
    let mut facts = HostFacts {
        kernel,
        user: user::facts(vars),
        policies: inside::not_held(questions.policies, outer_level.is_some()),
        contents: contents::read((policy, &paths), vars, questions.environment),
        repositories: BTreeMap::new(),
        live_names: BTreeMap::new(),
        led: BTreeMap::new(),
        hidden,
        buffered: buffered::look(policy, &paths, (vars.uid, vars.gid)),
        trees: BTreeMap::new(),
        registries: registries::ask(questions, &paths),
        proc_entries,
        terminal,
        streams: streams::facts(),
        pipeline: streams::in_pipeline(),
        cgroup: cgroup::facts(&policy.limits, Path::new("/")),
        outer_level,
        paths,
    };
    begun(&facts);
    let protected = Protected::look(questions, &facts, protect.as_ref())?;
    (facts.live_names, facts.led) = (protected.live_names, protected.led);
    let asked = (policy, &facts.paths, protect.as_ref());
    facts.repositories = repositories::look(asked, &facts.hidden, &protected.without_git);
    Ok((facts, protect))
}

/// Why it is not known which names are to be protected, or hidden.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnknownNames {
    /// A pattern can't be used: without it more would be shown, and less protected.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// There is more than is looked at.
    #[error(transparent)]
    Leads(#[from] LeadsError),
}

/// What is protected in mounts.
#[derive(Default)]
struct Protected {
    live_names: BTreeMap<HostPath, LiveNames>,
    led: BTreeMap<HostPath, Vec<PatternRule>>,
    without_git: BTreeSet<HostPath>,
}

impl Protected {
    fn look(
        questions: &Questions<'_>,
        HostFacts { paths, hidden, .. }: &HostFacts,
        protect: Option<&ProtectSet>,
    ) -> Result<Self, UnknownNames> {
        let Some(protect) = protect else { return Ok(Self::default()) };
        let Questions { policy, vars, environment, .. } = *questions;
        let asked = leads::Asked { policy, protect, vars, environment };
        let leads = leads::find(&asked, paths, hidden)?;
        let path = programs::path(environment);
        let asked = (policy, paths, protect);
        let live_names = live_names::look(asked, (hidden, &leads), &path)?;
        Ok(Self { live_names, led: leads.rules, without_git: leads.without_git })
    }
}

fn file_id(it: &Identity) -> FileId {
    it.parts().into()
}

/// Host paths of the policy files that a live workspace must not change.
fn held_files(policy: &Policy, paths: &Paths) -> BTreeSet<HostPath> {
    let of_mount = |spec: &MountSpec| {
        let BackendSpec::Physical { host } = &spec.backend else { return Vec::new() };
        let Some(source) = paths.get(host).map(|fact| &fact.resolved) else { return Vec::new() };
        let files = policy_files(spec, &policy.chdir);
        files.filter_map(|at| source.join(at.below(&spec.at)?).ok()).collect()
    };
    let workspaces = policy.mounts.iter().filter(|spec| spec.class == MountClass::Workspace);
    workspaces.flat_map(of_mount).collect()
}

fn sources(policy: &Policy) -> Vec<HostPath> {
    let source = |spec: &MountSpec| match &spec.backend {
        BackendSpec::Physical { host } | BackendSpec::Copy { host } => Some(host.clone()),
        BackendSpec::Private { .. } => Some(spec.at.to_host()),
        _ => None,
    };
    policy.mounts.iter().filter_map(source).collect()
}

/// Places in the kernel's process file system: nothing can be made there, so each must be there already.
fn below_proc(policy: &Policy) -> impl Iterator<Item = HostPath> + '_ {
    let places = policy.mounts.iter().map(|spec| &spec.at);
    places.filter(|at| at.as_path().starts_with("/proc")).map(GuestPath::to_host)
}

fn devices(terminal: Option<&HostPath>) -> Vec<HostPath> {
    let fixed = DEVICES.iter().filter_map(|name| HostPath::new(format!("/dev/{name}")).ok());
    fixed.chain(terminal.cloned()).collect()
}

/// Host paths of mount points that lie within other mounts: a plan must know whether they exist.
fn mount_points(mounts: &[MountSpec], paths: &Paths) -> Vec<HostPath> {
    let kernel = KERNEL_PLACES.iter().filter_map(|path| GuestPath::new(path).ok());
    let places: Vec<GuestPath> =
        mounts.iter().map(|spec| place(spec, paths)).chain(kernel).collect();
    let sources: FxHashMap<&[u8], &HostPath> = places
        .iter()
        .zip(mounts)
        .filter_map(|(at, spec)| Some((at.as_bytes(), source(spec, paths)?)))
        .collect();
    places.iter().filter_map(|at| shown_at(at, &sources)).collect()
}

/// Where endow mounts what every view has.
const KERNEL_PLACES: [&str; 3] = ["/proc", "/dev", "/run"];

/// The place of a mount: a link of the host's leads to where it points.
fn place(spec: &MountSpec, paths: &Paths) -> GuestPath {
    match source(spec, paths) {
        Some(source) if is_identity(spec) => source.to_guest(),
        _ => spec.at.clone(),
    }
}

fn is_identity(spec: &MountSpec) -> bool {
    matches!(&spec.backend, BackendSpec::Physical { host } if host.as_bytes() == spec.at.as_bytes())
}

fn source<'a>(spec: &MountSpec, paths: &'a Paths) -> Option<&'a HostPath> {
    let BackendSpec::Physical { host } = &spec.backend else { return None };
    paths.get(host).map(|fact| &fact.resolved)
}

/// Returns the host path that the nearest mount above `at` shows there.
fn shown_at(at: &GuestPath, sources: &FxHashMap<&[u8], &HostPath>) -> Option<HostPath> {
    let mut above = at.way_up().skip(1);
    let (depth, source) = above.find_map(|path| Some((path.len(), sources.get(path)?)))?;
    let rest = at.as_bytes().get(depth..)?;
    let relative = rest.strip_prefix(b"/").unwrap_or(rest);
    source.join(OsStr::from_bytes(relative)).ok()
}
