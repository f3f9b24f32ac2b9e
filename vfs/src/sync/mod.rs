//! Write-back: what a run left in its layers becomes part of the host's tree, and back.
//!
//! [`collect()`] walks an upper layer and says what changed against the host's tree; [`plan()`], which
//! is pure, decides what of it is done; [`apply()`] stages all new content, writes a journal and
//! then only swaps names; [`resume()`] finishes what a killed process left; [`undo()`] is the same
//! backwards.
//!
//! ```text
//! <run>/undo/m<nnn>/<n>      staged new content, later the original that it displaced
//! <run>/undo/applied.json    what was applied, and by it what can be undone
//! <run>/undo/alone.json      what of it stands there apart from the run's layers
//! <run>/indexes.json         what indexes of repositories said when the run began
//! <run>/journal              a write-back or undo under way, everything staged
//! <target>/.endow-<run>-stage  in place of the first where the run is on another file system
//! <run>/undo/stage-m<nnn>    which directory that is
//! <run>/undo/root-m<nnn>     the bits of the target, while it is opened up for that one
//! ```

mod alone;
mod apply;
mod awaited;
mod chain;
mod change;
pub mod checkpoint;
mod collect;
mod copied_up;
mod done;
mod file;
mod follow;
mod index_digest;
mod indexes;
mod journal;
mod lacking;
mod made_like;
mod needed;
mod plan;
mod report;
mod repository;
mod resettle;
mod resume;
mod room;
pub(crate) mod root;
mod rules;
mod settled;
mod single;
mod stored;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod undo;

pub use alone::note_alone;
#[cfg(test)]
pub(crate) use apply::SCRATCH;
pub use apply::{MountPlace, RunPlace, SetAside, apply, remove_stage, stage_name};
pub use awaited::{Absent, Awaited, make_awaited};
pub use change::{
    Attributed, Attributes, Change, ChangeKind, ChangeSet, Conflict, Differs, Directory, Identity,
    Refusal, Seen, Time,
};
#[cfg(test)]
use collect::collect_most;
pub use collect::{Clock, Source, collect};
pub use copied_up::copy_up;
pub use done::{Done, done};
pub use follow::{Restored, follow};
pub use indexes::{NOTED as NOTED_INDEXES, OpenIndexes, hand_on_indexes};
pub use journal::{Direction, Ledger};
pub use lacking::{Lack, Lacking};
pub use made_like::{digest_if_alike, digest_of, make_like};
pub use needed::needed;
pub use plan::{Amend, Operation, Place, SyncPlan, Take, old_places, plan};
pub use report::{Applied, Failed, SyncError, SyncReport};
pub use repository::{Moved, set_aside, standing_references, unite};
pub use resettle::{Standing, settle_again, standing};
pub use resume::{Resumed, give_up, resume};
pub use root::Closed;
pub use rules::{Held, HeldPath, LeftOut, OnConflict, Refused, Resolved, Rules, Winner};
pub use settled::Settled;
pub use single::{Alone, Ours, Single, TakenIn, make_single, make_single_absent};
pub use undo::{UndoReport, undo, undo_named};
