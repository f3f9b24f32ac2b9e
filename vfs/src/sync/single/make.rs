//! The command's file, made before the start.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::{BASE, STANDS, copy_at_rest};
use crate::fs::{At, Errno, Fs, Node, Open, Result, write_all};

/// Copies the host's file to `stands`, below the run, and once more to compare with; returns what
/// it was. `layer` is there and empty but for the directories.
///
/// # Errors
/// A failing call, or `STALE` for what is no file or never at rest.
pub fn make_single(
    fs: &dyn Fs,
    host: At<'_>,
    run: BorrowedFd<'_>,
    (layer, stands): (&Path, &Path),
) -> Result<Node> {
    let layer = fs.open_below(run, layer, Open::Handle)?;
    make_above(fs, run, stands)?;
    let base = At { dir: layer.as_fd(), name: OsStr::new(BASE) };
    let node = copy_at_rest(fs, host, base)?.ok_or(Errno::STALE)?;
    let own = At { dir: run, name: stands.as_os_str() };
    copy_at_rest(fs, base, own)?.ok_or(Errno::STALE)?;
    let written = fs.create_file(layer.as_fd(), OsStr::new(STANDS))?;
    write_all(fs, written.as_fd(), stands.as_os_str().as_bytes())?;
    Ok(node)
}

/// Makes directories that lead to a name; what a seed brought may stand there already.
fn make_above(fs: &dyn Fs, run: BorrowedFd<'_>, path: &Path) -> Result<()> {
    let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
    above.pop();
    above.into_iter().rev().try_for_each(|dir| match fs.make_dir(run, dir.as_os_str(), 0o755) {
        Err(Errno::EXIST) => Ok(()),
        result => result,
    })
}
