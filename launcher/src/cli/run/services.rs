//! What serves a sandbox from outside: its network, the filter of the user's ssh-agent, and bridges.

use std::io;

use endow_policy::{Bridge, Network, SshAgentOrder};

use super::bridges;
use super::sandbox::failed;
use crate::adapters::{self, AdapterError, SecretsError, SshAgentFilter};
use crate::apply::Prepared;
use crate::cli::error::{CommandError, Kind};
use crate::network::nearby::Surroundings;
use crate::network::{self, PublishError, Served};
use crate::plan::{ChosenKeys, Plan, ssh_agent};
use crate::supervise::{Adapters, Bridging, Notice, Supervised};
use crate::sys;

/// What serves one sandbox.
pub(super) struct Services {
    network: Option<Served>,
    filter: Option<SshAgentFilter>,
    bridges: Option<Bridging>,
}

impl Services {
    /// Starts what a plan asks for. That is handed to the sandbox when it is started.
    pub(super) fn start(
        plan: &Plan,
        prepared: &mut Prepared,
        tells_processes: bool,
        notify: &mut dyn FnMut(Notice),
    ) -> Result<Self, CommandError> {
        let network = network(plan, prepared, tells_processes, notify)?;
        let filter = filter(plan, prepared)?;
        Ok(Self { network, filter, bridges: bridges::serve(plan, prepared)? })
    }

    /// Lets this process have as many descriptors as it may, once the sandbox is started: pid 1 keeps the limit of
    /// the caller, and so does the command.
    pub(super) fn take_descriptors(&mut self, rests: bool) {
        match &mut self.network {
            Some(network) => network.take_descriptors(),
            None if rests => drop(sys::fd::take_all()),
            None => {}
        }
    }

    /// Has the supervisor serve the sandbox. The filter of the ssh-agent works by itself, until it is dropped.
    pub(super) fn hand(self, to: Supervised<'_>) -> (Supervised<'_>, Option<SshAgentFilter>) {
        let Self { network, filter, bridges } = self;
        let broker = network.as_ref().and_then(Served::end_of_broker);
        let agent = filter.as_ref().and_then(SshAgentFilter::end);
        let ends = broker.into_iter().chain(agent).collect();
        (to.serving(network).with_adapters(Adapters::new(bridges, ends)), filter)
    }
}

/// Prepares the network, with the secrets that are added to what goes out.
fn network(
    plan: &Plan,
    prepared: &mut Prepared,
    tells_processes: bool,
    notify: &mut dyn FnMut(Notice),
) -> Result<Option<Served>, CommandError> {
    let rules = plan.supervise.network.as_ref();
    let mut served = rules.map(|rules| serve((plan, rules), notify)).transpose()?;
    let given = adapters::Given { path: &plan.secret_path, withheld: &plan.withheld_outside };
    let secrets = adapters::take(&plan.secrets, given).map_err(not_taken)?;
    prepared.hand(secrets.handed);
    if let Some(served) = &mut served {
        served.adding(secrets.broker);
        if tells_processes {
            served.naming_processes();
        }
    }
    Ok(served)
}

/// Prepares the network, and says which ports were chosen.
fn serve(
    (plan, rules): (&Plan, &Network),
    notify: &mut dyn FnMut(Notice),
) -> Result<Served, CommandError> {
    let nearby = Surroundings::new().map_err(|errno| {
        failed("can't read this host's addresses and routes, to which no name may lead")(errno)
            .hint("`ip route show table all` must work here: endow needs sockets of rtnetlink(7)")
    })?;
    let mut served = network::serve(rules, nearby).map_err(failed("can't serve the network"))?;
    for (at, port) in served.publish().map_err(|error| not_published(error, plan))? {
        notify(Notice::Published(at, port));
    }
    Ok(served)
}

fn not_taken(error: SecretsError) -> CommandError {
    let this = CommandError::new(Kind::Setup, error.to_string()).because(&error);
    match &error {
        SecretsError::Broker(AdapterError::Missing(_)) => this.lacking("endow-broker"),
        SecretsError::Secret { .. } | SecretsError::Broker(_) | SecretsError::Pipe { .. } => this,
    }
}

/// Starts the filter before the user's ssh-agent, where keys of it may be used.
fn filter(plan: &Plan, prepared: &mut Prepared) -> Result<Option<SshAgentFilter>, CommandError> {
    let Some(chosen) = &plan.ssh_agent else { return Ok(None) };
    let Some(listener) = prepared.take_listener(ssh_agent::SOCKET) else { return Ok(None) };
    let order = SshAgentOrder {
        agent: chosen.agent.to_string(),
        keys: chosen.keys.iter().map(|key| key.value.clone()).collect(),
        confirm: chosen.confirm.clone(),
        search: chosen.search.iter().map(ToString::to_string).collect(),
    };
    let started = SshAgentFilter::start(&order, listener, &plan.withheld_outside);
    started.map(Some).map_err(|error| not_filtered(&error, chosen))
}

fn not_filtered(error: &AdapterError, chosen: &ChosenKeys) -> CommandError {
    let this = CommandError::new(Kind::Setup, "can't use keys of the ssh-agent");
    let this = this.about(&chosen.agent).cause(error).because(error);
    match error {
        AdapterError::Missing(_) => this.lacking("endow-ssh-agent"),
        AdapterError::Refused(_) => this.hint("`ssh-add -l` lists the agent's keys"),
        AdapterError::Start { .. } | AdapterError::TooLong | AdapterError::NoAnswer(_) => this,
    }
}

fn not_published(error: PublishError, plan: &Plan) -> CommandError {
    let login = Bridge::Oauth(Some(error.at.port()));
    let is_login = plan.bridges.iter().flat_map(|it| &it.open).any(|it| it.value == login);
    let this = CommandError::new(Kind::Setup, error.to_string());
    let this = this.cause(io::Error::from(error.errno));
    if is_login {
        return this.hint(format!(
            "a login comes back to no other port than that of `{login}`: end what listens there"
        ));
    }
    this.hint("`--publish 0:PORT` takes a port that is free")
}
