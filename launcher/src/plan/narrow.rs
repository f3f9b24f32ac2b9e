//! What of a policy holds at level `landlock`: grants at their own paths. The rest is refused entry
//! by entry; of the base, what can't be expressed is left out.

use std::collections::BTreeSet;
use std::path::PathBuf;

use endow_policy::{
    Access, AllowWord, BRIDGE_PROGRAMS, BackendSpec, GuestPath, HostPath, Level, Made, MountClass,
    MountSpec, Origin, Policy, SyncMode,
};

use super::PlanError;
use super::confine::granted;
use super::error::Beyond;
use super::held::policy_files;
use super::host::{Found, HiddenName, HiddenNames, HostFacts, PathFact};
use super::level::Degradation;
use super::place::{Placed, PlacedSource, Placement};

/// The most hidden names of one mount that an error lists.
const NAMES_MAX: usize = 5;

/// What is left of a policy.
pub(super) struct Narrowed {
    /// Mounts that rules can express.
    pub(super) placement: Placement,
    /// What can't be kept, and may be accepted by name.
    pub(super) losses: Vec<Degradation>,
    /// What can't be kept, was not asked for by anybody, and is told.
    pub(super) told: Option<Degradation>,
}

/// Keeps what rules can express.
pub(super) fn narrow(
    policy: &Policy,
    placement: &Placement,
    host: &HostFacts,
) -> Result<Narrowed, PlanError> {
    let mut beyond = of_processes(policy);
    beyond.extend(of_network(policy));
    beyond.extend(of_ssh_agent(policy));
    beyond.extend(of_bridges(policy));
    beyond.extend(of_sync(policy, placement));
    let told = not_buffered(placement);
    let mut kept = Vec::new();
    let mut absent = placement.absent.clone();
    for placed in &placement.mounts {
        match in_place(placed, host) {
            Expressed::Kept(placed) => kept.push(*placed),
            Expressed::LeftOut => absent.push(placed.spec.at.clone()),
            Expressed::Beyond(what) => beyond.push(entry(what, &placed.spec)),
        }
    }
    for awaited in &placement.awaited {
        if awaited.spec.options.optional {
            absent.push(awaited.spec.at.clone());
        } else {
            beyond.push(entry(format!("{}: it does not exist", awaited.spec.at), &awaited.spec));
        }
    }
    let placement = placement.with_mounts(kept, absent);
    for placed in &placement.mounts {
        beyond.extend(within_more(placed, &placement));
        beyond.extend(hidden(policy, placed, &placement, host)?);
        beyond.extend(with_credentials(placed, &placement, host));
    }
    if beyond.is_empty() {
        let losses = held_policies(policy, &placement, host);
        return Ok(Narrowed { placement, losses, told });
    }
    let inside = host.outer_level.is_some();
    Err(PlanError::Beyond { level: Level::Landlock, keys: beyond, inside })
}

fn entry(what: String, spec: &MountSpec) -> Beyond {
    Beyond { what, origin: Some(spec.origin.clone()) }
}

/// Words that open a way past the filter, and names that only a namespace could hold.
fn of_processes(policy: &Policy) -> Vec<Beyond> {
    let why = |word| match word {
        AllowWord::Userns => Some("there are no namespaces to nest"),
        AllowWord::IoUring => Some("a ring could make sockets that no layer sees"),
        AllowWord::ForeignArch => Some("32-bit programs could make sockets that no layer sees"),
        AllowWord::RawSockets => Some("raw sockets would be the host's"),
        _ => None,
    };
    let words = policy.process.allow.iter().filter_map(|word| {
        let what = format!("--allow {}: {}", word.word(), why(*word)?);
        Some(Beyond { what, origin: None })
    });
    let name = policy.process.hostname.iter().map(|name| Beyond {
        what: format!("--hostname {name}: the host's name is that of all processes"),
        origin: None,
    });
    let ids = policy.process.ids.iter().map(|ids| Beyond {
        what: format!("user {} and group {} inside: processes keep their own", ids.uid, ids.gid),
        origin: None,
    });
    words.chain(name).chain(ids).collect()
}

