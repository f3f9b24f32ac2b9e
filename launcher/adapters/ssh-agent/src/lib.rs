//! A filter between a sandbox and the user's ssh-agent.
//!
//! It runs as the user, outside. The launcher gives it a [`SshAgentOrder`] and a socket that listens
//! inside the sandbox. Who connects there can do three things and nothing else:
//!
//! - list the chosen keys, and certificates for them;
//! - have a chosen key sign a login (SSH_MSG_USERAUTH_REQUEST with that very key) or a message in the
//!   format of `ssh-keygen -Y sign` (SSHSIG, as git signs commits), after a confirmation if one was
//!   ordered. What is neither is never signed: a signature of bytes that mean nothing here could mean
//!   anything elsewhere;
//! - bind the connection to a session (`session-bind@openssh.com`), without which an agent refuses
//!   keys that are constrained to destinations. The agent itself checks the host's signature.
//!
//! Everything else is answered with SSH_AGENT_FAILURE and never reaches the agent: a request goes on only
//! when every byte of it was understood.
//!
//! The stages: `harden` the process, take the `order`, `confine`, see what the `agent` has
//! and what of it is `chosen`, then `serve` until the launcher is gone. What one client asks is
//! read by `wire` and `request`, judged by `filter` with `key` and `signed`, and put to the
//! user by `confirm` with a `prompt`, but for a while after a no (`quiet`).
//!
//! [`SshAgentOrder`]: endow_policy::SshAgentOrder

#![warn(missing_docs)]

mod agent;
mod chosen;
mod confine;
mod confirm;
mod filter;
mod harden;
mod key;
mod order;
mod prompt;
mod quiet;
mod request;
mod run;
mod serve;
mod signed;
#[cfg(test)]
mod testing;
mod wire;

pub use run::run;
