//! The stage at the root of a target on another file system than the run's.
//!
//! Anybody who may write there can make a directory of that name. So the run notes which one it
//! made, by number and birth, where no command comes to, and takes away only that. Another one is in
//! the way of the next write-back, which takes it away if it is empty, and else gives it another name and tells.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::home::aside_names;
use crate::fs::{At, Errno, Fs, Result, strip_acls, write_all};
use crate::sync::Identity;
use crate::sync::collect::is_same_root;
use crate::sync::journal::{self, UNDO};
use crate::sync::root::{Closed, OPEN, Root};
use crate::tree::remove_tree;

/// How many stages of a run may be left in one tree.
const ASIDE_MAX: usize = 100;

/// A stage, and where it is noted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beside<'a> {
    /// The root that it stands in.
    pub(super) root: BorrowedFd<'a>,
    /// Its name there.
    pub(super) name: &'a OsStr,
    /// The run's directory.
    pub(super) run: BorrowedFd<'a>,
    /// The number of the mount.
    pub(super) mount: u32,
}

/// A stage that is open.
pub(super) struct Standing {
    pub(super) dir: OwnedFd,
    /// It was not there.
    pub(super) is_new: bool,
    /// Where what stood in its place is now, below the root.
    pub(super) aside: Option<PathBuf>,
}

impl Beside<'_> {
    /// Opens the stage, making it when it is not there.
    pub(super) fn open(&self, fs: &dyn Fs) -> Result<Standing> {
        let mut aside = None;
        match fs.make_dir(self.root, self.name, 0o700) {
            Err(Errno::EXIST) => {
                if let Some(dir) = self.own(fs)? {
                    return Ok(Standing { dir, is_new: false, aside });
                }
                aside = self.make_way(fs)?;
                fs.make_dir(self.root, self.name, 0o700)?;
            }
            result => result?,
        }
        strip_acls(fs, At { dir: self.root, name: self.name })?;
        let stage = fs.open_dir(self.root, self.name)?;
        let made = Identity::from(&fs.node(stage.as_fd(), OsStr::new(""))?);
        self.write_note(fs, (&self.note(), &made))?;
        self.sync_note(fs)?;
        Ok(Standing { dir: stage, is_new: true, aside })
    }

    /// Frees the name of what is not the run's, or not any more; returns its new one.
    fn make_way(&self, fs: &dyn Fs) -> Result<Option<PathBuf>> {
        if self.standing(fs, &left_of(self.mount))?.is_some() {
            return self.set_aside(fs).map(Some);
        }
        self.clear_name(fs)
    }

    /// Frees the name of what the run does not know: after a loss of power it may be a stage of which the note is gone.
    /// While a journal says what is in it, it stays.
    fn clear_name(&self, fs: &dyn Fs) -> Result<Option<PathBuf>> {
        match fs.remove_dir(self.root, self.name) {
            Err(Errno::NOTEMPTY) if !self.has_journal(fs) => self.set_aside(fs).map(Some),
            result => result.map(|()| None),
        }
    }

    fn has_journal(&self, fs: &dyn Fs) -> bool {
        journal::has_journal(fs, self.run).unwrap_or(true)
    }

    /// Gives what stands there another name, and returns it: what it holds may be the user's.
    fn set_aside(&self, fs: &dyn Fs) -> Result<PathBuf> {
        let stage = At { dir: self.root, name: self.name };
        for name in aside_names(self.name).take(ASIDE_MAX) {
            match fs.rename_new(stage, At { dir: self.root, name: name.as_os_str() }) {
                Err(Errno::EXIST) => {}
                result => {
                    result?;
                    return unlink(fs, self.run, &left_of(self.mount)).map(|()| name);
                }
            }
        }
        Err(Errno::EXIST)
    }

    /// Notes the bits of the root before it is opened up.
    pub(super) fn note_root(&self, fs: &dyn Fs, mode: u32) -> Result<()> {
        self.write_note(fs, (&self.note_of_root(), &mode))
    }

    /// Takes away what a process that died left, stage, note and the owner's way into the root; tells whether there
    /// was a stage.
    pub(super) fn remove(&self, fs: &dyn Fs) -> Result<bool> {
        let mut root = Root::new(fs, self.root, Closed::Stay);
        let mut taken = self.take(fs);
        if taken == Err(Errno::ACCESS) {
            match self.read_note::<Identity>(fs, &self.note())? {
                None => taken = Ok(false),
                Some(_) if matches!(root.open_up(Path::new("")), Ok(true)) => taken = self.take(fs),
                Some(_) => {}
            }
        }
        let closed = root.close().and_then(|()| self.close_root(fs));
        let is_gone = taken?;
        closed?;
        self.forget(fs).map(|()| is_gone)
    }

    /// Gives a root its bits again that was opened up for the stage.
    fn close_root(&self, fs: &dyn Fs) -> Result<()> {
        let noted: Option<u32> = self.read_note(fs, &self.note_of_root())?;
        let found = fs.node(self.root, OsStr::new(""))?.status.mode;
        match noted.filter(|mode| found == mode | OPEN) {
            Some(mode) => fs.set_mode_at(At { dir: self.root, name: OsStr::new("") }, mode),
            None => Ok(()),
        }
    }

    /// Takes the stage away with all that is in it; tells whether there was one.
    pub(super) fn take(&self, fs: &dyn Fs) -> Result<bool> {
        if let Some(stage) = self.own(fs)? {
            for entry in fs.list(stage.as_fd(), usize::MAX)? {
                remove_tree(fs, stage.as_fd(), &entry.name).map_err(|left| left.errno)?;
            }
        }
        match fs.remove_dir(self.root, self.name) {
            // Somebody else's, whatever it is.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::NOTEMPTY) => Ok(false),
            result => result.map(|()| true),
        }
    }

    /// Takes the notes away.
    pub(super) fn forget(&self, fs: &dyn Fs) -> Result<()> {
        unlink(fs, self.run, &self.note())?;
        unlink(fs, self.run, &self.note_of_root())
    }

    /// Opens what stands there, if it is what the run made.
    fn own(&self, fs: &dyn Fs) -> Result<Option<OwnedFd>> {
        self.standing(fs, &self.note())
    }

    /// Opens what stands there, if it is what a note says.
    fn standing(&self, fs: &dyn Fs, note: &Path) -> Result<Option<OwnedFd>> {
        let stage = match fs.open_dir(self.root, self.name) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => return Ok(None),
            result => result?,
        };
        let found = fs.node(stage.as_fd(), OsStr::new(""))?;
        let noted = self.read_note(fs, note)?;
        Ok(noted.is_some_and(|noted| is_same_root(&found, &noted)).then_some(stage))
    }

    fn note(&self) -> PathBuf {
        note_of(self.mount)
    }

    fn note_of_root(&self) -> PathBuf {
        Path::new(UNDO).join(format!("root-m{:03}", self.mount))
    }

    /// What is staged is found again by the note alone: that is on the disk before.
    fn sync_note(&self, fs: &dyn Fs) -> Result<()> {
        let note = fs.open_file(self.run, self.note().as_os_str())?;
        fs.sync_file(note.as_fd())?;
        let undo = fs.open_dir(self.run, OsStr::new(UNDO))?;
        fs.sync_file(undo.as_fd())?;
        fs.sync_file(self.run)
    }

    fn write_note(&self, fs: &dyn Fs, (note, value): (&Path, &impl Serialize)) -> Result<()> {
        let text = serde_json::to_vec(value).map_err(|_| Errno::INVAL)?;
        match fs.unlink(self.run, note.as_os_str()) {
            Err(Errno::NOENT) => {}
            result => result?,
        }
        let file = fs.create_file(self.run, note.as_os_str())?;
        write_all(fs, file.as_fd(), text.as_slice())?;
        Ok(())
    }

    fn read_note<T: DeserializeOwned>(&self, fs: &dyn Fs, note: &Path) -> Result<Option<T>> {
        let file = match fs.open_file(self.run, note.as_os_str()) {
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            result => result?,
        };
        let mut text = [0; 256];
        let length = fs.read(file.as_fd(), &mut text)?;
        Ok(serde_json::from_slice(text.get(..length).unwrap_or_default()).ok())
    }
}

