//! Speaks with a remote cache of the Remote Execution API: a process beside `endow build`.
//!
//! It is a program of its own because it has what endow itself must not have: an event loop with TLS, HTTP/2
//! and gRPC (60 packages more), and the user's token for the cache. What it fetches goes
//! into files that endow opened; endow compares every content with its digest before it is used, so that
//! nothing this process or the server says is believed but which result an action has.
//!
//! Before it connects it gives up files, other ports and new programs.

mod blobs;
mod capabilities;
mod client;
mod connect;
mod control;
mod harden;
mod message;
mod results;
mod serve;
mod start;

pub use start::main;
