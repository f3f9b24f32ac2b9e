//! An exact copy of an overlay's upper layer, whiteouts and marks of the overlay included.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::rc::Rc;

use crate::fs::{
    At, Entry, Errno, FileId, Fs, Kind, Node, Result, Special, Status, copy_bytes, is_acl,
    is_beyond, is_overlays, set_attribute,
};
use crate::tree::remove_tree;

/// Directories of the current path that stay open, on both sides; deeper ones are reached again
/// by `..`.
const KEPT_OPEN: usize = 64;
/// The end of the name for files with several names.
const LINKS: &str = ".links";
/// The longest name of most file systems.
const NAME_MAX: usize = 255;
/// How many names that lack attributes are told.
const MOST_NAMED: usize = 100;
/// What a directory's owner needs to list it and to name things in it.
const OPEN: u32 = 0o700;

/// Why a layer could not be copied.
#[derive(Debug, thiserror::Error)]
#[error("can't copy: {}", path.display())]
pub struct CopyError {
    /// What could not be copied, below the layer; `.` for the layer itself.
    pub path: PathBuf,
    /// What the kernel said.
    #[source]
    pub errno: Errno,
}

/// Copies the layer `from`, which nobody changes meanwhile: bytes, holes, modes, times, `user.*`
/// attributes, ACLs, links, whiteouts, FIFOs and sockets.
///
/// It follows no link, enters no other mount, holds a bounded number of descriptors and leaves
/// bits of the layer as they were. The new name must be free; until the copy is whole it should be
/// one that nobody takes for a layer. Next to it the name `to` with `.links`, cut where that is too long, is used
/// meanwhile.
///
/// Returns the names, the first of them, whose attributes the file system of the copy can't keep.
///
/// # Errors
/// The first name that can't be copied; nothing of the copy is left then, if it can be removed.
pub fn copy_layer(
    fs: &dyn Fs,
    from: At<'_>,
    to: At<'_>,
) -> std::result::Result<Vec<PathBuf>, CopyError> {
    let name = pool_name(to.name);
    let links = Links { at: to.dir, name, dir: None, known: HashSet::new() };
    let (levels, stripped) = (Vec::new(), Vec::new());
    let mut copying = Copying { fs, from: from.dir, to: to.dir, levels, links, stripped };
    let copied = copying.run(from.name, to.name);
    let failed = copied.map_err(|(name, errno)| CopyError { path: copying.path(name), errno });
    copying.put_back();
    let pool = remove_tree(fs, to.dir, &copying.links.name);
    let pool = pool.map_err(|left| CopyError { path: left.path, errno: left.errno });
    let whole = failed.and(pool);
    if whole.is_err() {
        // The error that counts is the first.
        drop(remove_tree(fs, to.dir, &copying.links.name));
        drop(remove_tree(fs, to.dir, to.name));
    }
    whole.map(|()| copying.stripped)
}

fn pool_name(copy: &OsStr) -> OsString {
    let bytes = copy.as_bytes();
    let beginning = bytes.get(..NAME_MAX - LINKS.len()).unwrap_or(bytes);
    [OsStr::from_bytes(beginning), OsStr::new(LINKS)].into_iter().collect()
}

/// Copies one entry of any kind; a directory as [`copy_layer`] does, but with all attributes.
///
/// # Errors
/// The first name that can't be copied; a device is one.
pub fn copy_tree(fs: &dyn Fs, from: At<'_>, to: At<'_>) -> std::result::Result<(), CopyError> {
    let failed = |errno| CopyError { path: from.name.into(), errno };
    let node = fs.node(from.dir, from.name).map_err(failed)?;
    match (node.status.kind, node.special) {
        (Kind::Directory, _) => match copy_layer(fs, from, to)?.pop() {
            Some(path) => Err(CopyError { path, errno: Errno::TOOBIG }),
            None => Ok(()),
        },
        (Kind::Other, None | Some(Special::Device)) => Err(failed(Errno::PERM)),
        _ => match copy_leaf(fs, from, to, &node) {
            Ok(false) => Err(failed(Errno::TOOBIG)),
            copied => copied.map(drop).map_err(failed),
        },
    }
}

/// One directory on the way down.
struct Level {
    name: OsString,
    status: Status,
    dirs: Option<Dirs>,
    ids: [FileId; 2],
    pending: Vec<Entry>,
}

/// A directory and its copy; closed while the copying is far below.
struct Dirs {
    from: OwnedFd,
    to: OwnedFd,
}

/// Files that have several names: each has one more here, so that a further one can be made
/// wherever the copying is.
struct Links<'a> {
    at: BorrowedFd<'a>,
    name: OsString,
    dir: Option<Rc<OwnedFd>>,
    known: HashSet<u64>,
}

