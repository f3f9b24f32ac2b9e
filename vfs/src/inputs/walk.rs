//! The walk through the directory of a build, by two threads.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::folder::Folder;
use super::gather::{Chunk, FileFound, gather};
use super::remembered::{Known, Remembered};
use super::stamp::{Settled, Stamp};
use super::{InputError, Inputs};
use crate::cas::{Digest, Hasher};
use crate::fs::{Entry, Errno, FileId, Kind, Open};
use crate::names::pool::{Pool, together};

/// A machine has that many processors at least; more gain little where nothing changed.
const THREADS: usize = 2;
/// Files that one thread takes at a time, so that a large directory is shared.
const BATCH: usize = 64;
const CHUNK: usize = 128 << 10;

/// What a walk found.
#[derive(Debug, Default)]
pub struct Found {
    /// Each file and link that counts.
    pub tree: Arc<Folder>,
    /// How many files were read.
    pub hashed: u64,
    /// What counts and can't be read, or can't be in a tree of contents, in the order of the paths.
    pub faults: Vec<InputError>,
}

impl Found {
    /// Returns the tree, when it is all that counts.
    ///
    /// # Errors
    /// The first that can't be in it.
    pub fn whole(self) -> Result<Arc<Folder>, InputError> {
        self.faults.into_iter().next().map_or(Ok(self.tree), Err)
    }
}

/// Walks a directory and hashes the files that count. It follows no link and enters no other mount.
///
/// # Errors
/// The directory itself can't be read, or passes the bounds.
pub fn walk(inputs: &Inputs<'_>) -> Result<Found, InputError> {
    let root = inputs.fs.status_of(inputs.root);
    let root: FileId = root.map_err(|errno| unreadable(Path::new("."), errno))?.id;
    let remembered = Remembered::load(inputs.fs, inputs.memory, root);
    let walk = Walk {
        inputs,
        remembered: &remembered,
        settled: Settled::now(),
        entries: AtomicU64::new(0),
        failed: Mutex::new(None),
    };
    let parts = walk.all()?;
    Ok(gather(parts, &remembered))
}

/// What one thread found.
#[derive(Default)]
pub(super) struct Part {
    pub(super) chunks: Vec<Chunk>,
    pub(super) hashed: u64,
    pub(super) faults: Vec<InputError>,
}

struct Walk<'a> {
    inputs: &'a Inputs<'a>,
    remembered: &'a Remembered<'a>,
    settled: Settled,
    entries: AtomicU64,
    failed: Mutex<Option<InputError>>,
}

enum Job<'a> {
    /// A directory to list, by its path below the root.
    Directory(String),
    /// Some files of an open directory, in their order, with their places among what is known of it.
    Files(Arc<Directory<'a>>, Vec<(String, Option<usize>)>),
}

struct Directory<'a> {
    path: String,
    open: OwnedFd,
    known: Option<Known<'a>>,
}

