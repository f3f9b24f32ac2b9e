//! The words by which hosts are allowed: `HOST[:PORT,...]` and what stands in its place.

use super::ports::HTTPS;
use super::{
    AddressRange, AddressRangeError, HostName, HostNameError, HostPattern, HostRule, NetworkMode,
    Ports, Protocol, Registry, special, spelling,
};
use crate::nearest::nearest;
use crate::port::port;

/// A word that allows nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault}")]
pub struct WordError {
    /// What is wrong with it.
    pub fault: WordFault,
    /// What to write instead.
    pub hint: Option<String>,
}

/// What can be wrong with a word of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WordFault {
    /// The word is like that for a mode, and a host of that name is hardly meant.
    #[error("a host of this name needs its port written")]
    LikeMode,
    /// A scheme stands before the host.
    #[error("a host is written, not a URL")]
    Url,
    /// A path stands behind the host.
    #[error("a host is allowed as a whole, without a path")]
    Path,
    /// A user stands before the host.
    #[error("a host is written without a user")]
    User,
    /// A port is no number from 1 to 65535.
    #[error("not a port from 1 to 65535")]
    Port,
    /// Ports are given as a range.
    #[error("ports can't be a range")]
    PortRange,
    /// `*` is to be any host.
    #[error("`*` alone would be every host")]
    AnyHost,
    /// `*` stands within a name.
    #[error("`*` can only be the first label of a host name")]
    Star,
    /// An IPv6 address runs into its port.
    #[error("an IPv6 address is written in brackets")]
    BareV6,
    /// What stands in brackets is no IPv6 address.
    #[error("brackets are for an IPv6 address, then `:PORT`")]
    Brackets,
    /// The host's loopback without a port, or with all of them.
    #[error("the host's loopback is allowed port by port")]
    LoopbackPorts,
    /// The loopback by an address, or by a name below `localhost`.
    #[error("the host's loopback is written `localhost`")]
    LoopbackAddress,
    /// An address that stands for no host.
    #[error("no host has this address")]
    ThisHost,
    /// No tool has this name.
    #[error("no such registry")]
    Registry,
    /// A registry has a port or a protocol.
    #[error("a registry's ports are those of its tool's configuration")]
    RegistryPorts,
    /// What is published is not written as ports.
    #[error("not ports to publish")]
    Publish,
    /// What is published has a name for its address.
    #[error("ports are published at an address of this machine")]
    PublishAddress,
    /// The range can't be used.
    #[error(transparent)]
    Range(AddressRangeError),
    /// The name can't be used.
    #[error(transparent)]
    Name(HostNameError),
}

/// Before a host that is spoken to in datagrams.
const UDP: &str = "udp:";
const REGISTRY: &str = "registry:";

impl HostRule {
    /// Reads `HOST[:PORT,...]`. HOST is a name, `*.NAME`, an address or a range of them (IPv6 in
    /// brackets) or `localhost`; without ports it is 443, `*` is any port. `udp:` before HOST is
    /// for datagrams; `registry:TOOL` stands in place of all.
    ///
    /// # Errors
    /// The first thing that is wrong, with what to write.
    pub fn parse(word: &str) -> Result<Self, WordError> {
        read(word).map_err(|fault| WordError { fault, hint: spelling::hint(word, fault) })
    }
}

/// Reads a word without saying what to write in its place.
pub(super) fn read(word: &str) -> Result<HostRule, WordFault> {
    let (protocol, rest) = match word.strip_prefix(UDP) {
        Some(rest) => (Protocol::Udp, rest),
        None => (Protocol::Tcp, word),
    };
    if let Some(name) = rest.strip_prefix(REGISTRY).filter(|rest| !looks_like_ports(rest)) {
        return registry(name, protocol);
    }
    if is_like_mode(rest) {
        return Err(WordFault::LikeMode);
    }
    let (host, ports) = split(rest)?;
    let ports = ports.map(read_ports).transpose()?;
    let host = read_host(host)?;
    let ports = match (&host, ports) {
        (HostPattern::Loopback, None | Some(Ports::Any)) => return Err(WordFault::LoopbackPorts),
        (_, ports) => ports.unwrap_or_else(|| Ports::one(HTTPS)),
    };
    Ok(HostRule { protocol, host, ports })
}

/// `registry:5000` is a host that is called so.
fn looks_like_ports(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '*')
}

/// Returns whether a word without dot and port is a mode, or a mistyped one.
fn is_like_mode(word: &str) -> bool {
    !word.contains(['.', ':']) && nearest_mode(word).is_some()
}

