//! Level `landlock`: no namespaces, and endow inside endow, which narrows the outer view.

mod grants;
mod life;
mod nested;
mod refused;
pub(crate) mod shared;

use crate::harness::{Said, World};

/// Options of a run at level `landlock`.
pub(crate) const IN_PLACE: &[&str] = &["run", "--require", "landlock"];

/// Runs a script of the shell at level `landlock`.
pub(crate) fn run(world: &World, options: &[&str], script: &str) -> Said {
    world.run(&[IN_PLACE, options].concat(), script)
}
