//! End-to-end tests of the built program. One file a subject; each is declared here.

mod harness;
mod doctor;
mod run_basic;
mod why;
