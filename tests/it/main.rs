//! End-to-end tests of the built program. One file a subject; each is declared here.

mod harness;
mod plan;
mod run_basic;
mod run_identity;
mod run_installation;
mod work;
