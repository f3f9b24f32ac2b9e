//! Bridges to the user's desktop: a socket of the run's own, and where the programs behind it may be.

use endow_policy::{
    Bridge, HostPath, MountSpec, NetworkMode, Origin, Policy, PublishedPort, Stated,
};
use serde::Serialize;

use super::PlanError;
use super::host::{ExecRequest, HostFacts};
use super::outside::{Reach, Search};
use super::view::Builder;

/// Where the run keeps its socket.
pub const SOCKET: &str = "sockets/bridges";

/// What is served at that socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpenBridges {
    /// The bridges that something outside is done for, and the ports to which logins come back.
    pub open: Vec<Stated<Bridge>>,
    /// Ports of the host's loopback that lead to the same port inside.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<u16>,
    /// Ports inside at which no login comes back: who is outside would reach a secret, or the host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub served: Vec<u16>,
    /// The directories of PATH in which no command can have put a program.
    pub search: Vec<HostPath>,
    /// What commands may write, or may have written: also the workspace of a run that only reads it.
    pub reach: Vec<HostPath>,
}

/// Returns what a run serves, if anything.
pub(super) fn plan(
    policy: &Policy,
    host: &HostFacts,
    request: &ExecRequest,
) -> Option<OpenBridges> {
    // On the host's network no port leads inside.
    let is_host = policy.network.mode == NetworkMode::Host;
    let is_login = |bridge: &Bridge| matches!(bridge, Bridge::Oauth(_)) && !is_host;
    let is_open = |it: &&Stated<Bridge>| it.value.kind().is_some() || is_login(&it.value);
    let open: Vec<Stated<Bridge>> = policy.bridges.iter().filter(is_open).cloned().collect();
    if open.is_empty() {
        return None;
    }
    let reach = Reach::new(&policy.mounts, &request.projects, &host.paths);
    let search = reach.safe_path(Search::of(&request.environment));
    let same = |port: &PublishedPort| port.host_port == port.port && port.address.is_loopback();
    let published = policy.network.publish.iter().map(|port| port.value).filter(same);
    let published = published.map(|port| port.port).collect();
    let served = policy.network.served_ports().into_iter().collect();
    Some(OpenBridges { open, published, served, search, reach: reach.sources })
}

impl Builder<'_> {
    /// Plans the socket.
    pub(super) fn bridges(&mut self, spec: &MountSpec) -> Result<(), PlanError> {
        let no_place = || no_place(&spec.origin);
        self.socket(spec, SOCKET, 0o755).map_err(|_| no_place())
    }
}

fn no_place(origin: &Origin) -> PlanError {
    PlanError::NoPlaceForBridges { origin: origin.clone() }
}
