//! Renaming directories of copy-on-write mounts.
//!
//! Overlayfs refuses to rename a directory that a lower layer has, with EXDEV (it may not write
//! redirects in a user namespace). So renames are announced, and such a directory is moved into the
//! upper layer before the call goes on. This prepares: it never decides what is allowed, and where
//! it can't prepare, the call meets the kernel's EXDEV.

mod below;
mod caller;
mod lift;

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, FileType, statat};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::getpid;

use crate::apply::HalfWay;
use crate::plan::ChangedTree;
use crate::plan::step::Buffered;
use crate::sys;
use crate::sys::announced::Announced;
use crate::sys::clone::Cloned;
use below::Below;
use caller::Named;

/// How long a directory that is half-way is waited for when the run is over.
const PATIENCE: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

/// The calls that wait, and the directories they may be about.
#[derive(Debug)]
pub(super) struct Renames {
    mounts: Vec<Layered>,
    /// The run's directory, where something is written back.
    run: Option<OwnedFd>,
    worker: Option<Worker>,
    /// Calls that came while one is worked on.
    waiting: VecDeque<Announced>,
}

/// A copy-on-write mount.
#[derive(Debug)]
struct Layered {
    /// Its place in the view.
    at: PathBuf,
    below: Below,
    kept: Kept,
}

/// What becomes of the changes of a copy-on-write mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    WrittenBack,
    Dropped,
}

/// The copy-on-write mounts of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layers<'a> {
    /// Those that are written back.
    pub(crate) kept: &'a [Buffered],
    /// Those that are not.
    pub(crate) dropped: &'a [Buffered],
    /// Those of trees.
    pub(crate) trees: &'a [ChangedTree],
    /// The run's directory, when it has one.
    pub(crate) run: Option<BorrowedFd<'a>>,
}

/// A process that prepares what one call is about while the supervisor goes on.
#[derive(Debug)]
struct Worker {
    call: Announced,
    pid: i32,
    pidfd: OwnedFd,
}

impl Renames {
    /// Returns what is needed for these mounts.
    pub(super) fn new(layers: Layers<'_>) -> Result<Self, Errno> {
        let kept = layers.kept.iter().map(|it| (it, Kept::WrittenBack));
        let all = kept.chain(layers.dropped.iter().map(|it| (it, Kept::Dropped)));
        let directories = all.filter(|(it, _)| it.directory);
        let directories = directories.map(|(it, kept)| Layered::of(it, kept));
        let trees = |run| layers.trees.iter().map(move |it| Layered::of_tree(it, run));
        let trees = layers.run.into_iter().flat_map(trees);
        let mounts = directories.chain(trees).collect::<Result<_, Errno>>()?;
        let run = layers.run.map(|run| fcntl_dupfd_cloexec(run, 0)).transpose()?;
        Ok(Self { mounts, run, worker: None, waiting: VecDeque::new() })
    }

    /// Returns what tells the end of the work on a call that waits.
    pub(super) fn work(&self) -> Option<BorrowedFd<'_>> {
        self.worker.as_ref().map(|worker| worker.pidfd.as_fd())
    }

    /// Lets the call go on whose work is done.
    pub(super) fn end_work(&mut self, listener: BorrowedFd<'_>) {
        if let Some(worker) = self.worker.take() {
            let _ = sys::wait::until_ended(worker.pid);
            sys::announced::let_go_on(listener, &worker.call);
        }
        while self.worker.is_none()
            && let Some(call) = self.waiting.pop_front()
        {
            self.take(listener, call);
        }
    }

    /// Lets a call go on, when what it renames is prepared: one after another.
    pub(super) fn take(&mut self, listener: BorrowedFd<'_>, call: Announced) {
        if !caller::renames(&call) {
            return sys::announced::let_go_on(listener, &call);
        }
        if self.worker.is_some() {
            return self.waiting.push_back(call);
        }
        let lifted: Vec<_> = caller::moved(&call).filter_map(|named| self.lifted(named)).collect();
        // What was read of the caller was its own while it waited.
        if lifted.is_empty() || !sys::announced::still_waits(listener, &call) {
            return sys::announced::let_go_on(listener, &call);
        }
        self.start(listener, call, &lifted);
    }

    /// Returns a directory that a call moves, when it must be prepared.
    fn lifted(&self, named: Named) -> Option<(Named, Kept)> {
        let status = statat(&named.parent, &named.name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        if FileType::from_raw_mode(status.st_mode) != FileType::Directory {
            return None;
        }
        let path = named.path();
        let covering = self.mounts.iter().filter(|it| path.starts_with(&it.at));
        let mount = covering.max_by_key(|it| it.at.as_os_str().len())?;
        let below = path.strip_prefix(&mount.at).ok()?;
        let is_lower = mount.below.may_have(below, status.st_ino);
        (is_lower && named.is_on_mount(&mount.at)).then_some((named, mount.kept))
    }

    fn start(&mut self, listener: BorrowedFd<'_>, call: Announced, directories: &[(Named, Kept)]) {
        let supervisor = getpid();
        match sys::clone::clone(0, None) {
            Ok(Cloned::Child) => {
                let lifted = sys::start::die_with(Some(supervisor))
                    .and_then(|()| directories.iter().try_for_each(|it| self.lift(it)));
                sys::clone::exit_now(i32::from(lifted.is_err()))
            }
            Ok(Cloned::Parent { pid, pidfd }) => self.worker = Some(Worker { call, pid, pidfd }),
            Err(_) => sys::announced::let_go_on(listener, &call),
        }
    }

    fn lift(&self, (named, kept): &(Named, Kept)) -> Result<(), Errno> {
        let path = named.path();
        let noting = self.run.as_ref().filter(|_| *kept == Kept::WrittenBack);
        let note = noting.map(|run| HalfWay::new(run.as_fd(), &path));
        lift::lift(named.parent.as_fd(), &named.name, note.as_ref())
    }

    /// Waits until nothing changes a layer any more. A directory that is half-way is moved to its
    /// end, or back, though nobody waits for it; one that takes too long is found half-way when
    /// changes are to be written back, which then wait.
    pub(super) fn finish(self) {
        let Some(worker) = &self.worker else { return };
        let mut fd = [PollFd::new(&worker.pidfd, PollFlags::IN)];
        let _ = poll(&mut fd, Some(&PATIENCE));
    }
}

impl Layered {
    fn of(mount: &Buffered, kept: Kept) -> Result<Self, Errno> {
        Ok(Self { at: mount.at.as_path().to_owned(), below: Below::of(mount)?, kept })
    }

    fn of_tree(tree: &ChangedTree, run: BorrowedFd<'_>) -> Result<Self, Errno> {
        let below = Below::of_tree(tree, run)?;
        Ok(Self { at: tree.at.as_path().to_owned(), below, kept: Kept::WrittenBack })
    }
}

impl Drop for Renames {
    fn drop(&mut self) {
        if let Some(worker) = self.worker.take() {
            let _ = sys::wait::within(worker.pid, &worker.pidfd, Duration::ZERO);
        }
    }
}
