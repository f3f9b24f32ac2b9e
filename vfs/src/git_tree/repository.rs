//! An opened repository.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::config::{self, Format};
use super::files::Dir;
use super::layout::{self, Layout};
use super::packs::{self, Packs};
use super::reader::Reader;
use super::references::Listed;
use super::{
    Algorithm, Difference, GitError, Head, Id, Options, Places, Resolved, Sparse, difference,
    references, revision, sparse, walk,
};
use crate::snapshot::Snapshot;

use super::walk::Blob;

/// A repository, open to be read. Threads share it; each reads through a [`Reader`] of its own.
///
/// The directories that it was opened with stay the ones that are read: who moves, replaces or adds
/// one later changes nothing.
pub struct Repository {
    layout: Layout,
    format: Format,
    packs: RwLock<Arc<Packs>>,
    /// The most bytes that the indexes of all packs may have.
    indexes: u64,
}

impl Repository {
    /// Opens the repository of a work tree, plain or linked, of a git directory, or a bare one.
    ///
    /// The caller has checked who owns the directory. Nothing in it is run, and no setting beside
    /// the format is used. What it leads to outside of the path is in [`Self::object_dirs`].
    ///
    /// # Errors
    /// There is no repository, or one in a format that can't be read here.
    pub fn open(path: &Path) -> Result<Self, GitError> {
        Self::of(layout::open(path)?)
    }

    /// Opens the repository whose directories were found by [`super::places()`], and nothing
    /// that they lead to by now.
    ///
    /// # Errors
    /// As [`Self::open`], and a directory that another path leads to.
    pub fn open_at(places: &Places) -> Result<Self, GitError> {
        Self::of(layout::open_at(places)?)
    }

    /// Opens directories in the format of another repository, whatever their own settings say.
    ///
    /// # Errors
    /// As [`Self::open_at`].
    pub fn open_like(places: &Places, other: &Self) -> Result<Self, GitError> {
        Self::in_format(layout::open_at(places)?, other.format, packs::FOREIGN_INDEXES)
    }

    fn of(layout: Layout) -> Result<Self, GitError> {
        let format = config::format(&layout.common)?;
        Self::in_format(layout, format, packs::INDEXES)
    }

    fn in_format(layout: Layout, mut format: Format, indexes: u64) -> Result<Self, GitError> {
        let kind = format.algorithm.kind();
        let packs = Packs::load(&layout.objects, (kind, indexes), &Packs::default())?;
        format.is_partial |= has_promises(&layout.objects)?;
        Ok(Self { layout, format, packs: RwLock::new(Arc::new(packs)), indexes })
    }

    /// Returns the object directories that are not below the path the repository was opened with,
    /// without links in them.
    ///
    /// A repository decides itself what its `.git` file, `commondir`, alternates and links name:
    /// whoever could write it can make this process read objects of any other repository of the same
    /// user. So a tree is shown only when the caller trusts all of these, because a linked work tree
    /// or a shared clone was allowed, say. None is added later.
    pub fn object_dirs(&self) -> &[PathBuf] {
        &self.layout.foreign
    }

    /// Returns the directory with `HEAD`, without links in it.
    pub fn git_dir(&self) -> &Path {
        self.layout.git.path()
    }

    /// Returns how objects are named.
    pub fn algorithm(&self) -> Algorithm {
        self.format.algorithm
    }

    /// Resolves a revision to a tree: a name, an id or the beginning of one, and any of `~`, `^`,
    /// `^{kind}` and `:path` after it, as in gitrevisions(7).
    ///
    /// # Errors
    /// The revision is unknown, ambiguous or no tree, or an object can't be read.
    pub fn resolve(&self, rev: &str) -> Result<Resolved, GitError> {
        revision::resolve(self, rev, None)
    }

