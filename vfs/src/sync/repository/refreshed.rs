//! Indexes that git only wrote anew: what they say is what they said before.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::Path;

use super::{Source, is_state};
use crate::fs::{Fs, Kind, read_all};
use crate::git_index;
use crate::sync::index_digest::{INDEXES, index_digest};
use crate::sync::resettle::look;
use crate::sync::root::{Closed, Root};
use crate::sync::{ChangeSet, Conflict, Seen};

/// The longest `HEAD` that is read.
const LINE: u64 = 4096;

/// Takes back the conflict of each index of a repository that the host only wrote anew; returns whether the
/// repository's own index is as it was when the run began, or when it was written back.
pub(super) fn forgive(
    fs: &dyn Fs,
    source: &Source<'_>,
    set: &mut ChangeSet,
    git_dir: &Path,
) -> bool {
    let mut looker =
        Looker { fs, source, root: Root::new(fs, source.root, Closed::Stay), left: INDEXES };
    for change in set.below_mut(git_dir).iter_mut().filter(|change| is_state(change, git_dir)) {
        let is_index = change.path.file_name() == Some(OsStr::new("index"));
        // The host's is another file, as if both sides had made one.
        let is_own = change.conflict.is_some_and(Conflict::is_of_entry);
        if is_index && is_own && looker.is_same(&change.path) {
            change.conflict = None;
        }
    }
    looker.is_same(&git_dir.join("index"))
}

struct Looker<'l> {
    fs: &'l dyn Fs,
    source: &'l Source<'l>,
    root: Root<'l>,
    left: u64,
}

impl Looker<'_> {
    /// Returns whether an index says what it said. Nothing is read of one that nobody wrote.
    fn is_same(&mut self, path: &Path) -> bool {
        let Some((before, _)) = look(self.fs, &mut self.root, path) else { return false };
        if before.kind != Kind::File {
            return false;
        }
        if self.is_untouched(&before) {
            return true;
        }
        self.says_the_same(path)
            && look(self.fs, &mut self.root, path).is_some_and(|(now, _)| now == before)
    }

    fn is_untouched(&self, seen: &Seen) -> bool {
        !self.source.may_have_changed(seen) || self.source.settled.has(seen)
    }

    fn says_the_same(&mut self, path: &Path) -> bool {
        let known = &self.source.settled.indexes;
        if let Some(left) = known.left.get(path) {
            return index_digest(self.fs, &mut self.root, path, &mut self.left) == Some(*left);
        }
        let Some(begun) = known.begun.get(path) else { return false };
        self.digest(path) == Some(*begun) && self.is_where_it_was(path).unwrap_or_default()
    }

    fn digest(&mut self, path: &Path) -> Option<[u8; 32]> {
        let (dir, leaf) = self.root.above(path).ok()?;
        let file = self.fs.open_file(dir.as_fd(), leaf).ok()?;
        self.left = self.left.checked_sub(self.fs.status_of(file.as_fd()).ok()?.size)?;
        git_index::digest(&file).ok()
    }

    /// Returns whether the same commit is checked out: somebody may have committed what the index says.
    fn is_where_it_was(&mut self, index: &Path) -> Option<bool> {
        let git_dir = index.parent()?;
        let head = git_dir.join("HEAD");
        let (seen, _) = look(self.fs, &mut self.root, &head)?;
        if seen.kind != Kind::File || seen.size > LINE || !self.is_untouched(&seen) {
            return Some(false);
        }
        let (dir, leaf) = self.root.above(&head).ok()?;
        let text = read_all(self.fs, dir.as_fd(), Path::new(leaf)).ok()?;
        let Some(name) = text.strip_prefix(b"ref: ") else { return Some(true) };
        let name = str::from_utf8(name.trim_ascii_end()).ok()?;
        let below = name.strip_prefix("refs/").filter(|it| crate::git_dir::is_reference(it))?;
        // A linked work tree has the branches of the repository.
        let common = git_dir.parent().and_then(Path::parent);
        let places = std::iter::once(git_dir).chain(common).map(|dir| dir.join("refs").join(below));
        let seen: Vec<_> = places.filter_map(|it| look(self.fs, &mut self.root, &it)).collect();
        Some(seen.iter().all(|(seen, _)| self.is_untouched(seen)))
    }
}
