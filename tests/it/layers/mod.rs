//! Each layer alone: all layers on, the attack is refused; the others off and this one on, it is
//! refused; this one off as well, it works. The feature `test-switches` builds such programs;
//! these tests and all others whose path has a module of this name run with one.

mod alone;

mod files;
mod in_place;
mod kernel;
mod others;
mod processes;
mod verify;
