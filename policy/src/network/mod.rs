//! What the guest may reach over the network, and what may reach it.

mod name;
mod nearby;
mod ports;
mod publish;
mod range;
mod rule;
mod special;
mod spelling;
mod table;
#[cfg(test)]
mod tests;
mod word;

use core::net::IpAddr;
use std::collections::BTreeSet;

use serde::Serialize;

pub use name::{HostName, HostNameError};
pub use nearby::Nearby;
pub use ports::Ports;
pub use publish::PublishedPort;
pub use range::{AddressRange, AddressRangeError};
pub use rule::{HostPattern, HostRule, Protocol, Registry};
pub use special::{SpecialRange, special_range};
pub use table::{Edit, NetworkTable};
pub use word::{WordError, WordFault};

use crate::{Endpoint, Stated};

/// The network of a sandbox. Never widened when something fails.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Network {
    /// Whether anything but the sandbox's own loopback is there.
    pub mode: NetworkMode,
    /// What can be reached in mode `allow`; empty in the others.
    pub allow: Vec<Stated<HostRule>>,
    /// Ports of the sandbox that the host can reach.
    pub publish: Vec<Stated<PublishedPort>>,
    /// Whether logins open more of them, for a while: the bridge `oauth` without a port.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub logins: bool,
    /// The port inside at which programs find a proxy that keeps the same rules.
    pub proxy: Option<Stated<u16>>,
    /// Whether the name in TLS's first message or HTTP's `Host` must be the allowed one.
    pub match_server_name: bool,
    /// Where requests are taken to which the broker adds a secret.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<Stated<Endpoint>>,
}

/// What of the network is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkMode {
    /// Own network namespace with loopback only.
    #[default]
    None,
    /// Own network namespace, from which allowed hosts can be reached.
    Allow,
    /// The host's network.
    Host,
}

impl NetworkMode {
    /// All modes, in the order of the documents.
    pub const ALL: &[Self] = &[Self::None, Self::Allow, Self::Host];

    /// Returns the mode as it is written.
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Allow => "allow",
            Self::Host => "host",
        }
    }
}

impl Network {
    /// Returns the rules under which `name` may be asked for: those of the name itself, and those
    /// for what is below a name above it. Whatever else is in a rule (protocol, ports) is not
    /// looked at; `registry:` rules name no host before the launcher has asked the tool, and the
    /// host's loopback is no name.
    pub fn rules_for<'a>(
        &'a self,
        name: &'a HostName,
    ) -> impl Iterator<Item = &'a Stated<HostRule>> {
        self.allow.iter().filter(|rule| rule.value.host.matches_name(name))
    }

    /// Returns the ports of the loopback inside that are not the command's: those of secrets, of the proxy, and of
    /// the host's own services.
    pub fn served_ports(&self) -> BTreeSet<u16> {
        let endpoints = self.endpoints.iter().map(|it| it.value.port);
        let proxy = self.proxy.iter().map(|it| it.value);
        let loopback = self.allow.iter().filter(|it| it.value.host == HostPattern::Loopback);
        let host = loopback.filter_map(|it| match &it.value.ports {
            Ports::Some(ports) => Some(ports),
            Ports::Any => None,
        });
        endpoints.chain(proxy).chain(host.flatten().copied()).collect()
    }

    /// Returns the rules that state this address themselves, in whatever range.
    pub fn rules_for_address(&self, address: IpAddr) -> impl Iterator<Item = &Stated<HostRule>> {
        self.allow.iter().filter(move |rule| rule.value.host.contains(address))
    }

    /// Returns each rule that another one makes needless, with that one.
    pub fn needless(&self) -> Vec<(&Stated<HostRule>, &Stated<HostRule>)> {
        let wider = |rule: &Stated<HostRule>| {
            let mut all = self.allow.iter();
            all.find(|it| it.value != rule.value && it.value.covers(&rule.value))
        };
        self.allow.iter().filter_map(|rule| Some((rule, wider(rule)?))).collect()
    }

    /// Returns each rule that opens nothing but special addresses, with the range that it opens.
    pub fn special(&self) -> Vec<(&Stated<HostRule>, SpecialRange)> {
        let opened = |rule: &HostRule| match &rule.host {
            HostPattern::Range(range) => special::around(range),
            HostPattern::Name(_)
            | HostPattern::Below(_)
            | HostPattern::Loopback
            | HostPattern::Registry(_) => None,
        };
        self.allow.iter().filter_map(|rule| Some((rule, opened(&rule.value)?))).collect()
    }

    /// Returns whether a connection to which a name, or a literal, has led may go to this address
    /// on a machine that is itself, and beside, what `nearby` says.
    ///
    /// # Errors
    /// The special range in which the address lies, when no rule of that protocol and port names
    /// it; see [`HostPattern::contains_special`].
    pub fn may_dial(
        &self,
        protocol: Protocol,
        address: IpAddr,
        port: u16,
        nearby: &Nearby,
    ) -> Result<(), SpecialRange> {
        let Some(special) = nearby.special_range(address) else { return Ok(()) };
        let names = |rule: &HostRule| rule.host.contains_special(address, &special);
        let mut rules = self.allow.iter().map(|rule| &rule.value);
        let is_named = rules.any(|rule| rule.is_for(protocol, port) && names(rule));
        if is_named { Ok(()) } else { Err(special) }
    }
}
