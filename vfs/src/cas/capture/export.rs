//! What two trees have at the paths at which they differ.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use super::CaptureError;
use super::diff::{Difference, Differences};
use super::directories::{Leaf, leaves};
use super::error::failed;
use crate::cas::message::Listing;
use crate::cas::{DIRECTORY_MAX, Digest, Layout, Other, Store, StoreError};
use crate::fs::Open;
use crate::snapshot::Bounds;
use crate::versions::{Export, PATHS_MAX, Version, VersionKind, Versions};

/// Exports both versions of each path that is wanted and differs, sorted by path: no directory that
/// is told by what is in it. Objects that the store lacks are among those that are staged.
///
/// # Errors
/// An object is missing or damaged, a file can't be written, or there are too many.
pub fn export(
    (store, staged): (&Store<'_>, Option<(BorrowedFd<'_>, &Path)>),
    [old, new]: [Digest; 2],
    export: &mut Export<'_>,
) -> Result<Vec<Versions>, CaptureError> {
    let (fs, bounds) = (export.fs(), Bounds::default());
    let staged = staged.map(|(dir, path)| {
        let opened = fs.open_below(dir, Path::new("."), Open::Handle);
        opened.map(|dir| Other::of(fs, Layout::Casd, dir, path)).map_err(failed("open", path))
    });
    let staged = staged.transpose()?;
    let objects = Objects { store, staged };
    let read = |digest: &Digest| objects.leaves(digest, bounds);
    let differences = Differences::new(&read, bounds).all(old, new)?;
    let above: BTreeSet<&Path> = differences.iter().filter_map(|it| it.path.parent()).collect();
    let mut all = Vec::new();
    for Difference { path, sides } in &differences {
        let [was, is] = sides;
        let is_told = [was, is].iter().all(|it| matches!(it, None | Some(Leaf::Directory(_))))
            && above.contains(path.as_path());
        if is_told || !export.takes(path) {
            continue;
        }
        let mut versions = Versions::new(path);
        versions.old = was.as_ref().map(|leaf| objects.version(leaf, path, export)).transpose()?;
        versions.new = is.as_ref().map(|leaf| objects.version(leaf, path, export)).transpose()?;
        versions.is_same_content = match (was, is) {
            (Some(Leaf::File { digest: was, .. }), Some(Leaf::File { digest: is, .. })) => {
                was == is
            }
            _ => false,
        };
        all.push(versions);
        if all.len() > PATHS_MAX {
            return Err(CaptureError::TooMuch { what: "changed paths", most: PATHS_MAX as u64 });
        }
    }
    Ok(all)
}

/// The objects of two trees.
struct Objects<'a> {
    store: &'a Store<'a>,
    staged: Option<Other<'a>>,
}

impl Objects<'_> {
    fn leaves(
        &self,
        digest: &Digest,
        bounds: Bounds,
    ) -> Result<BTreeMap<String, Leaf>, CaptureError> {
        let message = self.read(digest, DIRECTORY_MAX)?;
        let listing = Listing::decode(&message, bounds.entries);
        let listing = listing.map_err(|error| CaptureError::Message { digest: *digest, error })?;
        Ok(leaves(&listing))
    }

    fn version(
        &self,
        leaf: &Leaf,
        path: &Path,
        export: &mut Export<'_>,
    ) -> Result<Version, CaptureError> {
        let (kind, size) = match leaf {
            Leaf::Directory(_) => {
                return Ok(Version { kind: VersionKind::Directory, size: 0, file: None });
            }
            Leaf::File { digest, executable: true } => (VersionKind::Executable, digest.size),
            Leaf::File { digest, .. } => (VersionKind::File, digest.size),
            Leaf::Symlink(target) => (VersionKind::Symlink, target.len() as u64),
        };
        if !export.has_room(size) {
            return Ok(Version { kind, size, file: None });
        }
        let bytes = match leaf {
            Leaf::File { digest, .. } => self.read(digest, size)?,
            Leaf::Symlink(target) => target.clone().into_bytes(),
            Leaf::Directory(_) => Vec::new(),
        };
        let file = export.put(&bytes).map_err(failed("write a version of", path))?;
        Ok(Version { kind, size, file: Some(file) })
    }

    /// Reads an object, and compares it with its name.
    fn read(&self, digest: &Digest, most: u64) -> Result<Vec<u8>, CaptureError> {
        let staged = self.staged.as_ref().map(|staged| staged.open_object(digest));
        let file = match staged {
            None | Some(Err(StoreError::Missing { .. })) => self.store.open_object(digest)?,
            Some(opened) => opened?,
        };
        if digest.size > most {
            return Err(CaptureError::TooMuch { what: "bytes of a message", most });
        }
        Ok(self.store.read_open(digest, file.as_fd())?)
    }
}
