//! What can't be looked at although the user could: a command that closed it would be led on without a word.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::LeadsError;
use super::way::Way;

/// The mounts in which a command may have closed something.
#[derive(Clone, Debug, Default)]
pub(super) struct Closable(pub(super) Vec<PathBuf>);

impl Closable {
    /// Takes a failure for an end, where the user can go on as little as this.
    ///
    /// # Errors
    /// What is closed belongs to the user, who can open it, and a command can have closed it.
    pub(super) fn unless_closed<T>(
        &self,
        result: io::Result<T>,
        path: &Path,
    ) -> Result<Option<T>, LeadsError> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let end = Way::as_far_as_it_goes(path).end;
                let found = end.ancestors().find_map(|it| Some((it, it.symlink_metadata().ok()?)));
                let is_ours = |found: &std::fs::Metadata| found.uid() == geteuid().as_raw();
                let closed = found.filter(|(at, found)| is_ours(found) && self.is_within(at));
                match closed {
                    Some((place, _)) => Err(LeadsError::Closed { place: place.to_owned() }),
                    None => Ok(None),
                }
            }
            result => Ok(result.ok()),
        }
    }

    fn is_within(&self, place: &Path) -> bool {
        self.0.iter().any(|mount| place.starts_with(mount))
    }
}
