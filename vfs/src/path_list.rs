//! Lists of paths in files of endow's own: each path as it is, with a NUL at its end.

use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::fs::{Errno, Fs, Result, read_all};

/// Returns the text of a list.
pub(crate) fn text<'p>(paths: impl Iterator<Item = &'p Path>) -> Vec<u8> {
    let lines = paths.map(|path| [path.as_os_str().as_bytes(), b"\0"].concat());
    lines.collect::<Vec<_>>().concat()
}

/// Reads a list; an empty one where there is no such file.
pub(crate) fn read(fs: &dyn Fs, dir: BorrowedFd<'_>, name: &str) -> Result<Vec<PathBuf>> {
    let list = match read_all(fs, dir, Path::new(name)) {
        Err(Errno::NOENT) => return Ok(Vec::new()),
        list => list?,
    };
    let paths = list.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Ok(paths.map(|path| OsString::from_vec(path.to_vec()).into()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::OsFs;
    use crate::testing::Scratch;

    #[test]
    fn paths_are_as_they_were_written() {
        let scratch = Scratch::new();
        assert_eq!(read(&OsFs, scratch.fd(), "list"), Ok(Vec::new()));
        for paths in [&["/home/u/p", "/a\nb c", "x"][..], &["y"], &[]] {
            let list = text(paths.iter().map(Path::new));
            std::fs::write(scratch.path().join("list"), list).expect("written");
            let expected = paths.iter().map(PathBuf::from).collect();
            assert_eq!(read(&OsFs, scratch.fd(), "list"), Ok(expected));
        }
    }
}
