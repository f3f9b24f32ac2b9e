//! Bridges: narrow ways from the sandbox to what the user has on the desktop.

mod kind;
mod order;
mod placed;
mod table;
mod word;

pub use kind::BridgeKind;
pub use order::{BridgeNews, BridgeOrder, LOGIN_LASTS};
pub(crate) use placed::{is_of_browser, place};
pub use table::BridgesTable;
pub use word::{Bridge, BridgeFault};

/// The directory of the view in which programs of bridges stand.
pub const BRIDGE_PROGRAMS: &str = "/run/endow/bin";
/// The socket of the view at which bridges are served.
pub const BRIDGE_SOCKET: &str = "/run/endow/bridges.sock";
