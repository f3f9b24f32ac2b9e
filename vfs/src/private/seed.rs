//! Seeding: copies of host files in a private directory.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use super::{Seed, SeedError, SeedLimits, Seeded, SkipReason, Skipped};
use crate::fs::{Entry, Errno, Fs, Kind, Status, write_all};

/// The deepest directory that is copied, counted from the seed.
const DEPTH: usize = 64;
const BUFFER: usize = 64 * 1024;

type Result<T> = std::result::Result<T, SeedError>;

/// Copies seeds into the private directory `into`: bytes, times, links as links, and permission
/// bits without set-user-id and the like.
///
/// What is not there, can't be read or is no file is left out and noted. After an error the
/// directory holds a part; it goes with its run.
///
/// # Errors
/// More than the limits, or a failing call.
pub fn seed(
    fs: &dyn Fs,
    into: BorrowedFd<'_>,
    seeds: &[Seed],
    limits: SeedLimits,
) -> Result<Seeded> {
    let mut seeding = Seeding {
        fs,
        limits,
        seeded: Seeded::default(),
        levels: Vec::new(),
        buffer: vec![0; BUFFER],
    };
    for seed in seeds {
        seeding.plant(into, seed)?;
    }
    Ok(seeding.seeded)
}

struct Seeding<'a> {
    fs: &'a dyn Fs,
    limits: SeedLimits,
    seeded: Seeded,
    levels: Vec<Level>,
    buffer: Vec<u8>,
}

/// A directory that is being copied.
struct Level {
    path: PathBuf,
    dirs: Rc<Dirs>,
    status: Status,
    pending: Vec<Entry>,
}

/// A directory and its copy.
struct Dirs {
    from: OwnedFd,
    to: OwnedFd,
}

/// One thing to copy: its directories on both sides, and its names there.
struct Item<'a> {
    path: &'a Path,
    from: BorrowedFd<'a>,
    to: BorrowedFd<'a>,
    name: &'a OsStr,
    as_name: &'a OsStr,
}

