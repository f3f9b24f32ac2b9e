//! The end of the bridges outside: one process for a run.

mod harden;
mod judge;
mod login;
mod order;
mod programs;
mod run;
mod serve;
mod start;
mod text;
mod url;

pub use run::run;
