//! What the run removed, and what went with it.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::{Both, Collector, Task, io, refuse};
use crate::fs::{Errno, Kind, Node};
use crate::sync::root::Dir;
use crate::sync::{Attributed, Change, ChangeKind, Conflict, Differs, Refusal, Seen, SyncError};

impl<'a> Collector<'a> {
    /// Removes what an opaque directory of the layer hides.
    pub(super) fn remove_others(
        &mut self,
        both: &Both,
        above: &Dir<'a>,
        kept: &[OsString],
    ) -> Result<(), SyncError> {
        let listed = match self.host.list(&both.path) {
            Ok(listed) => listed,
            Err(errno) => return self.refuse_unlisted(&both.path, errno),
        };
        let mut names = self.names(listed.as_fd(), &both.path)?;
        names.retain(|name| kept.binary_search(name).is_err());
        let is_apart = self.is_apart(above, &both.path)?;
        for name in names {
            let path = both.path.join(name);
            self.remove_entry(above, path.clone(), both.conflict, both.is_changed)?;
            if is_apart {
                self.refuse_removal(&path, Refusal::Subvolume);
            }
        }
        Ok(())
    }

    pub(super) fn look_at_removed(
        &mut self,
        path: &Path,
        conflict: Option<Conflict>,
        host: &Seen,
    ) -> Result<(), SyncError> {
        let listed = match self.host.list(path) {
            Ok(listed) => listed,
            Err(errno) => return self.refuse_unlisted(path, errno),
        };
        let names = self.names(listed.as_fd(), path)?;
        let dir = self.host.dir(path).map_err(io("open", path))?;
        if self.is_apart(&dir, path)? {
            self.refuse_removal(path, Refusal::Subvolume);
            return Ok(());
        }
        let is_changed = self.changed(host).is_some();
        for name in names {
            self.remove_entry(&dir, path.join(name), conflict, is_changed)?;
        }
        Ok(())
    }

    /// Refuses to remove what nobody can tell of.
    fn refuse_unlisted(&mut self, path: &Path, errno: Errno) -> Result<(), SyncError> {
        let refusal = match errno {
            Errno::ACCESS => Refusal::Unreadable,
            Errno::XDEV => Refusal::MountPoint,
            // It went meanwhile: what applies this looks again.
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP => return Ok(()),
            errno => return Err(io("open", path)(errno)),
        };
        self.refuse_removal(path, refusal);
        if !self.set.changes.iter().rev().any(|change| change.path == path) {
            self.push_refused(path, refusal);
        }
        Ok(())
    }

    /// Names a directory of both sides that was made again, and is like the host's but for what is in it.
    fn push_refused(&mut self, path: &Path, refusal: Refusal) {
        let Some(both) = self.set.directories.get(path).copied() else { return };
        self.push(Change {
            path: path.to_owned(),
            kind: ChangeKind::Attributes,
            differs: Differs::default(),
            upper: Some(both.upper),
            host: Some(both.host),
            user: Attributed::default(),
            group: None,
            is_linked: false,
            may_be_untouched: false,
            conflict: None,
            refused: Some(refusal),
        });
    }

    pub(super) fn refuse_removal(&mut self, path: &Path, refusal: Refusal) {
        let changes = self.set.changes.iter_mut().rev();
        if let Some(change) = changes.into_iter().find(|change| change.path == path) {
            change.refused = Some(refusal);
        }
    }

    fn remove_entry(
        &mut self,
        dir: &Dir<'a>,
        path: PathBuf,
        conflict: Option<Conflict>,
        is_changed: bool,
    ) -> Result<(), SyncError> {
        let name = path.file_name().unwrap_or_default();
        match self.fs.node(dir.as_fd(), name) {
            Ok(node) => {
                self.removed(path, &node, conflict, is_changed);
                Ok(())
            }
            Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(io("look at", &path)(errno)),
        }
    }

    /// Notes that the run removed what the host has at a path.
    pub(super) fn removed(
        &mut self,
        path: PathBuf,
        node: &Node,
        conflict: Option<Conflict>,
        is_changed: bool,
    ) {
        let host = Seen::from(node);
        let is_dir = host.kind == Kind::Directory;
        let own = if is_dir {
            self.replaced_below_removed(&host, is_changed)
        } else {
            self.changed(&host)
        };
        if is_dir {
            let conflict = conflict.or(own.map(|_| Conflict::Ancestor));
            self.tasks.push_back(Task::Removed { path: path.clone(), conflict, host });
        }
        let refused = refuse::is_reserved(&path).then_some(Refusal::Reserved);
        self.push(Change {
            path,
            kind: ChangeKind::Deleted,
            differs: Differs::default(),
            upper: None,
            host: Some(host),
            user: Attributed::default(),
            group: None,
            is_linked: false,
            may_be_untouched: false,
            conflict: conflict.or(own),
            refused,
        });
    }
}
