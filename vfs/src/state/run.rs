//! The directory of one run.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::error::failed;
use super::layout::{ASIDE, BEING_MADE, NEW_RECORD, RECORD};
use super::record::{Record, RecordError};
use super::removal::set_aside;
use super::{RunId, StateError};
use crate::fs::{At, Errno, Fs, OsFs, Result as FsResult, strip_acls, write_all};
use crate::tree::{measure_tree, remove_tree};

/// No record is larger.
const RECORD_MAX: u64 = 64 << 20;
/// How often a lock that is taken is tried again, for those who hold one for a moment only: a
/// list of the runs, a sweep.
const LOCK_TRIES: u32 = 60;
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// Whether what was written must survive a loss of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// It is on the disk when the call returns.
    Durable,
    /// The kernel writes it when it likes.
    Cached,
}

/// The open directory that holds all runs.
#[derive(Debug)]
pub(super) struct Runs {
    pub(super) dir: OwnedFd,
    pub(super) path: PathBuf,
}

/// The directory of a living run, with its lock.
///
/// The lock is that of the open directory: it ends with the last copy of the descriptor, so no
/// other process may inherit one. Dropped, a run that was made here is removed, unless it was kept;
/// one that was opened stays.
#[derive(Debug)]
pub struct RunDir {
    runs: Arc<Runs>,
    dir: OwnedFd,
    id: RunId,
    /// What was made below, in order; taken away in reverse.
    made: Vec<OsString>,
    is_done: bool,
}

impl RunDir {
    /// Makes, locks and names a run; `None` when its name was lost to another process.
    ///
    /// A run is locked before it has its name, so one that a sweep finds unlocked is dead.
    pub(super) fn create(
        fs: &dyn Fs,
        runs: &Arc<Runs>,
        id: RunId,
    ) -> Result<Option<Self>, StateError> {
        let new = OsString::from(format!("{BEING_MADE}{id}"));
        let named = OsStr::new(id.as_str());
        let result = make_locked(fs, runs.dir.as_fd(), &new)
            .and_then(|dir| fs.rename(runs.dir.as_fd(), &new, named).map(|()| dir));
        let error = match result {
            Ok(dir) => {
                let (runs, made) = (Arc::clone(runs), Vec::new());
                return Ok(Some(Self { runs, dir, id, made, is_done: false }));
            }
            Err(errno) => errno,
        };
        if error != Errno::EXIST {
            let _ = fs.remove_dir(runs.dir.as_fd(), &new);
        }
        match error {
            Errno::EXIST | Errno::NOENT | Errno::WOULDBLOCK | Errno::NOTEMPTY => Ok(None),
            errno => Err(failed("make", runs.path.join(new))(errno)),
        }
    }

    /// Opens a run that is there and takes its lock.
    pub(super) fn open(fs: &dyn Fs, runs: &Arc<Runs>, id: &RunId) -> Result<Self, StateError> {
        Self::open_locked(fs, runs, id, &|dir| lock_patiently(fs, dir))
    }

    /// Opens a run to be looked at, beside others who look: nothing of it may be changed.
    pub(super) fn look(fs: &dyn Fs, runs: &Arc<Runs>, id: &RunId) -> Result<Self, StateError> {
        Self::open_locked(fs, runs, id, &|dir| fs.lock_shared(dir))
    }

