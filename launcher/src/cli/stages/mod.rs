//! The stages that `run`, `plan` and `why` have in common: from flags to a checked plan.

pub(crate) mod editor;
pub(crate) mod installation;
mod own_directories;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use endow_policy::{
    BackendSpec, HostPath, Ids, Limits, Made, MountSpec, PatternError, Policy, ProtectSet, learn,
};
use endow_vfs::state::RunId;

use super::args::{Amendment, PolicyArgs};
use super::error::{CommandError, Kind};
use super::sources::{self, Found};
use crate::cli::run::bridges;
use crate::cli::sources::surroundings::{self, Surroundings};
use crate::plan::granted_as::GrantedAs;
use crate::plan::host::{ExecRequest, HostFacts, KernelFiles, Noted};
use crate::plan::seccomp::Observe;
use crate::plan::step::{Guard, InitStep};
use crate::plan::{self, Another, Earlier, Opening, Plan, Search, Sketch};
use crate::probe::leads::LeadsError;
use crate::probe::{self, Caller, HiddenOptions, Questions, UnknownNames};
use crate::supervise::Patterns;
use crate::trees;
use own_directories::{make_own, own_directories, own_missing_in_grant};

/// A plan, and what it was made of.
#[derive(Debug)]
pub(crate) struct Planned {
    /// The user and the place.
    pub(crate) surroundings: Surroundings,
    /// The policy and its files.
    pub(crate) found: Found,
    /// The host as it is.
    pub(crate) host: HostFacts,
    /// The patterns of protected names, where they were compiled.
    pub(crate) protect: Option<ProtectSet>,
    /// What will be done.
    pub(crate) plan: Plan,
    /// The name of the run.
    pub(crate) id: RunId,
    /// How long the stages took.
    pub(crate) took: Took,
}

impl Planned {
    /// Returns the patterns of protected names in the mounts of a source.
    pub(crate) fn protecting(&self, source: &HostPath) -> Patterns<'_> {
        let compiled = self.protect.as_ref().filter(|_| !self.host.led.contains_key(source));
        (compiled, self.host.protecting(&self.found.policy, source), self.granted_as(source))
    }

    /// Returns the paths of a source besides its own.
    pub(crate) fn granted_as(&self, source: &HostPath) -> Vec<PathBuf> {
        let granted = GrantedAs::of(&self.found.policy, &self.host.paths);
        granted.others(source).into_iter().map(Path::to_owned).collect()
    }

    /// Makes this the plan of a run that differs in nothing but a tree of the store and its command; returns
    /// whether that is possible, and has no use otherwise. What else the policy and the host say is what was found
    /// for the first of these runs.
    pub(crate) fn repeat(
        &mut self,
        (place, tree, layers): (&Path, &str, &[String]),
        argv: &[OsString],
    ) -> bool {
        let Ok(id) = RunId::generate() else { return false };
        let mounts = &mut self.found.policy.mounts;
        let Some(spec) = mounts.iter_mut().find(|spec| spec.at.as_path() == place) else {
            return false;
        };
        let backend = BackendSpec::Cas { digest: tree.to_owned(), layers: layers.to_vec() };
        let wanted = MountSpec { backend, ..spec.clone() };
        let places = (self.surroundings.dirs.cache.as_path(), &self.surroundings.vars);
        let trees = trees::resolve(std::slice::from_ref(&wanted), places, &self.host.kernel);
        let Some(Ok(fact)) = trees.values().next() else { return false };
        let another = Another { at: &wanted.at, backend: &wanted.backend, fact, argv };
        let is_possible = self.plan.show(&another) && plan::check(&self.plan).is_empty();
        if is_possible {
            plan::tree_name(spec).map(|before| self.host.trees.remove(&before));
            *spec = wanted;
            self.host.trees.extend(trees);
            self.id = id;
        }
        is_possible
    }
}

/// Returns the layers that the command line takes away, and the one that `ENDOW_TEST_WITHOUT` does: by it a
/// whole suite of tests runs without one.
#[cfg(feature = "test-switches")]
pub(crate) fn taken_away(said: &[plan::switches::Layer]) -> Vec<plan::switches::Layer> {
    let word = std::env::var("ENDOW_TEST_WITHOUT").unwrap_or_default();
    said.iter().copied().chain(word.parse()).collect()
}

