//! What tells whether anything changed in a directory that is too large to be hashed.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::CWD;
use sha2::{Digest as _, Sha256};

use super::listings::{Listing, Listings, kept};
use super::stamp::{Settled, Stamp};
use crate::fs::{Entry, Errno, Fs, Kind};
use crate::names::is_the_kernels;
use crate::names::pool::{Pool, together};

/// Looking at files is all the work, and two processors share it.
const THREADS: usize = 2;
/// What is kept is written again when more than one directory of so many is of no use any more.
const WORTH: usize = 8;
/// No system directory is deeper; a mount that leads back to itself is.
const DEPTH: usize = 64;

/// A directory, as it was when it was looked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// SHA-256 of what tells of each file whether it changed: name, kind, bits, size, inode and times.
    pub hash: [u8; 32],
    /// Whether all of it is older than the grain of a file system's clock: something younger could
    /// change once more and look the same.
    pub is_settled: bool,
}

/// Looks through a file or directory of the host, other mounts in it included, and follows no link in it. Of what the
/// kernel makes when somebody asks for it (`/sys`, `/proc`) nothing tells: its times are those of the first look.
/// `memory` is a directory of this user's where the names in directories are kept from one look to the next.
///
/// # Errors
/// It can't be opened or looked at. Directories in it that can't be listed count as what they are.
pub fn identity(
    fs: &dyn Fs,
    path: &Path,
    memory: Option<BorrowedFd<'_>>,
) -> Result<Identity, Errno> {
    let status = fs.status(CWD, path.as_os_str())?;
    let settled = Settled::now();
    let stamp = Stamp::of(&status);
    if status.kind != Kind::Directory {
        let mut text = Vec::new();
        put(&mut text, OsStr::new(""), status.kind, &stamp);
        let hash = Sha256::digest(text).into();
        return Ok(Identity { hash, is_settled: settled.holds(&stamp) });
    }
    let listings = Listings::load(fs, memory, status.id);
    let look = Look { fs, settled, listings: &listings, failed: Mutex::new(None) };
    let mut parts = look.all(path, stamp)?;
    remember(&listings, &mut parts);
    parts.sort_unstable_by(|one, other| one.bytes().cmp(other.bytes()));
    let mut hash = Sha256::new();
    for part in &parts {
        let below = part.path.strip_prefix(path).unwrap_or(&part.path).as_os_str().as_bytes();
        hash.update((below.len() as u64).to_le_bytes());
        hash.update(below);
        hash.update(part.hash);
    }
    let is_settled = parts.iter().all(|part| part.is_settled);
    Ok(Identity { hash: hash.finalize().into(), is_settled })
}

/// What was listed is kept, and what is gone is not.
fn remember(listings: &Listings<'_>, parts: &mut [Part]) {
    let new: Vec<Listing> = parts.iter_mut().filter_map(|part| part.listing.take()).collect();
    let is_stale = listings.count() > parts.len() + parts.len() / WORTH;
    if new.is_empty() && !is_stale {
        return;
    }
    let is_new: HashSet<&[u8]> = new.iter().map(|it| it.path.as_slice()).collect();
    let seen = parts.iter().map(|part| part.path.as_path());
    let seen: Vec<&Path> =
        seen.filter(|path| !is_new.contains(path.as_os_str().as_bytes())).collect();
    listings.save(&new, &seen);
}

/// One directory.
struct Part {
    path: PathBuf,
    hash: [u8; 32],
    is_settled: bool,
    /// Its names, when they were not known.
    listing: Option<Listing>,
}

impl Part {
    fn bytes(&self) -> &[u8] {
        self.path.as_os_str().as_bytes()
    }
}

/// A directory that is to be looked through.
struct Job {
    path: PathBuf,
    stamp: Stamp,
    depth: usize,
    /// It is on another file system than the directory above.
    is_mounted: bool,
}

struct Look<'a> {
    fs: &'a dyn Fs,
    settled: Settled,
    listings: &'a Listings<'a>,
    failed: Mutex<Option<Errno>>,
}

