//! Contents of a result, from the disk cache into the store.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::Path;

use super::{CONTENTS, DiskCache, DiskCacheError, failed, place};
use crate::action::ActionResult;
use crate::cas::{ImportError, Layout, Other, Publishing, StoreError, fetch_all};
use crate::fs::Open;

impl DiskCache<'_> {
    /// Takes all that a result names into the store. A content that is another one than its digest says is
    /// taken away, so that it is put there anew.
    ///
    /// # Errors
    /// A content that is missing or another one, or a failing call. What was taken stays.
    pub fn fetch(
        &self,
        result: &ActionResult,
        publishing: &Publishing<'_>,
    ) -> Result<(), DiskCacheError> {
        let fetched = self.contents_of(result, publishing);
        if let Err(DiskCacheError::Import(ImportError::Store { error, .. })) = &fetched
            && let StoreError::Damaged { digest, .. } = error
        {
            let (fan, name) = place(digest);
            let dir = self.fs.open_handle(self.contents.as_fd(), OsStr::new(&fan));
            let _ = dir.and_then(|dir| self.fs.unlink(dir.as_fd(), OsStr::new(&name)));
        }
        fetched
    }

    fn contents_of(
        &self,
        result: &ActionResult,
        publishing: &Publishing<'_>,
    ) -> Result<(), DiskCacheError> {
        let path = self.path.join(CONTENTS);
        let objects = self.fs.open_below(self.contents.as_fd(), Path::new("."), Open::Handle);
        let objects = objects.map_err(failed("open", &path))?;
        let other = Other::of(self.fs, Layout::Bazel, objects, &path);
        fetch_all(
            publishing,
            result.contents().copied(),
            result.directories().copied(),
            &mut |lacking| {
                lacking.iter().try_for_each(|digest| {
                    let imported = publishing.import(&other, digest);
                    imported
                        .map(drop)
                        .map_err(|error| ImportError::Store { digest: *digest, error }.into())
                })
            },
        )
    }
}
