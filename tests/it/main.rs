//! End-to-end tests of the built program. One file a subject; each is declared here.

mod check;
mod doctor;
mod escape;
mod harness;
mod in_place;
mod kept_changes;
mod kept_runs;
#[cfg(feature = "test-switches")]
mod layers;
mod plan;
mod run_basic;
mod run_bytes;
mod run_cow;
mod run_deny;
mod run_foreign;
mod run_from;
mod run_git;
mod run_identity;
mod run_installation;
mod run_leftovers;
mod run_limits;
mod run_many;
mod run_mounts;
mod run_odd_files;
mod run_report;
mod run_signals;
mod run_streams;
mod run_sync;
mod run_terminal;
mod run_tools;
mod run_usage;
mod run_workspace;
mod sync_crash;
mod trust;
mod why;
mod work;
