//! Which directories of the host the command of a run changes at once, for runs that begin meanwhile: it can move what
//! they are about to hide.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::fs::{Errno, Fs, Result, read_all, write_all};

/// Their paths in the directory of a run, each with a NUL at its end.
pub(super) const LIVE: &str = "live";

/// Notes them, before the command starts.
///
/// # Errors
/// A failing call.
pub fn note_live<'a>(
    fs: &dyn Fs,
    run: BorrowedFd<'_>,
    roots: impl Iterator<Item = &'a Path>,
) -> Result<()> {
    let texts = roots.map(|root| [root.as_os_str().as_bytes(), b"\0"].concat());
    let file = fs.create_file(run, OsStr::new(LIVE))?;
    write_all(fs, file.as_fd(), &texts.collect::<Vec<_>>().concat())
}

/// Returns those of a run; none where its command has not started, or changes no directory at once.
///
/// # Errors
/// A failing call.
pub fn live_roots(fs: &dyn Fs, run: BorrowedFd<'_>) -> Result<Vec<PathBuf>> {
    let text = match read_all(fs, run, Path::new(LIVE)) {
        Err(Errno::NOENT) => return Ok(Vec::new()),
        text => text?,
    };
    let paths = text.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Ok(paths.map(|path| OsString::from_vec(path.to_vec()).into()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::OsFs;
    use crate::testing::Scratch;

    #[test]
    fn roots_are_as_they_were_noted() {
        let run = Scratch::new();
        let fd = run.fd();
        assert_eq!(live_roots(&OsFs, fd.as_fd()), Ok(Vec::new()));
        let roots = [Path::new("/home/u/p"), Path::new("/a\nb c")];
        note_live(&OsFs, fd.as_fd(), roots.into_iter()).expect("noted");
        assert_eq!(live_roots(&OsFs, fd.as_fd()), Ok(roots.map(Path::to_owned).to_vec()));
    }
}