/// Notes that a run's stage is given up: no command takes it away any more.
pub(super) fn give_up_stage(fs: &dyn Fs, run: BorrowedFd<'_>, mount: u32) -> Result<()> {
    match fs.rename(run, note_of(mount).as_os_str(), left_of(mount).as_os_str()) {
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
        result => result,
    }
}

/// Notes that it is not, where it was only tried.
pub(super) fn recall_stage(fs: &dyn Fs, run: BorrowedFd<'_>, mount: u32) -> Result<()> {
    let (left, note) = (left_of(mount), note_of(mount));
    match fs.node(run, left.as_os_str()) {
        // As it nearly always is.
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(()),
        found => found.map(drop)?,
    }
    let at = |name| At { dir: run, name };
    match fs.rename_new(at(left.as_os_str()), at(note.as_os_str())) {
        Err(Errno::EXIST) => Ok(()),
        result => result,
    }
}

fn note_of(mount: u32) -> PathBuf {
    Path::new(UNDO).join(format!("stage-m{mount:03}"))
}

fn left_of(mount: u32) -> PathBuf {
    Path::new(UNDO).join(format!("left-m{mount:03}"))
}

fn unlink(fs: &dyn Fs, run: BorrowedFd<'_>, note: &Path) -> Result<()> {
    match fs.unlink(run, note.as_os_str()) {
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
        result => result,
    }
}
