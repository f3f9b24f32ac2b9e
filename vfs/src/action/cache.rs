//! Results of actions, by the digest of the action.
//!
//! ```text
//! <cache>/actions/v1/<2 digits>/<62 digits>   SHA-256 of what follows, and an `ActionResult` message
//!                    NAME.PROCESS.tmp         one that is being written
//! ```
//!
//! A result names contents of the content-addressed store, and holds as long as they are there: what
//! collects them needs not know who names them.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::CWD;
use sha2::{Digest as _, Sha256};

use super::{ActionResult, ResultError};
use crate::cas::Digest;
use crate::fs::{Errno, Fs, read_own, write_anew};
use crate::state::{StateError, make_private, open_below};

/// The version of all that lies below: another one has a directory of its own.
const VERSION: &str = "v1";
/// The most bytes of one result, in which no content is.
const RESULT_MAX: u64 = 16 << 20;
/// A writer that takes longer is none any more.
const LEFT: Duration = Duration::from_hours(1);
/// The bytes of the checksum.
const SUM: usize = 32;

/// The cache, open.
pub struct ActionCache<'fs> {
    fs: &'fs dyn Fs,
    dir: OwnedFd,
    path: PathBuf,
}

/// Why the cache can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// Its directory is another's, or can't be made.
    #[error("can't use the cache of actions")]
    Place(#[source] StateError),
    /// A call failed.
    #[error("can't {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        errno: Errno,
    },
    /// What is there was not written as a whole, or was changed since.
    #[error("{} is damaged", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// What is there is no result.
    #[error("{} is no result of an action", path.display())]
    Result {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: ResultError,
    },
}

impl<'fs> ActionCache<'fs> {
    /// Opens the cache below the user's cache directory; both are made when they are not there.
    ///
    /// # Errors
    /// A link, another owner or bits for others in their place, or a failing call.
    pub fn open(fs: &'fs dyn Fs, cache: &Path) -> Result<Self, CacheError> {
        let above = cache.join("actions");
        let path = above.join(VERSION);
        for place in [cache, &above, &path] {
            make_private(fs, place).map_err(CacheError::Place)?;
        }
        let dir = fs.open_dir(CWD, path.as_os_str());
        let dir =
            dir.map_err(|errno| CacheError::Io { action: "open", path: path.clone(), errno })?;
        Ok(Self { fs, dir, path })
    }

