//! Originals of a tree on another file system than the run's. They are copied to the run's directory before
//! the journal holds: what can't be read is not displaced, and where there is no room for it nothing is.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::Outcome;
use super::commit::{GIVEN_UP, set_modes};
use super::copy::copy_tree;
use super::workplace::{Workplace, name};
use crate::fs::{At, Errno, Fs, Kind, Result, is_beyond};
use crate::sync::collect::io;
use crate::sync::journal::{Act, Step};
use crate::sync::root::{Closed, Root};
use crate::sync::{Lacking, Seen, SyncError};
use crate::tree::remove_tree;

/// What becomes of an original that can't be copied to the run's directory, once it was displaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sync) enum Homeless {
    /// It waits in the stage, and the journal with it.
    Fails,
    /// It goes back to its place, or is set aside.
    GoesBack,
}

/// What had been taken from a tree and could neither be kept nor go back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// The number of the mount.
    pub mount: u32,
    /// Where it stood, below the root of the mount.
    pub path: PathBuf,
    /// Where it is now, below that root.
    pub place: PathBuf,
}

/// Copies all that some steps displace to the run's directory, where it is another file system's.
pub(super) fn keep_all(
    fs: &dyn Fs,
    workplace: &mut Workplace<'_>,
    steps: &mut [Step],
) -> std::result::Result<(), SyncError> {
    if !workplace.is_beside() {
        return Ok(());
    }
    steps.iter_mut().filter(|step| step.displaces()).try_for_each(|step| keep(fs, workplace, step))
}

fn keep(
    fs: &dyn Fs,
    workplace: &mut Workplace<'_>,
    step: &mut Step,
) -> std::result::Result<(), SyncError> {
    let failed = io("copy to endow's state directory", &step.path);
    match copy_home(fs, workplace, step) {
        Ok(lacks) => (step.is_kept, step.lacks) = (true, lacks),
        Err(Errno::ACCESS | Errno::PERM) => step.is_barred = is_barred(fs, workplace, step),
        Err(errno) if is_beyond(errno) => step.is_beyond = true,
        // It changed meanwhile, and its turn tells.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ISDIR | Errno::LOOP | Errno::XDEV) => {}
        Err(errno) => return Err(failed(errno)),
    }
    if step.is_kept {
        return Ok(());
    }
    remove_home(fs, workplace, step).map_err(io("remove the copy of", &step.path))
}

/// Nothing of the tree changes by that: what is closed to its owner stays so.
fn copy_home(fs: &dyn Fs, workplace: &mut Workplace<'_>, step: &Step) -> Result<Vec<Lacking>> {
    let (dir, leaf) = workplace.root.above(&step.path)?;
    let number = name(step.number);
    copy_tree(fs, dir.at(leaf), At { dir: workplace.undo(), name: &number }, Closed::Stay)
}

/// Whether anything that would be displaced is closed to us and somebody else's. What is ours can be opened
/// for a moment, once it is out of the tree.
fn is_barred(fs: &dyn Fs, workplace: &mut Workplace<'_>, step: &Step) -> bool {
    let Ok((dir, leaf)) = workplace.root.above(&step.path) else { return false };
    let mut root = Root::new(fs, dir.as_fd(), Closed::Stay);
    let top = Path::new(leaf);
    let below = step.below.iter().map(|(path, _)| top.join(path));
    std::iter::once(top.to_owned()).chain(below).any(|path| {
        // What is in a closed directory is for that one to tell.
        let found = root.above(&path);
        found.is_ok_and(|(dir, name)| is_foreign_and_closed(fs, dir.at(name)))
    })
}

fn is_foreign_and_closed(fs: &dyn Fs, at: At<'_>) -> bool {
    let Ok(node) = fs.node(at.dir, at.name) else { return false };
    let opened = match node.status.kind {
        Kind::File => fs.open_file(at.dir, at.name),
        Kind::Directory => fs.open_dir(at.dir, at.name),
        Kind::Symlink | Kind::Other => return false,
    };
    let is_foreign = node.status.uid != rustix::process::geteuid().as_raw();
    is_foreign && matches!(opened, Err(Errno::ACCESS | Errno::PERM))
}

