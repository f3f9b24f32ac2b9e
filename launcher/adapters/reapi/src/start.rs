//! From the start of the process to the moment in which it serves.

use std::process::ExitCode;

use endow_adapter::{
    ConfineError, Control, ControlError, HardenError, confine, say, tell_only_where_it_panicked,
};
use endow_policy::{AdapterAnswer, RemoteOrder, in_one_line};
use tokio::runtime::Builder;
use zeroize::Zeroize;

use crate::blobs::Remote;
use crate::capabilities::{Capabilities, CapabilitiesError};
use crate::client::{Client, TokenError};
use crate::connect::{ConnectError, Server};
use crate::harden::stand_alone;
use crate::serve::{self, told};

/// Why it does not serve.
#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error("the process that speaks with the cache can't be confined")]
    Confine(#[from] ConfineError),
    #[error("the process that speaks with the cache can't be hardened")]
    Harden(#[from] HardenError),
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
    tell_only_where_it_panicked("endow-reapi");
    let Some(control) = Control::inherited() else {
        say("endow-reapi is started by endow\n");
        return ExitCode::from(2);
    };
    match run(control) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            control.answer(&AdapterAnswer::Failed(told(&in_one_line(&error))));
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
        control.answer(&AdapterAnswer::Ready);
        // An end of the socket that is no proper one leaves nothing to be done either.
        drop(serve::serve(control, &remote).await);
        Ok(())
    })
}
