//! The hosts of registries: what the user's tools say, and why nothing is known.

use std::collections::BTreeMap;

use endow_policy::{HostPath, HostPattern, HostRule, Network, NetworkMode, Registry, Stated};
use serde::Serialize;

use super::PlanError;

/// What each registry that a policy names came to.
pub type Registries = BTreeMap<Registry, Result<Vec<HostRule>, RegistryFault>>;

/// Why the hosts of a registry are not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RegistryFault {
    /// No configuration names one, and the tool that would know is not there.
    #[error("no configuration names a registry, and {program} is not installed")]
    NotInstalled { program: String },
    /// What would be read or run lies where the command may write.
    #[error("a command of this policy may write it: {path}")]
    Writable { path: HostPath },
    /// A file of the configuration can't be read.
    #[error("can't be read: {path}: {reason}")]
    Unreadable { path: String, reason: String },
    /// A configured value is not the address of a registry.
    #[error("not the address of a registry: {place}")]
    NoAddress { place: String },
    /// Everything that is configured lies on this machine, or is off.
    #[error("the configuration names no host")]
    NoHost,
    /// A tool can't be started.
    #[error("can't start {program}: {reason}")]
    NotStarted { program: String, reason: String },
    /// A tool has failed.
    #[error("{program} has failed when it was asked")]
    Failed { program: String },
    /// A tool does not end.
    #[error("{program} did not answer within {seconds} s")]
    Late { program: String, seconds: u64 },
    /// A tool says too much.
    #[error("{program} answered with more than {bytes} bytes")]
    TooMuch { program: String, bytes: usize },
    /// Cargo learns from a registry where its packages lie, and has never asked it.
    #[error("cargo has not been used with its registry yet: {index}")]
    Unused { index: String },
}

impl RegistryFault {
    /// Returns what to do, besides naming the hosts.
    pub fn remedy(&self) -> String {
        match self {
            Self::NotInstalled { program } => format!("install {program}, or configure a registry"),
            Self::Writable { .. } => {
                "keep configuration and tools out of what the command may write".to_owned()
            }
            Self::Unreadable { path, .. } => format!("mend {path}"),
            Self::NoAddress { place } => format!("mend {place}"),
            Self::NoHost => "leave the word out if no registry is needed".to_owned(),
            Self::NotStarted { program, .. }
            | Self::Failed { program }
            | Self::Late { program, .. }
            | Self::TooMuch { program, .. } => {
                format!("see what {program} says outside of a sandbox")
            }
            Self::Unused { .. } => {
                "use cargo once outside of a sandbox, with `cargo fetch` for example".to_owned()
            }
        }
    }
}

/// Returns the registries whose hosts a network needs.
pub fn asked(network: &Network) -> impl Iterator<Item = Registry> {
    let serves = network.mode == NetworkMode::Allow;
    let registry = |rule: &Stated<HostRule>| match rule.value.host {
        HostPattern::Registry(registry) => Some(registry),
        HostPattern::Name(_)
        | HostPattern::Below(_)
        | HostPattern::Range(_)
        | HostPattern::Loopback => None,
    };
    network.allow.iter().filter(move |_| serves).filter_map(registry)
}

/// Puts the hosts of registries in the place of the words that stand for them.
pub(super) fn named(network: &Network, known: &Registries) -> Result<Network, PlanError> {
    let mut allow: Vec<Stated<HostRule>> = Vec::with_capacity(network.allow.len());
    for rule in &network.allow {
        let HostPattern::Registry(registry) = rule.value.host else {
            allow.push(rule.clone());
            continue;
        };
        for host in hosts(registry, rule, known)? {
            let origin = rule.origin.of_word(&rule.value.to_string());
            let named = Stated { value: host.clone(), origin, span: rule.span.clone() };
            allow.push(named);
        }
    }
    Ok(Network { allow, ..network.clone() })
}

fn hosts<'a>(
    registry: Registry,
    rule: &Stated<HostRule>,
    known: &'a Registries,
) -> Result<&'a [HostRule], PlanError> {
    match known.get(&registry) {
        Some(Ok(hosts)) => Ok(hosts),
        Some(Err(fault)) => {
            Err(PlanError::Registry { registry, fault: fault.clone(), origin: rule.origin.clone() })
        }
        None => Err(PlanError::UnaskedRegistry(registry)),
    }
}

#[cfg(test)]
mod tests {
    use endow_policy::{HostName, Origin, Ports, Protocol};

    use super::*;

    fn rule(host: HostPattern, port: u16) -> HostRule {
        HostRule { protocol: Protocol::Tcp, host, ports: Ports::one(port) }
    }

    fn name(name: &str) -> HostPattern {
        HostPattern::Name(HostName::parse(name).expect("a name"))
    }

    fn network() -> Network {
        let origin = |line| Origin::File { name: "endow.toml".into(), line };
        let allow = vec![
            Stated::new(rule(name("api.example.com"), 443), origin(1)),
            Stated::new(rule(HostPattern::Registry(Registry::Npm), 443), origin(2)),
        ];
        Network { mode: NetworkMode::Allow, allow, ..Network::default() }
    }

    fn check(known: Registries, expected: Result<&[&str], &PlanError>) {
        let named = named(&network(), &known);
        let said = named.as_ref().map(|network| {
            let line = |rule: &Stated<HostRule>| format!("{} ({})", rule.value, rule.origin);
            network.allow.iter().map(line).collect::<Vec<String>>()
        });
        assert_eq!(said, expected.map(|lines| lines.iter().map(ToString::to_string).collect()));
    }

    #[test]
    fn word_becomes_its_hosts_with_its_origin() {
        let hosts = vec![rule(name("npm.example.com"), 443), rule(name("npm.example.org"), 8443)];
        check(
            BTreeMap::from([(Registry::Npm, Ok(hosts))]),
            Ok(&[
                "api.example.com:443 (endow.toml:1)",
                "npm.example.com:443 (registry:npm, endow.toml:2)",
                "npm.example.org:8443 (registry:npm, endow.toml:2)",
            ]),
        );
    }

    #[test]
    fn unknown_hosts_are_an_error() {
        check(BTreeMap::new(), Err(&PlanError::UnaskedRegistry(Registry::Npm)));
        let fault = RegistryFault::NoHost;
        let error = PlanError::Registry {
            registry: Registry::Npm,
            fault: fault.clone(),
            origin: Origin::File { name: "endow.toml".into(), line: 2 },
        };
        check(BTreeMap::from([(Registry::Npm, Err(fault))]), Err(&error));
    }

    #[test]
    fn only_a_served_network_asks() {
        let network = network();
        assert_eq!(asked(&network).collect::<Vec<_>>(), [Registry::Npm]);
        for mode in [NetworkMode::None, NetworkMode::Host] {
            assert_eq!(asked(&Network { mode, ..network.clone() }).count(), 0);
        }
    }
}
