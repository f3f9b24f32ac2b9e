//! Contents of a result, from the disk cache into the store.

use std::os::fd::AsFd;
use std::path::Path;

use super::{CONTENTS, DiskCache, DiskCacheError, failed, named};
use crate::action::ActionResult;
use crate::cas::{Digest, ImportError, Imported, Layout, Other, Publishing, import_all};
use crate::fs::Open;

impl DiskCache<'_> {
    /// Takes all that a result names into the store.
    ///
    /// # Errors
    /// A content that is missing or another one, or a failing call. What was taken stays.
    pub fn fetch(
        &self,
        result: &ActionResult,
        publishing: &Publishing<'_>,
    ) -> Result<(), DiskCacheError> {
        let path = self.path.join(CONTENTS);
        let objects = self.fs.open_below(self.contents.as_fd(), Path::new("."), Open::Handle);
        let objects = objects.map_err(failed("open", &path))?;
        let other = Other::of(self.fs, Layout::Bazel, objects, &path);
        let (contents, directories) = named(result);
        for digest in contents {
            content(&other, digest, publishing)?;
        }
        let mut imported = Imported::default();
        for root in directories.iter().filter(|root| **root != Digest::EMPTY) {
            import_all(publishing, &other, root, &mut imported)?;
        }
        Ok(())
    }
}

/// What is empty is in no cache: everybody has it.
fn content(
    other: &Other<'_>,
    digest: Digest,
    publishing: &Publishing<'_>,
) -> Result<(), DiskCacheError> {
    if digest == Digest::EMPTY {
        publishing.put_bytes(&[])?;
        return Ok(());
    }
    let stored = publishing.import(other, &digest);
    stored.map_err(|error| ImportError::Store { digest, error })?;
    Ok(())
}
