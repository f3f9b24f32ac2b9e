//! What tells one host's programs from another's: the identity of all that a sandbox shows of them.

use std::path::Path;
use std::time::Duration;

use endow_policy::{BackendSpec, MountClass, MountSpec};
use endow_vfs::fs::{Errno, OsFs};
use endow_vfs::inputs::{Identity, identity};
use sha2::{Digest, Sha256};

/// How long is waited for the clock to leave the time of the youngest file behind.
const MOMENT: Duration = Duration::from_millis(100);
/// How often that is waited for: two seconds are the coarsest clock's grain.
const TRIES: usize = 40;

/// Returns the identity of the host's files and directories that mounts show, as hexadecimal digits.
///
/// # Errors
/// One of them can't be looked through.
pub(crate) fn host_root(mounts: &[MountSpec]) -> Result<String, (std::path::PathBuf, Errno)> {
    let mut hash = Sha256::new();
    for spec in mounts.iter().filter(|spec| spec.class == MountClass::System) {
        let (BackendSpec::Physical { host } | BackendSpec::Copy { host }) = &spec.backend else {
            continue;
        };
        let at = spec.at.as_bytes();
        hash.update((at.len() as u64).to_le_bytes());
        hash.update(at);
        match settled(host.as_path()) {
            Ok(found) => hash.update(found.hash),
            // Where nothing is, nothing is shown.
            Err(Errno::NOENT | Errno::NOTDIR) => hash.update([0]),
            Err(errno) => return Err((host.as_path().to_owned(), errno)),
        }
    }
    let hash: [u8; 32] = hash.finalize().into();
    Ok(hash.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Looks until nothing is so young that it could change once more unseen.
fn settled(path: &Path) -> Result<Identity, Errno> {
    // What a link leads to is shown, or is a part of another mount.
    let path = match std::fs::canonicalize(path) {
        Ok(path) => path,
        Err(error) => return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
    };
    let mut found = identity(&OsFs, &path)?;
    for _ in 0..TRIES {
        if found.is_settled {
            break;
        }
        std::thread::sleep(MOMENT);
        found = identity(&OsFs, &path)?;
    }
    Ok(found)
}
