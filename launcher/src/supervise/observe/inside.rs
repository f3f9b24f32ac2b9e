//! Sockets that a run has itself, or shares with the host.

use std::path::PathBuf;

use super::asked::Asked;
use crate::sys::sockets;

/// How often a run's sockets are looked through: it may have many, and the supervisor has other duties.
const LOOKS: u32 = 256;

/// Looks through the sockets of those who connect, while they wait: a moment later a run may be over.
#[derive(Debug)]
pub(super) struct Own {
    left: u32,
}

impl Default for Own {
    fn default() -> Self {
        Self { left: LOOKS }
    }
}

impl Own {
    /// Returns whether what a process connects to is in its own network, or may be: what can't be
    /// looked at is not called refused. `None` after too many looks.
    pub(super) fn has(&mut self, pid: u32, asked: &Asked) -> Option<bool> {
        let net = PathBuf::from(format!("/proc/{pid}/net"));
        let look: &dyn Fn() -> Option<bool> = match asked {
            Asked::Abstract(name) => &|| sockets::has_abstract(&net, name),
            Asked::Address(to) if to.ip().is_loopback() => &|| sockets::has_port(&net, to.port()),
            Asked::Address(_) | Asked::Path(..) => return Some(false),
        };
        self.left = self.left.checked_sub(1)?;
        Some(look().unwrap_or(true))
    }
}
