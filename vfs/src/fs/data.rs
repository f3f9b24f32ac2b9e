//! Data and holes of files.

use std::os::fd::BorrowedFd;

use super::{Errno, Fs, Result};

/// Returns where the next data begins. Where the file system knows no holes, all is data.
pub(crate) fn next_data(fs: &dyn Fs, file: BorrowedFd<'_>, at: u64) -> Result<Option<u64>> {
    match fs.next_data(file, at) {
        Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(Some(at)),
        result => result,
    }
}

/// Returns where the next hole begins; `None` where the data goes on to the end.
pub(crate) fn next_hole(fs: &dyn Fs, file: BorrowedFd<'_>, at: u64) -> Result<Option<u64>> {
    match fs.next_hole(file, at) {
        Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::NXIO) => Ok(None),
        result => result.map(Some),
    }
}

/// Copies `size` bytes to an empty file; holes stay holes.
pub(crate) fn copy_bytes(
    fs: &dyn Fs,
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    size: u64,
) -> Result<()> {
    fs.set_size(to, size)?;
    let mut at = 0;
    while at < size
        && let Some(start) = next_data(fs, from, at)?.filter(|start| *start < size)
    {
        let end = next_hole(fs, from, start)?.unwrap_or(size).min(size);
        at = start;
        while at < end {
            match fs.copy_range(from, to, at..end)? {
                0 => return Err(Errno::STALE),
                length => at += length,
            }
        }
    }
    Ok(())
}
