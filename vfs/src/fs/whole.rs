//! Files read and written as a whole.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use super::{Errno, Fs, Kind, Result};

const CHUNK: usize = 64 * 1024;
const PAGE: usize = 4096;

/// Returns how many bytes are read at a time of a file that says to have this size, and `most` of a large one: all,
/// and one more, which shows that it is all. Not every file says how long it is, nor stays so.
pub(crate) fn room(size: u64, most: usize) -> usize {
    usize::try_from(size).map_or(most, |size| size.saturating_add(1)).clamp(PAGE.min(most), most)
}

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
    let mut buffer = vec![0; room(size, CHUNK)];
    loop {
        let length = fs.read(file.as_fd(), &mut buffer)?;
        if length == 0 {
            return Ok(text);
        }
        text.extend_from_slice(buffer.get(..length).unwrap_or_default());
    }
}

/// Reads a file that is this user's, that nobody else can write and that has at most so many bytes.
pub(crate) fn read_own(
    fs: &dyn Fs,
    dir: BorrowedFd<'_>,
    name: &OsStr,
    most: u64,
) -> Result<Vec<u8>> {
    let file = fs.open_file(dir, name)?;
    let status = fs.status_of(file.as_fd())?;
    let is_own = status.uid == rustix::process::geteuid().as_raw() && status.mode & 0o022 == 0;
    if status.kind != Kind::File || status.size > most || !is_own {
        return Err(Errno::INVAL);
    }
    let mut bytes = vec![0; usize::try_from(status.size).map_err(|_| Errno::FBIG)?];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match fs.read(file.as_fd(), rest)? {
            0 => return Err(Errno::INVAL),
            length => filled += length,
        }
    }
    Ok(bytes)
}

/// Writes a file and puts it in the place of what has the name: there is the old one or the new. One
/// process at a time writes a name; what it left when it was killed is replaced.
pub(crate) fn write_anew(
    fs: &dyn Fs,
    dir: BorrowedFd<'_>,
    name: &OsStr,
    bytes: &[u8],
) -> Result<()> {
    let mut temporary = name.to_owned();
    temporary.push(format!(".{}.tmp", rustix::process::getpid().as_raw_nonzero()));
    let file = match fs.create_file(dir, &temporary) {
        Err(Errno::EXIST) => {
            fs.unlink(dir, &temporary)?;
            fs.create_file(dir, &temporary)
        }
        created => created,
    }?;
    let written =
        write_all(fs, file.as_fd(), bytes).and_then(|()| fs.rename(dir, &temporary, name));
    if written.is_err() {
        let _ = fs.unlink(dir, &temporary);
    }
    written
}
