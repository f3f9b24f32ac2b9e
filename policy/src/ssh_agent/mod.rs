//! Keys of the user's ssh-agent that the command may use.

mod order;

pub use order::SshAgentOrder;
