//! The attack suite: each attack is a test of its own, made in four kinds of sandbox, with a control
//! that makes it without one. The tables are the list: `docs/reference/attacks.md` is written from them.

#[macro_use]
mod attack;
#[macro_use]
mod process;
mod kinds;
mod list;
mod made;
mod scene;

mod absent;
mod calls;
mod control_files;
mod credentials;
mod crowds;
mod descriptors;
mod doors;
mod families;
mod hidden;
mod in_namespaces;
mod keys;
mod lifecycle;
mod links;
mod loopback;
mod pid_1;
mod privilege;
mod protected;
mod read_only;
mod resources;
mod shared;
mod signals;
mod sockets;
mod terminal;
mod victim;
mod words;
mod write_back;