    /// Resolves a revision to a tree, of which [`super::start()`] told where it starts.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub fn resolve_from(&self, start: Id, rev: &str) -> Result<Resolved, GitError> {
        revision::resolve(self, rev, Some(start))
    }

    /// Returns what `HEAD` says.
    ///
    /// # Errors
    /// It can't be read, or names no object.
    pub fn head(&self) -> Result<Head, GitError> {
        self.check_references()?;
        references::head(&self.layout)
    }

    /// Returns all references below `refs` that lead to an object themselves.
    ///
    /// # Errors
    /// There are more than `most`, or a file can't be read.
    pub fn references(&self, most: usize) -> Result<BTreeMap<String, Id>, GitError> {
        let listed = self.all_references(most)?;
        let unreadable = |fault: &GitError| !matches!(fault, GitError::Reference { .. });
        match listed.broken.into_values().find(unreadable) {
            Some(fault) => Err(fault),
            None => Ok(listed.found),
        }
    }

    /// Returns all references below `refs` that lead to an object themselves, and those that are broken.
    ///
    /// # Errors
    /// There are more than `most`.
    pub(crate) fn all_references(&self, most: usize) -> Result<Listed, GitError> {
        self.check_references()?;
        references::all(&self.layout, most)
    }

    /// Returns what a reference named at one time or another, as its log tells: the newest first.
    ///
    /// # Errors
    /// The log can't be read.
    pub(crate) fn log_of(&self, name: &str) -> Result<Vec<Id>, GitError> {
        references::log(&self.layout, name)
    }

    /// Returns the commits whose parents a shallow clone does not have.
    ///
    /// # Errors
    /// The list of them can't be read.
    pub fn shallow(&self) -> Result<Vec<Id>, GitError> {
        references::shallow(&self.layout)
    }

    /// Looks whether references can be read; objects can be without.
    ///
    /// # Errors
    /// They stand in a reftable.
    pub fn check_references(&self) -> Result<(), GitError> {
        if !self.format.has_reftable {
            return Ok(());
        }
        Err(GitError::Reftable { path: config::path(&self.layout.common) })
    }

    /// Reads a tree: all names, the size of each content, and where links lead.
    ///
    /// # Errors
    /// An object can't be read, an entry can't be shown, or a bound is passed.
    pub fn snapshot(&self, tree: &Id, options: &Options) -> Result<Snapshot<Blob>, GitError> {
        walk::snapshot(self, tree, options)
    }

    /// Reads what is selected of a tree, as [`Self::snapshot`] does. A directory is there when
    /// something in it is selected.
    ///
    /// # Errors
    /// As [`Self::snapshot`], of what is selected and the directories that can lead there.
    pub fn selection(
        &self,
        tree: &Id,
        sparse: &Sparse,
        options: &Options,
    ) -> Result<Snapshot<Blob>, GitError> {
        sparse::snapshot(self, tree, (sparse, options))
    }

    /// Compares a tree with another, the base; `None` when more than `most` paths differ. What is the
    /// same is taken to be well-formed: the base was read as a whole once.
    ///
    /// # Errors
    /// As [`Self::snapshot`].
    pub fn difference(
        &self,
        base: &Id,
        tree: &Id,
        most: usize,
        options: &Options,
    ) -> Result<Option<Difference>, GitError> {
        difference::difference(self, (base, tree), most, options)
    }

    /// Returns whether an object is there.
    pub fn has(&self, id: &Id) -> bool {
        let reader = || self.reader().header(id).is_ok();
        id.algorithm() == self.algorithm() && reader()
    }

    /// Returns a reader for one thread.
    pub fn reader(&self) -> Reader<'_> {
        Reader::new(self)
    }

    pub(crate) fn is_partial(&self) -> bool {
        self.format.is_partial
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(super) fn object_store(&self) -> &[Dir] {
        &self.layout.objects
    }

    pub(super) fn packs(&self) -> Arc<Packs> {
        self.packs.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks which packs there are now.
    pub(super) fn refresh(&self) -> Result<Arc<Packs>, GitError> {
        let kind = self.format.algorithm.kind();
        let before = self.packs();
        let packs = Packs::load(&self.layout.objects, (kind, self.indexes), &before)?;
        let packs = Arc::new(packs);
        *self.packs.write().unwrap_or_else(PoisonError::into_inner) = packs.clone();
        Ok(packs)
    }
}

impl std::fmt::Debug for Repository {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Repository").field("layout", &self.layout).finish_non_exhaustive()
    }
}

/// Returns whether a pack promises that what it lacks can be fetched.
fn has_promises(dirs: &[Dir]) -> Result<bool, GitError> {
    for dir in dirs {
        let names = dir.names(Path::new("pack"))?;
        if names.iter().any(|name| Path::new(name).extension() == Some("promisor".as_ref())) {
            return Ok(true);
        }
    }
    Ok(false)
}
