//! The filter before the user's ssh-agent: inside, chosen keys of it can be used, and nothing else.

use std::os::fd::{AsFd, OwnedFd};

use endow_policy::SshAgentOrder;

use super::environment::Environment;
use super::process::{Adapter, AdapterError, End, Helper};

/// The filter of a run. Dropped, it ends.
#[derive(Debug)]
pub(crate) struct SshAgentFilter(Adapter);

impl SshAgentFilter {
    /// Starts the filter. From then on nobody else has the socket that listens.
    pub(crate) fn start(
        order: &SshAgentOrder,
        listener: OwnedFd,
        withheld: &[String],
    ) -> Result<Self, AdapterError> {
        let refused = |error: serde_json::Error| AdapterError::Refused(error.to_string());
        let message = serde_json::to_vec(order).map_err(refused)?;
        let (program, with) = (Helper::SshAgent.name(), [listener.as_fd()]);
        Adapter::start(program, &message, &with, Environment::Programs(withheld)).map(Self)
    }

    /// Returns what tells that the filter has ended.
    pub(crate) fn end(&self) -> Option<End> {
        self.0.end(Helper::SshAgent)
    }
}
