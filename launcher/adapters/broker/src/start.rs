//! From the start of the process to the moment in which it serves.

use std::process::ExitCode;
use std::rc::Rc;

use endow_adapter::{Control, ControlError, HardenError, say, tell_only_where_it_panicked};
use endow_policy::{AdapterAnswer, in_one_line};
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

use crate::confine::{self, ConfineError};
use crate::order::{Host, OrderError};
use crate::serve;
use crate::tls::{Tls, TlsError};

/// Why it does not serve.
#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error("the broker can't be confined")]
    Confine(#[from] ConfineError),
    #[error("the broker can't be hardened")]
    Harden(#[from] HardenError),
    #[error("no TLS")]
    Tls(#[from] TlsError),
    #[error("no order")]
    Control(#[from] ControlError),
    #[error("the order is refused")]
    Order(#[from] OrderError),
    #[error("no event loop")]
    Runtime(#[source] std::io::Error),
}

/// All that it needs to serve.
struct Ready {
    runtime: Runtime,
    tls: Tls,
    hosts: Vec<Rc<Host>>,
}

/// Does what the program is for. Whoever starts it by hand is told that this is not how.
pub fn main() -> ExitCode {
    tell_only_where_it_panicked("endow-broker");
    let hidden = confine::hide();
    let Some(control) = Control::inherited() else {
        say("endow-broker is started by endow\n");
        return ExitCode::from(2);
    };
    match hidden.map_err(StartError::from).and_then(|()| prepare(control)) {
        Ok(ready) => serve(control, ready),
        Err(error) => {
            control.answer(&AdapterAnswer::Failed(in_one_line(&error)));
            ExitCode::FAILURE
        }
    }
}

/// Makes all that can't be made any more once it is confined, then confines it.
fn prepare(control: Control) -> Result<Ready, StartError> {
    confine::stand_alone()?;
    let tls = Tls::of_the_host()?;
    let runtime = Builder::new_current_thread().enable_io().enable_time().build();
    let runtime = runtime.map_err(StartError::Runtime)?;
    let hosts = Host::all_of(&control.order()?)?;
    confine::confine()?;
    Ok(Ready { runtime, tls, hosts: hosts.into_iter().map(Rc::new).collect() })
}

fn serve(control: Control, ready: Ready) -> ExitCode {
    control.answer(&AdapterAnswer::Ready);
    let serving = serve::serve(control, &ready.hosts, &ready.tls);
    match ready.runtime.block_on(LocalSet::new().run_until(serving)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
