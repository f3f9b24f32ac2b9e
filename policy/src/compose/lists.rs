//! Lists that add up and limits that replace.

use crate::{LimitsTable, StateTable, Stated};

use super::replace;

/// Adds entries to a list; `!X` takes X back out. An entry that is there keeps its place.
pub(super) fn edit(list: &mut Vec<Stated<String>>, edits: &[Stated<String>]) {
    for entry in edits {
        match entry.value.strip_prefix('!') {
            Some(removed) => list.retain(|known| known.value != removed),
            None if list.iter().any(|known| known.value == entry.value) => {}
            None => list.push(entry.clone()),
        }
    }
}

/// Replaces each limit that is said.
pub(super) fn push_limits(limits: &mut LimitsTable, later: &LimitsTable) {
    replace(&mut limits.timeout, later.timeout.as_ref());
    replace(&mut limits.grace, later.grace.as_ref());
    replace(&mut limits.memory, later.memory.as_ref());
    replace(&mut limits.pids, later.pids.as_ref());
    replace(&mut limits.open_files, later.open_files.as_ref());
    replace(&mut limits.file_size, later.file_size.as_ref());
    replace(&mut limits.cpu_time, later.cpu_time.as_ref());
    replace(&mut limits.layer_size, later.layer_size.as_ref());
    replace(&mut limits.layer_files, later.layer_files.as_ref());
}

/// Replaces what is said of how long runs are kept.
pub(super) fn push_state(state: &mut StateTable, later: &StateTable) {
    replace(&mut state.runs, later.runs.as_ref());
    replace(&mut state.days, later.days.as_ref());
    replace(&mut state.size, later.size.as_ref());
    replace(&mut state.cache, later.cache.as_ref());
}
