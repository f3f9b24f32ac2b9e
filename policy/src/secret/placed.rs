//! Secrets at their places: each has a port, a variable or a descriptor of its own.

use std::collections::BTreeMap;

use super::{FIRST_PORT, Secret, SecretUse};
use crate::compose::{ComposedSecret, ComposedSecrets};
use crate::{
    Endpoint, EnvironmentRules, HostPattern, Network, NetworkMode, Origin, Ports, ResolveError,
    SecretSource, Stated, WrittenUse,
};

/// What is taken, and by whom.
type Taken = BTreeMap<String, Origin>;

/// Gives each secret its place, and `network` those that are served in it.
///
/// # Errors
/// Two things at one place, or a header without a network of the run's own.
pub(crate) fn place(
    composed: &ComposedSecrets,
    network: &mut Network,
) -> Result<Vec<Stated<Secret>>, ResolveError> {
    let mut taken = taken(network);
    for secret in composed.values() {
        if let Some(WrittenUse::Header { port: Some(port), .. }) = &secret.value.to {
            take(&mut taken, port_word(*port), &secret.origin)?;
        }
    }
    let mut secrets = Vec::new();
    for (name, secret) in composed {
        let to = used(name, secret, network.mode, &mut taken)?;
        if let SecretUse::Header(endpoint) = &to {
            network.endpoints.push(secret.with(endpoint.clone()));
        }
        let from = secret.value.from.clone();
        secrets.push(secret.with(Secret { name: name.clone(), from, to }));
    }
    Ok(secrets)
}

/// Ports of the loopback inside that are somebody else's. A published one is the command's: with a
/// secret behind it, everybody on the host could use the secret.
fn taken(network: &Network) -> Taken {
    let published = network.publish.iter();
    let published = published.map(|it| (port_word(it.value.port), it.origin.clone()));
    let proxy = network.proxy.iter().map(|port| (port_word(port.value), port.origin.clone()));
    let host = network.allow.iter().filter(|rule| rule.value.host == HostPattern::Loopback);
    let host = host.flat_map(|rule| {
        let ports = match &rule.value.ports {
            Ports::Some(ports) => ports.iter().copied().collect(),
            Ports::Any => Vec::new(),
        };
        ports.into_iter().map(|port| (port_word(port), rule.origin.clone()))
    });
    proxy.chain(host).chain(published).collect()
}

fn used(
    name: &str,
    secret: &Stated<ComposedSecret>,
    mode: NetworkMode,
    taken: &mut Taken,
) -> Result<SecretUse, ResolveError> {
    let origin = &secret.origin;
    let (server, header, address, port, url, websocket) = match &secret.value.to {
        None => return Ok(SecretUse::Withheld),
        Some(WrittenUse::Descriptor(number)) => {
            take(taken, format!("descriptor {number}"), origin)?;
            return Ok(SecretUse::Descriptor(*number));
        }
        Some(WrittenUse::Header { server, header, address, port, url, websocket }) => {
            (server, header, *address, *port, url, *websocket)
        }
    };
    if mode == NetworkMode::Host {
        let what = format!("secrets.{name}");
        return Err(ResolveError::HostNetwork { what, origin: origin.clone() });
    }
    let port = port.unwrap_or_else(|| free(taken, origin));
    let variable = url.clone().unwrap_or_else(|| format!("{name}_BASE_URL"));
    take(taken, format!("variable {variable}"), origin)?;
    let (server, header) = (server.clone(), header.clone());
    let secret = name.to_owned();
    let endpoint = Endpoint { secret, server, header, address, port, variable, websocket };
    Ok(SecretUse::Header(endpoint))
}

fn port_word(port: u16) -> String {
    format!("port {port}")
}

fn take(taken: &mut Taken, what: String, origin: &Origin) -> Result<(), ResolveError> {
    if let Some(first) = taken.get(&what) {
        let (first, origin) = (first.clone(), origin.clone());
        return Err(ResolveError::TakenTwice { what, first, origin });
    }
    taken.insert(what, origin.clone());
    Ok(())
}

/// Takes the first port that nobody has.
fn free(taken: &mut Taken, origin: &Origin) -> u16 {
    let mut ports = FIRST_PORT..;
    let port = ports.find(|port| !taken.contains_key(&port_word(*port))).unwrap_or(FIRST_PORT);
    taken.insert(port_word(port), origin.clone());
    port
}

/// Tells the command where its endpoints are, unless it is told otherwise, and keeps the variables
/// from it that hold a secret.
pub(crate) fn tell(secrets: &[Stated<Secret>], rules: &mut EnvironmentRules) {
    for secret in secrets {
        if let SecretSource::Variable(name) = &secret.value.from {
            rules.pass_exact.retain(|(passed, _)| passed != name);
            rules.drop.push((name.clone(), secret.origin.clone()));
        }
        if let SecretUse::Header(endpoint) = &secret.value.to {
            let value = || (endpoint.url().into(), secret.origin.clone());
            rules.set.entry(endpoint.variable.clone().into()).or_insert_with(value);
        }
    }
}
