//! The whole life of the process, stage by stage.

use std::error::Error;
use std::io::stdin;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::process::ExitCode;

use endow_adapter::causes;
use endow_policy::AdapterAnswer;

use super::harden::harden;
use super::serve::{self, Bridges};
use super::{order, programs::Programs};

/// Whether standard input is what the launcher gives: a socket that keeps messages apart.
pub fn is_started_by_endow() -> bool {
    order::is_launcher(stdin().as_fd())
}

/// Serves as the launcher orders, until the launcher is gone. Prints nothing.
pub fn run() -> ExitCode {
    std::panic::set_hook(Box::new(|_| ()));
    let launcher = stdin();
    let (listener, mut bridges) = match prepare(launcher.as_fd()) {
        Ok(prepared) => prepared,
        Err(error) => {
            // A launcher that is gone needs no answer.
            drop(order::answer(launcher.as_fd(), &AdapterAnswer::Failed(causes(&*error))));
            return ExitCode::FAILURE;
        }
    };
    if order::answer(launcher.as_fd(), &AdapterAnswer::Ready).is_ok() {
        serve::until_gone(launcher.as_fd(), &listener, &mut bridges);
    }
    ExitCode::SUCCESS
}

fn prepare(launcher: BorrowedFd<'_>) -> Result<(UnixListener, Bridges), Box<dyn Error>> {
    harden()?;
    let (order, listener) = order::receive(launcher)?;
    let programs = Programs::new(&order.search, &order.reach);
    Ok((listener, Bridges::new(&order, programs)?))
}
