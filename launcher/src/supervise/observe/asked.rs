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
    /// An abstract Unix socket to connect to, by its name.
    Abstract(Vec<u8>),
}

impl Asked {
    /// Returns about how many bytes it takes.
    pub(super) fn size(&self) -> usize {
        let name = match self {
            Self::Path(_, path) => path.len(),
            Self::Abstract(name) => name.len(),
            Self::Address(_) => 0,
        };
        size_of::<Self>() + name
    }
}
