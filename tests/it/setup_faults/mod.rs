//! Set-up, failed or killed at system calls one after another: no command runs with less confinement
//! than without a fault, the host is as it was, and nothing hangs.
//!
//! `ENDOW_SWEEP=all` tries every fault at every call, `ENDOW_SWEEP=300s` as many as that time allows, and
//! `ENDOW_SWEEP=endow.0:openat2:17` those at one. By default each of these tests takes a few seconds, and
//! other faults each time it runs: `ENDOW_TEST_SEED` repeats them.

mod calls;
mod controls;
mod facts;
mod kinds;
mod outcome;
mod random;
mod registers;
mod seen;
mod sweep;
mod tracer;

use sweep::Sweep;

#[test]
fn default_run_is_confined_or_refused() {
    Sweep::of(kinds::DEFAULT).run();
}

#[test]
fn live_workspace_with_hidden_names_is_confined_or_refused() {
    Sweep::of(kinds::HIDDEN).run();
}

#[test]
fn dropped_copies_are_confined_or_refused() {
    Sweep::of(kinds::DISCARDED).run();
}

#[test]
fn allowed_hosts_are_confined_or_refused() {
    Sweep::of(kinds::ALLOWED).run();
}

#[test]
fn limits_are_kept_or_refused() {
    Sweep::of(kinds::LIMITED).run();
}

#[test]
fn policy_files_hold_or_the_run_is_refused() {
    Sweep::of(kinds::POLICED).run();
}

#[test]
fn git_tree_is_whole_or_the_run_is_refused() {
    Sweep::of(kinds::TREE).run();
}

#[test]
fn changed_git_tree_is_whole_or_the_run_is_refused() {
    Sweep::of(kinds::CHANGED_TREE).run();
}

#[test]
fn stored_tree_is_whole_or_the_run_is_refused() {
    Sweep::of(kinds::STORED).run();
}

#[test]
fn tree_as_the_root_is_whole_or_the_run_is_refused() {
    Sweep::of(kinds::ROOT).run();
}

/// What a fault left in the cache is no result of the same action without one.
#[test]
fn action_is_confined_or_fails() {
    Sweep::of(kinds::ACTION).run();
}

#[test]
fn command_line_of_linux_sandbox_holds_or_is_refused() {
    Sweep::of(kinds::LINUX_SANDBOX).run();
}

#[test]
fn run_in_place_is_confined_or_refused() {
    Sweep::of(kinds::IN_PLACE).run();
}
