//! The real agent: the few things it is asked, each in a message written here.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::request::{
    Identity, LIST_REQUEST, SignRequest, parse_identities, signature_or_failure, success_or_failure,
};
use crate::wire::{self, WireError};

/// How long an agent may take to list its keys at the start.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection to the agent. Each client has its own: sessions are bound to connections.
#[derive(Debug)]
pub(crate) struct Agent {
    stream: UnixStream,
}

/// An agent that doesn't do its part.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AgentError {
    /// Nothing listens there.
    #[error("no ssh-agent answers at {}", path.display())]
    Absent {
        /// Where it should be.
        path: PathBuf,
        /// The kernel's word.
        source: io::Error,
    },
    /// The connection broke.
    #[error("the ssh-agent does not answer")]
    Wire(#[from] WireError),
    /// The connection ended.
    #[error("the ssh-agent has hung up")]
    HungUp,
    /// It said something else than what it was asked.
    #[error("the ssh-agent answers with something else")]
    Answer,
    /// A request is too long to be written.
    #[error("a request does not fit in a message")]
    Request(#[from] ssh_encoding::Error),
}

impl Agent {
    /// Connects.
    pub(crate) fn connect(path: &Path) -> Result<Self, AgentError> {
        let absent = |source| AgentError::Absent { path: path.to_owned(), source };
        Ok(Self { stream: UnixStream::connect(path).map_err(absent)? })
    }

    /// Connects, to see whether it is there: it must answer soon, with no user to wait for.
    pub(crate) fn reach(path: &Path) -> Result<Self, AgentError> {
        let agent = Self::connect(path)?;
        agent.stream.set_read_timeout(Some(PATIENCE)).map_err(WireError::from)?;
        Ok(agent)
    }

    /// All its keys.
    pub(crate) fn identities(&mut self) -> Result<Vec<Identity>, AgentError> {
        parse_identities(&self.ask(LIST_REQUEST)?).ok_or(AgentError::Answer)
    }

    /// The message with a signature, or with its refusal.
    pub(crate) fn sign(&mut self, request: &SignRequest) -> Result<Vec<u8>, AgentError> {
        signature_or_failure(self.ask(&request.encode()?)?).ok_or(AgentError::Answer)
    }

    /// Its answer to a message that binds the connection to a session.
    pub(crate) fn bind(&mut self, message: &[u8]) -> Result<Vec<u8>, AgentError> {
        success_or_failure(self.ask(message)?).ok_or(AgentError::Answer)
    }

    fn ask(&mut self, message: &[u8]) -> Result<Vec<u8>, AgentError> {
        wire::send(&mut self.stream, message)?;
        wire::receive(&mut self.stream)?.ok_or(AgentError::HungUp)
    }
}
