//! Programs that a shell outside would start in the place of others.

use std::ffi::OsStr;
use std::path::PathBuf;

use crate::sys;

/// Why a name waits that leads to others than the directory of PATH that was there.
pub(crate) const PART_OF_PATH: &str = "your PATH, of which it is a part";

/// Returns why a name waits that is new in a directory of the caller's PATH; `None` where no later one has it.
pub(crate) fn shadowed(later: &[PathBuf], name: &OsStr) -> Option<String> {
    let found = later
        .iter()
        .map(|directory| directory.join(name))
        .find(|it| sys::exec::is_executable(it))?;
    Some(format!("your PATH, in which {} comes later", found.display()))
}