/// Copies an original from the stage to the run's directory, again if it was begun; the stage goes as a whole.
pub(super) fn bring_home(fs: &dyn Fs, workplace: &Workplace<'_>, step: &mut Step) -> Result<()> {
    let number = name(step.number);
    let staged = At { dir: workplace.stage(), name: &number };
    match fs.node(staged.dir, staged.name) {
        Err(Errno::NOENT) => return Ok(()),
        result => result?,
    };
    let home = At { dir: workplace.undo(), name: staged.name };
    remove_tree(fs, home.dir, home.name).map_err(|left| left.errno)?;
    step.lacks = copy_tree(fs, staged, home, Closed::Open)?;
    Ok(())
}

/// Removes the copy of what was not displaced.
pub(super) fn forget(fs: &dyn Fs, workplace: &Workplace<'_>, step: &Step) -> Result<()> {
    if step.is_kept { remove_home(fs, workplace, step) } else { Ok(()) }
}

fn remove_home(fs: &dyn Fs, workplace: &Workplace<'_>, step: &Step) -> Result<()> {
    remove_tree(fs, workplace.undo(), &name(step.number)).map_err(|left| left.errno)
}

/// Puts an original in the stage back to its place, and so takes the step back; where the place is taken, sets it
/// aside, and returns where. Unless it `goes_back`, `errno` says why
/// it can't be kept.
pub(super) fn give_back(
    fs: &dyn Fs,
    workplace: &mut Workplace<'_>,
    step: &Step,
    (outcome, errno, goes_back): (&mut Outcome, Errno, bool),
) -> Result<Option<PathBuf>> {
    if !goes_back || !step.displaces() || !workplace.is_beside() {
        return Err(errno);
    }
    remove_home(fs, workplace, step)?;
    if put_back(fs, workplace, step) {
        *outcome = GIVEN_UP;
        return Ok(None);
    }
    workplace.set_aside(fs, &name(step.number)).map(Some)
}

fn put_back(fs: &dyn Fs, workplace: &mut Workplace<'_>, step: &Step) -> bool {
    let Ok((dir, leaf)) = workplace.root.above(&step.path) else { return false };
    let number = name(step.number);
    let (staged, target) = (At { dir: workplace.stage(), name: &number }, dir.at(leaf));
    if step.act == Act::Swap && is_new(fs, target, step) {
        if fs.exchange(staged, target).is_err() {
            return false;
        }
        // What anybody put there meanwhile must not go with the stage.
        return is_new(fs, staged, step) || {
            let _ = fs.exchange(staged, target);
            false
        };
    }
    let back = || fs.rename_new(staged, target);
    let mut moved = back();
    if moved == Err(Errno::ACCESS) {
        set_modes(fs, [staged, target], step, 0o700);
        moved = back();
        set_modes(fs, [staged, target], step, 0);
    }
    moved.is_ok()
}

/// Whether a name leads to what a step had put in the place of the original, and nobody wrote to.
fn is_new(fs: &dyn Fs, at: At<'_>, step: &Step) -> bool {
    let found = fs.node(at.dir, at.name).map(|node| Seen::from(&node));
    found.is_ok_and(|found| step.has_left(&found))
}

/// Returns the names that a directory for what is set aside may have, at the root of a tree.
pub(super) fn aside_names(stage: &OsStr) -> impl Iterator<Item = PathBuf> {
    let text = stage.to_string_lossy().into_owned();
    let stem = text.strip_suffix("-stage").unwrap_or(&text).to_owned();
    (1u32..).map(move |number| PathBuf::from(format!("{stem}-left{number}-stage")))
}
