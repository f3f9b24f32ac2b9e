//! Where content is staged and originals are kept: a directory of the run, or one at the root of
//! a target on another file system.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use super::beside::{Beside, Standing};
use super::home::SetAside;
use super::{MountPlace, RunPlace};
use crate::fs::{At, Errno, Fs, Kind, Node, Result};
use crate::sync::collect::io;
use crate::sync::journal::{self, Ledger, UNDO};
use crate::sync::root::{Closed, Root};
use crate::sync::{Seen, SyncError, Time};
use crate::tree::remove_tree;

/// The workplace of one mount's batch.
pub(in crate::sync) struct Workplace<'a> {
    pub(in crate::sync) root: Root<'a>,
    /// Where content is staged.
    stage: OwnedFd,
    /// Where originals end up.
    undo: OwnedFd,
    /// The name of the stage at the root of the target.
    beside: Option<OsString>,
    /// That was not there.
    is_stage_new: bool,
    /// Where what stood in its place is now, below the root.
    aside: Option<PathBuf>,
    root_time: Option<Time>,
    /// The root with the stage, where nobody else had changed it before.
    ours: Option<Seen>,
    top: BorrowedFd<'a>,
    run: BorrowedFd<'a>,
    mount: u32,
}

impl<'a> Workplace<'a> {
    /// Opens the workplace of a mount, making what is not there; `is_known` says whether a root is as the run or
    /// an earlier write-back left it.
    pub(in crate::sync) fn open(
        fs: &'a dyn Fs,
        run: &RunPlace<'a>,
        mount: &MountPlace<'a>,
        is_known: &dyn Fn(&Seen) -> bool,
    ) -> std::result::Result<Self, SyncError> {
        let own = own_path(mount.number);
        let undo = make_own(fs, run.dir, mount.number).map_err(io("make", &own))?;
        let here = fs.node(undo.as_fd(), OsStr::new("")).map_err(io("look at", &own))?;
        let there = fs.node(mount.root, OsStr::new("")).map_err(io("look at", Path::new("")))?;
        let root = Root::new(fs, mount.root, Closed::Stay);
        let beside = (!is_same_mount(&here, &there)).then(|| stage_name(run.id, mount.number));
        let mut workplace = Self {
            root,
            stage: undo.try_clone().map_err(|_| Errno::MFILE).map_err(io("open", &own))?,
            undo,
            beside: None,
            is_stage_new: false,
            aside: None,
            root_time: None,
            ours: None,
            top: mount.root,
            run: run.dir,
            mount: mount.number,
        };
        if let Some(name) = beside {
            workplace.root_time = Some(there.status.modified.into());
            let made = workplace.make_beside(fs, &name);
            let made = made.map_err(io("make", Path::new(&name)))?;
            (workplace.stage, workplace.is_stage_new) = (made.dir, made.is_new);
            workplace.aside = made.aside;
            workplace.ours = workplace.look(fs).filter(|_| is_known(&Seen::from(&there)));
            workplace.beside = Some(name);
        }
        Ok(workplace)
    }

    fn make_beside(&mut self, fs: &dyn Fs, name: &OsStr) -> Result<Standing> {
        let beside = self.stage_at(name);
        match beside.open(fs) {
            Err(Errno::ACCESS) => {
                let closed = fs.status_of(self.top)?.mode;
                beside.note_root(fs, closed)?;
                self.root.open_up(Path::new(""))?;
                beside.open(fs)
            }
            result => result,
        }
    }

