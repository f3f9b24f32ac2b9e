//! What the launcher sends at the start.

use std::os::unix::net::UnixListener;

use endow_adapter::{Control, ControlError};
use endow_policy::SshAgentOrder;

/// An order that can't be followed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OrderError {
    /// There is none.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// It isn't the JSON of an order.
    #[error("the order can't be read")]
    Malformed(#[source] serde_json::Error),
    /// The path of the agent is relative.
    #[error("the agent's path is not absolute")]
    Relative,
}

/// Receives the order, and the socket at which clients arrive.
pub(crate) fn receive(control: Control) -> Result<(SshAgentOrder, UnixListener), OrderError> {
    let (text, listener) = control.order_with_listener()?;
    let order: SshAgentOrder = serde_json::from_slice(&text).map_err(OrderError::Malformed)?;
    if !order.agent.starts_with('/') {
        return Err(OrderError::Relative);
    }
    Ok((order, listener))
}
