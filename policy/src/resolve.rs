//! What all sources say to what holds: the workspace placed, words turned into values.

use core::net::SocketAddr;
use std::collections::BTreeMap;

use crate::compose::{Composed, ComposedMount, ComposedNetwork};
use crate::pattern::{Misplaced, misplaced};
use crate::workspace::place;
use crate::{
    Access, AllowWord, BackendSpec, GuestPath, HostPath, HostPattern, Level, Limits, LimitsTable,
    Made, MountClass, MountSpec, Network, NetworkMode, Origin, PatternRule, Policy, Ports,
    ProcessRules, PublishedPort, Require, StateRules, Stated, SyncMode, Vars, bridge, secret,
    ssh_agent,
};

/// Whose fault an error is, and so which exit code it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A policy file says something that can't hold: 120.
    Policy,
    /// The sandbox can't be set up here without another flag: 125.
    Setup,
}

/// Why a policy doesn't hold here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The feature behind a key is not built yet.
    #[error("not available in this version: {key}")]
    Unavailable {
        /// The key, such as `network.allow`.
        key: String,
        /// Who wrote it.
        origin: Origin,
    },
    /// The directory is never taken as the workspace without being asked for.
    #[error("not taken as the workspace by default: {path}")]
    WorkspaceRefused {
        /// The directory.
        path: HostPath,
        /// Why not.
        reason: &'static str,
        /// The current directory, where only a git repository around it makes the other one the workspace.
        inside: Option<HostPath>,
    },
    /// The current directory has no place in the view.
    #[error("current directory is not in the sandbox: {cwd}")]
    CwdNotInView {
        /// The current directory.
        cwd: HostPath,
    },
    /// The command line says that changes wait or are dropped, and what it says nothing of writes
    /// them at once.
    #[error("{fails}: the workspace is live: {path}")]
    LiveWorkspace {
        /// What can't be had of changes.
        fails: &'static str,
        /// The workspace.
        path: GuestPath,
        /// Who made it live.
        live: Origin,
        /// What makes it wait: `--workspace cow`, or `--cow PATH` for one that is granted.
        waits: String,
        /// The flag.
        origin: Origin,
    },
    /// Something of the run's own network is asked for, and there is none.
    #[error("the network is the host's: {what}")]
    HostNetwork {
        /// The flag that asks for it.
        what: String,
        /// Who wrote it.
        origin: Origin,
    },
    /// A pattern is written for a place of the view.
    #[error(
        "pattern is meant for a place of the view, and counts from the root of each mount: {pattern}"
    )]
    MisplacedPattern {
        /// The pattern.
        pattern: String,
        /// How to write it.
        hints: Vec<String>,
        /// Who wrote it.
        origin: Origin,
    },
    /// Two things of the sandbox are to have one place.
    #[error("taken already: {what}")]
    TakenTwice {
        /// The port, descriptor, variable or path.
        what: String,
        /// Who has it.
        first: Origin,
        /// Who wants it, too.
        origin: Origin,
    },
    /// Two ports of the sandbox are to be found at one of the host's.
    #[error("published twice: {at}")]
    PublishedTwice {
        /// The port of the host.
        at: SocketAddr,
        /// Who wrote the first.
        first: Origin,
        /// Who wrote the second.
        origin: Origin,
    },
}