#[cfg(feature = "test-switches")]
impl Planned {
    /// Returns the same run without the layers that a test takes away.
    pub(crate) fn without(self, layers: &[plan::switches::Layer]) -> Self {
        let plan = layers.iter().fold(self.plan, |plan, it| plan::switches::remove(plan, *it));
        Self { plan, ..self }
    }
}

/// How long the stages took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Took {
    /// Reading policies and asking the host.
    pub(crate) probe: Duration,
    /// Deciding.
    pub(crate) plan: Duration,
}

/// What is run, apart from the policy.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    /// The command and its arguments.
    pub(crate) argv: Vec<OsString>,
    /// Descriptors that are handed over.
    pub(crate) keep: Vec<i32>,
    /// Standard output and error are kept for the report.
    pub(crate) captured: bool,
    /// The run dies with the process that started endow.
    pub(crate) die_with_parent: bool,
    /// The run whose changes this one begins with.
    pub(crate) earlier: Option<Earlier>,
    /// Whether endow's own directories are made where a grant would show their place.
    pub(crate) own: Own,
    /// What the supervisor is to see.
    pub(crate) observe: Observe,
    /// Nothing that the command sees tells this run from another of the same command.
    pub(crate) is_repeatable: bool,
}

/// What becomes of endow's own directories that don't exist yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Own {
    /// Nothing: this run is only planned.
    #[default]
    AsFound,
    /// Those within a grant are made, so that they can be hidden: the guest could make them.
    Made,
}

/// A policy, and who asks for it where.
#[derive(Clone, Debug)]
pub(crate) struct Settled {
    begun: Instant,
    surroundings: Surroundings,
    found: Found,
    /// What was asked already.
    files: Option<KernelFiles>,
}

impl Settled {
    /// Returns what is known of the caller.
    pub(crate) fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// Returns what holds.
    pub(crate) fn policy(&self) -> &Policy {
        &self.found.policy
    }

    /// Returns the same with another tree of the store in the place of the one that it shows, as layers that
    /// lie one over another, the topmost first; without layers by itself.
    pub(crate) fn showing(self, place: &Path, tree: &str, parts: &[String]) -> Self {
        let mut other = Self { begun: Instant::now(), ..self };
        let is_there = |spec: &&mut MountSpec| spec.at.as_path() == place;
        for spec in other.found.policy.mounts.iter_mut().filter(is_there) {
            if let BackendSpec::Cas { digest, layers } = &mut spec.backend {
                (*digest, *layers) = (tree.to_owned(), parts.to_vec());
            }
        }
        other
    }

    /// Adds what only the command line of another sandbox can say.
    pub(crate) fn amend(&mut self, amendment: Amendment) {
        let policy = &mut self.found.policy;
        policy.process.ids = amendment.ids;
        policy.process.interrupt_ends = amendment.interrupt_ends;
        policy.environment.keeps_all = amendment.is_foreign;
        if amendment.is_foreign {
            policy.protect.clear();
        }
    }

    /// Sets limits, of which some may be lost by name; a limit of the time that is there already stays.
    pub(crate) fn bound(&mut self, limits: &Limits, accepted: &BTreeSet<String>) {
        let policy = &mut self.found.policy;
        let timeout = policy.limits.timeout.or(limits.timeout);
        policy.limits = Limits { timeout, ..limits.clone() };
        policy.require.best_effort.extend(accepted.iter().cloned());
    }

    /// Puts throw-away layers in the place of all that a command could change.
    pub(crate) fn rehearse(&mut self) {
        let policy = self.found.policy.clone();
        self.found.policy = learn::rehearsal(policy);
    }

    /// Asks the host what every plan asks, and returns with what most views begin.
    pub(crate) fn early(&mut self) -> Vec<InitStep> {
        let files = probe::kernel_files(self.surroundings.vars.uid);
        let steps = plan::early(&self.found.policy, &files);
        self.files = Some(files);
        steps
    }

    /// Returns what the sandbox begins with, when that can be made before the rest is planned.
    pub(crate) fn opening(&self) -> Option<Opening> {
        let (policy, vars) = (&self.found.policy, &self.surroundings.vars);
        let own = Ids { uid: vars.uid, gid: vars.gid };
        plan::opens_early(policy).then(|| plan::opening(&policy.network, &policy.process, own))
    }
}

/// Goes from flags to a checked plan.
pub(crate) fn plan(args: &PolicyArgs, request: Request) -> Result<Planned, CommandError> {
    let settled = settle(args, request.argv.first().map(OsString::as_os_str))?;
    decide(settled, request, &mut |_| {})
}

