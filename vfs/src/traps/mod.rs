//! What a command may leave that a program outside would follow or run, where no pattern names it.

mod git;
mod link;
mod linked;
mod objects;
mod out;
mod parts;
mod settings;
mod sides;
mod state;

pub use git::{GitTraps, UNSOUND};
pub use link::LinkTraps;
pub use sides::{NewNames, Sides};