impl<'a> Walk<'a> {
    fn all(self) -> Result<Vec<Part>, InputError> {
        let jobs = vec![Job::Directory(String::new())];
        let parts = together(jobs, THREADS, |pool| self.work(pool));
        match self.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(parts),
        }
    }

    fn work(&self, pool: &Pool<Job<'a>>) -> Part {
        let (mut part, mut buffer) = (Part::default(), vec![0; CHUNK]);
        while let Some(mut jobs) = pool.take() {
            while let Some(job) = jobs.pop().filter(|_| !self.has_failed()) {
                self.job(job, (&mut part, &mut jobs), &mut buffer);
                pool.share(&mut jobs);
            }
        }
        part
    }

    fn job(&self, job: Job<'a>, (part, jobs): (&mut Part, &mut Vec<Job<'a>>), buffer: &mut [u8]) {
        match job {
            Job::Directory(path) => {
                self.visit(path, part, jobs).unwrap_or_else(|error| self.fail(error));
            }
            Job::Files(dir, names) => self.files(&dir, names, part, buffer),
        }
    }

    fn visit(
        &self,
        path: String,
        part: &mut Part,
        jobs: &mut Vec<Job<'a>>,
    ) -> Result<(), InputError> {
        let (open, entries) = match self.list(&path) {
            Ok(listed) => listed,
            // What vanishes is not there, and another mount is another tree.
            Err(Errno::NOENT | Errno::XDEV) => return Ok(()),
            Err(errno) => {
                let fault = InputError::List { path: shown(&path).to_owned(), errno };
                if path.is_empty() {
                    return Err(fault);
                }
                part.faults.push(fault);
                return Ok(());
            }
        };
        self.count(&path, entries.len())?;
        let (mut files, mut links) = (Vec::new(), Vec::new());
        let mut below = join(&path, "");
        let above = below.len();
        for Entry { name, kind } in entries {
            below.truncate(above);
            below.push_str(&name.to_string_lossy());
            let kind = match self.kind(open.as_fd(), &name, kind) {
                Ok(kind) => kind,
                Err(errno) => {
                    part.faults.push(unreadable(shown(&below), errno));
                    continue;
                }
            };
            if kind == Some(Kind::Directory) && name.to_str().is_some() {
                let is_entered = (self.inputs.enters)(&below);
                jobs.extend(is_entered.then(|| Job::Directory(below.clone())));
                continue;
            }
            let (Some(kind), true) = (kind, (self.inputs.takes)(&below)) else { continue };
            match (kind, name.into_string()) {
                (Kind::File, Ok(name)) => files.push(name),
                (Kind::Symlink, Ok(name)) => match self.symlink(open.as_fd(), name, &below) {
                    Ok(link) => links.extend(link),
                    Err(fault) => part.faults.push(fault),
                },
                (_, Err(_)) => part.faults.push(InputError::Text { path: below.clone().into() }),
                _ => part.faults.push(InputError::Kind { path: below.clone().into() }),
            }
        }
        if !links.is_empty() {
            part.chunks.push(Chunk { path: path.clone(), links, ..Chunk::default() });
        }
        files.sort_unstable();
        let known = self.remembered.directory(&path);
        let places = known.map(|known| known.places(files.iter().map(String::as_str)));
        let mut places = places.into_iter().flatten();
        let mut files = files.into_iter().map(|name| (name, places.next().flatten())).peekable();
        let dir = Arc::new(Directory { path, open, known });
        while files.peek().is_some() {
            jobs.push(Job::Files(dir.clone(), files.by_ref().take(BATCH).collect()));
        }
        Ok(())
    }

    fn files(
        &self,
        dir: &Directory<'_>,
        names: Vec<(String, Option<usize>)>,
        part: &mut Part,
        buffer: &mut [u8],
    ) {
        let mut files = Vec::with_capacity(names.len());
        let mut known = 0;
        for (name, at) in names {
            let place = dir.known.zip(at);
            match self.file((dir.open.as_fd(), &name), place, buffer) {
                Ok((stamp, digest, is_known)) => {
                    known += usize::from(is_known);
                    part.hashed += u64::from(!is_known);
                    let is_settled = self.settled.holds(&stamp);
                    files.push(FileFound { name, stamp, digest, is_settled });
                }
                Err(Errno::NOENT) => {}
                Err(errno) => part.faults.push(unreadable(shown(&join(&dir.path, &name)), errno)),
            }
        }
        let is_known = known == files.len();
        // Where all have vanished nothing is that counts.
        if !files.is_empty() {
            part.chunks.push(Chunk { path: dir.path.clone(), files, is_known, links: Vec::new() });
        }
    }

    /// Looks at a file, and reads it unless it is known; says whether it was.
    fn file(
        &self,
        (dir, name): (BorrowedFd<'_>, &str),
        place: Option<(Known<'_>, usize)>,
        buffer: &mut [u8],
    ) -> Result<(Stamp, Digest, bool), Errno> {
        let stamp = Stamp::of(&self.inputs.fs.status(dir, name.as_ref())?);
        if let Some(digest) = place.and_then(|(it, at)| it.file(at, &stamp)) {
            return Ok((stamp, digest, true));
        }
        let (stamp, digest) = self.hash(dir, name.as_ref(), buffer)?;
        Ok((stamp, digest, false))
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
        name: String,
        path: &str,
    ) -> Result<Option<(String, String)>, InputError> {
        let target = match self.inputs.fs.read_link(dir, name.as_ref()) {
            Err(Errno::NOENT | Errno::INVAL) => return Ok(None),
            target => target.map_err(|errno| unreadable(shown(path), errno))?,
        };
        let target = target.into_string();
        let target = target.map_err(|_| InputError::Text { path: PathBuf::from(path) })?;
        Ok(Some((name, target)))
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

    fn list(&self, path: &str) -> Result<(OwnedFd, Vec<Entry>), Errno> {
        let open = self.inputs.fs.open_below(self.inputs.root, shown(path), Open::List)?;
        let limit = self.inputs.bounds.entries.saturating_add(1);
        let entries = self.inputs.fs.list(open.as_fd(), limit)?;
        Ok((open, entries))
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
