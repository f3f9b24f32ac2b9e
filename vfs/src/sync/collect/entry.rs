//! One entry of a layer against the host's.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use super::refuse::{self, Told};
use super::{Both, Clock, Collector, PATH_BYTES, Task, io, is_whiteout};
use crate::fs::{Errno, Kind, Node};
use crate::sync::apply::{open_readable, with_bits};
use crate::sync::made_like;
use crate::sync::root::Dir;
use crate::sync::{
    Attributed, Change, ChangeKind, Conflict, Differs, Directory, Refusal, Seen, SyncError, Time,
};

/// An entry of the layer.
pub(super) struct UpperEntry<'d, 'a> {
    pub(super) name: &'d OsStr,
    pub(super) path: PathBuf,
    pub(super) node: Node,
    pub(super) dir: &'d Dir<'a>,
}

/// What the host has at the same path.
pub(super) enum HostSide<'a> {
    Absent,
    Here(Dir<'a>, Node),
    /// It can't be looked at.
    Closed(Refusal),
}

/// What holds for all entries of a directory.
pub(super) struct Parent {
    /// Names came or went on the host since the run began.
    pub(super) is_changed: bool,
    pub(super) conflict: Option<Conflict>,
    pub(super) is_opaque: bool,
    /// A file may have been copied up that the host had removed: it looks as if it were new.
    pub(super) may_have_vanished: bool,
    /// Nothing that changed here can be written back.
    pub(super) refused: Option<Refusal>,
}

impl<'a> Collector<'a> {
    /// Compares an entry of the layer with the host's and notes what changed.
    pub(super) fn compare(
        &mut self,
        found: &UpperEntry<'_, 'a>,
        host: &HostSide<'a>,
        parent: &Parent,
    ) -> Result<(), SyncError> {
        if is_whiteout(&found.node) && self.source.absent.is_none() {
            self.taken_away(found, host, parent);
            return Ok(());
        }
        if self.source.settled.has_merged(&found.path, &Seen::from(&found.node)) {
            return Ok(());
        }
        let told = self.told(found)?;
        let refusal = refuse::node(&found.node, self.owner).or(told.refusal);
        let refusal = refusal.or(refuse::is_reserved(&found.path).then_some(Refusal::Reserved));
        let refusal = match host {
            HostSide::Closed(closed) => refusal.or(Some(*closed)),
            _ => refusal,
        };
        let entry = Entry { found, told, parent, refusal };
        match (found.node.status.kind, host) {
            (Kind::Directory, HostSide::Here(dir, node)) if node.status.kind == Kind::Directory => {
                self.both_directories(entry, dir, node)
            }
            (kind, HostSide::Here(dir, node))
                if node.status.kind == kind && kind != Kind::Other =>
            {
                self.same_kind(entry, dir, node)
            }
            (_, HostSide::Here(_, node)) => self.other_kind(entry, node),
            (_, HostSide::Absent | HostSide::Closed(_)) => self.created(entry),
        }
    }

    /// Notes what a whiteout says of the host's entry.
    fn taken_away(&mut self, found: &UpperEntry<'_, 'a>, host: &HostSide<'a>, parent: &Parent) {
        self.is_plain = false;
        match host {
            HostSide::Absent => {}
            HostSide::Here(_, node) => {
                self.removed(found.path.clone(), node, parent.conflict, parent.is_changed);
                if let Some(refusal) = parent.refused {
                    self.refuse_removal(&found.path, refusal);
                }
            }
            HostSide::Closed(refusal) => {
                self.push(Change { refused: Some(*refusal), ..bare(found, ChangeKind::Deleted) });
            }
        }
    }

