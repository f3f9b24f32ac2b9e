//! `apply`: a plan is carried out, step by step, and nothing is decided any more.

mod cgroup;
mod confine;
mod cow_layer;
mod failure;
mod filter;
mod fork_server;
mod half_way;
mod init;
mod landlock;
mod lower;
mod mask_layer;
mod message;
mod networks;
mod overlay;
mod payload;
mod pid_1;
mod prepare;
mod reaper;
mod served;
mod spawn;
mod tree_layer;

pub(crate) use failure::SpawnError;
pub(crate) use fork_server::ForkServer;
pub(crate) use half_way::{HalfWay, half_way};
#[cfg(test)]
pub(crate) use message::Stage;
pub(crate) use message::{Message, SIZE as MESSAGE_SIZE, StepFailure, Usage};
pub(crate) use prepare::{Before, PrepareError, Prepared, prepare, prepare_in};
pub(crate) use spawn::{Begun, Descriptors, Repeated, Sandbox, begin, spawn};
