//! What of a layer counts for a single file: the file and nothing else.

use std::os::fd::BorrowedFd;
use std::path::Path;

use super::{BASE, GONE, Single};
use crate::fs::{At, Kind, Result};
use crate::sync::collect::io;
use crate::sync::{Change, ChangeSet, Conflict, Refusal, Seen, SyncError};

impl Single<'_> {
    /// Leaves of what [`collect`](crate::sync::collect()) found what is of the file. What is no
    /// regular file any more, on either side, is refused: a link would lead where nothing was
    /// granted. The host's side is changed when it is not what both sides held last.
    ///
    /// # Errors
    /// A failing call.
    pub fn narrow(
        &self,
        root: BorrowedFd<'_>,
        set: &mut ChangeSet,
    ) -> std::result::Result<(), SyncError> {
        let name = Path::new(&self.name);
        set.changes.retain(|change| change.path.starts_with(name));
        let is_known = self.has_base().map_err(io("look at", Path::new(BASE)))?;
        let mut is_untouched = false;
        for change in &mut set.changes {
            if change.path != name || !is_file_or_nothing(change) {
                change.refused = change.refused.or(Some(Refusal::NotFile));
            } else if is_known {
                change.conflict = self.conflict(root, change).map_err(io("compare", name))?;
                is_untouched = change.conflict.is_some()
                    && self.is_untouched().map_err(io("compare", name))?;
            }
        }
        if is_untouched {
            set.changes.clear();
        }
        Ok(())
    }

    /// A time alone says nothing against the host's change.
    fn is_untouched(&self) -> Result<bool> {
        self.is_same_but_for_time(self.in_upper(), self.in_layer(BASE))
    }

    /// A layer that an earlier version made has none.
    fn has_base(&self) -> Result<bool> {
        Ok(self.look(self.in_layer(BASE))?.is_some() || self.look(self.in_layer(GONE))?.is_some())
    }

    fn conflict(&self, root: BorrowedFd<'_>, change: &Change) -> Result<Option<Conflict>> {
        let (host, base) = (At { dir: root, name: &self.name }, self.in_layer(BASE));
        let had = self.look(base)?.is_some();
        let now = self.look(host)?.map(|node| Seen::from(&node));
        Ok(match (had, change.host) {
            // It changed since it was looked at.
            (_, found) if found != now => Some(Conflict::Changed),
            (false, None) => None,
            (false, Some(_)) => Some(Conflict::Appeared),
            (true, None) => Some(Conflict::Vanished),
            (true, Some(_)) => {
                (!self.is_same_but_for_time(host, base)?).then_some(Conflict::Changed)
            }
        })
    }
}

fn is_file_or_nothing(change: &Change) -> bool {
    [change.upper, change.host].iter().flatten().all(|seen| seen.kind == Kind::File)
}
