//! The broker of secrets: a process beside a sandbox, which adds headers to requests.
//!
//! A command in a sandbox that may use a service needs the user's key for it, and whoever has a key
//! can give it away. So it gets none: it speaks plain HTTP to the broker, who adds the key and
//! speaks TLS with the service. What comes back is searched for the key.
//!
//! It is a program of its own, because it holds what endow itself must not: secrets, and parsers
//! of what both sides say. Before it serves it gives up files, new sockets and new processes;
//! connections come to it ready-made, from a supervisor that has looked where they lead.
//!
//! What it can't do: a server that repeats the key *changed* (encoded, reversed, compressed, in
//! parts) can't be caught, and whoever may send requests may ask for all that the key allows, below
//! the path that was granted. Of paths it knows what they say, and the headers that
//! are known to name another; not what else a server makes a path of. Secrets of less than four bytes are not looked for: they stand everywhere.

mod confine;
mod control;
mod order;
mod proxy;
mod redact;
mod refusal;
mod serve;
mod start;
mod tls;

pub use start::main;