    fn stage_at<'n>(&self, name: &'n OsStr) -> Beside<'n>
    where
        'a: 'n,
    {
        Beside { root: self.top, name, run: self.run, mount: self.mount }
    }

    pub(in crate::sync) fn mount(&self) -> u32 {
        self.mount
    }

    /// Returns the root of the mount.
    pub(in crate::sync) fn top(&self) -> BorrowedFd<'a> {
        self.top
    }

    pub(in crate::sync) fn stage(&self) -> BorrowedFd<'_> {
        self.stage.as_fd()
    }

    pub(in crate::sync) fn undo(&self) -> BorrowedFd<'_> {
        self.undo.as_fd()
    }

    pub(in crate::sync) fn is_beside(&self) -> bool {
        self.beside.is_some()
    }

    /// Returns whether the stage at the root of the target was made just now.
    pub(in crate::sync) fn is_stage_new(&self) -> bool {
        self.is_stage_new
    }

    /// Returns where that is now which stood in the place of the stage, and may be the user's.
    pub(in crate::sync) fn set_aside_before(&self) -> Option<SetAside> {
        let (mount, place) = (self.mount, self.aside.clone()?);
        Some(SetAside { mount, path: self.beside.as_ref()?.into(), place })
    }

    /// Returns the root of the mount as it is now.
    pub(in crate::sync) fn look(&self, fs: &dyn Fs) -> Option<Seen> {
        fs.node(self.top, OsStr::new("")).ok().map(|node| Seen::from(&node))
    }

    /// Returns whether nobody changed the root, before the stage was made in it and since.
    pub(in crate::sync) fn is_ours(&self, root: &Seen) -> bool {
        self.ours == Some(*root)
    }

    pub(in crate::sync) fn root_time(&self) -> Option<Time> {
        self.root_time
    }

    /// Returns the bits that the root had before it was opened up for the stage.
    pub(in crate::sync) fn root_mode(&self, fs: &dyn Fs) -> Option<u32> {
        let root = self.look(fs)?;
        self.root.opened(Path::new(""), root.ino)
    }

    /// Gives directories that were opened up their bits again. Those of the root are no change of somebody else's.
    pub(in crate::sync) fn close(&mut self, fs: &dyn Fs) -> Result<()> {
        let is_ours = self.look(fs).is_some_and(|root| self.is_ours(&root));
        let closed = self.root.close();
        if is_ours {
            self.ours = self.look(fs);
        }
        closed
    }

    /// Moves what is in the stage to a directory at the root of the target that no run takes away; returns its
    /// place there.
    pub(super) fn set_aside(&mut self, fs: &dyn Fs, number: &OsStr) -> Result<PathBuf> {
        let stage = self.beside.clone().ok_or(Errno::INVAL)?;
        for place in super::home::aside_names(&stage) {
            let make = || fs.make_dir(self.top, place.as_os_str(), 0o700);
            let mut made = make();
            if made == Err(Errno::ACCESS) && self.root.open_up(Path::new(""))? {
                made = make();
            }
            if made == Err(Errno::EXIST) {
                continue;
            }
            made?;
            let moved = self.move_to(fs, number, &place);
            if moved.is_err() {
                let _ = fs.remove_dir(self.top, place.as_os_str());
            }
            return moved.map(|()| place.join(number));
        }
        Err(Errno::EXIST)
    }

    fn move_to(&self, fs: &dyn Fs, number: &OsStr, place: &Path) -> Result<()> {
        let aside = fs.open_dir(self.top, place.as_os_str())?;
        let from = At { dir: self.stage(), name: number };
        move_opened(fs, from, At { dir: aside.as_fd(), name: number })
    }

    /// Takes the stage away from the root of the target, and gives the root its time and its bits again.
    pub(in crate::sync) fn leave(
        &mut self,
        fs: &dyn Fs,
        time: Option<Time>,
    ) -> std::result::Result<(), SyncError> {
        let name = self.beside.take();
        let beside = name.as_ref().map(|name| self.stage_at(name));
        let taken = beside.as_ref().map_or(Ok(()), |beside| self.take_beside(fs, beside, time));
        // What was looked at since the last step may have been opened, too.
        let closed = self.root.close().map_err(io("close", Path::new("")));
        taken.and(closed)?;
        let forgotten = beside.map_or(Ok(()), |beside| beside.forget(fs));
        forgotten.map_err(io("remove the note of", Path::new(UNDO)))
    }

    fn take_beside(
        &mut self,
        fs: &dyn Fs,
        beside: &Beside<'_>,
        time: Option<Time>,
    ) -> std::result::Result<(), SyncError> {
        let mut taken = beside.take(fs);
        if taken == Err(Errno::ACCESS) && matches!(self.root.open_up(Path::new("")), Ok(true)) {
            taken = beside.take(fs);
        }
        taken.map_err(io("remove", Path::new(beside.name)))?;
        let at = At { dir: self.top, name: OsStr::new(".") };
        let set = time.map_or(Ok(()), |time| super::amend::set_time(fs, at, time));
        set.map_err(io("set the time of", Path::new("")))
    }
}

