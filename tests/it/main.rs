//! End-to-end tests of the built program. One file a subject; each is declared here.

mod harness;
mod run_basic;
mod run_leftovers;
mod run_signals;
mod run_streams;
mod run_terminal;
