//! The stages that `run`, `plan` and `why` have in common: from flags to a checked plan.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::{Duration, Instant};

use endow_policy::{HostPath, MountClass, MountSpec};
use endow_vfs::state::{EndowDirs, OwnDir, Relation, RunId};

use super::args::PolicyArgs;
use super::error::{CommandError, Kind};
use super::installation;
use super::sources::{self, Found};
use super::surroundings::{self, Dirs, Surroundings};
use crate::plan::host::{ExecRequest, HostFacts, PathFact};
use crate::plan::{self, Plan};
use crate::probe::{self, HiddenOptions, Pins, Questions};

/// A plan, and what it was made of.
#[derive(Debug)]
pub(crate) struct Planned {
    /// The user and the place.
    pub(crate) surroundings: Surroundings,
    /// The policy and its files.
    pub(crate) found: Found,
    /// The host as it is.
    pub(crate) host: HostFacts,
    /// What keeps it from changing under the plan.
    pub(crate) pins: Pins,
    /// What will be done.
    pub(crate) plan: Plan,
    /// The name of the run.
    pub(crate) id: RunId,
    /// How long the stages took.
    pub(crate) took: Took,
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
    /// Whether endow's own directories are made where a grant would show their place.
    pub(crate) own: Own,
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

/// Goes from flags to a checked plan.
pub(crate) fn plan(args: &PolicyArgs, request: Request) -> Result<Planned, CommandError> {
    let begun = Instant::now();
    let surroundings = surroundings::read(args.directory.as_deref())?;
    let mut found = sources::read(args, &surroundings)?;
    if let Some(name) = request.argv.first() {
        installation::grant(name, &surroundings, &mut found.policy);
    }
    let mut own = own_directories(&surroundings.dirs)?;
    if own_state(&found, &own)? == OwnState::MissingInGrant && request.own == Own::Made {
        make_own(&surroundings.dirs)?;
        own = own_directories(&surroundings.dirs)?;
    }
    let questions = Questions {
        policy: &found.policy,
        vars: &surroundings.vars,
        search: sources::search_path(&surroundings.environment),
        hidden: HiddenOptions {
            own: Some(&own),
            cache: Some(&surroundings.dirs.cache),
            work_tree: surroundings.vars.git_root.as_ref(),
        },
    };
    let (host, pins) = probe::host_facts(&questions);
    refuse_swapped(&found, &own, &host.paths)?;
    let id = RunId::generate().map_err(|errno| {
        CommandError::new(Kind::Setup, "can't name the run").cause(std::io::Error::from(errno))
    })?;
    let probed = Instant::now();
    let request = exec_request(request, &surroundings, &id);
    let plan = plan::plan(&found.policy, &host, &request)?;
    refuse_broken(&plan)?;
    let took = Took { probe: probed - begun, plan: probed.elapsed() };
    Ok(Planned { surroundings, found, host, pins, plan, id, took })
}

fn own_directories(dirs: &Dirs) -> Result<EndowDirs, CommandError> {
    let named = [
        (OwnDir::State, dirs.state.as_path()),
        (OwnDir::Cache, dirs.cache.as_path()),
        (OwnDir::Config, dirs.config.as_path()),
    ];
    EndowDirs::resolve(named)
        .map_err(|error| CommandError::new(Kind::Setup, error.to_string()).cause(&error.error))
}

/// What the grants say about endow's own directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OwnState {
    /// All of them exist, or lie outside every grant.
    Settled,
    /// One lies in a grant and does not exist.
    MissingInGrant,
}

/// Runs of others, undo data and what is trusted are in no view.
fn own_state(found: &Found, own: &EndowDirs) -> Result<OwnState, CommandError> {
    let mut state = OwnState::Settled;
    for (spec, host) in granted(found) {
        match own.relation(host.as_path()) {
            Ok(Relation::Inside(dir)) => return Err(refused(spec, host, dir)),
            Ok(Relation::Contains(contained)) if contained.iter().any(|it| !it.exists) => {
                state = OwnState::MissingInGrant;
            }
            _ => {}
        }
    }
    Ok(state)
}

/// Asks again by what the names led to: somebody may have swapped a link since. Directories are
/// asked about where their names are walked.
fn refuse_swapped(
    found: &Found,
    own: &EndowDirs,
    paths: &BTreeMap<HostPath, PathFact>,
) -> Result<(), CommandError> {
    for (spec, host) in granted(found) {
        let Some(fact) = paths.get(host) else { continue };
        if fact.found.is_directory() != Some(false) {
            continue;
        }
        if let Ok(Relation::Inside(dir)) = own.relation_resolved(fact.resolved.as_path()) {
            return Err(refused(spec, &fact.resolved, dir));
        }
    }
    Ok(())
}

fn granted(found: &Found) -> impl Iterator<Item = (&MountSpec, &HostPath)> {
    use endow_policy::BackendSpec::{Copy, Physical};
    let granted = found.policy.mounts.iter().filter(|spec| spec.class != MountClass::System);
    granted.filter_map(|spec| match &spec.backend {
        Physical { host } | Copy { host } => Some((spec, host)),
        _ => None,
    })
}

fn refused(spec: &MountSpec, host: &HostPath, dir: OwnDir) -> CommandError {
    let message = format!("endow's own {} directory can't be granted", dir.word());
    CommandError::new(Kind::Setup, message)
        .about(host)
        .cause(format!("asked for by {}", spec.origin))
}

fn make_own(dirs: &Dirs) -> Result<(), CommandError> {
    for directory in [&dirs.state, &dirs.cache, &dirs.config] {
        match DirBuilder::new().recursive(true).mode(0o700).create(directory) {
            Ok(()) => {}
            // What the user may not make, the command may not make either.
            Err(error) if is_forbidden(&error) => {}
            Err(error) => {
                return Err(CommandError::new(Kind::Setup, "can't make endow's own directory")
                    .about(directory.display())
                    .cause(error));
            }
        }
    }
    Ok(())
}

fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
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
        keep: request.keep,
        captured: request.captured,
        die_with_parent: request.die_with_parent,
        directory: directory(&surroundings.dirs.state, id),
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
