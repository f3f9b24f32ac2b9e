//! The record of a run of which the ledger is written otherwise than by a write-back or an undo of its own.

use endow_vfs::fs::OsFs;
use endow_vfs::state::{Durability, RunDir, StateError};

/// What was written back, below the directory of a run.
pub(crate) const LEDGER: &str = "undo/applied.json";

/// Returns whether more was written back, or taken back, than the record knows of.
pub(crate) fn is_behind(run: &RunDir) -> Result<bool, StateError> {
    run.is_behind(&OsFs, LEDGER)
}

/// Does what may write the ledger, and then the record again, which a younger ledger would say to be behind. One that
/// was so before stays so: its write-back is still to be finished.
pub(crate) fn renewing<T>(run: &RunDir, act: impl FnOnce() -> T) -> Result<T, StateError> {
    let was_behind = is_behind(run)?;
    let done = act();
    if !was_behind
        && is_behind(run)?
        && let Some(record) = run.read_record(&OsFs)?
    {
        run.write_record(&OsFs, &record, Durability::Cached)?;
    }
    Ok(done)
}