/// Returns the mode, or the name of the loopback, that a word is or was probably meant to be.
pub(super) fn nearest_mode(word: &str) -> Option<&'static str> {
    let known = [NetworkMode::None.word(), NetworkMode::Host.word(), "localhost"];
    nearest(word, known).filter(|mode| word != "localhost" || *mode != word)
}

fn registry(name: &str, protocol: Protocol) -> Result<HostRule, WordFault> {
    let named = |registry: &&Registry| registry.word() == name;
    match Registry::ALL.iter().find(named) {
        _ if name.contains(':') => Err(WordFault::RegistryPorts),
        Some(_) if protocol == Protocol::Udp => Err(WordFault::RegistryPorts),
        Some(registry) => {
            Ok(HostRule { protocol, host: HostPattern::Registry(*registry), ports: Ports::Any })
        }
        None => Err(WordFault::Registry),
    }
}

/// The host of a word.
#[derive(Clone, Copy, Debug)]
enum Host<'w> {
    Bracketed(&'w str),
    Plain(&'w str),
}

/// Divides a word into host and ports.
fn split(word: &str) -> Result<(Host<'_>, Option<&str>), WordFault> {
    if let Some(rest) = word.strip_prefix('[') {
        let (inside, behind) = rest.split_once(']').ok_or(WordFault::Brackets)?;
        return match behind.strip_prefix(':') {
            None if !behind.is_empty() => Err(WordFault::Brackets),
            ports => Ok((Host::Bracketed(inside), ports)),
        };
    }
    if word.contains("://") {
        return Err(WordFault::Url);
    }
    if word.contains('@') {
        return Err(WordFault::User);
    }
    if spelling::bare_v6(word).is_some() {
        return Err(WordFault::BareV6);
    }
    Ok(match word.split_once(':') {
        Some((host, ports)) => (Host::Plain(host), Some(ports)),
        None => (Host::Plain(word), None),
    })
}

fn read_ports(text: &str) -> Result<Ports, WordFault> {
    if text == "*" {
        return Ok(Ports::Any);
    }
    if text.contains('/') {
        return Err(WordFault::Path);
    }
    let is_range = |part: &str| part.split_once('-').is_some_and(|(low, _)| port(low).is_some());
    if text.split(',').any(is_range) {
        return Err(WordFault::PortRange);
    }
    let ports: Option<_> = text.split(',').map(port).collect();
    ports.map(Ports::Some).ok_or(WordFault::Port)
}

fn read_host(host: Host<'_>) -> Result<HostPattern, WordFault> {
    match host {
        Host::Bracketed(inside) if !inside.contains(':') => Err(WordFault::Brackets),
        Host::Bracketed(inside) => match AddressRange::parse(inside) {
            Err(AddressRangeError::NotAnAddress) => Err(WordFault::Brackets),
            range => of_range(range.map_err(WordFault::Range)?),
        },
        Host::Plain("*") => Err(WordFault::AnyHost),
        Host::Plain(text) => match text.strip_prefix("*.") {
            Some(above) => name(above).map(HostPattern::Below),
            None => plain(text),
        },
    }
}

/// Reads an address, a range of them, the loopback or a name.
fn plain(text: &str) -> Result<HostPattern, WordFault> {
    if text.strip_suffix('.').unwrap_or(text).eq_ignore_ascii_case("localhost") {
        return Ok(HostPattern::Loopback);
    }
    match AddressRange::parse(text) {
        Err(AddressRangeError::NotAnAddress) => name(text).map(HostPattern::Name),
        range => of_range(range.map_err(WordFault::Range)?),
    }
}

/// The sandbox has a loopback of its own; what connects to `0.0.0.0` reaches that, too.
fn of_range(range: AddressRange) -> Result<HostPattern, WordFault> {
    match special::around(&range) {
        Some(special) if special.is_loopback() => Err(WordFault::LoopbackAddress),
        Some(special) if special.is_this_host() => Err(WordFault::ThisHost),
        _ => Ok(HostPattern::Range(range)),
    }
}

fn name(text: &str) -> Result<HostName, WordFault> {
    if text.contains('*') {
        return Err(WordFault::Star);
    }
    let (host, path) = text.split_once('/').map_or((text, None), |(host, rest)| (host, Some(rest)));
    let name = HostName::parse(host).map_err(WordFault::Name)?;
    match path {
        Some(_) => Err(WordFault::Path),
        None if name.is_loopback() => Err(WordFault::LoopbackAddress),
        None => Ok(name),
    }
}
