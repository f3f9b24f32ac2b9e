//! Checkpoints: what a live tree held when a run began, so that what became of it can be told and
//! taken back.
//!
//! [`record()`] walks the tree while the command already runs, and copies what the command may
//! change. When the run is over [`settle()`] compares: each change becomes a step of the ledger, as
//! if it had been written back, with the copy as its undo data. What had changed before it was
//! recorded, and what was left out on purpose, is named and can't be taken back.
//!
//! ```text
//! <run>/checkpoint/list       what stood where, one JSON value a line
//! <run>/checkpoint/files/<n>  copies
//! <run>/checkpoint/ended      made when the run ended: its time of change is that moment
//! <run>/checkpoint/objects    further names of what git has, in the place of copies
//! ```

mod compare;
mod cut;
mod list;
mod originals;
mod record;
mod settle;
mod tracked;

pub use compare::Span;
pub use list::{Left, end, ended};
pub use record::{Limits, Recording, record};
pub use settle::{Bring, Checkpointed, Found, PLACE, Uncovered, Wanted, settle};
