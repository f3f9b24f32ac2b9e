//! Bridges at their place: a socket in the view, the variable that names the browser, and a port that
//! is published.

use std::collections::BTreeMap;

use super::{BRIDGE_PROGRAMS, BRIDGE_SOCKET, Bridge, BridgeKind};
use crate::{
    Access, BackendSpec, EnvironmentRules, GuestPath, Made, MountClass, MountOptions, MountSpec,
    Network, NetworkMode, Origin, PublishedPort, ResolveError, Stated,
};

/// Reads the words, and adds what the bridges need to the rest of the policy. A login has the browser as
/// well, unless some source says of that what it opens, be it nothing.
///
/// # Errors
/// The policy has something else at the socket's place.
pub(crate) fn place(
    (words, names_browser): (&[Stated<String>], bool),
    mounts: &mut BTreeMap<GuestPath, MountSpec>,
    rules: &mut EnvironmentRules,
    network: &mut Network,
) -> Result<Vec<Stated<Bridge>>, ResolveError> {
    // Words were checked where they were read.
    let read = |word: &Stated<String>| Some(word.with(Bridge::parse(&word.value).ok()?));
    let mut bridges: Vec<Stated<Bridge>> = words.iter().filter_map(read).collect();
    bridges.extend(implied(&bridges).filter(|_| !names_browser));
    for bridge in &bridges {
        match bridge.value {
            Bridge::Oauth(Some(port)) => publish(bridge.with(port), network),
            // On the host's network the browser finds any port.
            Bridge::Oauth(None) => network.logins |= network.mode != NetworkMode::Host,
            _ => {}
        }
    }
    let served = |bridge: &&Stated<Bridge>| bridge.value.kind().is_some();
    let Some(first) = bridges.iter().find(served) else { return Ok(bridges) };
    let at = fixed(BRIDGE_SOCKET);
    if let Some(other) = mounts.get(&at) {
        let (first, origin) = (other.origin.clone(), first.origin.clone());
        return Err(ResolveError::TakenTwice { what: at.to_string(), first, origin });
    }
    mounts.insert(at.clone(), socket(at, &first.origin));
    let is_browser = |it: &&Stated<Bridge>| it.value.kind() == Some(BridgeKind::Browser);
    if let Some(browser) = bridges.iter().find(is_browser) {
        let program = format!("{BRIDGE_PROGRAMS}/{}", BridgeKind::Browser.programs()[0]);
        let value = || (program.into(), browser.origin.clone());
        rules.set.entry("BROWSER".into()).or_insert_with(value);
    }
    Ok(bridges)
}

/// Returns whether a word is about the browser, be it taken back: without that, to take the one limit
/// back would open all.
pub(crate) fn is_of_browser(word: &str) -> bool {
    let word = word.strip_prefix('!').unwrap_or(word);
    matches!(Bridge::parse(word), Ok(Bridge::Browser(_)))
}

/// A login begins in a browser.
fn implied(bridges: &[Stated<Bridge>]) -> Option<Stated<Bridge>> {
    let login = bridges.iter().find(|it| matches!(it.value, Bridge::Oauth(_)));
    login.map(|login| login.with(Bridge::Browser(None)))
}

/// The browser outside finds the port at the same number. On the host's network it does anyway.
fn publish(port: Stated<u16>, network: &mut Network) {
    let number = port.value;
    let published =
        PublishedPort { address: PublishedPort::LOOPBACK, host_port: number, port: number };
    let is_there = network.publish.iter().any(|it| it.value == published);
    if network.mode != NetworkMode::Host && !is_there {
        network.publish.push(port.with(published));
    }
}

/// No mount keeps anybody from connecting: nothing else needs to be allowed.
fn socket(at: GuestPath, origin: &Origin) -> MountSpec {
    MountSpec {
        at,
        backend: BackendSpec::Made { made: Made::Bridges },
        access: Access::Ro,
        options: MountOptions { noexec: true, socket: true, ..MountOptions::default() },
        class: MountClass::System,
        origin: origin.clone(),
    }
}

fn fixed(path: &str) -> GuestPath {
    GuestPath::new(path).expect("it is absolute and has no `..`")
}