impl ResolveError {
    /// Returns whose fault it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Unavailable { origin, .. }
            | Self::HostNetwork { origin, .. }
            | Self::LiveWorkspace { origin, .. }
            | Self::TakenTwice { origin, .. }
            | Self::MisplacedPattern { origin, .. }
            | Self::PublishedTwice { origin, .. } => {
                if origin.is_flag() {
                    ErrorKind::Setup
                } else {
                    ErrorKind::Policy
                }
            }
            Self::WorkspaceRefused { .. } | Self::CwdNotInView { .. } => ErrorKind::Setup,
        }
    }

    /// Returns what it is about, which its words end with.
    pub fn object(&self) -> String {
        match self {
            Self::Unavailable { key, .. } => key.clone(),
            Self::WorkspaceRefused { path, .. } | Self::CwdNotInView { cwd: path } => {
                path.to_string()
            }
            Self::LiveWorkspace { path, .. } => path.to_string(),
            Self::MisplacedPattern { pattern: what, .. }
            | Self::HostNetwork { what, .. }
            | Self::TakenTwice { what, .. } => what.clone(),
            Self::PublishedTwice { at, .. } => at.to_string(),
        }
    }

    /// Returns what to write instead, one line each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Unavailable { origin, .. } => vec![format!("remove it from {origin}")],
            Self::HostNetwork { origin, .. } => {
                vec![format!("remove it from {origin}, or leave out the mode `host`")]
            }
            Self::LiveWorkspace { live, waits, origin, .. } => vec![
                format!("`{waits}` beside `{origin}` buffers what is written there"),
                format!("it is live by {live}; `{}` keeps it so", waits.replacen("cow", "rw", 1)),
            ],
            Self::MisplacedPattern { hints, origin, .. } => {
                let origin = format!("it is from {origin}");
                hints.iter().cloned().chain([origin]).collect()
            }
            Self::PublishedTwice { first, .. } | Self::TakenTwice { first, .. } => {
                vec![format!("the first entry is {first}")]
            }
            Self::WorkspaceRefused { path, inside, .. } => {
                let alone = "takes this directory alone, and not the repository around it";
                let alone = inside.iter().map(|inside| grant("cow", inside, alone));
                let none = "`--workspace none --chdir GUEST` starts without a workspace".to_owned();
                alone.chain([none, grant("ro", path, "shows it all the same")]).collect()
            }
            Self::CwdNotInView { cwd } => vec![
                "`--chdir GUEST` names where to start".to_owned(),
                grant("ro", cwd, "shows the directory"),
            ],
        }
    }
}

/// Says which flag shows a directory. In the place of some the view has its own.
fn grant(flag: &str, path: &HostPath, effect: &str) -> String {
    match path.as_bytes() {
        b"/" | b"/dev" | b"/dev/pts" | b"/proc" => {
            format!("or start in a directory of yours: nothing can be mounted at {path}")
        }
        _ => format!("`--{flag} {path}` {effect}"),
    }
}

/// Turns what all sources say into the policy that holds.
///
/// # Errors
/// A feature that this version doesn't have, a workspace that is never taken by default, or a current directory without a place in the view.
pub fn resolve(composed: &Composed, vars: &Vars) -> Result<Policy, ResolveError> {
    if let Some(first) = composed.unavailable.first() {
        let (key, origin) = (first.value.clone(), first.origin.clone());
        return Err(ResolveError::Unavailable { key, origin });
    }
    let mut mounts = mounts(composed);
    let mut network = network(composed)?;
    let mut environment = composed.env.clone();
    let ssh_agent = ssh_agent::place(&composed.ssh_agent, vars.uid, &mut mounts, &mut environment)?;
    let words = (&composed.bridges[..], composed.names_browser);
    let bridges = bridge::place(words, &mut mounts, &mut environment, &mut network)?;
    published_once(&network.publish)?;
    // Behind the bridges: no secret is at a port that these publish.
    let secrets = secret::place(&composed.secrets, &mut network)?;
    secret::tell(&secrets, &mut environment);
    if network.mode == NetworkMode::Allow {
        answered_inside(mounts.values_mut());
    }
    let placed = place(composed, vars, &mut mounts)?;
    changes_can_wait(composed, placed.workspace.as_ref().and_then(|at| mounts.get(at)))?;
    patterns_below_mounts(composed, &mounts)?;
    Ok(Policy {
        mounts: mounts.into_values().collect(),
        workspace: placed.workspace,
        checkpoint: composed.checkpoint.as_ref().is_some_and(|it| it.value),
        chdir: placed.chdir,
        deny: composed.deny.rules(),
        protect: composed.protect.rules(),
        environment,
        network,
        secrets,
        ssh_agent,
        bridges,
        limits: limits(&composed.limits),
        process: process(composed),
        require: require(composed),
        sync: composed.sync.clone(),
        state: StateRules::from(&composed.state),
        expect: composed.expect.clone(),
        actions: composed.actions.clone(),
        build_root: composed.build_root.clone(),
        share_host_root: composed.share_host_root.as_ref().is_some_and(|it| it.value),
        remote: composed.remote.resolved(),
        replaced: replaced(composed),
        sources: composed.sources.clone(),
    })
}

