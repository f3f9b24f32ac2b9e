//! The state directory: one directory for each run, locked while the run lives.
//!
//! ```text
//! <state>/runs/<id>/                 0700, its own exclusive flock(2) held by the supervisor
//! <state>/runs/<id>/layers/000/p<n>  a private directory, or a copy-on-write mount's upper and work
//!                                    whose changes are dropped: gone with the run
//! <state>/runs/<id>/layers/000/m<n>  a copy-on-write mount's upper and work: something to keep
//! <state>/runs/<id>/mask/<n>         a mask layer: gone with the run
//! <state>/runs/<id>/record.json      what the run is: whoever finds one decides by its state
//! <state>/runs/.new-<id>             a run being made
//! <state>/runs/.gone-<id>            a run being removed: half of it is never taken for a run
//! ```

mod clocks;
mod dir;
mod error;
mod expire;
mod find;
mod id;
mod layout;
mod list;
mod live;
mod own_dirs;
mod record;
mod removal;
mod run;
mod sweep;
mod tree_record;

pub use clocks::Clocks;
pub(crate) use dir::open_below;
pub use dir::{StateDir, make_private};
pub use error::StateError;
pub use expire::{Bounds, Settled, expired};
pub use find::{FindError, Wanted, find};
pub use id::{RunId, RunIdError};
pub use layout::{DENIALS, HELD, JOURNAL, LAYERS, LIVE, MASK, SOCKETS, STAGED, STARTED, UNDO};
pub use list::Listed;
pub use live::{live_roots, note_live};
pub use own_dirs::{Contained, EndowDirs, OwnDir, OwnDirsError, Relation};
pub use record::{
    AwaitedRecord, ChangeCounts, Ending, HiddenPath, MadeLike, Moment, MountRecord, OnConflict,
    ProgramsPath, Record, RecordError, RootId, RunState, SyncMode, SyncRules, Unknown,
};
pub use run::{Durability, RunDir};
pub use sweep::{Sweep, Swept};
pub use tree_record::{CasRecord, GitRecord, LandedReference, Place, TreeOrigin, TreeRecord};

#[cfg(test)]
mod tests;