/// Moves an entry. A directory that changes its parent must be writable itself.
fn move_opened(fs: &dyn Fs, from: At<'_>, to: At<'_>) -> Result<()> {
    let moved = fs.rename_new(from, to);
    let node = fs.node(from.dir, from.name);
    match (moved, node) {
        (Err(Errno::ACCESS), Ok(Node { status, .. })) if status.kind == Kind::Directory => {
            fs.set_mode_at(from, status.mode | 0o700)?;
            let moved = fs.rename_new(from, to);
            fs.set_mode_at(if moved.is_ok() { to } else { from }, status.mode)?;
            moved
        }
        (moved, _) => moved,
    }
}

/// Removes what a killed process staged and no journal knows.
pub(in crate::sync) fn clear(
    fs: &dyn Fs,
    run: &RunPlace<'_>,
    mounts: &[MountPlace<'_>],
    ledger: &Ledger,
) -> std::result::Result<(), SyncError> {
    for mount in mounts {
        clear_undo(fs, run.dir, mount.number, ledger.next)?;
        remove_stage(fs, run, mount)?;
    }
    Ok(())
}

/// Removes the stage that a run made at the root of a mount, with what is in it; returns its name
/// when there was one.
///
/// # Errors
/// A failing call.
pub fn remove_stage(
    fs: &dyn Fs,
    run: &RunPlace<'_>,
    mount: &MountPlace<'_>,
) -> std::result::Result<Option<OsString>, SyncError> {
    let name = stage_name(run.id, mount.number);
    let beside = Beside { root: mount.root, name: &name, run: run.dir, mount: mount.number };
    let is_gone = beside.remove(fs).map_err(io("remove", Path::new(&name)))?;
    Ok(is_gone.then_some(name))
}

/// Leaves a stage where it is, as one that no command takes away any more.
pub(in crate::sync) fn give_up_stage(fs: &dyn Fs, run: &RunPlace<'_>, mount: u32) -> Result<()> {
    super::beside::give_up_stage(fs, run.dir, mount)
}

/// Takes a stage for the run's again that was given up by a call that failed.
pub(in crate::sync) fn recall_stage(fs: &dyn Fs, run: &RunPlace<'_>, mount: u32) -> Result<()> {
    super::beside::recall_stage(fs, run.dir, mount)
}

/// Removes what of a run's undo data no ledger knows, which is all that a checkpoint may have left.
pub(in crate::sync) fn clear_undo(
    fs: &dyn Fs,
    run: BorrowedFd<'_>,
    mount: u32,
    next: u32,
) -> std::result::Result<(), SyncError> {
    journal::remove_unfinished(fs, run).map_err(io("remove", Path::new(journal::JOURNAL)))?;
    let own = own_path(mount);
    match fs.open_below(run, &own, crate::fs::Open::List) {
        Ok(undo) => clear_own(fs, undo.as_fd(), next).map_err(io("clear", &own)),
        Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(io("open", &own)(errno)),
    }
}

fn clear_own(fs: &dyn Fs, undo: BorrowedFd<'_>, next: u32) -> Result<()> {
    for entry in fs.list(undo, usize::MAX)? {
        let number = entry.name.to_str().and_then(|name| name.parse::<u32>().ok());
        if number.is_none_or(|number| number >= next) {
            remove_tree(fs, undo, &entry.name).map_err(|left| left.errno)?;
        }
    }
    Ok(())
}

/// Returns the name of a number in a stage.
pub(in crate::sync) fn name(number: u32) -> OsString {
    number.to_string().into()
}

/// Returns the place of a mount's undo data, below the run's directory.
pub(in crate::sync) fn own_path(mount: u32) -> PathBuf {
    Path::new(UNDO).join(format!("m{mount:03}"))
}

/// Makes the place of a mount's undo data, where it is not there.
pub(in crate::sync) fn make_own(fs: &dyn Fs, run: BorrowedFd<'_>, mount: u32) -> Result<OwnedFd> {
    let path = own_path(mount);
    for path in [Path::new(UNDO), &path] {
        match fs.make_dir(run, path.as_os_str(), 0o700) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    fs.open_dir(run, path.as_os_str())
}

/// Returns the name of a run's stage at the root of a mount: mounts of one run may have one root.
pub fn stage_name(run: &str, mount: u32) -> OsString {
    match mount {
        0 => format!(".endow-{run}-stage").into(),
        _ => format!(".endow-{run}-{mount}-stage").into(),
    }
}

fn is_same_mount(one: &Node, other: &Node) -> bool {
    one.mount == other.mount && one.status.id.dev == other.status.id.dev
}