struct Copying<'a> {
    fs: &'a dyn Fs,
    from: BorrowedFd<'a>,
    to: BorrowedFd<'a>,
    levels: Vec<Level>,
    links: Links<'a>,
    /// What has not all of its attributes in the copy.
    stripped: Vec<PathBuf>,
}

impl Copying<'_> {
    /// Fails with the name that could not be copied, when it is one in the current directory.
    fn run(
        &mut self,
        from: &OsStr,
        to: &OsStr,
    ) -> std::result::Result<(), (Option<OsString>, Errno)> {
        self.enter(from, to).map_err(|errno| (None, errno))?;
        while let Some(level) = self.levels.last_mut() {
            match level.pending.pop() {
                Some(Entry { name, .. }) => {
                    self.copy(&name).map_err(|errno| (Some(name), errno))?;
                }
                None => self.leave().map_err(|errno| (None, errno))?,
            }
        }
        Ok(())
    }

    fn copy(&mut self, name: &OsStr) -> Result<()> {
        let Self { fs, levels, links, .. } = self;
        let dirs = levels.last().and_then(|level| level.dirs.as_ref()).ok_or(Errno::BADF)?;
        let node = fs.node(dirs.from.as_fd(), name)?;
        let (from, to) = (At { dir: dirs.from.as_fd(), name }, At { dir: dirs.to.as_fd(), name });
        if node.status.kind == Kind::Directory {
            return self.enter(name, name);
        }
        // Whiteouts share one inode, which is no tie between them.
        if node.links < 2 || node.special == Some(Special::Whiteout) {
            let is_whole = copy_leaf(*fs, from, to, &node)?;
            self.note_stripped(is_whole, Some(name));
            return Ok(());
        }
        let (ino, pool) = (node.status.id.ino, links.open(*fs)?);
        let shared = OsString::from(ino.to_string());
        let shared = At { dir: pool.as_fd(), name: &shared };
        if links.known.contains(&ino) {
            return fs.link(shared, to);
        }
        let is_whole = copy_leaf(*fs, from, to, &node)?;
        fs.link(to, shared)?;
        links.known.insert(ino);
        self.note_stripped(is_whole, Some(name));
        Ok(())
    }

    fn note_stripped(&mut self, is_whole: bool, name: Option<&OsStr>) {
        if !is_whole && self.stripped.len() < MOST_NAMED {
            self.stripped.push(self.path(name.map(OsStr::to_owned)));
        }
    }

    fn enter(&mut self, from: &OsStr, to: &OsStr) -> Result<()> {
        let (at, copy) = if self.levels.is_empty() {
            (self.from, self.to)
        } else {
            let dirs = self.current()?;
            (dirs.from.as_fd(), dirs.to.as_fd())
        };
        let status = self.fs.node(at, from)?.status;
        self.fs.make_dir(copy, to, OPEN)?;
        let copy = self.fs.open_dir_here(copy, to)?;
        if status.mode & OPEN != OPEN {
            self.fs.set_dir_mode(at, from, status.mode | OPEN)?;
        }
        let opened = self.fs.open_dir_here(at, from).and_then(|dir| {
            let ids = [self.fs.status_of(dir.as_fd())?.id, self.fs.status_of(copy.as_fd())?.id];
            let pending = self.fs.list(dir.as_fd(), usize::MAX)?;
            Ok((dir, ids, pending))
        });
        let (dir, ids, pending) = match opened {
            Ok(opened) => opened,
            Err(errno) => {
                let _ = self.fs.set_dir_mode(at, from, status.mode);
                return Err(errno);
            }
        };
        if self.levels.len() >= KEPT_OPEN
            && let Some(above) = self.levels.last_mut()
        {
            above.dirs = None;
        }
        let dirs = Some(Dirs { from: dir, to: copy });
        self.levels.push(Level { name: from.to_owned(), status, dirs, ids, pending });
        Ok(())
    }

    /// Comes back from a directory, which gets its attributes now that all is in it.
    fn leave(&mut self) -> Result<()> {
        self.reopen()?;
        let fs = self.fs;
        let (here, dirs) = (OsStr::new("."), self.current()?);
        let is_whole = copy_attributes(
            fs,
            At { dir: dirs.from.as_fd(), name: here },
            At { dir: dirs.to.as_fd(), name: here },
        )?;
        self.note_stripped(is_whole, None);
        let dirs = self.current()?;
        let Some(status) = self.levels.last().map(|level| level.status) else { return Ok(()) };
        fs.set_mode(dirs.to.as_fd(), status.mode)?;
        fs.set_times(dirs.to.as_fd(), &status)?;
        if status.mode & OPEN != OPEN {
            fs.set_mode(dirs.from.as_fd(), status.mode)?;
        }
        self.levels.pop();
        Ok(())
    }

    /// Makes sure that the directory above the last one is open: once that has its bits, the way
    /// up may be closed.
    fn reopen(&mut self) -> Result<()> {
        let [.., above, level] = self.levels.as_mut_slice() else { return Ok(()) };
        if above.dirs.is_some() {
            return Ok(());
        }
        let dirs = level.dirs.as_ref().ok_or(Errno::BADF)?;
        let mut up = [&dirs.from, &dirs.to].into_iter().zip(above.ids).map(|(dir, id)| {
            let up = self.fs.open_dir(dir.as_fd(), OsStr::new(".."))?;
            let is_it = self.fs.status_of(up.as_fd())?.id == id;
            if is_it { Ok(up) } else { Err(Errno::STALE) }
        });
        if let (Some(from), Some(to)) = (up.next(), up.next()) {
            above.dirs = Some(Dirs { from: from?, to: to? });
        }
        Ok(())
    }

    /// After an error: gives directories of the layer that were opened up their bits again, as far
    /// as they are in reach.
    fn put_back(&mut self) {
        while !self.levels.is_empty() {
            let _ = self.reopen();
            let Some(level) = self.levels.pop() else { return };
            if let Some(dirs) = level.dirs.filter(|_| level.status.mode & OPEN != OPEN) {
                let _ = self.fs.set_mode(dirs.from.as_fd(), level.status.mode);
            }
        }
    }

    fn current(&self) -> Result<&Dirs> {
        self.levels.last().and_then(|level| level.dirs.as_ref()).ok_or(Errno::BADF)
    }

    /// Returns the path of a name in the current directory, or of that itself.
    fn path(&self, name: Option<OsString>) -> PathBuf {
        let above = self.levels.iter().skip(1).map(|level| level.name.as_os_str());
        let path: PathBuf = above.chain(name.as_deref()).collect();
        if path.as_os_str().is_empty() { PathBuf::from(".") } else { path }
    }
}

