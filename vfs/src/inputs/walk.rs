//! The walk through the directory of a build, by two threads.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::remembered::{Record, Remembered};
use super::stamp::Stamp;
use super::{InputError, Inputs, Leaf};
use crate::cas::{Digest, Hasher};
use crate::fs::{Entry, Errno, FileId, Kind, Open};
use crate::names::pool::Pool;

/// A machine has that many processors at least; more gain little where nothing changed.
const THREADS: usize = 2;
/// Files that one thread takes at a time, so that a large directory is shared.
const BATCH: usize = 64;
const CHUNK: usize = 128 << 10;
/// What is remembered is written again when more than one record of so many is of no use any more.
const WORTH: usize = 8;

/// What a walk found: each file and link that counts, by its path.
#[derive(Debug, Default)]
pub struct Found {
    /// Their nodes.
    pub leaves: BTreeMap<String, Leaf>,
    /// How many files were read.
    pub hashed: u64,
}

/// Walks a directory and hashes the files that count. It follows no link and enters no other mount.
///
/// # Errors
/// What can't be read, or can't be in a tree of contents; a directory that passes the bounds.
pub fn walk(inputs: &Inputs<'_>) -> Result<Found, InputError> {
    let root = inputs.fs.status_of(inputs.root);
    let root: FileId = root.map_err(|errno| unreadable(Path::new("."), errno))?.id;
    let remembered = Remembered::load(inputs.fs, inputs.memory, root);
    let walk = Walk {
        inputs,
        remembered: &remembered,
        now: SystemTime::now(),
        entries: AtomicU64::new(0),
        failed: Mutex::new(None),
    };
    let parts = walk.all()?;
    Ok(gather(parts, &remembered))
}

fn gather(parts: Vec<Part>, remembered: &Remembered<'_>) -> Found {
    let hashed = parts.iter().map(|part| part.hashed).sum();
    let records: usize = parts.iter().map(|part| part.records.len()).sum();
    let is_stale = remembered.count() > records + records / WORTH;
    if hashed > 0 || is_stale {
        let records = parts.iter().flat_map(|part| &part.records);
        let records: Vec<(&str, Record)> = records.map(|(path, it)| (path.as_str(), *it)).collect();
        remembered.save(&records);
    }
    let leaves = parts.into_iter().flat_map(|part| part.leaves).collect();
    Found { leaves, hashed }
}

/// What one thread found.
#[derive(Default)]
struct Part {
    leaves: Vec<(String, Leaf)>,
    records: Vec<(String, Record)>,
    hashed: u64,
}

struct Walk<'a> {
    inputs: &'a Inputs<'a>,
    remembered: &'a Remembered<'a>,
    now: SystemTime,
    entries: AtomicU64,
    failed: Mutex<Option<InputError>>,
}

enum Job {
    /// A directory to list, by its path below the root.
    Directory(String),
    /// Some files of an open directory.
    Files(Arc<OwnedFd>, Vec<String>),
}

