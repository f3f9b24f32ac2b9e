//! The built program between clients, a real agent and OpenSSH's own tools.

mod change;
mod confirm;
mod garbage;
mod harness;
mod list;
mod login;
mod order;
mod process;
mod sign;
