//! Mounts of git trees and of content-addressed trees.

mod cas;
mod cas_cow;
mod git;
mod git_cow;
mod hostile;
mod kept;
mod layers;
mod oracles;
mod real;
mod room;
mod store;
mod stress;
mod stubs;