    /// Returns the result of an action, when one is known.
    ///
    /// # Errors
    /// What is there is damaged, or can't be read.
    pub fn find(&self, action: &Digest) -> Result<Option<ActionResult>, CacheError> {
        let (fan, name) = names(action);
        let path = || self.path.join(&fan).join(&name);
        let bytes = match self.read(&fan, &name) {
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::INVAL | Errno::LOOP) => return Err(CacheError::Damaged { path: path() }),
            read => read.map_err(|errno| CacheError::Io { action: "read", path: path(), errno })?,
        };
        let (sum, message) =
            bytes.split_at_checked(SUM).ok_or_else(|| CacheError::Damaged { path: path() })?;
        if sum != Sha256::digest(message).as_slice() {
            return Err(CacheError::Damaged { path: path() });
        }
        let result = ActionResult::decode(message);
        result.map(Some).map_err(|error| CacheError::Result { path: path(), error })
    }

    /// Notes the result of an action, in the place of one that was known.
    ///
    /// # Errors
    /// A failing call; what was known stays then.
    pub fn note(&self, action: &Digest, result: &ActionResult) -> Result<(), CacheError> {
        let message = result.encode();
        let sum: [u8; SUM] = Sha256::digest(&message).into();
        let (fan, name) = names(action);
        let written = self.write(&fan, &name, &[&sum, message.as_slice()].concat());
        let path = || self.path.join(&fan).join(&name);
        written.map_err(|errno| CacheError::Io { action: "write", path: path(), errno })
    }

    /// Forgets the result of an action.
    ///
    /// # Errors
    /// A failing call; that none is known is no error.
    pub fn forget(&self, action: &Digest) -> Result<(), CacheError> {
        let (fan, name) = names(action);
        let gone = self.fs.open_handle(self.dir.as_fd(), &fan);
        match gone.and_then(|dir| self.fs.unlink(dir.as_fd(), &name)) {
            Err(Errno::NOENT) => Ok(()),
            result => {
                let path = self.path.join(&fan).join(&name);
                result.map_err(|errno| CacheError::Io { action: "remove", path, errno })
            }
        }
    }

    /// Forgets the results of which something is missing, and those that are damaged. Returns how many.
    ///
    /// # Errors
    /// A failing call.
    pub fn collect(&self, is_whole: impl Fn(&ActionResult) -> bool) -> Result<usize, CacheError> {
        let fans = self.fs.list(self.dir.as_fd(), usize::MAX);
        let fans = fans.map_err(failed("list", &self.path))?;
        let counts = fans.iter().map(|fan| self.collect_fan(&fan.name, &is_whole));
        counts.sum()
    }

    fn collect_fan(
        &self,
        fan: &OsStr,
        is_whole: &impl Fn(&ActionResult) -> bool,
    ) -> Result<usize, CacheError> {
        let path = self.path.join(fan);
        let dir = self.fs.open_dir(self.dir.as_fd(), fan).map_err(failed("open", &path))?;
        let names = self.fs.list(dir.as_fd(), usize::MAX).map_err(failed("list", &path))?;
        let mut removed = 0;
        for name in names.into_iter().map(|entry| entry.name) {
            if self.is_kept(dir.as_fd(), (fan, &name), is_whole) {
                continue;
            }
            match self.fs.unlink(dir.as_fd(), &name) {
                Ok(()) => removed += 1,
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(failed("remove", &path.join(&name))(errno)),
            }
        }
        Ok(removed)
    }

    fn is_kept(
        &self,
        dir: BorrowedFd<'_>,
        (fan, name): (&OsStr, &OsStr),
        is_whole: &impl Fn(&ActionResult) -> bool,
    ) -> bool {
        let digits = [fan, name].map(OsStr::to_string_lossy).concat();
        match Digest::from_hex(&digits, 0) {
            Ok(action) => matches!(self.find(&action), Ok(Some(result)) if is_whole(&result)),
            // It is being written, unless nobody does any more.
            Err(_) => !self.is_left(dir, name),
        }
    }

    /// Returns whether a file that is no result is older than any that is being written.
    fn is_left(&self, dir: BorrowedFd<'_>, name: &OsStr) -> bool {
        let Ok(status) = self.fs.status(dir, name) else { return false };
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let written = u64::try_from(status.modified.tv_sec).unwrap_or(0);
        since.as_secs().saturating_sub(written) > LEFT.as_secs()
    }

    fn read(&self, fan: &OsStr, name: &OsStr) -> Result<Vec<u8>, Errno> {
        let dir = self.fs.open_handle(self.dir.as_fd(), fan)?;
        read_own(self.fs, dir.as_fd(), name, RESULT_MAX)
    }

    /// After a crash of the machine a file may be there without its bytes, which its checksum tells.
    fn write(&self, fan: &OsStr, name: &OsStr, bytes: &[u8]) -> Result<(), Errno> {
        let dir = open_below(self.fs, self.dir.as_fd(), fan)?;
        write_anew(self.fs, dir.as_fd(), name, bytes)
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(Errno) -> CacheError + use<> {
    let path = path.to_owned();
    move |errno| CacheError::Io { action, path, errno }
}

/// Returns where a result is: its directory, and its name there.
fn names(action: &Digest) -> (OsString, OsString) {
    let digits = action.to_hex();
    let (fan, name) = digits.split_at(2);
    (fan.into(), name.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::{Left, LeftNode};
    use crate::fs::OsFs;

    fn result(text: &str) -> ActionResult {
        let node = LeftNode::File { digest: Digest::of(text.as_bytes()), executable: false };
        let outputs = vec![Left { path: "out".to_owned(), node }];
        let (stdout, stderr) = (Digest::EMPTY, Digest::EMPTY);
        ActionResult { exit_code: 0, stdout, stderr, outputs }
    }

    #[test]
    fn result_is_found_by_its_action() {
        let place = tempfile::tempdir().expect("a directory");
        let cache = ActionCache::open(&OsFs, &place.path().join("cache")).expect("a cache");
        let [one, other] = [b"one", b"two"].map(|it| Digest::of(it));
        assert_eq!(cache.find(&one).expect("looked up"), None);
        cache.note(&one, &result("a")).expect("noted");
        cache.note(&other, &result("b")).expect("noted");
        cache.note(&one, &result("c")).expect("noted anew");
        assert_eq!(cache.find(&one).expect("looked up"), Some(result("c")));
        cache.forget(&one).expect("forgotten");
        cache.forget(&one).expect("nothing to forget");
        assert_eq!(cache.find(&one).expect("looked up"), None);
        assert_eq!(cache.find(&other).expect("looked up"), Some(result("b")));
    }

    #[test]
    fn result_of_which_something_is_missing_is_collected() {
        let place = tempfile::tempdir().expect("a directory");
        let cache = ActionCache::open(&OsFs, &place.path().join("cache")).expect("a cache");
        let [one, other, third] = [b"one", b"two", b"six"].map(|it| Digest::of(it));
        cache.note(&one, &result("a")).expect("noted");
        cache.note(&other, &result("b")).expect("noted");
        cache.note(&third, &result("c")).expect("noted");
        let (fan, name) = names(&third);
        std::fs::write(cache.path.join(&fan).join(name), b"damaged").expect("written");
        std::fs::write(cache.path.join(&fan).join("ab.1.tmp"), b"half").expect("written");
        assert_eq!(cache.collect(|it| *it == result("a")).expect("collected"), 2);
        assert_eq!(cache.find(&one).expect("looked up"), Some(result("a")));
        assert_eq!(cache.find(&other).expect("looked up"), None);
        assert_eq!(cache.find(&third).expect("looked up"), None);
        assert!(cache.path.join(&fan).join("ab.1.tmp").exists(), "it is being written");
        assert_eq!(cache.collect(|_| true).expect("collected"), 0);
    }

    #[test]
    fn damaged_result_is_never_taken_for_one() {
        let place = tempfile::tempdir().expect("a directory");
        let cache = ActionCache::open(&OsFs, &place.path().join("cache")).expect("a cache");
        let action = Digest::of(b"action");
        cache.note(&action, &result("a")).expect("noted");
        let (fan, name) = names(&action);
        let path = cache.path.join(fan).join(name);
        let whole = std::fs::read(&path).expect("bytes");
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).expect("cut off");
            let found = cache.find(&action);
            assert!(matches!(found, Err(CacheError::Damaged { .. })), "{length}: {found:?}");
            let mut changed = whole.clone();
            changed[length] ^= 1;
            std::fs::write(&path, changed).expect("changed");
            assert!(matches!(cache.find(&action), Err(CacheError::Damaged { .. })), "{length}");
        }
        std::fs::write(&path, &whole).expect("mended");
        assert_eq!(cache.find(&action).expect("looked up"), Some(result("a")));
    }
}