    /// What overlayfs notes of an entry, and the user's attributes.
    pub(super) fn told(&mut self, found: &UpperEntry<'_, 'a>) -> Result<Told, SyncError> {
        if !matches!(found.node.status.kind, Kind::File | Kind::Directory) {
            return Ok(Told::default());
        }
        let at = found.dir.at(found.name);
        let bits = (found.node.status.mode, 0o400);
        let attributes = with_bits(self.fs, at, bits, || self.fs.attributes(at));
        let attributes = attributes.map_err(io("look at", &found.path))?;
        let bytes: usize = attributes.iter().map(|(_, value)| value.len()).sum();
        self.count(bytes / PATH_BYTES, &found.path)?;
        let tell = if self.source.absent.is_some() { refuse::tell_plain } else { refuse::tell };
        Ok(tell(attributes))
    }

    fn created(&mut self, entry: Entry<'_, '_, 'a>) -> Result<(), SyncError> {
        let found = entry.found;
        let is_gone = entry.told.has_origin && entry.parent.is_changed;
        if entry.parent.may_have_vanished && found.node.status.kind == Kind::File {
            self.vanished.push(found.path.clone());
        }
        let conflict = entry.parent.conflict.or(is_gone.then_some(Conflict::Vanished));
        let refused = self.refuse_new(&entry, None)?.or(entry.parent.refused);
        self.group(found, None, false);
        self.descend_new(&entry);
        let user = Attributed { upper: entry.told.user, host: Vec::new() };
        self.push(Change { user, conflict, refused, ..bare(found, ChangeKind::Created) });
        Ok(())
    }

    fn other_kind(&mut self, entry: Entry<'_, '_, 'a>, node: &Node) -> Result<(), SyncError> {
        let (found, host) = (entry.found, Seen::from(node));
        self.is_plain = false;
        let conflict = entry.parent.conflict.or_else(|| self.changed(&host));
        let refused = self.refuse_new(&entry, None)?.or(entry.parent.refused);
        self.group(found, None, false);
        self.descend_new(&entry);
        let user = Attributed { upper: entry.told.user, host: Vec::new() };
        let kind = ChangeKind::Replaced(host.kind);
        self.push(Change { user, conflict, refused, host: Some(host), ..bare(found, kind) });
        if host.kind == Kind::Directory {
            let above = entry.parent.conflict;
            let conflict =
                above.or(self.replaced(&host, entry.parent.is_changed).map(|_| Conflict::Ancestor));
            self.tasks.push_back(Task::Removed { path: found.path.clone(), conflict, host });
        }
        Ok(())
    }

    fn descend_new(&mut self, entry: &Entry<'_, '_, 'a>) {
        if entry.found.node.status.kind == Kind::Directory {
            self.tasks.push_back(Task::Both(Both {
                path: entry.found.path.clone(),
                host: None,
                is_changed: false,
                is_opaque: false,
                is_impure: false,
                conflict: None,
            }));
        }
    }

    fn both_directories(
        &mut self,
        entry: Entry<'_, '_, 'a>,
        dir: &Dir<'a>,
        node: &Node,
    ) -> Result<(), SyncError> {
        let (found, host) = (entry.found, Seen::from(node));
        let (path, told) = (found.path.clone(), &entry.told);
        let upper = Seen::from(&found.node);
        self.is_plain &= !told.is_opaque;
        let is_changed = self.changed(&host).is_some();
        let is_new = self.source.is_new(&host);
        // Both made a directory here: what is in it is compared name by name.
        let is_made_twice = is_new && !told.has_origin;
        let is_kept = path.as_os_str().is_empty() || is_made_twice;
        let replaced = self.replaced(&host, entry.parent.is_changed).filter(|_| !is_kept);
        let conflict = entry.parent.conflict.or(replaced.map(|_| Conflict::Ancestor));
        self.set.directories.insert(path.clone(), Directory { host, upper, is_changed });
        // Below an opaque directory nothing is marked: all of it is the run's.
        let is_opaque = (told.is_opaque || entry.parent.is_opaque) && !is_new;
        let is_impure = told.is_impure;
        let user = self.host_user(dir, found.name, &path)?;
        let mut entry = entry;
        if path.as_os_str().is_empty() && !self.gave_attributes(&entry.told.user) {
            entry.told.user.clone_from(&user);
        }
        // The links of a directory are those of the directories in it.
        self.attributes(entry, (&host, false), user);
        let host = Some(host);
        self.tasks.push_back(Task::Both(Both {
            path,
            host,
            is_changed,
            is_opaque,
            is_impure,
            conflict,
        }));
        Ok(())
    }