    fn open_locked(
        fs: &dyn Fs,
        runs: &Arc<Runs>,
        id: &RunId,
        lock: &dyn Fn(BorrowedFd<'_>) -> Result<(), Errno>,
    ) -> Result<Self, StateError> {
        let path = || runs.path.join(id.as_str());
        let name = OsStr::new(id.as_str());
        let dir = match fs.open_dir(runs.dir.as_fd(), name) {
            Err(Errno::NOENT) => return Err(StateError::Gone { path: path() }),
            result => result.map_err(failed("open", path()))?,
        };
        match lock(dir.as_fd()) {
            Err(Errno::WOULDBLOCK) => return Err(StateError::InUse { path: path() }),
            result => result.map_err(failed("lock", path()))?,
        }
        // Whoever held the lock may have removed the run.
        match fs.open_dir(runs.dir.as_fd(), name) {
            Err(Errno::NOENT) => return Err(StateError::Gone { path: path() }),
            result => result.map_err(failed("open", path()))?,
        };
        let (runs, id) = (Arc::clone(runs), id.clone());
        Ok(Self { runs, dir, id, made: Vec::new(), is_done: true })
    }

    /// Writes what the run is, all of it or nothing.
    ///
    /// # Errors
    /// A failing call, or one that nobody could read since it is too large; the record that was there is still there.
    pub fn write_record(
        &self,
        fs: &dyn Fs,
        record: &Record,
        durability: Durability,
    ) -> Result<(), StateError> {
        let text = record.to_json();
        if text.len() as u64 > RECORD_MAX {
            let (path, error) = (self.path().join(RECORD), RecordError::TooLarge);
            return Err(StateError::Record { path, error });
        }
        let written = write_whole(fs, self.dir.as_fd(), &text, durability);
        written.map_err(failed("write", self.path().join(RECORD)))
    }

    /// Writes what the run is from now on, which needs the part `goes` no more: where the disk is full of it, it goes
    /// before. It goes by one rename, so that half of it is never taken for the whole.
    ///
    /// # Errors
    /// A failing call; the record that was there is still there.
    pub fn write_last_record(
        &self,
        fs: &dyn Fs,
        record: &Record,
        durability: Durability,
        goes: &str,
    ) -> Result<(), StateError> {
        let full = match self.write_record(fs, record, durability) {
            Err(error) if error.is_full() => error,
            result => return result,
        };
        if !self.put_aside(fs, goes)? {
            return Err(full);
        }
        if durability == Durability::Durable {
            fs.sync_file(self.dir.as_fd()).map_err(failed("write", self.path()))?;
        }
        self.remove_part(fs, Path::new(ASIDE))?;
        self.write_record(fs, record, durability)
    }

    /// Gives a part the name of one that goes; tells whether it did.
    fn put_aside(&self, fs: &dyn Fs, part: &str) -> Result<bool, StateError> {
        // One that was killed here left it.
        self.remove_part(fs, Path::new(ASIDE))?;
        Ok(fs.rename(self.dir.as_fd(), OsStr::new(part), OsStr::new(ASIDE)).is_ok())
    }

    /// Takes a part away as a whole: whoever is killed at it leaves all of it or nothing.
    ///
    /// # Errors
    /// What could not be removed.
    pub fn remove_whole(&self, fs: &dyn Fs, part: &str) -> Result<(), StateError> {
        let is_aside = self.put_aside(fs, part)?;
        self.remove_part(fs, Path::new(if is_aside { ASIDE } else { part }))
    }

    /// Reads what the run is; `None` when it never said.
    ///
    /// # Errors
    /// It can't be read or understood; then nothing of the run may be touched.
    pub fn read_record(&self, fs: &dyn Fs) -> Result<Option<Record>, StateError> {
        read_record(fs, self.dir.as_fd(), &self.id)
            .map_err(|error| StateError::Record { path: self.path().join(RECORD), error })
    }

    /// Returns whether a part of the run is there.
    ///
    /// # Errors
    /// A failing call.
    pub fn has(&self, fs: &dyn Fs, part: &str) -> Result<bool, StateError> {
        match fs.status(self.dir.as_fd(), OsStr::new(part)) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(failed("look at", self.path().join(part))(errno)),
        }
    }

