//! What supervisors that were killed left: swept, and finished, by the next run.

use std::path::Path;
use std::time::SystemTime;

use endow_vfs::fs::OsFs;
use endow_vfs::state::{StateDir, Sweep};

use super::locked;
use super::unguarded;
use crate::cli::error::Kind;
use crate::cli::output::Output;

/// Takes a few dead runs away that hold nothing, others each time, and finishes write-backs that
/// were begun: before the host is asked anything, so that this run sees all of them.
///
/// Nothing of it ends this run: a later one tries again.
pub(crate) fn clear(state: &Path, output: &Output) {
    if state.symlink_metadata().is_err() {
        return;
    }
    let Ok(state) = StateDir::open(&OsFs, state) else { return };
    let Ok(swept) = state.sweep(&OsFs, sweep()) else { return };
    unguarded::tell(&swept.unguarded, output);
    for id in &swept.begun {
        match locked::finish_left(&state, id, output) {
            Ok(true) => output.notice(&format!("finished the write-back of {id}")),
            Ok(false) => {}
            // Gone, or taken up by somebody else.
            Err(error) if error.kind == Kind::Usage => {}
            Err(error) => {
                output
                    .notice(&format!("the write-back of {id} is not finished: {}", error.message));
            }
        }
    }
}

fn sweep() -> Sweep {
    let now = SystemTime::now();
    let nanos = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.subsec_nanos());
    Sweep { candidates: 16, start: usize::try_from(nanos).unwrap_or(0), now }
}
