//! What is judged.

use std::ffi::OsString;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::plan::why::Need;

/// What a call asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Asked {
    /// A path of the view, in full.
    Path(Need, OsString),
    /// An address to connect to.
    Address(SocketAddr),
}

impl Asked {
    /// Returns about how many bytes it takes.
    pub(super) fn size(&self) -> usize {
        let path = match self {
            Self::Path(_, path) => path.len(),
            Self::Address(_) => 0,
        };
        size_of::<Self>() + path
    }
}