/// Hosts and ports that only a network of the run's own could hold.
fn of_network(policy: &Policy) -> Vec<Beyond> {
    let why = "the run has no network of its own";
    let network = &policy.network;
    let entry = |word: String, origin: &Origin| Beyond {
        what: format!("{word}: {why}"),
        origin: Some(origin.clone()),
    };
    let hosts = network.allow.iter().map(|it| entry(format!("--net {}", it.value), &it.origin));
    let ports =
        network.publish.iter().map(|it| entry(format!("--publish {}", it.value), &it.origin));
    let proxy = network.proxy.iter().map(|it| entry(format!("--proxy {}", it.value), &it.origin));
    let endpoints = network.endpoints.iter();
    let endpoints = endpoints.map(|it| entry(format!("secrets.{}", it.value.secret), &it.origin));
    hosts.chain(ports).chain(proxy).chain(endpoints).collect()
}

/// Keys that are used at a socket.
fn of_ssh_agent(policy: &Policy) -> impl Iterator<Item = Beyond> {
    let keys = policy.ssh_agent.iter().flat_map(|chosen| &chosen.keys);
    keys.map(|key| Beyond {
        what: format!("--bridge ssh-agent:{}: no Unix socket can be connected to", key.value),
        origin: Some(key.origin.clone()),
    })
}

/// What is asked for at a socket.
fn of_bridges(policy: &Policy) -> impl Iterator<Item = Beyond> {
    let served = policy.bridges.iter().filter(|bridge| bridge.value.kind().is_some());
    served.map(|bridge| Beyond {
        what: format!("--bridge {}: no Unix socket can be connected to", bridge.value),
        origin: Some(bridge.origin.clone()),
    })
}

/// Changes that were to wait, or to be dropped, where they reach the host at once.
fn of_sync(policy: &Policy, placement: &Placement) -> Option<Beyond> {
    let mode = policy.sync.mode;
    let placed = placement.mounts.iter().find(|placed| is_turned_live(placed))?;
    let (at, mode) = (&placed.spec.at, (mode != SyncMode::Apply).then(|| mode.word())?);
    let what = format!(
        "--sync {mode}: changes below {at} reach the host at once, without a mount; `--workspace rw` shows it live"
    );
    Some(Beyond { what, origin: None })
}

/// Whether nobody asked for it to be buffered or not: here it is live.
fn is_turned_live(placed: &Placed) -> bool {
    placed.is_physical()
        && placed.spec.access == Access::Cow
        && placed.spec.origin == Origin::Default
}

/// Whether a program of a bridge stands there, which has a place in a view alone.
fn is_of_bridge(at: &GuestPath) -> bool {
    at.as_path().starts_with(BRIDGE_PROGRAMS)
}

enum Expressed {
    /// By a rule on what stands there.
    Kept(Box<Placed>),
    /// Not at all, and only the base asks for it.
    LeftOut,
    /// Not at all.
    Beyond(String),
}

fn kept(placed: Placed) -> Expressed {
    Expressed::Kept(Box::new(placed))
}

fn in_place(placed: &Placed, host: &HostFacts) -> Expressed {
    let spec = &placed.spec;
    let at = &spec.at;
    let optional = is_base(spec);
    let beyond = |what: &str| {
        if optional { Expressed::LeftOut } else { Expressed::Beyond(format!("{at}: {what}")) }
    };
    match (&spec.backend, &placed.source) {
        (BackendSpec::Physical { .. }, Some(source)) => physical(placed, source, host),
        (BackendSpec::Copy { .. }, Some(source)) => kept(as_it_is(spec, source.clone())),
        (BackendSpec::Made { made: Made::SshAgent | Made::Bridges }, _) => Expressed::LeftOut,
        _ if is_of_bridge(at) => Expressed::LeftOut,
        (BackendSpec::Made { .. }, _) => match found_at(at, host).and_then(file) {
            Some(source) => kept(as_it_is(spec, source)),
            None => Expressed::LeftOut,
        },
        (BackendSpec::Cgroup, _) => Expressed::LeftOut,
        (BackendSpec::Memory { .. }, _) => beyond("memory can't be mounted"),
        (BackendSpec::Private { .. }, _) => beyond("a private directory can't be mounted"),
        _ => beyond("it can't be mounted"),
    }
}