    /// Returns whether a part is younger than the record, which whoever wrote it did not live to renew.
    ///
    /// # Errors
    /// A failing call.
    pub fn is_behind(&self, fs: &dyn Fs, part: &str) -> Result<bool, StateError> {
        let modified = |name: &str| match fs.status(self.dir.as_fd(), OsStr::new(name)) {
            Ok(status) => Ok(Some(status.modified)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(failed("look at", self.path().join(name))(errno)),
        };
        let (part, record) = (modified(part)?, modified(RECORD)?);
        Ok(part.zip(record).is_some_and(|(part, record)| part > record))
    }

    /// Takes a part of the run away; what is not there is no error.
    ///
    /// # Errors
    /// What could not be removed.
    pub fn remove_part(&self, fs: &dyn Fs, name: &Path) -> Result<(), StateError> {
        let removed = remove_tree(fs, self.dir.as_fd(), name.as_os_str());
        removed.map_err(|left| StateError::Remove { path: self.path(), left })
    }

    /// Takes everything away but one directory, for another use of the run.
    ///
    /// # Errors
    /// What could not be removed, or a failing call.
    pub fn clear(&mut self, fs: &dyn Fs, but: &OsStr) -> Result<(), StateError> {
        let names = fs.list(self.dir.as_fd(), usize::MAX);
        let names = names.map_err(failed("list", self.path()))?;
        for name in names.iter().map(|entry| &entry.name).filter(|name| *name != but) {
            self.remove_part(fs, Path::new(name))?;
        }
        self.made.retain(|made| made == but);
        Ok(())
    }

    /// Returns the bytes that a part of the run takes on the disk.
    ///
    /// # Errors
    /// A failing call.
    pub fn measure(&self, fs: &dyn Fs, part: &str) -> Result<u64, StateError> {
        let measure = measure_tree(fs, self.dir.as_fd(), OsStr::new(part));
        measure.map(|it| it.bytes).map_err(failed("measure", self.path().join(part)))
    }

    /// Makes an empty directory below the run, and those that lead to it.
    ///
    /// # Errors
    /// A failing call, or a name that is there.
    pub fn make_dir(&mut self, fs: &dyn Fs, at: &Path, mode: u32) -> Result<(), StateError> {
        self.make_above(fs, at)?;
        self.make(fs, at.as_os_str())?;
        if mode == 0o700 { Ok(()) } else { self.set_mode(fs, at.as_os_str(), mode) }
    }

    /// Makes an empty file below the run, and the directories that lead to it.
    ///
    /// # Errors
    /// A failing call, or a name that is there.
    pub fn make_file(&mut self, fs: &dyn Fs, at: &Path, mode: u32) -> Result<(), StateError> {
        self.make_above(fs, at)?;
        let made = fs.create_file(self.dir.as_fd(), at.as_os_str());
        let set = made.and_then(|file| fs.set_mode(file.as_fd(), mode));
        set.map_err(failed("make", self.path().join(at)))?;
        self.made.push(at.into());
        Ok(())
    }

    /// Makes the directories that lead to a layer; the layer itself is made by
    /// [`crate::mask::apply`], and removed with the run.
    ///
    /// # Errors
    /// A failing call.
    pub fn make_way(&mut self, fs: &dyn Fs, layer: &Path) -> Result<(), StateError> {
        self.make_above(fs, layer)?;
        self.made.push(layer.into());
        Ok(())
    }

    /// Leaves the run where it is; its lock goes.
    pub fn keep(mut self) {
        self.is_done = true;
    }

    /// Removes the run.
    ///
    /// # Errors
    /// What could not be removed; a later sweep tries again.
    pub fn remove(mut self, fs: &dyn Fs) -> Result<(), StateError> {
        self.is_done = true;
        self.take_away(fs)
    }

    /// Returns the name of the run.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Returns where it is.
    pub fn path(&self) -> PathBuf {
        self.runs.path.join(self.id.as_str())
    }

    fn make_above(&mut self, fs: &dyn Fs, at: &Path) -> Result<(), StateError> {
        let above = at.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty());
        let mut missing: Vec<&OsStr> = above.map(Path::as_os_str).collect();
        missing.retain(|path| !self.made.iter().any(|made| made == path));
        missing.into_iter().rev().try_for_each(|path| self.make(fs, path))
    }

    fn make(&mut self, fs: &dyn Fs, name: &OsStr) -> Result<(), StateError> {
        let made = fs.make_dir(self.dir.as_fd(), name, 0o700);
        made.map_err(failed("make", self.path().join(name)))?;
        self.made.push(name.to_owned());
        Ok(())
    }