/// Refuses what is said of changes on the command line alone, where they reach the host at once by
/// another's word: who asks to see them first would not.
fn changes_can_wait(composed: &Composed, mount: Option<&MountSpec>) -> Result<(), ResolveError> {
    let live = mount.filter(|it| it.access == Access::Rw && !it.origin.is_flag());
    let host = |it: &&MountSpec| matches!(it.backend, BackendSpec::Physical { .. });
    match (asked_of_changes(composed), live.filter(host)) {
        (Some((fails, origin)), Some(mount)) => {
            let by_word = composed.workspace_access.as_ref().map(|it| &it.origin);
            let granted = || format!("--cow {}", mount.at);
            let is_default = by_word == Some(&mount.origin);
            Err(ResolveError::LiveWorkspace {
                fails,
                path: mount.at.clone(),
                live: mount.origin.clone(),
                waits: if is_default { "--workspace cow".to_owned() } else { granted() },
                origin: origin.clone(),
            })
        }
        _ => Ok(()),
    }
}

/// Returns which flag has changes wait or dropped, and what is said where they can't be.
fn asked_of_changes(composed: &Composed) -> Option<(&'static str, &Origin)> {
    let waits = |said: &&Stated<SyncMode>| said.value != SyncMode::Apply && said.origin.is_flag();
    let mode = composed.sync_mode.as_ref().filter(waits);
    let only = composed.sync.only.iter().find(|rule| rule.origin.is_flag());
    let mode = mode.map(|said| ("changes can't wait", &said.origin));
    mode.or_else(|| only.map(|rule| ("no change is left out", &rule.origin)))
}

fn patterns_below_mounts(
    composed: &Composed,
    mounts: &BTreeMap<GuestPath, MountSpec>,
) -> Result<(), ResolveError> {
    let (deny, protect) = (composed.deny.rules(), composed.protect.rules());
    let rules = deny.iter().chain(&protect).chain(&composed.sync.only);
    let is_looked_into = |spec: &MountSpec| {
        matches!(spec.backend, BackendSpec::Physical { .. }) && spec.class != MountClass::System
    };
    let places = mounts.values().filter(|spec| is_looked_into(spec)).map(|spec| &spec.at);
    match misplaced(rules, &places.collect::<Vec<_>>()) {
        None => Ok(()),
        Some(Misplaced { rule: PatternRule { pattern, origin }, hints }) => {
            Err(ResolveError::MisplacedPattern { pattern, hints, origin })
        }
    }
}

/// Returns the mounts that no stronger source removed.
pub(crate) fn mounts(composed: &Composed) -> BTreeMap<GuestPath, MountSpec> {
    let root = composed.mounts.get(&GuestPath::root()).and_then(|mount| mount.backend.as_ref());
    let is_tree = root.is_some_and(BackendSpec::is_tree);
    let kept = composed.mounts.iter().filter_map(|(at, mount)| {
        let spec = spec(at, mount).filter(|spec| !(is_tree && is_of_the_system(spec)))?;
        Some((at.clone(), spec))
    });
    kept.collect()
}

/// A tree at `/` has programs and settings of its own: those that the base takes of the host are left out.
fn is_of_the_system(spec: &MountSpec) -> bool {
    use BackendSpec::{Copy, Made, Physical};
    let is_base = spec.class == MountClass::System;
    is_base && matches!(spec.backend, Physical { .. } | Copy { .. } | Made { .. })
}

/// With an allowlist names are answered inside the sandbox: the base's files that say how to find
/// them are made, not taken from the host. What a user grants in their place stays.
pub(crate) fn answered_inside<'a>(mounts: impl Iterator<Item = &'a mut MountSpec>) {
    for spec in mounts.filter(|spec| spec.class == MountClass::System) {
        let made = match spec.at.as_bytes() {
            b"/etc/resolv.conf" => Made::ResolvConf,
            b"/etc/hosts" => Made::Hosts,
            _ => continue,
        };
        spec.backend = BackendSpec::Made { made };
    }
}

fn spec(at: &GuestPath, mount: &ComposedMount) -> Option<MountSpec> {
    Some(MountSpec {
        at: at.clone(),
        backend: mount.backend.clone()?,
        access: mount.access,
        options: mount.options,
        class: mount.class,
        origin: mount.origin.clone(),
    })
}

