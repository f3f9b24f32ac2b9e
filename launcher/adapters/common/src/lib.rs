//! What the programs beside endow have alike: the socket to endow, what they give up at first, how they live, how
//! often they do something, and how they tell an error.

mod confine;
mod control;
mod harden;
mod life;
mod pace;
mod told;

pub use confine::{ConfineError, confine};
pub use control::{Control, ControlError};
pub use harden::{HardenError, close_others, forbid_core_dumps, hide, leave_group};
pub use life::live;
pub use pace::Pace;
pub use told::{say, tell_only_where_it_panicked};
