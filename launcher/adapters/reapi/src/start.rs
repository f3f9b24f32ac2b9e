//! From the start of the process to the moment in which it serves.

use std::io::Write;
use std::process::ExitCode;

use endow_policy::{AdapterAnswer, RemoteOrder};
use tokio::runtime::Builder;
use zeroize::Zeroize;

use crate::blobs::Remote;
use crate::capabilities::{Capabilities, CapabilitiesError};
use crate::client::{Client, TokenError, causes};
use crate::confine::{ConfineError, confine, stand_alone};
use crate::connect::{ConnectError, Server};
use crate::control::{Control, ControlError};
use crate::serve::{self, told};

/// Why it does not serve.
#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error("the process that speaks with the cache can't be confined")]
    Confine(#[from] ConfineError),
    #[error("no order")]
    Control(#[from] ControlError),
    #[error("the order is refused")]
    Order(#[source] serde_json::Error),
    #[error("no event loop")]
    Runtime(#[source] std::io::Error),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Capabilities(#[from] CapabilitiesError),
}

/// Does what the program is for. Whoever starts it by hand is told that this is not how.
pub fn main() -> ExitCode {
    tell_only_where_it_panicked();
    let Some(control) = Control::inherited() else {
        say("endow-reapi is started by endow\n");
        return ExitCode::from(2);
    };
    match run(control) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            control.answer_order(&AdapterAnswer::Failed(told(&causes(&error))));
            ExitCode::FAILURE
        }
    }
}

fn run(control: Control) -> Result<(), StartError> {
    stand_alone()?;
    let mut order: RemoteOrder =
        serde_json::from_slice(&control.order()?).map_err(StartError::Order)?;
    let runtime = Builder::new_current_thread().enable_io().enable_time().build();
    let runtime = runtime.map_err(StartError::Runtime)?;
    let server = Server::find(&order)?;
    confine(order.socket.is_none().then_some(order.port))?;
    runtime.block_on(async {
        let client = Client::new(server.connect().await?, &order)?;
        let said = client.capabilities().await.map_err(CapabilitiesError::Asked)?;
        let remote = Remote { client, can: Capabilities::of(said, order.writes)? };
        // The token is where it is needed from here on.
        order.token.zeroize();
        if let Some((_, key)) = order.tls.as_mut().and_then(|tls| tls.identity.as_mut()) {
            key.zeroize();
        }
        control.answer_order(&AdapterAnswer::Ready);
        // An end of the socket that is no proper one leaves nothing to be done either.
        drop(serve::serve(control, &remote).await);
        Ok(())
    })
}

/// The message of a panic may hold the value that led to it.
fn tell_only_where_it_panicked() {
    std::panic::set_hook(Box::new(|panic| {
        if let Some(place) = panic.location() {
            say(&format!("endow-reapi: panic at {}:{}\n", place.file(), place.line()));
        }
    }));
}

fn say(line: &str) {
    // Nobody may be there to read it.
    drop(std::io::stderr().write_all(line.as_bytes()));
}
