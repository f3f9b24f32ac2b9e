//! Decides about each request of a client.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::net::sockopt::socket_peercred;

use crate::agent::{Agent, AgentError};
use crate::chosen::Chosen;
use crate::confirm::Confirm;
use crate::key::PublicKey;
use crate::prompt::Question;
use crate::request::{FAILURE, Identity, Request, SignRequest, encode_identities};
use crate::signed::Signed;
use crate::wire::{self, WireError};

/// What a client whose name can't be told is called.
const NAMELESS: &str = "a program";

/// What may be asked of which agent.
#[derive(Debug)]
pub(crate) struct Filter {
    agent: PathBuf,
    chosen: Chosen,
    confirm: Option<Confirm>,
}

/// The end of a client's connection before its time. The sandbox sees it closed, and no reason.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// The client's end broke, or said what is no message.
    #[error("the client's connection")]
    Client(#[from] WireError),
    /// The agent's end did. A new connection to the agent would not be bound to a session.
    #[error("the agent's connection")]
    Agent(#[from] AgentError),
}

/// A client, and the connection to the agent that serves it.
struct Client<'a> {
    filter: &'a Filter,
    stream: UnixStream,
    agent: Option<Agent>,
}

impl Filter {
    /// Lets through what concerns these keys, after a confirmation if there is a program for it.
    pub(crate) fn new(agent: PathBuf, chosen: Chosen, confirm: Option<Confirm>) -> Self {
        Self { agent, chosen, confirm }
    }

    /// Serves one client until it leaves.
    pub(crate) fn serve(&self, stream: UnixStream) -> Result<(), ClientError> {
        let mut client = Client { filter: self, stream, agent: None };
        while let Some(message) = wire::receive(&mut client.stream)? {
            let answer = client.answer(&message)?;
            wire::send(&mut client.stream, &answer)?;
        }
        Ok(())
    }

    /// Takes an open question to the user back.
    pub(crate) fn end(&self) {
        if let Some(confirm) = &self.confirm {
            confirm.end();
        }
    }
}

impl Client<'_> {
    fn answer(&mut self, message: &[u8]) -> Result<Vec<u8>, AgentError> {
        match Request::parse(message) {
            Some(Request::List) => self.list(),
            Some(Request::Sign(request)) => self.sign(&request),
            Some(Request::Bind(message)) => self.agent()?.bind(&message),
            None => Ok(FAILURE.to_vec()),
        }
    }

    fn list(&mut self) -> Result<Vec<u8>, AgentError> {
        let mut identities = self.agent()?.identities()?;
        identities.retain(|identity| self.filter.chosen.key(&identity.key).is_some());
        Ok(encode_identities(&identities)?)
    }

    fn sign(&mut self, request: &SignRequest) -> Result<Vec<u8>, AgentError> {
        let Some(key) = self.filter.chosen.key(&request.key) else { return Ok(FAILURE.to_vec()) };
        let signed = Signed::parse(&request.data).filter(|signed| signed.is_for(&key));
        match signed {
            Some(signed) if self.is_confirmed(&key, &signed)? => self.agent()?.sign(request),
            _ => Ok(FAILURE.to_vec()),
        }
    }

    fn is_confirmed(&mut self, key: &PublicKey, signed: &Signed) -> Result<bool, AgentError> {
        let Some(confirm) = &self.filter.confirm else { return Ok(true) };
        // Nobody is asked about a key that the agent has lost.
        let Some(comment) = comment(&self.agent()?.identities()?, key) else { return Ok(false) };
        let program = program(self.stream.as_fd());
        let question = Question { program: &program, comment: &comment, key, signed };
        Ok(confirm.ask(key, &question.text(), self.stream.as_fd()))
    }

    /// The client's own connection to the agent, made when it is needed first.
    fn agent(&mut self) -> Result<&mut Agent, AgentError> {
        let agent = match self.agent.take() {
            Some(agent) => agent,
            None => Agent::connect(&self.filter.agent)?,
        };
        Ok(self.agent.insert(agent))
    }
}

/// The name for people of a key that an agent has.
fn comment(held: &[Identity], key: &PublicKey) -> Option<String> {
    let found = held.iter().find(|identity| PublicKey::of(&identity.key).as_ref() == Some(key))?;
    Some(String::from_utf8_lossy(&found.comment).into_owned())
}

/// What the process that connected calls itself, which it may choose.
fn program(client: BorrowedFd<'_>) -> String {
    let name = socket_peercred(client).ok().and_then(|peer| {
        let pid = peer.pid.as_raw_nonzero();
        std::fs::read(format!("/proc/{pid}/comm")).ok()
    });
    let name = name.map(|name| String::from_utf8_lossy(name.trim_ascii_end()).into_owned());
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| NAMELESS.to_owned())
}