/// Goes from flags to a policy for `command`.
pub(crate) fn settle(args: &PolicyArgs, command: Option<&OsStr>) -> Result<Settled, CommandError> {
    let begun = Instant::now();
    let surroundings = surroundings::read(args.directory.as_deref())?;
    let found = sources::read(args, &surroundings, command)?;
    Ok(Settled { begun, surroundings, found, files: None })
}

/// Goes from flags to a policy in surroundings that are known.
pub(crate) fn settle_in(
    surroundings: Surroundings,
    args: &PolicyArgs,
) -> Result<Settled, CommandError> {
    let begun = Instant::now();
    let found = sources::read(args, &surroundings, None)?;
    Ok(Settled { begun, surroundings, found, files: None })
}

/// Goes from a policy to a checked plan; `sketched` gets what is made of its first half: the mounts, and all.
pub(crate) fn decide(
    settled: Settled,
    request: Request,
    sketched: &mut dyn FnMut(&Sketch),
) -> Result<Planned, CommandError> {
    decide_knowing(settled, request, sketched, None)
}

/// What is known of the host from a run before, which a run of the same mounts need not ask again.
#[derive(Debug)]
pub(crate) struct Known {
    mounts: Vec<MountSpec>,
    search: Search,
    host: HostFacts,
}

impl Known {
    /// Returns whether a run asks about the same.
    fn is_of(&self, policy: &Policy, search: &Search) -> bool {
        self.search == *search && self.mounts.iter().eq(without_trees(&policy.mounts))
    }
}

/// Goes likewise from a policy to a plan, for runs that differ in nothing but their trees, mounts, variables, time
/// limit and command; what is `known` of the host is not asked again, and what is asked is known from then on. A source that is another one by now is refused when it is mounted.
pub(crate) fn decide_knowing(
    settled: Settled,
    request: Request,
    sketched: &mut dyn FnMut(&Sketch),
    known: Option<&mut Option<Known>>,
) -> Result<Planned, CommandError> {
    let Settled { begun, surroundings, mut found, files } = settled;
    // An action has no programs of the user's but its tools.
    if let Some(name) = request.argv.first().filter(|_| !request.is_repeatable) {
        installation::grant(name, &surroundings, &mut found.policy);
    }
    bridges::grant(&mut found.policy)?;
    let editor = editor::grant(&surroundings, &mut found.policy)?;
    let search = Search::of(&surroundings.environment);
    let mut begun_with = |host: &HostFacts| {
        let ahead = plan::ahead(&found.policy, host, request.observe);
        ahead.filter(|_| request.earlier.is_none()).iter().for_each(&mut *sketched);
    };
    let asked =
        |search| ask((&surroundings, &found), request.own, (files, search), &mut begun_with);
    let (host, protect) = match known {
        None => asked(search)?,
        Some(Some(known)) if known.is_of(&found.policy, &search) => (known.host.clone(), None),
        Some(known) => {
            let (host, protect) = asked(search.clone())?;
            let mounts = without_trees(&found.policy.mounts).cloned().collect();
            (known.insert(Known { mounts, search, host }).host.clone(), protect)
        }
    };
    let places = (surroundings.dirs.cache.as_path(), &surroundings.vars);
    let trees = trees::resolve(&found.policy.mounts, places, &host.kernel);
    let mut host = HostFacts { trees, ..host };
    let made = BackendSpec::Made { made: Made::Editor };
    host.contents.extend(editor.map(|text| (plan::content_key(&made), text)));
    let id = RunId::generate().map_err(|errno| {
        CommandError::new(Kind::Setup, "can't name the run").cause(std::io::Error::from(errno))
    })?;
    let probed = Instant::now();
    let request = exec_request(request, &surroundings, &id);
    let sketch = plan::sketch(&found.policy, &host, &request)?;
    sketched(&sketch);
    let plan = plan::complete(sketch, &found.policy, &host, &request)?;
    refuse_broken(&plan)?;
    let took = Took { probe: probed - begun, plan: probed.elapsed() };
    Ok(Planned { surroundings, found, host, protect, plan, id, took })
}

/// Trees are asked about for each run.
fn without_trees(mounts: &[MountSpec]) -> impl Iterator<Item = &MountSpec> {
    mounts.iter().filter(|spec| !spec.backend.is_tree())
}

