//! Making what was planned, on several threads.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::{
    ContentError, Contents, DIRECTORY_MODE, EXECUTABLE_MODE, FILE_MODE, Group, MODIFIED, Maker,
    Materialization, MaterializeError,
};
use crate::fs::{At, Fs, Open, Result as FsResult};
use crate::snapshot::{Entry, Node};

/// Makes a tree in `root`, an empty directory that nobody else uses, with at most `workers`
/// threads beside the caller's; all have ended when this returns.
///
/// # Errors
/// The first path that can't be made. What was made until then is left.
pub fn apply<C: Sync>(
    fs: &dyn Fs,
    root: BorrowedFd<'_>,
    plan: &Materialization<'_, C>,
    contents: &dyn Contents<C>,
    workers: usize,
) -> Result<(), MaterializeError> {
    for path in &plan.directories {
        make_directory(fs, root, path).map_err(failed(path, "make the directory"))?;
    }
    for path in plan.gone {
        make_whiteout(fs, root, path).map_err(failed(path, "hide what is gone"))?;
    }
    let work = Work { fs, root, groups: &plan.groups, next: AtomicUsize::new(0) };
    let error = Mutex::new(None);
    let labour = || {
        if let Err(failed) = work.run(&mut *contents.maker()) {
            work.stop();
            error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failed);
        }
    };
    thread::scope(|scope| {
        for _ in 0..workers.min(plan.groups.len()) {
            // Where the user may have no more threads, those that there are do it.
            drop(thread::Builder::new().spawn_scoped(scope, labour));
        }
        labour();
    });
    if let Some(error) = error.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    for path in plan.directories.iter().rev().chain([&Path::new("")]) {
        finish_directory(fs, root, path).map_err(failed(path, "finish the directory"))?;
    }
    Ok(())
}

/// Groups that workers take one after the other.
struct Work<'a, C> {
    fs: &'a dyn Fs,
    root: BorrowedFd<'a>,
    groups: &'a [Group<'a, C>],
    next: AtomicUsize,
}

impl<C> Work<'_, C> {
    fn run(&self, maker: &mut dyn Maker<C>) -> Result<(), MaterializeError> {
        while let Some(group) = self.groups.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let directory = open(self.fs, self.root, group.directory)
                .map_err(failed(group.directory, "open the directory"))?;
            let mut bits = Bits::default();
            for entry in &group.entries {
                self.make(maker, directory.as_fd(), entry)?;
                bits.set(self.fs, directory.as_fd(), entry)
                    .map_err(failed(&entry.path, "set the bits"))?;
            }
        }
        Ok(())
    }

    /// Leaves the others nothing to do.
    fn stop(&self) {
        self.next.store(self.groups.len(), Ordering::Relaxed);
    }

    fn make(
        &self,
        maker: &mut dyn Maker<C>,
        dir: BorrowedFd<'_>,
        entry: &Entry<C>,
    ) -> Result<(), MaterializeError> {
        let at = At { dir, name: entry.path.file_name().unwrap_or_default() };
        let made = match &entry.node {
            Node::File { content, executable, .. } => maker.make(content, *executable, at),
            Node::Symlink { target } => make_link(self.fs, target, at),
            Node::Directory => Ok(()),
        };
        made.map_err(|error| MaterializeError { path: entry.path.clone(), error })
    }
}

/// Whether the files of a directory get other bits than they were created with, by kind: the process's
/// mask or a default list of access rights takes the same from all, so that the first is looked at.
#[derive(Default)]
struct Bits {
    plain: Option<bool>,
    executable: Option<bool>,
}

impl Bits {
    fn set<C>(&mut self, fs: &dyn Fs, dir: BorrowedFd<'_>, entry: &Entry<C>) -> FsResult<()> {
        let Node::File { executable, .. } = entry.node else { return Ok(()) };
        let (known, mode) = if executable {
            (&mut self.executable, EXECUTABLE_MODE)
        } else {
            (&mut self.plain, FILE_MODE)
        };
        let at = At { dir, name: entry.path.file_name().unwrap_or_default() };
        let differ = match *known {
            Some(differ) => differ,
            None => *known.insert(fs.status(at.dir, at.name)?.mode != mode),
        };
        if differ { fs.set_mode_at(at, mode) } else { Ok(()) }
    }
}

fn make_link(fs: &dyn Fs, target: &Path, at: At<'_>) -> Result<(), ContentError> {
    let failed = |action| move |errno| ContentError::Io { action, errno };
    fs.make_symlink(target.as_os_str(), at.dir, at.name).map_err(failed("make the link"))?;
    fs.set_modified(at, MODIFIED).map_err(failed("set the time"))
}

fn make_directory(fs: &dyn Fs, root: BorrowedFd<'_>, path: &Path) -> FsResult<()> {
    let name = path.file_name().unwrap_or_default();
    match path.parent().filter(|above| !above.as_os_str().is_empty()) {
        Some(above) => fs.make_dir(open(fs, root, above)?.as_fd(), name, 0o700),
        None => fs.make_dir(root, name, 0o700),
    }
}

/// A whiteout hides a name and all below it, and ends the search for a directory that has it in
/// the layer above, so that no directory needs the mark of an opaque one.
fn make_whiteout(fs: &dyn Fs, root: BorrowedFd<'_>, path: &Path) -> FsResult<()> {
    let above = open(fs, root, path.parent().unwrap_or(Path::new("")))?;
    fs.make_whiteout(above.as_fd(), path.file_name().unwrap_or_default())
}

fn finish_directory(fs: &dyn Fs, root: BorrowedFd<'_>, path: &Path) -> FsResult<()> {
    let dir = open(fs, root, path)?;
    fs.set_mode(dir.as_fd(), DIRECTORY_MODE)?;
    fs.set_modified(At { dir: dir.as_fd(), name: OsStr::new("") }, MODIFIED)
}

fn open(fs: &dyn Fs, root: BorrowedFd<'_>, path: &Path) -> FsResult<OwnedFd> {
    if path.as_os_str().is_empty() {
        return fs.open_dir(root, OsStr::new("."));
    }
    fs.open_below(root, path, Open::List)
}

fn failed(path: &Path, action: &'static str) -> impl FnOnce(crate::fs::Errno) -> MaterializeError {
    let path: PathBuf = path.to_owned();
    move |errno| MaterializeError { path, error: ContentError::Io { action, errno } }
}
