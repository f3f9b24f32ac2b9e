//! From what a run asked for and did not get to lines of a policy: the fewest that give it, each with
//! its reason. What would be dangerous is a comment, never a grant.
//!
//! Nothing here asks the host: a [`Need`] carries what is there, and the caller has judged it by the
//! policy in force.

mod danger;
mod edit;
mod endings;
mod gather;
mod hosts;
mod need;
mod profiles;
mod propose;
mod rehearse;
mod suggestion;
mod unused;
mod written;

pub use danger::danger;
pub use edit::{EditError, edited};
pub use need::{Need, PathNeed, Usage, What};
pub use propose::{Around, Proposal, propose};
pub use rehearse::rehearsal;
pub use suggestion::{How, Suggested, Suggestion};
pub use unused::{Lesson, Unused, unused};