/// Asks everything about the host but its trees.
fn ask(
    (surroundings, found): (&Surroundings, &Found),
    wish: Own,
    (files, search): (Option<KernelFiles>, Search),
    begun: &mut dyn FnMut(&HostFacts),
) -> Result<(HostFacts, Option<ProtectSet>), CommandError> {
    let files = files.unwrap_or_else(|| probe::kernel_files(surroundings.vars.uid));
    if files.outer_level.is_none() && files.kernel.userns_refused.is_none() {
        // Before it is looked through, as all that there is.
        plan::refuse_root(&found.policy)?;
    }
    let projects = endow_policy::projects(&surroundings.vars);
    let caller = Caller { search, projects, environment: &surroundings.environment };
    let looked = probe::look(&found.policy, caller, &found.held, files);
    let mut own = own_directories(&surroundings.dirs)?;
    let missing = own_missing_in_grant(found, &own, &looked.paths)?;
    if wish == Own::Made && missing {
        make_own(&own)?;
        own = own_directories(&surroundings.dirs)?;
    }
    let runs = surroundings.dirs.state.join("runs");
    let questions = Questions {
        policy: &found.policy,
        policies: &found.held,
        vars: &surroundings.vars,
        environment: &surroundings.environment,
        hidden: HiddenOptions {
            own: Some(&own),
            cache: Some(&surroundings.dirs.cache),
            work_tree: surroundings.vars.git_root.as_ref(),
            runs: Some(&runs),
        },
    };
    probe::host_facts(&questions, looked, begun).map_err(|error| match error {
        UnknownNames::Pattern(error) => unusable(error),
        UnknownNames::Leads(error) => unknown_leads(error),
    })
}

pub(super) fn unusable(error: PatternError) -> CommandError {
    CommandError::new(Kind::Policy, "can't use a pattern").cause(error)
}

pub(super) fn unknown_leads(error: LeadsError) -> CommandError {
    CommandError::new(Kind::Setup, "can't tell what protected names lead to").cause(error)
}

/// Looks through a live mount when its run is over.
pub(crate) fn noted(planned: &Planned, guard: &Guard, protect: &ProtectSet) -> Option<Noted> {
    let surroundings = &planned.surroundings;
    let options = HiddenOptions {
        own: None,
        cache: Some(&surroundings.dirs.cache),
        work_tree: surroundings.vars.git_root.as_ref(),
        runs: None,
    };
    probe::noted(protect, (&guard.source, guard.id), &options)
}

fn refuse_broken(plan: &Plan) -> Result<(), CommandError> {
    let findings = plan::check(plan);
    if findings.is_empty() {
        return Ok(());
    }
    let bug = CommandError::new(Kind::Bug, "the plan breaks a rule of its own");
    Err(findings
        .iter()
        .fold(bug, CommandError::cause)
        .hint("nothing was started; please report this with the output of `endow plan --json`"))
}

fn exec_request(request: Request, surroundings: &Surroundings, id: &RunId) -> ExecRequest {
    ExecRequest {
        argv: request.argv,
        run: id.as_str().to_owned(),
        identity: identity(surroundings),
        environment: surroundings.environment.clone(),
        projects: endow_policy::projects(&surroundings.vars),
        keep: request.keep,
        captured: request.captured,
        die_with_parent: request.die_with_parent,
        directory: directory(&surroundings.dirs.state, id),
        earlier: request.earlier,
        observe: request.observe,
        is_repeatable: request.is_repeatable,
    }
}

/// Where the run's directory will be, links resolved as far as it exists.
fn directory(state: &Path, id: &RunId) -> Option<HostPath> {
    let existing = state.ancestors().find_map(|path| Some((path, path.canonicalize().ok()?)));
    let (above, resolved) = existing?;
    let state = resolved.join(state.strip_prefix(above).ok()?);
    HostPath::new(state.join("runs").join(id.as_str())).ok()
}

fn identity(surroundings: &Surroundings) -> Vec<(&'static str, OsString)> {
    let vars = &surroundings.vars;
    let home = vars.home.as_ref().map(|home| home.as_path().as_os_str().to_owned());
    let named = surroundings.environment.iter().find(|(name, _)| name == "SHELL");
    let shell = named.map(|(_, value)| value.clone());
    let shell = shell.unwrap_or_else(|| vars.shell.as_deref().unwrap_or("/bin/sh").into());
    vec![
        ("HOME", home.unwrap_or_else(|| OsString::from("/"))),
        ("USER", OsString::from(&vars.user)),
        ("LOGNAME", OsString::from(&vars.user)),
        ("SHELL", shell),
    ]
}
