//! Mounts of git trees and of content-addressed trees.

mod cas;
mod git;
mod hostile;
mod kept;