    /// Returns whether the command gave the root of the mount other attributes than the layer's was made with.
    fn gave_attributes(&self, found: &[crate::fs::Attribute]) -> bool {
        let made = self.source.made_like.and_then(|made| made.attributes);
        made.is_some_and(|made| made != made_like::digest(found))
    }

    fn same_kind(
        &mut self,
        entry: Entry<'_, '_, 'a>,
        dir: &Dir<'a>,
        node: &Node,
    ) -> Result<(), SyncError> {
        let (found, host) = (entry.found, Seen::from(node));
        self.is_plain &= entry.told.has_origin;
        let is_shared = node.status.id == found.node.status.id;
        if is_shared || self.is_equal(found, dir, node)? {
            self.group(found, Some(host), is_shared);
            let user = match host.kind {
                Kind::File => self.host_user(dir, found.name, &found.path)?,
                _ => Vec::new(),
            };
            self.attributes(entry, (&host, node.links > 1), user);
            return Ok(());
        }
        self.group(found, None, false);
        let changed = self.changed(&host).map(|changed| {
            let is_new = self.source.is_new(&host);
            if is_new && !entry.told.has_origin { Conflict::Made } else { changed }
        });
        let conflict = entry.parent.conflict.or(changed);
        let refused = self.refuse_new(&entry, Some(&host))?.or(entry.parent.refused);
        let may_be_untouched = entry.told.has_origin
            && found.node.status.kind == Kind::File
            && self.source.clock == Clock::Steady
            && Time::from(found.node.status.modified) < self.source.stamp;
        let user = Attributed { upper: entry.told.user, host: Vec::new() };
        let change = Change { user, conflict, refused, ..bare(found, ChangeKind::Modified) };
        self.push(Change { host: Some(host), may_be_untouched, ..change });
        Ok(())
    }

    /// Notes what differs beside the content.
    fn attributes(
        &mut self,
        entry: Entry<'_, '_, 'a>,
        (host, is_linked): (&Seen, bool),
        host_user: Vec<crate::fs::Attribute>,
    ) {
        let (found, parent) = (entry.found, entry.parent);
        let upper = Seen::from(&found.node);
        let differs = Differs {
            mode: upper.mode != host.mode && host.kind != Kind::Symlink,
            modified: upper.modified != host.modified,
            user: entry.told.user != host_user,
        };
        let changed = parent.conflict.or_else(|| self.changed(host));
        // A time alone that the host's own change may have set is the host's.
        let is_by_host = changed.is_some() && !differs.mode && !differs.user;
        let is_same = differs == Differs::default() || is_by_host;
        let refused = entry.refusal.or_else(|| {
            // A file with further names is made anew, with all its bits.
            let is_made = is_linked && !is_same;
            refuse::set_id(host.kind, upper.mode, Some(host.mode))
                .filter(|_| differs.mode || is_made)
        });
        if is_same && refused.is_none() {
            return;
        }
        let refused = refused.or(parent.refused);
        let user = if differs.user {
            Attributed { upper: entry.told.user, host: host_user }
        } else {
            Attributed::default()
        };
        self.push(Change {
            differs,
            user,
            is_linked,
            conflict: changed,
            refused,
            host: Some(*host),
            ..bare(found, ChangeKind::Attributes)
        });
    }

    fn host_user(
        &self,
        dir: &Dir<'a>,
        name: &OsStr,
        path: &Path,
    ) -> Result<Vec<crate::fs::Attribute>, SyncError> {
        match self.fs.attributes(dir.at(name)) {
            Ok(attributes) => Ok(refuse::users(attributes)),
            Err(Errno::ACCESS | Errno::NOENT) => Ok(Vec::new()),
            Err(errno) => Err(io("look at", path)(errno)),
        }
    }

