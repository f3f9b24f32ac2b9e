//! Secrets, and the processes of their own that use them or the user's keys for the command.
//!
//! A value is read when a run starts. It goes to the broker (`launcher/adapters/broker`) or into a
//! pipe, and what it was in is wiped before the command runs: endow itself keeps none.

mod bridges;
mod broker;
mod environment;
mod process;
mod reapi;
mod secret;
mod ssh_agent;

use std::os::fd::{AsFd, OwnedFd, RawFd};

use endow_policy::{BrokerOrder, BrokeredHost, Endpoint, Secret, SecretUse, Stated};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::sys;
pub(crate) use bridges::{Asked, Bridges};
pub(crate) use broker::Broker;
pub(crate) use environment::Given;
pub(crate) use process::{AdapterError, End, Helper};
pub(crate) use reapi::{RemoteCache, RemoteError, order as remote_order};
pub(crate) use secret::SecretError;
use secret::Value;
pub(crate) use ssh_agent::SshAgentFilter;

/// What became of a run's secrets.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    /// Who adds headers, when there are any to add.
    pub(crate) broker: Option<Broker>,
    /// Pipes that hold a value each, and the number that the command has for it.
    pub(crate) handed: Vec<(OwnedFd, RawFd)>,
}

/// Why secrets can't be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SecretsError {
    /// A value can't be read.
    #[error("can't read secret {name}")]
    Secret { name: String, source: SecretError },
    /// The broker does not serve.
    #[error("can't start the broker of secrets")]
    Broker(#[source] AdapterError),
    /// A value can't be handed over.
    #[error("can't hand over secret {name}")]
    Pipe { name: String, source: Errno },
}

/// Reads all secrets of a plan, and gives each to whom it is for. The broker knows those in headers
/// by their order. Commands get what is `given`.
pub(crate) fn take(secrets: &[Stated<Secret>], given: Given<'_>) -> Result<Secrets, SecretsError> {
    let (mut order, mut taken) = (BrokerOrder { hosts: Vec::new() }, Secrets::default());
    for secret in secrets {
        let Secret { name, from, to } = &secret.value;
        let read = |kind| {
            let failed = |source| SecretsError::Secret { name: name.clone(), source };
            secret::read(from, kind, given).map_err(failed)
        };
        match to {
            SecretUse::Withheld => {}
            SecretUse::Descriptor(number) => {
                let value = read(secret::Kind::Bytes)?;
                let failed = |source| SecretsError::Pipe { name: name.clone(), source };
                let pipe = filled(value.as_bytes()).map_err(failed)?;
                taken.handed.push((pipe, (*number).into()));
            }
            SecretUse::Header(endpoint) => {
                order.hosts.push(brokered(endpoint, &read(secret::Kind::Header)?));
            }
        }
    }
    if !order.hosts.is_empty() {
        let broker = Broker::start(order, given.withheld);
        taken.broker = Some(broker.map_err(SecretsError::Broker)?);
    }
    Ok(taken)
}

fn brokered(endpoint: &Endpoint, value: &Value) -> BrokeredHost {
    let server = &endpoint.server;
    BrokeredHost {
        host: server.host.as_str().to_owned(),
        port: server.port,
        path: server.path.clone(),
        websocket: endpoint.websocket,
        header: endpoint.header.name.clone(),
        value: endpoint.header.with(value.as_text()),
        secret: value.as_text().to_owned(),
    }
}

/// Returns the end of a pipe from which the bytes can be read, once.
fn filled(bytes: &[u8]) -> Result<OwnedFd, Errno> {
    let (out, into) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    if rustix::io::write(&into, bytes)? != bytes.len() {
        return Err(Errno::MSGSIZE);
    }
    drop(into);
    // The command reads as from any pipe: the flag belongs to both ends apart.
    rustix::fs::fcntl_setfl(&out, rustix::fs::OFlags::empty())?;
    sys::fd::set_aside(out.as_fd())
}
