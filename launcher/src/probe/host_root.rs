//! What tells one host's programs from another's: the identity of all that a sandbox shows of them.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use endow_policy::{BackendSpec, GuestPath, MountClass, MountSpec};
use endow_vfs::fs::{Errno, OsFs};
use endow_vfs::hex;
use endow_vfs::inputs::identity;
use sha2::{Digest, Sha256};

/// How long is waited for the clock to leave the time of the youngest file behind.
const MOMENT: Duration = Duration::from_millis(100);
/// How often that is waited for: two seconds are the coarsest clock's grain.
const TRIES: usize = 40;

/// Returns the identity of the host's files and directories that mounts show, as hexadecimal digits. What was
/// listed is kept in `memory`.
///
/// # Errors
/// One of them can't be looked through.
pub(crate) fn host_root(
    mounts: &[MountSpec],
    memory: BorrowedFd<'_>,
) -> Result<String, (PathBuf, Errno)> {
    let shown = shown(mounts)?;
    let mut hash = Sha256::new();
    for (at, source) in &shown {
        put(&mut hash, at.as_bytes());
        // Where nothing is, nothing is shown.
        put(&mut hash, source.as_ref().map_or(&[], |it| it.as_os_str().as_bytes()));
    }
    for root in roots(shown.values().flatten()) {
        let found = settled(root, memory).map_err(|errno| (root.to_owned(), errno))?;
        put(&mut hash, root.as_os_str().as_bytes());
        hash.update(found.as_bytes());
    }
    Ok(hex::digits(&hash.finalize()))
}

/// Returns what stands where, all links resolved: what a link leads to is shown.
fn shown(mounts: &[MountSpec]) -> Result<BTreeMap<&GuestPath, Option<PathBuf>>, (PathBuf, Errno)> {
    let system = mounts.iter().filter(|spec| spec.class == MountClass::System);
    let host = system.filter_map(|spec| match &spec.backend {
        BackendSpec::Physical { host } | BackendSpec::Copy { host } => Some((&spec.at, host)),
        _ => None,
    });
    let resolved = host.map(|(at, host)| match host.as_path().canonicalize() {
        Ok(path) => Ok((at, Some(path))),
        Err(error) => match Errno::from_io_error(&error).unwrap_or(Errno::IO) {
            Errno::NOENT | Errno::NOTDIR => Ok((at, None)),
            errno => Err((host.as_path().to_owned(), errno)),
        },
    });
    resolved.collect()
}

/// Returns the paths that lie in no other, each once.
fn roots<'p>(paths: impl Iterator<Item = &'p PathBuf>) -> Vec<&'p Path> {
    let all: BTreeSet<&Path> = paths.map(PathBuf::as_path).collect();
    let is_root = |path: &&Path| !path.ancestors().skip(1).any(|above| all.contains(above));
    all.iter().copied().filter(is_root).collect()
}

fn put(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

/// Looks through a file or directory until nothing in it is so young that it could change once more
/// unseen, and returns its identity, as hexadecimal digits.
///
/// # Errors
/// It can't be looked through.
pub(crate) fn settled(path: &Path, memory: BorrowedFd<'_>) -> Result<String, Errno> {
    let mut found = identity(&OsFs, path, Some(memory))?;
    for _ in 0..TRIES {
        if found.is_settled {
            break;
        }
        std::thread::sleep(MOMENT);
        found = identity(&OsFs, path, Some(memory))?;
    }
    Ok(hex::digits(&found.hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_another_is_looked_through_once() {
        let paths = ["/usr", "/usr/bin", "/usr/lib", "/usrlocal", "/etc/ssl", "/usr"];
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        let found: Vec<&Path> = roots(paths.iter());
        assert_eq!(found, [Path::new("/etc/ssl"), Path::new("/usr"), Path::new("/usrlocal")]);
    }
}
