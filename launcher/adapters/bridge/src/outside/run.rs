//! The whole life of the process, stage by stage.

use std::error::Error;
use std::os::unix::net::UnixListener;
use std::process::ExitCode;

use endow_adapter::{Control, live};

use super::harden::harden;
use super::serve::{self, Bridges};
use super::{order, programs::Programs};

/// Serves as the launcher orders, until the launcher is gone. Prints nothing.
pub fn run(control: Control) -> ExitCode {
    live(control, prepare, |control, (listener, mut bridges)| {
        serve::until_gone(control, &listener, &mut bridges);
    })
}

fn prepare(control: Control) -> Result<(UnixListener, Bridges), Box<dyn Error>> {
    harden()?;
    let (order, listener) = order::receive(control)?;
    let programs = Programs::new(&order.search, &order.reach);
    Ok((listener, Bridges::new(&order, programs)?))
}