    /// Sets bits that the caller's umask may have taken away.
    fn set_mode(&self, fs: &dyn Fs, name: &OsStr, mode: u32) -> Result<(), StateError> {
        let set = fs.set_dir_mode(self.dir.as_fd(), name, mode);
        set.map_err(failed("open up", self.path().join(name)))
    }

    /// Takes away what this run made, one call for each empty directory, then the rest.
    fn take_away(&mut self, fs: &dyn Fs) -> Result<(), StateError> {
        let going = set_aside(fs, self.runs.dir.as_fd(), OsStr::new(self.id.as_str()));
        let mut result = Ok(());
        for name in self.made.drain(..).rev() {
            result = result.and(remove_tree(fs, self.dir.as_fd(), &name));
        }
        let whole = remove_tree(fs, self.runs.dir.as_fd(), &going);
        let result = if whole.is_ok() { whole } else { result.and(whole) };
        result.map_err(|left| StateError::Remove { path: self.runs.path.join(going), left })
    }
}

impl AsFd for RunDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        if !self.is_done {
            drop(self.take_away(&OsFs));
        }
    }
}

/// Makes a directory whose layers become part of the user's tree: they must not have an ACL of the state directory's.
fn make_locked(fs: &dyn Fs, at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    fs.make_dir(at, name, 0o700)?;
    let dir = fs.open_dir(at, name)?;
    strip_acls(fs, At { dir: dir.as_fd(), name: OsStr::new("") })?;
    fs.lock(dir.as_fd())?;
    Ok(dir)
}

/// Takes a lock, also when somebody has it for a moment only.
fn lock_patiently(fs: &dyn Fs, dir: BorrowedFd<'_>) -> FsResult<()> {
    for _ in 1..LOCK_TRIES {
        match fs.lock(dir) {
            Err(Errno::WOULDBLOCK) => std::thread::sleep(LOCK_PAUSE),
            result => return result,
        }
    }
    fs.lock(dir)
}

fn write_whole(
    fs: &dyn Fs,
    dir: BorrowedFd<'_>,
    text: &[u8],
    durability: Durability,
) -> FsResult<()> {
    let (new, named) = (OsStr::new(NEW_RECORD), OsStr::new(RECORD));
    let file = match fs.create_file(dir, new) {
        // A writer was killed before it could rename.
        Err(Errno::EXIST) => {
            fs.unlink(dir, new)?;
            fs.create_file(dir, new)?
        }
        result => result?,
    };
    write_all(fs, file.as_fd(), text)?;
    if durability == Durability::Durable {
        fs.sync_file(file.as_fd())?;
    }
    fs.rename(dir, new, named)?;
    if durability == Durability::Durable { fs.sync_file(dir) } else { Ok(()) }
}

/// Reads the record of a run, whose lock anybody may hold: it is replaced as a whole.
pub(super) fn read_record(
    fs: &dyn Fs,
    dir: BorrowedFd<'_>,
    id: &RunId,
) -> Result<Option<Record>, RecordError> {
    let text = match read_whole(fs, dir, OsStr::new(RECORD)) {
        Ok(Some(text)) => text,
        Ok(None) => return Err(RecordError::TooLarge),
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(RecordError::Unreadable(errno)),
    };
    let record = Record::parse(&text)?;
    if record.id == *id { Ok(Some(record)) } else { Err(RecordError::Another { id: record.id }) }
}

/// Reads a file; `None` when it is larger than any record.
fn read_whole(fs: &dyn Fs, dir: BorrowedFd<'_>, name: &OsStr) -> FsResult<Option<Vec<u8>>> {
    let file = fs.open_file(dir, name)?;
    let size = fs.status_of(file.as_fd())?.size;
    let Some(size) = usize::try_from(size).ok().filter(|_| size <= RECORD_MAX) else {
        return Ok(None);
    };
    // It does not grow: a new one takes its place.
    let mut text = vec![0; size];
    let mut length = 0;
    while let Some(rest) = text.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match fs.read(file.as_fd(), rest)? {
            0 => break,
            read => length += read,
        }
    }
    text.truncate(length);
    Ok(Some(text))
}