    fn is_equal(
        &mut self,
        found: &UpperEntry<'_, 'a>,
        dir: &Dir<'a>,
        node: &Node,
    ) -> Result<bool, SyncError> {
        let failed = |errno| io("compare", &found.path)(errno);
        if node.status.kind == Kind::Symlink {
            let ours = self.fs.read_link(found.dir.as_fd(), found.name).map_err(failed)?;
            return Ok(self
                .fs
                .read_link(dir.as_fd(), found.name)
                .is_ok_and(|theirs| theirs == ours));
        }
        if node.status.size != found.node.status.size {
            return Ok(false);
        }
        if node.status.size == 0 {
            return Ok(true);
        }
        let Some(host) = self.open_same(dir, found.name, node) else {
            // A host's file that its own bits close can't be read. One that write-back put there is what it was.
            let seen = Seen::from(node);
            let is_same_time = seen.modified == found.node.status.modified.into();
            return Ok(is_same_time && self.source.settled.knows(&seen));
        };
        let upper = open_readable(self.fs, found.dir.at(found.name), found.node.status.mode)
            .map_err(failed)?;
        let size = found.node.status.size;
        self.buffers.equal(self.fs, [upper.as_fd(), host.as_fd()], size).map_err(failed)
    }

    /// Opens a host's file; one that can't be read, or is another one now, is not equal.
    fn open_same(&self, dir: &Dir<'a>, name: &OsStr, node: &Node) -> Option<OwnedFd> {
        let file = self.fs.open_file(dir.as_fd(), name).ok()?;
        let status = self.fs.status_of(file.as_fd()).ok()?;
        (status.id == node.status.id && status.kind == Kind::File).then_some(file)
    }

    fn refuse_new(
        &self,
        entry: &Entry<'_, '_, 'a>,
        host: Option<&Seen>,
    ) -> Result<Option<Refusal>, SyncError> {
        let (found, status) = (entry.found, &entry.found.node.status);
        if entry.refusal.is_some() {
            return Ok(entry.refusal);
        }
        if status.kind == Kind::Symlink {
            let target = self.fs.read_link(found.dir.as_fd(), found.name);
            let target = target.map_err(io("read", &found.path))?;
            let leads_out = match self.source.absent {
                Some(absent) => absent.leads_out(&found.path, &target),
                None => self.leads_out(&found.path, &target)?,
            };
            return Ok(leads_out.then_some(Refusal::LinkOut));
        }
        let host = host.map(|host| host.mode);
        Ok(refuse::set_id(status.kind, status.mode, host))
    }

    /// Links that lead on are followed: the host's stay where they are.
    fn leads_out(&self, path: &Path, target: &OsStr) -> Result<bool, SyncError> {
        if refuse::leads_out(path, target) {
            return Ok(true);
        }
        self.sides.lead_out(path, target, &[]).map_err(io("look at", path))
    }

    fn group(&mut self, found: &UpperEntry<'_, 'a>, equal: Option<Seen>, is_shared: bool) {
        let node = &found.node;
        if node.links > 1 && matches!(node.status.kind, Kind::File | Kind::Symlink) {
            self.groups.add(found.path.clone(), Seen::from(node), equal, is_shared);
        }
    }
}

/// An entry of the layer with what is known before the host's is looked at.
struct Entry<'e, 'd, 'a> {
    found: &'e UpperEntry<'d, 'a>,
    told: Told,
    parent: &'e Parent,
    refusal: Option<Refusal>,
}

/// Returns a change with what the layer alone tells.
fn bare(found: &UpperEntry<'_, '_>, kind: ChangeKind) -> Change {
    Change {
        path: found.path.clone(),
        kind,
        differs: Differs::default(),
        upper: (!is_whiteout(&found.node)).then(|| Seen::from(&found.node)),
        host: None,
        user: Attributed::default(),
        group: None,
        is_linked: false,
        may_be_untouched: false,
        conflict: None,
        refused: None,
    }
}