impl Links<'_> {
    fn open(&mut self, fs: &dyn Fs) -> Result<Rc<OwnedFd>> {
        if let Some(dir) = &self.dir {
            return Ok(Rc::clone(dir));
        }
        fs.make_dir(self.at, &self.name, OPEN)?;
        let dir = Rc::new(fs.open_dir(self.at, &self.name)?);
        Ok(Rc::clone(self.dir.insert(dir)))
    }
}

/// Returns whether the copy has all attributes.
fn copy_leaf(fs: &dyn Fs, from: At<'_>, to: At<'_>, node: &Node) -> Result<bool> {
    let status = &node.status;
    match (status.kind, node.special) {
        (Kind::Symlink, _) => {
            let target = fs.read_link(from.dir, from.name)?;
            fs.make_symlink(&target, to.dir, to.name)?;
            fs.set_times_at(to.dir, to.name, status).map(|()| true)
        }
        (Kind::File, _) => copy_file(fs, from, to, status),
        (_, Some(Special::Whiteout)) => fs.make_whiteout(to.dir, to.name).map(|()| true),
        (_, Some(special @ (Special::Fifo | Special::Socket))) => {
            fs.make_special(to, special)?;
            fs.set_mode_at(to, status.mode)?;
            fs.set_times_at(to.dir, to.name, status).map(|()| true)
        }
        // A command can't make any, and it would be refused.
        (Kind::Directory | Kind::Other, _) => Ok(true),
    }
}

fn copy_file(fs: &dyn Fs, from: At<'_>, to: At<'_>, status: &Status) -> Result<bool> {
    let closed = status.mode & 0o400 == 0;
    if closed {
        fs.set_mode_at(from, status.mode | 0o400)?;
    }
    let read = || {
        let source = fs.open_file(from.dir, from.name)?;
        let copy = fs.create_file(to.dir, to.name)?;
        copy_bytes(fs, source.as_fd(), copy.as_fd(), status.size)?;
        let is_whole = copy_attributes(fs, from, to)?;
        Ok((copy, is_whole))
    };
    let copy = read();
    if closed {
        fs.set_mode_at(from, status.mode)?;
    }
    let (copy, is_whole) = copy?;
    fs.set_mode(copy.as_fd(), status.mode)?;
    fs.set_times(copy.as_fd(), status).map(|()| is_whole)
}

/// A file capability is left: only a privileged process sets one, and a command is none.
/// Returns whether all others are kept; the overlay's own must be.
fn copy_attributes(fs: &dyn Fs, from: At<'_>, to: At<'_>) -> Result<bool> {
    let attributes = fs.attributes(from)?;
    let is_kept = |name: &OsStr| is_acl(name) || name.as_bytes().starts_with(b"user.");
    let mut is_whole = true;
    for attribute in attributes.iter().filter(|(name, _)| is_kept(name)) {
        match set_attribute(fs, to, attribute) {
            Err(errno) if is_beyond(errno) && !is_overlays(&attribute.0) => is_whole = false,
            result => result?,
        }
    }
    Ok(is_whole)
}

#[cfg(test)]
mod tests;