impl Look<'_> {
    fn all(&self, root: &Path, stamp: Stamp) -> Result<Vec<Part>, Errno> {
        let jobs = vec![Job { path: root.to_owned(), stamp, depth: 0, is_mounted: true }];
        let parts = together(jobs, THREADS, |pool| self.work(pool)).into_iter().flatten().collect();
        match *self.failed.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(errno) => Err(errno),
            None => Ok(parts),
        }
    }

    fn work(&self, pool: &Pool<Job>) -> Vec<Part> {
        let mut parts = Vec::new();
        while let Some(mut jobs) = pool.take() {
            while let Some(job) = jobs.pop() {
                let part = self.directory(job, &mut jobs);
                parts.extend(part.unwrap_or_else(|errno| self.fail(errno)));
                pool.share(&mut jobs);
            }
        }
        parts
    }

    /// Keeps the first error; the others are of no use.
    fn fail(&self, errno: Errno) -> Option<Part> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.get_or_insert(errno);
        None
    }

    fn directory(&self, job: Job, jobs: &mut Vec<Job>) -> Result<Option<Part>, Errno> {
        if job.depth > DEPTH {
            return Err(Errno::LOOP);
        }
        let opened = self.fs.open_dir(CWD, job.path.as_os_str());
        let dir = match opened {
            // Nobody inside sees what is in it either.
            Err(Errno::ACCESS) => return Ok(None),
            // It went meanwhile, which the directory above tells.
            Err(Errno::NOENT | Errno::NOTDIR) if job.depth > 0 => return Ok(None),
            opened => opened?,
        };
        if job.is_mounted && is_the_kernels(dir.as_fd())? {
            return Ok(None);
        }
        let mut seen = Seen { text: Vec::new(), is_settled: true };
        let mut listing = None;
        if let Some(names) = self.listings.names(&job.path, &job.stamp) {
            for name in names {
                self.entry((dir.as_fd(), name), &job, &mut seen, jobs)?;
            }
        } else {
            let mut entries = self.fs.list(dir.as_fd(), usize::MAX)?;
            entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
            for Entry { name, .. } in &entries {
                self.entry((dir.as_fd(), name), &job, &mut seen, jobs)?;
            }
            // What changed within the grain of the clock could change once more unseen.
            listing = self.settled.holds(&job.stamp).then(|| Listing {
                path: job.path.as_os_str().as_bytes().to_vec(),
                stamp: job.stamp,
                names: kept(entries.iter().map(|it| it.name.as_os_str())),
            });
        }
        let hash = Sha256::digest(seen.text).into();
        Ok(Some(Part { path: job.path, hash, is_settled: seen.is_settled, listing }))
    }

    fn entry(
        &self,
        (dir, name): (BorrowedFd<'_>, &OsStr),
        above: &Job,
        seen: &mut Seen,
        jobs: &mut Vec<Job>,
    ) -> Result<(), Errno> {
        let status = match self.fs.status(dir, name) {
            Err(Errno::NOENT) => return Ok(()),
            status => status?,
        };
        let stamp = Stamp::of(&status);
        put(&mut seen.text, name, status.kind, &stamp);
        if status.kind == Kind::Directory {
            let (path, depth) = (above.path.join(name), above.depth + 1);
            let is_mounted = stamp.id.dev != above.stamp.id.dev;
            jobs.push(Job { path, stamp, depth, is_mounted });
        } else {
            seen.is_settled &= self.settled.holds(&stamp);
        }
        Ok(())
    }
}

/// What was seen of a directory so far.
struct Seen {
    /// What is hashed, in one piece: by the field it would take longer than to look.
    text: Vec<u8>,
    is_settled: bool,
}

/// The times of a directory tell nothing that its entries don't.
fn put(text: &mut Vec<u8>, name: &OsStr, kind: Kind, stamp: &Stamp) {
    let name = name.as_bytes();
    text.extend_from_slice(&(name.len() as u64).to_le_bytes());
    text.extend_from_slice(name);
    text.push(kind as u8);
    text.extend_from_slice(&stamp.mode.to_le_bytes());
    if kind == Kind::Directory {
        return;
    }
    for number in [stamp.id.dev, stamp.id.ino, stamp.size] {
        text.extend_from_slice(&number.to_le_bytes());
    }
    for (seconds, nanos) in [stamp.modified, stamp.changed] {
        text.extend_from_slice(&seconds.to_le_bytes());
        text.extend_from_slice(&nanos.to_le_bytes());
    }
}
