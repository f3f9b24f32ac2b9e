//! What tells whether anything changed in a directory that is too large to be hashed.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use rustix::fs::CWD;
use sha2::{Digest as _, Sha256};

use super::stamp::Stamp;
use crate::fs::{Entry, Errno, Fs, Kind};
use crate::names::pool::Pool;

/// Looking at files is all the work, and two processors share it.
const THREADS: usize = 2;
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

/// Looks through a file or directory of the host, other mounts in it included, and follows no link in it.
///
/// # Errors
/// It can't be opened or looked at. Directories in it that can't be listed count as what they are.
pub fn identity(fs: &dyn Fs, path: &Path) -> Result<Identity, Errno> {
    let status = fs.status(CWD, path.as_os_str())?;
    let now = SystemTime::now();
    let stamp = Stamp::of(&status);
    if status.kind != Kind::Directory {
        let mut hash = Sha256::new();
        put(&mut hash, OsStr::new(""), status.kind, &stamp);
        return Ok(Identity { hash: hash.finalize().into(), is_settled: stamp.is_settled(now) });
    }
    let look = Look { fs, now, failed: Mutex::new(None) };
    let mut parts = look.all(path)?;
    parts.sort_unstable_by(|one, other| one.path.cmp(&other.path));
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

/// One directory.
struct Part {
    path: PathBuf,
    hash: [u8; 32],
    is_settled: bool,
}

struct Look<'a> {
    fs: &'a dyn Fs,
    now: SystemTime,
    failed: Mutex<Option<Errno>>,
}

impl Look<'_> {
    fn all(&self, root: &Path) -> Result<Vec<Part>, Errno> {
        let pool = Pool::new(vec![(root.to_owned(), 0)], THREADS);
        let parts = std::thread::scope(|scope| {
            let others: Vec<_> = (1..THREADS).map(|_| scope.spawn(|| self.work(&pool))).collect();
            let mut parts = self.work(&pool);
            for other in others {
                parts.extend(other.join().expect("a looking thread doesn't panic"));
            }
            parts
        });
        match *self.failed.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(errno) => Err(errno),
            None => Ok(parts),
        }
    }

    fn work(&self, pool: &Pool<(PathBuf, usize)>) -> Vec<Part> {
        let mut parts = Vec::new();
        while let Some(mut jobs) = pool.take() {
            while let Some((path, depth)) = jobs.pop() {
                let part = self.directory(path, depth, &mut jobs);
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

    fn directory(
        &self,
        path: PathBuf,
        depth: usize,
        jobs: &mut Vec<(PathBuf, usize)>,
    ) -> Result<Option<Part>, Errno> {
        if depth > DEPTH {
            return Err(Errno::LOOP);
        }
        let opened = self.fs.open_dir(CWD, path.as_os_str());
        let dir = match opened {
            // Nobody inside sees what is in it either.
            Err(Errno::ACCESS) => return Ok(None),
            // It went meanwhile, which the directory above tells.
            Err(Errno::NOENT | Errno::NOTDIR) if depth > 0 => return Ok(None),
            opened => opened?,
        };
        let mut entries = self.fs.list(dir.as_fd(), usize::MAX)?;
        entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        let (mut hash, mut is_settled) = (Sha256::new(), true);
        for Entry { name, .. } in entries {
            let status = match self.fs.status(dir.as_fd(), &name) {
                Err(Errno::NOENT) => continue,
                status => status?,
            };
            let stamp = Stamp::of(&status);
            put(&mut hash, &name, status.kind, &stamp);
            is_settled &= status.kind == Kind::Directory || stamp.is_settled(self.now);
            if status.kind == Kind::Directory {
                jobs.push((path.join(name), depth + 1));
            }
        }
        Ok(Some(Part { path, hash: hash.finalize().into(), is_settled }))
    }
}

/// The times of a directory tell nothing that its entries don't.
fn put(hash: &mut Sha256, name: &OsStr, kind: Kind, stamp: &Stamp) {
    let name = name.as_bytes();
    hash.update((name.len() as u64).to_le_bytes());
    hash.update(name);
    hash.update([kind as u8]);
    hash.update(stamp.mode.to_le_bytes());
    if kind == Kind::Directory {
        return;
    }
    hash.update([stamp.id.dev, stamp.id.ino, stamp.size].map(u64::to_le_bytes).concat());
    for (seconds, nanos) in [stamp.modified, stamp.changed] {
        hash.update(seconds.to_le_bytes());
        hash.update(nanos.to_le_bytes());
    }
}