fn is_base(spec: &MountSpec) -> bool {
    matches!(&spec.origin, Origin::Profile { name } if &**name == "base")
}

fn physical(placed: &Placed, source: &PlacedSource, host: &HostFacts) -> Expressed {
    let spec = &placed.spec;
    if source.path.as_path() != spec.at.as_path() {
        let source = &source.path;
        return Expressed::Beyond(format!(
            "{}: {source} can be granted at its own path only",
            spec.at
        ));
    }
    if spec.access == Access::Cow && spec.origin != Origin::Default {
        let what = if spec.options.discard {
            "changes can't be dropped without a mount; `ro` shows it as it is"
        } else {
            "changes can't be buffered without a mount; `rw` shows it live"
        };
        return Expressed::Beyond(format!("{}: {what}", spec.at));
    }
    let found = host.paths.get(&source.path).map(|fact| fact.found);
    if matches!(found, Some(Found::Socket(_) | Found::Special(_))) {
        return Expressed::Beyond(format!("{}: it is a device, socket or pipe", spec.at));
    }
    kept(live(placed))
}

/// What nobody asked to be buffered is live at this level, and the report says so.
fn live(placed: &Placed) -> Placed {
    let access = if placed.spec.access == Access::Cow { Access::Rw } else { placed.spec.access };
    Placed { spec: MountSpec { access, ..placed.spec.clone() }, ..placed.clone() }
}

fn not_buffered(placement: &Placement) -> Option<Degradation> {
    let is_cow = |placed: &&Placed| placed.spec.access == Access::Cow;
    let placed = placement.mounts.iter().find(is_cow)?;
    let reason = format!("changes below {} reach the host at once: no mounts", placed.spec.at);
    Some(Degradation { word: "cow", reason })
}

/// A small file of the base, which stands in a view as a copy, is read where it is.
fn as_it_is(spec: &MountSpec, source: PlacedSource) -> Placed {
    let spec = MountSpec {
        at: source.path.to_guest(),
        backend: BackendSpec::Physical { host: source.path.clone() },
        access: Access::Ro,
        ..spec.clone()
    };
    Placed { spec, source: Some(source), tree: None }
}

/// Returns what the host has at a place, to which links may lead.
fn found_at<'h>(at: &GuestPath, host: &'h HostFacts) -> Option<&'h PathFact> {
    let path = at.to_host();
    let led = || host.paths.values().find(|fact| fact.resolved == path);
    host.paths.get(&path).or_else(led)
}

fn file(fact: &PathFact) -> Option<PlacedSource> {
    match fact.found {
        Found::File(id) => Some(PlacedSource {
            path: fact.resolved.clone(),
            id,
            directory: false,
            mount: fact.mount,
        }),
        _ => None,
    }
}

/// Landlock adds up what the rules on the way to the root allow: a mount that allows less than one
/// above it can't be had.
fn within_more(placed: &Placed, placement: &Placement) -> Option<Beyond> {
    let own = granted(&placed.spec);
    let above = std::iter::successors(placed.spec.at.parent(), GuestPath::parent);
    let mut above = above.filter_map(|at| placement.at(&at));
    let wider = above.find(|outer| !own.contains(granted(&outer.spec)))?;
    let words = |placed: &Placed| {
        let access = if placed.spec.access == Access::Ro { "ro" } else { "rw" };
        let noexec = if placed.spec.options.noexec { ",noexec" } else { "" };
        format!("{access}{noexec}")
    };
    let (at, outer) = (&placed.spec.at, &wider.spec.at);
    let what = format!("{at} ({}) lies in {outer} ({})", words(placed), words(wider));
    Some(entry(what, &placed.spec))
}

