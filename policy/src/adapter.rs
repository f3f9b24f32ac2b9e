//! What endow and the programs beside it say to each other, whatever they are for.

use serde::{Deserialize, Serialize};

/// The most bytes of an order to an adapter.
pub const ORDER_MAX: usize = 256 << 10;

/// What an adapter says when it has its orders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AdapterAnswer {
    /// It serves.
    Ready,
    /// It can't, for this reason.
    Failed(String),
}
