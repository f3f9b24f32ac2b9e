//! Files read and written as a whole.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use super::{Fs, Result};

const CHUNK: usize = 64 * 1024;

/// Writes all of some bytes.
///
/// # Errors
/// A failing call; some of them may be written.
pub fn write_all(fs: &dyn Fs, file: BorrowedFd<'_>, bytes: &[u8]) -> Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let length = fs.write(file, rest)?;
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(())
}

/// Reads all of a file below an open directory.
pub(crate) fn read_all(fs: &dyn Fs, dir: BorrowedFd<'_>, path: &Path) -> Result<Vec<u8>> {
    let file = fs.open_file(dir, path.as_os_str())?;
    let size = fs.status_of(file.as_fd())?.size;
    let mut text = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    let mut buffer = vec![0; CHUNK];
    loop {
        let length = fs.read(file.as_fd(), &mut buffer)?;
        if length == 0 {
            return Ok(text);
        }
        text.extend_from_slice(buffer.get(..length).unwrap_or_default());
    }
}
