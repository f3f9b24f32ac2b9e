//! Extended attributes of names, without opening what they lead to.

use std::ffi::OsStr;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::fs::{At, Attribute, Errno, Result, is_acl};

const CAPABILITY: &[u8] = b"security.capability";
const USER: &[u8] = b"user.";

/// Returns a path for the calls that know no directory descriptor.
///
/// Nothing of the name is followed, and a FIFO is not opened; an empty name is the directory.
pub(super) fn proc_path(at: At<'_>) -> PathBuf {
    let name = if at.name.is_empty() { OsStr::new(".") } else { at.name };
    Path::new("/proc/self/fd").join(at.dir.as_raw_fd().to_string()).join(name)
}

/// Returns the attributes that write-back looks at.
pub(super) fn attributes(at: At<'_>) -> Result<Vec<Attribute>> {
    let path = proc_path(at);
    let list = match list(&path) {
        Ok(list) => list,
        Err(Errno::NOTSUP) => return Ok(Vec::new()),
        Err(errno) => return Err(errno),
    };
    let names = list.split(|&byte| byte == 0);
    let is_wanted = |name: &&[u8]| {
        name.starts_with(USER) || *name == CAPABILITY || is_acl(OsStr::from_bytes(name))
    };
    let wanted = names.filter(is_wanted);
    let mut attributes = Vec::new();
    for name in wanted {
        let name = OsStr::from_bytes(name);
        match value(&path, name) {
            Ok(value) => attributes.push((name.to_owned(), value)),
            Err(Errno::NODATA) => {}
            Err(errno) => return Err(errno),
        }
    }
    attributes.sort();
    Ok(attributes)
}

fn list(path: &Path) -> Result<Vec<u8>> {
    growing(|buffer| rustix::fs::llistxattr(path, buffer))
}

fn value(path: &Path, name: &OsStr) -> Result<Vec<u8>> {
    growing(|buffer| rustix::fs::lgetxattr(path, name, buffer))
}

/// Calls with a small buffer, then with the largest that the kernel fills.
fn growing(mut call: impl FnMut(&mut [u8]) -> Result<usize>) -> Result<Vec<u8>> {
    let mut small = [0; 512];
    match call(&mut small) {
        Ok(length) => Ok(small.get(..length).unwrap_or_default().to_vec()),
        Err(Errno::RANGE) => {
            let mut large = vec![0; 65536];
            let length = call(&mut large)?;
            // As large as it is: a walk keeps those of many files.
            Ok(large.get(..length).unwrap_or_default().to_vec())
        }
        Err(errno) => Err(errno),
    }
}