/// Names below a grant that must not be reached.
fn hidden(
    policy: &Policy,
    placed: &Placed,
    placement: &Placement,
    host: &HostFacts,
) -> Result<Vec<Beyond>, PlanError> {
    let Some(source) = &placed.source else { return Ok(Vec::new()) };
    let Some(found) = host.hidden.get(&source.path) else { return Ok(Vec::new()) };
    let spec = &placed.spec;
    if let Some(errno) = found.failed {
        let (path, origin) = (source.path.clone(), spec.origin.clone());
        return Err(PlanError::UnreadableSource { path, errno, origin });
    }
    let applies = |name: &&HiddenName| {
        let at = spec.at.join(&name.path);
        let spared = spec.options.nodeny || spec.class == MountClass::System;
        // No Unix socket is made at this level: there is nothing to connect with.
        !name.socket
            && (is_own(name, found) || !spared)
            && at.is_ok_and(|at| placement.covering(&at) == Some(placed))
    };
    let names: Vec<&HiddenName> = found.names.iter().filter(applies).collect();
    let mut listed: Vec<Beyond> =
        names.iter().take(NAMES_MAX).map(|name| hidden_name(policy, spec, name, found)).collect();
    if let Some(more @ 1..) = names.len().checked_sub(NAMES_MAX) {
        let what = format!("{}: {more} more names that are to be hidden", spec.at);
        listed.push(Beyond { what, origin: None });
    }
    Ok(listed)
}

/// Settings of repositories below a grant, of which a view would show a copy without credentials.
fn with_credentials(placed: &Placed, placement: &Placement, host: &HostFacts) -> Vec<Beyond> {
    let repositories = placed.source.as_ref().and_then(|it| host.repositories.get(&it.path));
    let spec = &placed.spec;
    let places = repositories.into_iter().flat_map(|it| &it.credentials);
    let places = places.filter_map(|path| spec.at.join(path).ok());
    let own = places
        .filter(|at| placement.covering(at) == Some(placed) && !spec.options.nodeny)
        .map(|at| {
            let why =
                "the credential in it can't be hidden in a grant; take it out, or say `nodeny`";
            entry(format!("{at}: {why}"), spec)
        });
    own.collect()
}

/// Whether it is one of endow's own directories, and not one that could not be looked into.
fn is_own(name: &HiddenName, found: &HiddenNames) -> bool {
    name.is_own() && !found.unreadable.contains(&name.path)
}

fn hidden_name(
    policy: &Policy,
    spec: &MountSpec,
    name: &HiddenName,
    found: &HiddenNames,
) -> Beyond {
    let (at, path) = (&spec.at, name.path.display());
    let Some(rule) = name.rule.and_then(|rule| policy.deny.get(rule)) else {
        let why = if is_own(name, found) {
            "endow's own, which can't be kept apart in a grant"
        } else {
            "can't be searched for names to hide; `nodeny` grants it as it is"
        };
        return entry(format!("{at}/{path}: {why}"), spec);
    };
    let what = format!("{at}/{path}: `deny` {} can't hold in a grant", rule.pattern);
    Beyond { what, origin: Some(rule.origin.clone()) }
}

/// Policy files in a writable grant, which a view holds against changes.
fn held_policies(policy: &Policy, placement: &Placement, host: &HostFacts) -> Vec<Degradation> {
    let is_file = |path: &HostPath| {
        let fact = host.paths.get(path);
        fact.is_some_and(|fact| fact.links.is_empty() && matches!(fact.found, Found::File(_)))
    };
    let of_mount = |placed: &Placed| -> Vec<PathBuf> {
        let files = policy_files(&placed.spec, &policy.chdir);
        let files = files.filter(|at| placement.covering(at) == Some(placed));
        files.map(|at| at.to_host()).filter(is_file).map(|it| it.as_path().to_owned()).collect()
    };
    let is_writable = |path: &HostPath| {
        placement.covering(&path.to_guest()).is_some_and(|it| it.spec.access != Access::Ro)
    };
    let read = host.policies.iter().filter_map(|file| Some(&host.paths.get(file)?.resolved));
    let read = read.filter(|path| is_file(path) && is_writable(path));
    let files: BTreeSet<PathBuf> = placement
        .mounts
        .iter()
        .flat_map(of_mount)
        .chain(read.map(|path| path.as_path().to_owned()))
        .collect();
    let loss = |file: PathBuf| Degradation {
        word: "protect",
        reason: format!("nothing keeps the policy file from being changed: {}", file.display()),
    };
    files.into_iter().map(loss).collect()
}
