//! The whole life of the process, stage by stage.

use std::error::Error;
use std::os::unix::net::UnixListener;
use std::process::ExitCode;

use endow_adapter::{Control, live};
use endow_policy::SshAgentOrder;

use crate::agent::Agent;
use crate::chosen::Chosen;
use crate::confine::{Reach, confine};
use crate::confirm::{Confirm, TIME_LIMIT};
use crate::filter::Filter;
use crate::harden::harden;
use crate::{order, serve};

/// Serves as the launcher orders, until the launcher is gone. Prints nothing.
pub fn run(control: Control) -> ExitCode {
    live(control, prepare, |control, (listener, filter)| {
        serve::until_gone(control, listener, filter);
    })
}

fn prepare(control: Control) -> Result<(UnixListener, Filter), Box<dyn Error>> {
    harden()?;
    let (order, listener) = order::receive(control)?;
    let SshAgentOrder { agent, keys, confirm: program, search } = order;
    confine(if program.is_empty() { Reach::Nothing } else { Reach::Reading })?;
    let held = Agent::reach(agent.as_ref())?.identities()?;
    let chosen = Chosen::resolve(&keys, &held)?;
    let confirm = (!program.is_empty()).then(|| Confirm::new(program, &search, TIME_LIMIT));
    Ok((listener, Filter::new(agent.into(), chosen, confirm)))
}
