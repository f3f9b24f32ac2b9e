//! endow under the name of another sandbox.

mod bazel;
mod buildbox_run;
mod linux_sandbox;
mod output_base;

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use crate::harness::{World, endow};

/// Returns endow under another name.
pub(crate) fn named(world: &World, name: &str) -> PathBuf {
    let directory = world.root().join("runners");
    std::fs::create_dir_all(&directory).expect("a directory");
    let link = directory.join(name);
    if !link.is_symlink() {
        symlink(endow(), &link).expect("a link");
    }
    link
}
