//! Mounts of git trees and of content-addressed trees.

mod cas;
mod cas_cow;
mod diff;
mod git;
mod git_cow;
mod hostile;
mod kept;
mod layered;
mod noted;
mod odd_copies;
mod oracles;
mod progress;
mod real;
mod renames;
mod room;
mod sparse;
mod store;
mod stress;
mod stubs;
mod unusual;