impl Walk<'_> {
    fn all(self) -> Result<Vec<Part>, InputError> {
        let pool = Pool::new(vec![Job::Directory(String::new())], THREADS);
        let parts = std::thread::scope(|scope| {
            let others: Vec<_> = (1..THREADS).map(|_| scope.spawn(|| self.work(&pool))).collect();
            let own = self.work(&pool);
            let others = others.into_iter();
            let others = others.map(|it| it.join().expect("a walking thread doesn't panic"));
            others.chain([own]).collect()
        });
        match self.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(parts),
        }
    }

    fn work(&self, pool: &Pool<Job>) -> Part {
        let (mut part, mut buffer) = (Part::default(), vec![0; CHUNK]);
        while let Some(mut jobs) = pool.take() {
            while let Some(job) = jobs.pop().filter(|_| !self.has_failed()) {
                let done = match job {
                    Job::Directory(path) => self.visit(&path, &mut part, &mut jobs),
                    Job::Files(dir, paths) => paths
                        .into_iter()
                        .try_for_each(|path| self.file(dir.as_fd(), path, &mut part, &mut buffer)),
                };
                done.unwrap_or_else(|error| self.fail(error));
                pool.share(&mut jobs);
            }
        }
        part
    }

    fn visit(&self, path: &str, part: &mut Part, jobs: &mut Vec<Job>) -> Result<(), InputError> {
        let dir = match self.open(path) {
            // What vanishes is not there, and another mount is another tree.
            Err(Errno::NOENT | Errno::XDEV) => return Ok(()),
            opened => Arc::new(opened.map_err(|errno| unreadable(shown(path), errno))?),
        };
        let limit = self.inputs.bounds.entries.saturating_add(1);
        let entries = self.inputs.fs.list(dir.as_fd(), limit);
        let entries = entries.map_err(|errno| unreadable(shown(path), errno))?;
        self.count(path, entries.len())?;
        let mut files = Vec::new();
        for Entry { name, kind } in entries {
            let below = join(path, &name.to_string_lossy());
            if name.to_str().is_none() && (self.inputs.takes)(&below) {
                return Err(InputError::Text { path: below.into() });
            }
            match self.kind(dir.as_fd(), &name, kind).map_err(|it| unreadable(shown(&below), it))? {
                Some(Kind::Directory) if (self.inputs.enters)(&below) => {
                    jobs.push(Job::Directory(below));
                }
                Some(Kind::Directory) => {}
                Some(kind) if (self.inputs.takes)(&below) => match kind {
                    Kind::File => files.push(below),
                    Kind::Symlink => part.leaves.extend(self.symlink(dir.as_fd(), below)?),
                    _ => return Err(InputError::Kind { path: below.into() }),
                },
                _ => {}
            }
        }
        jobs.extend(files.chunks(BATCH).map(|paths| Job::Files(dir.clone(), paths.to_vec())));
        Ok(())
    }

    fn file(
        &self,
        dir: BorrowedFd<'_>,
        path: String,
        part: &mut Part,
        buffer: &mut [u8],
    ) -> Result<(), InputError> {
        let name = OsStr::new(path.rsplit('/').next().unwrap_or_default());
        let status = match self.inputs.fs.status(dir, name) {
            Err(Errno::NOENT) => return Ok(()),
            status => status.map_err(|errno| unreadable(shown(&path), errno))?,
        };
        let stamp = Stamp::of(&status);
        let (stamp, digest) = if let Some(digest) = self.remembered.digest(&path, &stamp) {
            (stamp, digest)
        } else {
            part.hashed += 1;
            match self.hash(dir, name, buffer) {
                Err(Errno::NOENT) => return Ok(()),
                hashed => hashed.map_err(|errno| unreadable(shown(&path), errno))?,
            }
        };
        if stamp.is_settled(self.now) {
            part.records.push((path.clone(), (stamp, digest.hash)));
        }
        let executable = stamp.mode & 0o111 != 0;
        part.leaves.push((path, Leaf::File { digest, executable }));
        Ok(())
    }

    /// Reads a file. It is known by what it was before it was read: a change meanwhile shows.
    fn hash(
        &self,
        dir: BorrowedFd<'_>,
        name: &OsStr,
        buffer: &mut [u8],
    ) -> Result<(Stamp, Digest), Errno> {
        let fs = self.inputs.fs;
        let file = fs.open_file(dir, name)?;
        let status = fs.status_of(file.as_fd())?;
        if status.kind != Kind::File {
            return Err(Errno::NOENT);
        }
        let mut hasher = Hasher::default();
        loop {
            match fs.read(file.as_fd(), buffer)? {
                0 => break,
                length => hasher.update(buffer.get(..length).unwrap_or_default()),
            }
        }
        // One that grew or shrank while it was read is not what its stamp says.
        let stamp = Stamp { size: hasher.size(), ..Stamp::of(&status) };
        Ok((stamp, hasher.finish()))
    }

    fn symlink(
        &self,
        dir: BorrowedFd<'_>,
        path: String,
    ) -> Result<Option<(String, Leaf)>, InputError> {
        let name = OsStr::new(path.rsplit('/').next().unwrap_or_default());
        let target = match self.inputs.fs.read_link(dir, name) {
            Err(Errno::NOENT | Errno::INVAL) => return Ok(None),
            target => target.map_err(|errno| unreadable(shown(&path), errno))?,
        };
        let target = target.into_string();
        let target = target.map_err(|_| InputError::Text { path: PathBuf::from(&path) })?;
        Ok(Some((path, Leaf::Symlink { target })))
    }

    fn kind(
        &self,
        dir: BorrowedFd<'_>,
        name: &OsStr,
        kind: Option<Kind>,
    ) -> Result<Option<Kind>, Errno> {
        if kind.is_some() {
            return Ok(kind);
        }
        match self.inputs.fs.status(dir, name) {
            Err(Errno::NOENT) => Ok(None),
            status => status.map(|it| Some(it.kind)),
        }
    }

    fn count(&self, path: &str, more: usize) -> Result<(), InputError> {
        let bounds = self.inputs.bounds;
        let entries = self.entries.fetch_add(more as u64, Ordering::Relaxed) + more as u64;
        let (of, limit) = ("files and directories", bounds.entries as u64);
        if entries > limit {
            return Err(InputError::TooLarge { path: shown(path).into(), of, limit });
        }
        let (of, limit) = ("directories above one another", bounds.depth as u64);
        if path.split('/').count() as u64 > limit {
            return Err(InputError::TooLarge { path: shown(path).into(), of, limit });
        }
        Ok(())
    }

    fn open(&self, path: &str) -> Result<OwnedFd, Errno> {
        self.inputs.fs.open_below(self.inputs.root, shown(path), Open::List)
    }

    /// Keeps the first error; the others are of no use.
    fn fail(&self, error: InputError) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.get_or_insert(error);
    }

    fn has_failed(&self) -> bool {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
}

fn shown(path: &str) -> &Path {
    Path::new(if path.is_empty() { "." } else { path })
}

fn unreadable(path: &Path, errno: Errno) -> InputError {
    InputError::Read { path: path.to_owned(), errno }
}
