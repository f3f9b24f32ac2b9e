//! What a command may leave that a program outside would follow or run, where no pattern names it.

mod below;
mod git;
mod indexes;
mod link;
mod linked;
mod objects;
mod out;
mod parts;
mod references;
mod settings;
mod sides;
mod state;
mod trees;
mod way;

pub use below::{Lies, Lying, NamesLeft};
pub use git::GitTraps;
pub use indexes::IndexWork;
pub use link::LinkTraps;
pub use sides::{NewNames, Sides};