impl Seeding<'_> {
    fn plant(&mut self, into: BorrowedFd<'_>, seed: &Seed) -> Result<()> {
        let path = seed.source.as_path();
        let no_place = || SeedError::NoPlace { path: path.to_owned() };
        let (above, name) = path.parent().zip(path.file_name()).ok_or_else(no_place)?;
        let from = match self.fs.open_canonical(above) {
            Ok(from) => from,
            Err(errno) => return self.skip_or_fail("open", path, errno),
        };
        let (to, as_name) = self.open_place(into, &seed.to)?;
        let (from, to) = (from.as_fd(), to.as_ref().map_or(into, AsFd::as_fd));
        self.copy(&Item { path, from, to, name, as_name: &as_name })?;
        while !self.levels.is_empty() {
            self.step()?;
        }
        Ok(())
    }

    /// Opens the directory that a seed's place is in, making it and those above it.
    fn open_place(
        &self,
        into: BorrowedFd<'_>,
        place: &Path,
    ) -> Result<(Option<OwnedFd>, OsString)> {
        let mut names = Vec::new();
        for component in place.components() {
            let Component::Normal(name) = component else { return Err(no_place(place)) };
            names.push(name);
        }
        let last = names.pop().ok_or_else(|| no_place(place))?;
        let mut dir: Option<OwnedFd> = None;
        for name in names {
            let at = dir.as_ref().map_or(into, AsFd::as_fd);
            dir = Some(self.make_dir(at, name).map_err(failed("make a place for", place))?);
        }
        Ok((dir, last.to_owned()))
    }

    fn make_dir(&self, at: BorrowedFd<'_>, name: &OsStr) -> std::result::Result<OwnedFd, Errno> {
        match self.fs.make_dir(at, name, 0o700) {
            Ok(()) | Err(Errno::EXIST) => self.fs.open_dir(at, name),
            Err(errno) => Err(errno),
        }
    }

    fn step(&mut self) -> Result<()> {
        let Some(mut level) = self.levels.pop() else { return Ok(()) };
        let Some(entry) = level.pending.pop() else { return self.finish_dir(&level) };
        let path = level.path.join(&entry.name);
        let dirs = Rc::clone(&level.dirs);
        self.levels.push(level);
        let (from, to, name) = (dirs.from.as_fd(), dirs.to.as_fd(), entry.name.as_os_str());
        self.copy(&Item { path: &path, from, to, name, as_name: name })
    }

    fn copy(&mut self, item: &Item<'_>) -> Result<()> {
        let status = match self.fs.status(item.from, item.name) {
            Ok(status) => status,
            Err(errno) => return self.skip_or_fail("look at", item.path, errno),
        };
        if status.kind != Kind::Other {
            self.count(item.path)?;
        }
        match status.kind {
            Kind::File => self.copy_file(item),
            Kind::Directory => self.enter_dir(item),
            Kind::Symlink => self.copy_link(item, &status),
            Kind::Other => {
                self.skip(item.path, SkipReason::Special);
                Ok(())
            }
        }
    }

    fn count(&mut self, path: &Path) -> Result<()> {
        let limit = self.limits.entries;
        if self.seeded.entries == limit {
            return Err(SeedError::TooMany { path: path.to_owned(), limit });
        }
        self.seeded.entries += 1;
        Ok(())
    }

    fn copy_file(&mut self, item: &Item<'_>) -> Result<()> {
        let from = match self.fs.open_file(item.from, item.name) {
            Ok(from) => from,
            Err(errno) => return self.uncount(item.path, errno),
        };
        let failed = |errno| failed("copy", item.path)(errno);
        let status = self.fs.status_of(from.as_fd()).map_err(failed)?;
        if status.kind != Kind::File {
            return self.uncount(item.path, Errno::NODEV);
        }
        let to = self.fs.create_file(item.to, item.as_name).map_err(failed)?;
        self.copy_bytes(item.path, from.as_fd(), to.as_fd())?;
        self.fs.set_mode(to.as_fd(), status.mode & 0o777).map_err(failed)?;
        self.fs.set_times(to.as_fd(), &status).map_err(failed)
    }

    /// Copies to the end, whatever size the file had when it was opened.
    fn copy_bytes(&mut self, path: &Path, from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> Result<()> {
        loop {
            let length = self.fs.read(from, &mut self.buffer).map_err(failed("read", path))?;
            if length == 0 {
                return Ok(());
            }
            self.seeded.bytes += length as u64;
            let limit = self.limits.bytes;
            if self.seeded.bytes > limit {
                return Err(SeedError::TooLarge { path: path.to_owned(), limit });
            }
            let bytes = self.buffer.get(..length).unwrap_or_default();
            write_all(self.fs, to, bytes).map_err(failed("copy", path))?;
        }
    }

    fn copy_link(&mut self, item: &Item<'_>, status: &Status) -> Result<()> {
        let failed = |errno| failed("copy", item.path)(errno);
        let target = self.fs.read_link(item.from, item.name).map_err(failed)?;
        self.fs.make_symlink(&target, item.to, item.as_name).map_err(failed)?;
        self.fs.set_times_at(item.to, item.as_name, status).map_err(failed)
    }

    fn enter_dir(&mut self, item: &Item<'_>) -> Result<()> {
        let from = match self.fs.open_dir(item.from, item.name) {
            Ok(from) => from,
            Err(errno) => return self.uncount(item.path, errno),
        };
        let path = item.path.to_owned();
        if self.levels.len() == DEPTH {
            return Err(SeedError::TooDeep { path });
        }
        let failed = |errno| failed("copy", item.path)(errno);
        let status = self.fs.status_of(from.as_fd()).map_err(failed)?;
        let left = self.limits.entries - self.seeded.entries;
        let pending = self.fs.list(from.as_fd(), left + 1).map_err(failed)?;
        let to = self.make_dir(item.to, item.as_name).map_err(failed)?;
        let dirs = Rc::new(Dirs { from, to });
        self.levels.push(Level { path, dirs, status, pending });
        Ok(())
    }

    /// Closes a directory as its source is, now that all is in it.
    fn finish_dir(&self, level: &Level) -> Result<()> {
        let mode = level.status.mode & 0o777;
        self.fs.set_mode(level.dirs.to.as_fd(), mode).map_err(failed("copy", &level.path))?;
        self.fs.set_times(level.dirs.to.as_fd(), &level.status).map_err(failed("copy", &level.path))
    }

    fn uncount(&mut self, path: &Path, errno: Errno) -> Result<()> {
        self.seeded.entries -= 1;
        self.skip_or_fail("open", path, errno)
    }

    fn skip_or_fail(&mut self, action: &'static str, path: &Path, errno: Errno) -> Result<()> {
        let reason = match errno {
            Errno::NOENT | Errno::NOTDIR => SkipReason::Missing,
            Errno::ACCESS | Errno::PERM => SkipReason::Unreadable,
            Errno::NXIO | Errno::NODEV => SkipReason::Special,
            errno => return Err(failed(action, path)(errno)),
        };
        self.skip(path, reason);
        Ok(())
    }

    fn skip(&mut self, path: &Path, reason: SkipReason) {
        self.seeded.skipped.push(Skipped { path: path.to_owned(), reason });
    }
}

fn no_place(path: &Path) -> SeedError {
    SeedError::NoPlace { path: path.to_owned() }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(Errno) -> SeedError + use<> {
    let path = path.to_owned();
    move |errno| SeedError::Io { action, path, errno }
}

#[cfg(test)]
mod tests;
