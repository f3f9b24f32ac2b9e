//! The built broker, between a client and a server of TLS.

mod answers;
mod bodies;
mod client;
mod confinement;
mod ending;
mod process;
mod refusals;
mod requests;
mod server;
mod upgrade;
