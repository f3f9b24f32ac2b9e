//! The references of a run, beside those of a repository that the host moved too.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use super::{Moved, OWN, open, text};
use crate::fs::{Errno, Fs, Kind, Open, write_all};
use crate::sync::collect::io;
use crate::sync::{SyncError, make_like};

/// Writes the references of a repository that both sides moved into the layer, as those of a run:
/// the next look finds them as new, but for those that were written back before.
///
/// # Errors
/// A call that fails on either side.
pub fn set_aside(
    fs: &dyn Fs,
    (root, upper): (BorrowedFd<'_>, BorrowedFd<'_>),
    moved: &Moved,
    run: &str,
) -> Result<(), SyncError> {
    let bits = Bits::of(fs, root, &moved.path)?;
    for (name, object) in &moved.references {
        let path = place(moved, run, name);
        if text(fs, root, &path)?.trim_ascii_end() == object.as_bytes() {
            continue;
        }
        // Where the run put something else in the way, its reference stays in the layer alone.
        if let Err(errno @ (Errno::NOSPC | Errno::DQUOT | Errno::IO)) =
            write(fs, (root, upper), (&path, object), &bits)
        {
            return Err(io("write", &path)(errno));
        }
    }
    Ok(())
}

/// Returns the references of a run that stand in the tree beside those of a repository.
pub fn standing_references(fs: &dyn Fs, root: BorrowedFd<'_>, moved: Moved, run: &str) -> Moved {
    let Moved { path, references } = &moved;
    let stands = |(name, object): &(&String, &String)| {
        let found = text(fs, root, &place(&moved, run, name));
        found.is_ok_and(|found| found.trim_ascii_end() == object.as_bytes())
    };
    let standing = references.iter().filter(stands);
    let references = standing.map(|(name, object)| (name.clone(), object.clone())).collect();
    Moved { path: path.clone(), references }
}

fn place(moved: &Moved, run: &str, name: &str) -> PathBuf {
    moved.path.join(OWN).join(run).join(name)
}

/// The bits of new references and directories of them, as a repository has them by the umask of who made it, or by its
/// settings.
struct Bits {
    file: u32,
    directory: u32,
}

impl Bits {
    fn of(fs: &dyn Fs, root: BorrowedFd<'_>, git_dir: &Path) -> Result<Self, SyncError> {
        let dir = open(fs, root, git_dir)?;
        let mode = |name: &str, kind: Kind| {
            let found = fs.node(dir.as_ref()?.as_fd(), OsStr::new(name)).ok()?.status;
            (found.kind == kind).then_some(found.mode)
        };
        Ok(Self {
            file: mode("HEAD", Kind::File).map_or(0o644, |mode| mode & 0o666 | 0o600),
            directory: mode("refs", Kind::Directory).map_or(0o755, |mode| mode & 0o777 | 0o700),
        })
    }
}

fn write(
    fs: &dyn Fs,
    (root, upper): (BorrowedFd<'_>, BorrowedFd<'_>),
    (path, object): (&Path, &str),
    bits: &Bits,
) -> Result<(), Errno> {
    let mut above = PathBuf::new();
    let mut dir: Option<OwnedFd> = None;
    for name in path.parent().into_iter().flatten() {
        let at = dir.as_ref().map_or(upper, AsFd::as_fd);
        above.push(name);
        match fs.make_dir(at, name, 0o755) {
            Ok(()) => like_the_hosts(fs, (at, name), (root, &above), bits).inspect_err(|_| {
                // Left, it would be a change of the host's.
                let _ = fs.remove_dir(at, name);
            })?,
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        dir = Some(fs.open_below(at, Path::new(name), Open::Handle)?);
    }
    let at = dir.as_ref().map_or(upper, AsFd::as_fd);
    let name = path.file_name().ok_or(Errno::INVAL)?;
    let file = match fs.create_file(at, name) {
        // An earlier look wrote it.
        Err(Errno::EXIST) => return Ok(()),
        file => file?,
    };
    fs.set_mode(file.as_fd(), bits.file)?;
    let text = format!("{object}\n");
    write_all(fs, file.as_fd(), text.as_bytes())?;
    Ok(())
}

/// Gives a directory that was made in the layer all that the host's has, which is no change of it then; one that is new
/// there gets the bits of such.
fn like_the_hosts(
    fs: &dyn Fs,
    (at, name): (BorrowedFd<'_>, &OsStr),
    (root, path): (BorrowedFd<'_>, &Path),
    bits: &Bits,
) -> Result<(), Errno> {
    let made = fs.open_dir(at, name)?;
    let real = match fs.open_below(root, path, Open::Handle) {
        Err(Errno::NOENT) => return fs.set_mode(made.as_fd(), bits.directory),
        real => real?,
    };
    make_like(fs, made.as_fd(), real.as_fd())?;
    // Also with another group, which it does not get from here.
    fs.set_mode(made.as_fd(), fs.status_of(real.as_fd())?.mode)
}
