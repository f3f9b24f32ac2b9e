//! The command's file, made before the start.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::{BASE, GONE, SET_ID, STANDS, copy_at_rest};
use crate::fs::{At, Errno, Fs, Node, Open, Result, write_all};

/// Copies the host's file to `stands`, below the run, and once more to compare with; returns what
/// it was. `layer` is there and empty but for the directories.
///
/// # Errors
/// A failing call; `STALE` for what is no file or never at rest, `PERM` for a set-id file, `LOOP` or
/// `NOTDIR` when something else stands in the way.
pub fn make_single(
    fs: &dyn Fs,
    host: At<'_>,
    run: BorrowedFd<'_>,
    (layer, stands): (&Path, &Path),
) -> Result<Node> {
    if fs.node(host.dir, host.name)?.status.mode & SET_ID != 0 {
        return Err(Errno::PERM);
    }
    let layer = fs.open_below(run, layer, Open::Handle)?;
    let above = make_above(fs, run, stands)?;
    let base = At { dir: layer.as_fd(), name: OsStr::new(BASE) };
    let node = copy_at_rest(fs, host, base)?.ok_or(Errno::STALE)?;
    let name = stands.file_name().ok_or(Errno::INVAL)?;
    let own = At { dir: above.as_fd(), name };
    copy_at_rest(fs, base, own)?.ok_or(Errno::STALE)?;
    note_place(fs, layer.as_fd(), stands)?;
    Ok(node)
}

/// Makes the layer of a single file that the host does not have: nor has the command one, until it makes it.
///
/// # Errors
/// A failing call; `LOOP` or `NOTDIR` when something else stands in the way.
pub fn make_single_absent(
    fs: &dyn Fs,
    run: BorrowedFd<'_>,
    (layer, stands): (&Path, &Path),
) -> Result<()> {
    let layer = fs.open_below(run, layer, Open::Handle)?;
    make_above(fs, run, stands)?;
    fs.create_file(layer.as_fd(), OsStr::new(GONE))?;
    note_place(fs, layer.as_fd(), stands)
}

fn note_place(fs: &dyn Fs, layer: BorrowedFd<'_>, stands: &Path) -> Result<()> {
    let written = fs.create_file(layer, OsStr::new(STANDS))?;
    write_all(fs, written.as_fd(), stands.as_os_str().as_bytes())
}

/// Opens the directory that leads to a name, made where it is not there. What a seed brought may
/// stand on the way: a directory is gone through, and nothing is followed.
pub(in crate::sync) fn make_above(
    fs: &dyn Fs,
    run: BorrowedFd<'_>,
    path: &Path,
) -> Result<OwnedFd> {
    let mut dir = fs.open_below(run, Path::new("."), Open::Handle)?;
    for name in path.parent().unwrap_or(Path::new("")) {
        match fs.make_dir(dir.as_fd(), name, 0o755) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        dir = fs.open_below(dir.as_fd(), Path::new(name), Open::Handle)?;
    }
    Ok(dir)
}