fn replaced(composed: &Composed) -> BTreeMap<GuestPath, Vec<Origin>> {
    let with_weaker = composed.mounts.iter().filter(|(_, mount)| !mount.replaced.is_empty());
    with_weaker.map(|(at, mount)| (at.clone(), mount.replaced.clone())).collect()
}

/// Checks what no source alone can know: the host's network has nothing of the run's own, and two
/// things can't be found at one port.
fn network(composed: &Composed) -> Result<Network, ResolveError> {
    let network = &composed.network;
    let mode = network.mode();
    if mode == NetworkMode::Host {
        none_of_its_own(network)?;
    }
    proxy_alone(network)?;
    Ok(Network {
        mode,
        allow: network.allow.clone(),
        publish: network.publish.clone(),
        logins: false,
        proxy: network.proxy.clone(),
        match_server_name: network.match_server_name.as_ref().is_some_and(|it| it.value),
        endpoints: Vec::new(),
    })
}

fn none_of_its_own(network: &ComposedNetwork) -> Result<(), ResolveError> {
    let publish = network.publish.first().map(|it| it.with(format!("--publish {}", it.value)));
    let proxy = network.proxy.as_ref().map(|it| it.with(format!("--proxy {}", it.value)));
    match publish.or(proxy) {
        Some(asked) => Err(ResolveError::HostNetwork { what: asked.value, origin: asked.origin }),
        None => Ok(()),
    }
}

/// A port of the host's loopback is found at the same one inside, where the proxy would answer in its place.
fn proxy_alone(network: &ComposedNetwork) -> Result<(), ResolveError> {
    let Some(proxy) = &network.proxy else { return Ok(()) };
    let is_its =
        |ports: &Ports| matches!(ports, Ports::Some(ports) if ports.contains(&proxy.value));
    let mut loopback = network.allow.iter().filter(|it| it.value.host == HostPattern::Loopback);
    match loopback.find(|rule| is_its(&rule.value.ports)) {
        None => Ok(()),
        Some(rule) => Err(ResolveError::TakenTwice {
            what: format!("port {}", proxy.value),
            first: rule.origin.clone(),
            origin: proxy.origin.clone(),
        }),
    }
}

fn published_once(ports: &[Stated<PublishedPort>]) -> Result<(), ResolveError> {
    for (index, later) in ports.iter().enumerate() {
        let mut before = ports.iter().take(index);
        let Some(first) = before.find(|port| port.value.is_where(&later.value)) else { continue };
        return Err(ResolveError::PublishedTwice {
            at: later.value.at(),
            first: first.origin.clone(),
            origin: later.origin.clone(),
        });
    }
    Ok(())
}

fn limits(table: &LimitsTable) -> Limits {
    fn value<T: Copy>(limit: Option<&Stated<T>>) -> Option<T> {
        limit.map(|limit| limit.value)
    }
    Limits {
        timeout: value(table.timeout.as_ref()),
        grace: value(table.grace.as_ref()),
        memory_bytes: value(table.memory.as_ref()),
        pids: value(table.pids.as_ref()),
        open_files: value(table.open_files.as_ref()),
        file_size_bytes: value(table.file_size.as_ref()),
        cpu_time: value(table.cpu_time.as_ref()),
        layer_size_bytes: value(table.layer_size.as_ref()),
        layer_files: value(table.layer_files.as_ref()),
    }
}

fn process(composed: &Composed) -> ProcessRules {
    // Words were checked where they were read.
    let words = composed.allow.iter().filter_map(|word| word.value.parse::<AllowWord>().ok());
    ProcessRules {
        allow: words.collect(),
        new_session: composed.new_session.as_ref().is_some_and(|flag| flag.value),
        hostname: composed.hostname.as_ref().map(|name| name.value.clone()),
        ids: None,
        interrupt_ends: false,
    }
}

fn require(composed: &Composed) -> Require {
    Require {
        level: composed.level.as_ref().map_or(Level::Full, |level| level.value),
        origin: composed.level.as_ref().map(|level| level.origin.clone()),
        best_effort: composed.best_effort.iter().map(|word| word.value.clone()).collect(),
    }
}
