//! What can't be looked at although the user could: a command that closed it would be led on without a word.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::geteuid;

use super::LeadsError;

/// Takes a failure for an end, where nobody of the user's can go on: outside as here.
///
/// # Errors
/// What is closed belongs to the user, who can open it.
pub(super) fn unless_closed<T>(
    result: io::Result<T>,
    path: &Path,
) -> Result<Option<T>, LeadsError> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let found = path.ancestors().find_map(|it| Some((it, it.symlink_metadata().ok()?)));
            match found.filter(|(_, found)| found.uid() == geteuid().as_raw()) {
                Some((closed, _)) => Err(LeadsError::Closed { place: closed.to_owned() }),
                None => Ok(None),
            }
        }
        result => Ok(result.ok()),
    }
}
