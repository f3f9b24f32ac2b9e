//! What the guest may reach over the network.

use serde::Serialize;

/// The network of a sandbox. Never widened when something fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// Own network namespace with loopback only.
    #[default]
    None,
    /// The host's network.
    Host,
}
