//! What the programs beside endow have alike: the socket to endow, what they give up at first, and how they
//! tell an error.

mod control;
mod harden;
mod told;

pub use control::{Control, ControlError, ORDER_MAX};
pub use harden::{close_others, hide};
pub use told::{causes, say, tell_only_where_it_panicked};
