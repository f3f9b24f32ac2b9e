//! What has to stay in a layer after a part of its changes was written back.

use std::collections::BTreeMap;

use super::ChangeSet;
use crate::tree::Needed;

/// Returns what of a layer still waits, for [`prune_layer`](crate::tree::prune_layer).
pub fn needed(set: &ChangeSet) -> Needed {
    let changes = set.changes.iter().filter(|change| !change.is_trace());
    let paths = changes.map(|change| change.path.clone()).collect();
    // All that is removed is a change of its own: a mark says no more, also where one was made anew
    // that the host got since.
    let both = set.directories.keys().map(|path| (path.clone(), Vec::new()));
    let mut hiding: BTreeMap<_, Vec<_>> = both.collect();
    for change in set.changes.iter().filter(|change| change.upper.is_none()) {
        let place = change.path.parent().zip(change.path.file_name());
        let hidden = place.and_then(|(at, name)| Some((hiding.get_mut(at)?, name)));
        if let Some((hidden, name)) = hidden {
            hidden.push(name.to_owned());
        }
    }
    Needed { paths, hiding }
}
