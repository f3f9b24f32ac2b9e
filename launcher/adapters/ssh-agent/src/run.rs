//! The whole life of the process, stage by stage.

use std::error::Error;
use std::io::stdin;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::process::ExitCode;

use endow_adapter::causes;
use endow_policy::{AdapterAnswer, SshAgentOrder};

use crate::agent::Agent;
use crate::chosen::Chosen;
use crate::confine::{Reach, confine};
use crate::confirm::{Confirm, TIME_LIMIT};
use crate::filter::Filter;
use crate::harden::harden;
use crate::{order, serve};

/// Whether standard input is what the launcher gives: a socket that keeps messages apart.
pub fn is_started_by_endow() -> bool {
    order::is_launcher(stdin().as_fd())
}

/// Serves as the launcher orders, until the launcher is gone. Prints nothing.
pub fn run() -> ExitCode {
    std::panic::set_hook(Box::new(|_| ()));
    let launcher = stdin();
    let (listener, filter) = match prepare(launcher.as_fd()) {
        Ok(prepared) => prepared,
        Err(error) => {
            // A launcher that is gone needs no answer.
            drop(order::answer(launcher.as_fd(), &AdapterAnswer::Failed(causes(&*error))));
            return ExitCode::FAILURE;
        }
    };
    if order::answer(launcher.as_fd(), &AdapterAnswer::Ready).is_ok() {
        serve::until_gone(launcher.as_fd(), listener, filter);
    }
    ExitCode::SUCCESS
}

fn prepare(launcher: BorrowedFd<'_>) -> Result<(UnixListener, Filter), Box<dyn Error>> {
    harden()?;
    let (order, listener) = order::receive(launcher)?;
    let SshAgentOrder { agent, keys, confirm: program, search } = order;
    confine(if program.is_empty() { Reach::Nothing } else { Reach::Reading })?;
    let held = Agent::reach(agent.as_ref())?.identities()?;
    let chosen = Chosen::resolve(&keys, &held)?;
    let confirm = (!program.is_empty()).then(|| Confirm::new(program, &search, TIME_LIMIT));
    Ok((listener, Filter::new(agent.into(), chosen, confirm)))
}
