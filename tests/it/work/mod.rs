//! Other people's work, done inside as outside: C packages, a crate, agents.
//!
//! `cargo ci provision` fetches it; `ENDOW_TEST_WORK` names the directory.

mod agents;
mod builds;
mod caches;
mod clis;
mod editor;
mod graphs;
mod hostile;
mod installs;
mod model;
mod normal;
mod projects;
mod script;
mod settings;
mod wire;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{World, skip};

/// Returns one part of what was provisioned; says so when it is not there.
pub(crate) fn provisioned(part: &str) -> Option<PathBuf> {
    let work = std::env::var_os("ENDOW_TEST_WORK");
    let found = work.map(|work| PathBuf::from(work).join(part)).filter(|path| path.exists());
    if found.is_none() {
        skip(&format!("no {part} in ENDOW_TEST_WORK: run cargo ci provision"));
    }
    found
}

/// Copies a tree, with times: two copies at one path must make the same artefacts.
pub(crate) fn copy(from: &Path, to: &Path) {
    assert!(cp("-a", from, to), "{} is copied", from.display());
}

/// Puts a large tree that nothing changes in another place: by hard links if that can be.
fn link(from: &Path, to: &Path) {
    if !cp("-al", from, to) {
        std::fs::remove_dir_all(to).expect("what was linked goes");
        copy(from, to);
    }
}

fn cp(option: &str, from: &Path, to: &Path) -> bool {
    let mut command = Command::new("cp");
    command.arg(option).args([from, to]).stderr(std::process::Stdio::null());
    command.status().expect("cp starts").success()
}

/// Puts a fresh copy of `source` where the project was.
fn fresh_project(world: &World, source: &Path) {
    std::fs::remove_dir_all(world.project()).expect("the old project goes");
    copy(source, &world.project());
}
