//! The Bazel server that started this process, and its output base.
//!
//! Names and links on the disk may be those of a command or of a checkout. The arguments of the server are not: it is
//! no process of a sandbox.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::{geteuid, getppid};

/// The option that names the output base: Bazel's client gives it to each server, once.
const OPTION: &[u8] = b"--output_base=";

/// Returns the output base that the parent of this process was started with, where that is one of the same user.
pub(super) fn output_base() -> Option<PathBuf> {
    let parent = getppid()?;
    let process = Path::new("/proc").join(parent.as_raw_nonzero().to_string());
    let is_own = fs::metadata(&process).ok()?.uid() == geteuid().as_raw();
    let arguments = fs::read(process.join("cmdline")).ok()?;
    // The number was the parent's all the time when it is now.
    let is_parent = is_own && getppid() == Some(parent);
    of_arguments(&arguments).filter(|_| is_parent)
}

/// Finds the output base among arguments that a zero byte ends each.
fn of_arguments(arguments: &[u8]) -> Option<PathBuf> {
    let base = arguments.split(|byte| *byte == 0).find_map(|it| it.strip_prefix(OPTION))?;
    let base = PathBuf::from(OsStr::from_bytes(base));
    Some(base).filter(|base| base.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_base_is_the_first_that_is_said() {
        let of = |arguments: &[u8]| of_arguments(arguments);
        let said = of(b"bazel(p)\0-jar\0--output_base=/b\0build\0--output_base=/c\0");
        assert_eq!(said, Some(PathBuf::from("/b")));
        assert_eq!(of(b"bazel(p)\0--output_base=b\0"), None);
        assert_eq!(of(b"sh\0-c\0x --output_base=/b\0"), None);
        assert_eq!(of(b""), None);
    }
}
