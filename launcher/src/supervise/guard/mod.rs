//! The process that takes protected names out of live mounts when they appear there.
//!
//! It stands beside the supervisor: it works while that one is stopped at a terminal, and the end of
//! its watch is not waited for. Between a name's appearance and its removal lies less than a
//! millisecond on an idle machine.

mod left;
mod news;
mod programs;
mod spare;
mod tree;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use endow_policy::{PatternRule, ProtectSet};
use rustix::event::{PollFd, PollFlags, Timespec as Timeout, poll};
use rustix::fs::inotify::{self, CreateFlags};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use super::worker::{Over, Worker};
use crate::plan::host::Noted;
use crate::plan::step::Guard;
use crate::sys;
use news::Told;
pub(crate) use news::{HeldName, Missed, News, Why};
pub(crate) use programs::{PART_OF_PATH, shadowed};
pub(crate) use spare::{is_own_work_tree, is_spared, work_tree};
use tree::{Queue, Tree};

/// A supervisor that dies takes the command along, a moment later.
const MOMENT: Timeout = Timeout { tv_sec: 0, tv_nsec: 50_000_000 };

/// Looks through a whole mount; `None` when that can't be.
pub(crate) type Walk<'a> = dyn Fn(&Guard, &ProtectSet) -> Option<Noted> + 'a;

/// The watch, before the process exists.
pub(crate) struct Watching<'a> {
    guards: &'a [Guard],
    queue: Queue,
    trees: Vec<Tree>,
    rules: Vec<Rules>,
}

/// The patterns of protected names in a mount, compiled where they are already, and as they are written; and the paths
/// of its source besides its own.
pub(crate) type Patterns<'a> = (Option<&'a ProtectSet>, &'a [PatternRule], Vec<PathBuf>);

/// The patterns that the process has.
struct Rules {
    patterns: Given,
    others: Vec<PathBuf>,
}

enum Given {
    Compiled(ProtectSet),
    Written(Vec<PatternRule>),
}

impl Rules {
    fn of((compiled, written, others): Patterns<'_>) -> Self {
        let written = || Given::Written(written.to_vec());
        let patterns = compiled.map_or_else(written, |it| Given::Compiled(it.clone()));
        Self { patterns, others }
    }

    fn compiled(self) -> Option<ProtectSet> {
        let set = match self.patterns {
            Given::Compiled(set) => set,
            Given::Written(rules) => ProtectSet::new(&rules).ok()?,
        };
        let others: Vec<&Path> = self.others.iter().map(PathBuf::as_path).collect();
        Some(set.below_all(&others))
    }
}

impl<'a> Watching<'a> {
    /// Watches the mounts of a run whose directory is `run` and that began at `since`: whatever appears
    /// from now on is seen. Patterns that are not compiled yet are in the process.
    pub(crate) fn new(
        guards: &'a [Guard],
        protecting: &dyn Fn(&Guard) -> Patterns<'a>,
        (run, since): (&Path, SystemTime),
    ) -> Result<Option<Self>, Errno> {
        if guards.is_empty() {
            return Ok(None);
        }
        let watches = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let mut queue = Queue::new(watches);
        let numbered = guards.iter().enumerate();
        let begun = (run, since);
        let trees = numbered.map(|(number, guard)| Tree::open(number, guard, begun, &mut queue));
        let trees = trees.collect::<Result<Vec<_>, _>>()?;
        let rules = guards.iter().map(|guard| Rules::of(protecting(guard))).collect();
        Ok(Some(Self { guards, queue, trees, rules }))
    }

    fn work(mut self, over: &Over, walk: &Walk<'_>, to: &OwnedFd) -> bool {
        let all = self.rules.into_iter().map(Rules::compiled).collect::<Option<Vec<_>>>();
        let Some(all) = all else { return false };
        let below = |(guard, set): (&Guard, &ProtectSet)| set.below(guard.source.as_path());
        let protects: Vec<ProtectSet> = self.guards.iter().zip(&all).map(below).collect();
        let mut held = |name: &HeldName| news::tell(to, &News::Held(name.clone()));
        let processors = sys::processor::Own::now();
        while !over.wait(Some(self.queue.descriptor()), None) {
            self.queue.look(&mut self.trees, &protects, &mut held);
        }
        processors.again();
        over.settle(MOMENT);
        self.queue.look(&mut self.trees, &protects, &mut held);
        let trees = self.guards.iter().zip(all.iter().zip(&protects)).zip(&mut self.trees);
        for ((guard, (all, protect)), tree) in trees {
            let noted = tree.look_whole(&|| walk(guard, all));
            tree.note_missed(noted.as_ref());
            tree.end(&noted.unwrap_or_default(), protect, &mut self.queue, &mut held);
        }
        let is_heard = || over.has_supervisor();
        self.trees
            .iter()
            .flat_map(Tree::missed)
            .for_each(|it| news::tell_surely(to, &is_heard, it));
        // Closing it takes long; the end of the process closes it, too.
        std::mem::forget(self.queue);
        true
    }
}

/// The guard, a process that ends with the run.
#[derive(Debug)]
pub(crate) struct Guarding {
    /// What it tells, until it ends.
    news: OwnedFd,
    is_open: bool,
    told: Told,
    /// How it ended, when that is known.
    end: Option<End>,
    worker: Worker,
}

/// How the process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Its work is done.
    Whole,
    /// It died before, or could not do it: what it did not take away is still there.
    Early,
}

impl Guarding {
    /// Starts the guard.
    pub(crate) fn start(watching: Watching<'_>, walk: &Walk<'_>) -> Result<Self, Errno> {
        let (news, tell) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let worker = Worker::start_awake(move |over| watching.work(over, walk, &tell))?;
        Ok(Self { news, is_open: true, told: Told::default(), end: None, worker })
    }

    /// Returns what becomes readable with news.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.is_open.then(|| self.news.as_fd())
    }

    /// Returns what was taken away since the last call.
    pub(super) fn read(&mut self) -> Vec<News> {
        let (names, is_open) = self.told.read(&self.news);
        self.is_open = is_open;
        names
    }

    /// Tells the guard that the run is over, without waiting.
    pub(super) fn stop(&self) {
        self.worker.stop();
    }

    /// Tells the guard that the run is over, and has it work on this processor.
    pub(super) fn stop_here(&self) {
        self.worker.stop_here();
    }

    /// Has the guard take away what must be, and waits for that, where nobody hears what it tells any more.
    pub(super) fn look_last(&self) {
        self.stop();
        while Told::default().read(&self.news).1 {
            let _ = poll(&mut [PollFd::new(&self.news, PollFlags::IN)], None);
        }
        self.worker.finish();
    }

    /// Returns whether the guard has died before its work was done: true once.
    pub(super) fn is_lost(&mut self) -> bool {
        !self.is_open && self.end.is_none() && self.end() == End::Early
    }

    /// Waits until all is taken away that must be; returns what was since the last call, and how it
    /// ended.
    pub(crate) fn finish(mut self) -> (Vec<News>, End) {
        self.stop();
        let mut all = self.read();
        while self.is_open {
            // What it tells last waits for room.
            let _ = poll(&mut [PollFd::new(&self.news, PollFlags::IN)], None);
            all.extend(self.read());
        }
        let end = self.end();
        (all, end)
    }

    /// Returns how the guard ended. It tells nothing more: it has done its work, or is gone.
    fn end(&mut self) -> End {
        let worker = &self.worker;
        let end = || if worker.finish() { End::Whole } else { End::Early };
        *self.end.get_or_insert_with(end)
    }
}
