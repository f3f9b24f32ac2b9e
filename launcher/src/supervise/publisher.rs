//! The process that keeps single files the same inside and outside while the command runs.

use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::event::Timespec as Timeout;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::worker::{Over, Worker};

/// After how many milliseconds is tried again what somebody has open, at most: a file that is just
/// closed counts as open for some microseconds.
const LONGEST_MS: u64 = 200;
/// The least time between two rounds: each write-back syncs a file system.
const ROUND: Timeout = Timeout { tv_sec: 0, tv_nsec: 50_000_000 };
/// How many failures in a row are followed by another attempt without news.
const TRIES: u32 = 5;
/// How often is looked where the kernel gives no watch.
const EACH: Timeout = Timeout { tv_sec: 1, tv_nsec: 0 };

/// A single file that is published.
#[derive(Clone, Debug)]
pub(crate) struct PublishedFile {
    /// The number of its mount.
    pub(crate) number: u32,
    /// The command's file and the host's.
    pub(crate) sides: [PathBuf; 2],
}

/// What came of an attempt to make both sides of a file the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// Nothing is to be done until something changes.
    Settled,
    /// It is to be tried again soon.
    Later,
    /// Something failed, for the command was faster or for a reason that the end of the run tells.
    Failed,
}

/// The publisher, a process that ends with the run.
#[derive(Debug)]
pub(crate) struct Publisher {
    worker: Worker,
}

impl Publisher {
    /// Starts the publisher; `publish` makes both sides of the file of a mount the same, as long as the run is
    /// not over.
    pub(crate) fn start(
        files: &[PublishedFile],
        mut publish: impl FnMut(u32, &Over) -> Attempt,
    ) -> Result<Self, Errno> {
        let worker = Worker::start(|over| {
            let mut files: Vec<Watched<'_>> = files.iter().map(Watched::new).collect();
            let queue = watch(&mut files).ok();
            while !files.is_empty() && !over.is_over() {
                attempt(&mut files, &mut |number| publish(number, over));
                wait(&mut files, queue.as_ref(), over);
            }
            // Closing it takes long; the end of the process closes it, too.
            std::mem::forget(queue);
            true
        })?;
        Ok(Self { worker })
    }

    /// Has the publisher write back nothing that it did not look at yet, and does not wait for it.
    pub(crate) fn stop(&self) {
        self.worker.stop();
    }
}

struct Watched<'a> {
    published: &'a PublishedFile,
    /// The watches on the two directories.
    watches: [i32; 2],
    state: State,
    /// How often it was tried again, and how often it failed, in a row.
    tries: u32,
    failures: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Changed,
    Settled,
    Later,
}

impl<'a> Watched<'a> {
    fn new(published: &'a PublishedFile) -> Self {
        Self { published, watches: [-1; 2], state: State::Changed, tries: 0, failures: 0 }
    }

    fn is_named(&self, watch: i32, name: &OsStr) -> bool {
        let mut sides = self.watches.iter().zip(&self.published.sides);
        sides.any(|(known, path)| *known == watch && path.file_name() == Some(name))
    }
}

fn watch(files: &mut [Watched<'_>]) -> Result<OwnedFd, Errno> {
    let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    let flags = WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO | WatchFlags::MOVED_FROM;
    let flags = flags | WatchFlags::DELETE | WatchFlags::ONLYDIR;
    for file in files {
        for (watch, path) in file.watches.iter_mut().zip(&file.published.sides) {
            *watch = inotify::add_watch(&queue, path.parent().unwrap_or(Path::new("/")), flags)?;
        }
    }
    Ok(queue)
}

fn attempt(files: &mut [Watched<'_>], publish: &mut dyn FnMut(u32) -> Attempt) {
    for file in files.iter_mut().filter(|it| it.state != State::Settled) {
        let attempt = publish(file.published.number);
        file.failures = if attempt == Attempt::Failed { file.failures + 1 } else { 0 };
        file.state = match attempt {
            Attempt::Settled => State::Settled,
            Attempt::Failed if file.failures > TRIES => State::Settled,
            Attempt::Failed | Attempt::Later => State::Later,
        };
        file.tries = if file.state == State::Later { file.tries + 1 } else { 0 };
    }
}

/// Waits for news. What somebody has open tells of itself all the time: then only time helps.
fn wait(files: &mut [Watched<'_>], queue: Option<&OwnedFd>, over: &Over) {
    if over.wait(None, Some(ROUND)) {
        return;
    }
    let tries = files.iter().filter(|file| file.state == State::Later).map(|file| file.tries);
    if let Some(tries) = tries.min() {
        over.wait(None, Some(pause(tries)));
    } else {
        let _ = over.wait(queue, queue.is_none().then_some(EACH));
    }
    match queue {
        Some(queue) => read(files, queue),
        None => files.iter_mut().for_each(changed),
    }
}

/// Doubles from one millisecond on.
fn pause(tries: u32) -> Timeout {
    let ms = 1u64.checked_shl(tries.saturating_sub(1)).unwrap_or(LONGEST_MS).min(LONGEST_MS);
    Timeout { tv_sec: 0, tv_nsec: i64::try_from(ms * 1_000_000).unwrap_or(0) }
}

fn changed(file: &mut Watched<'_>) {
    if file.state == State::Settled {
        file.state = State::Changed;
    }
}

fn read(files: &mut [Watched<'_>], queue: &OwnedFd) {
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut reader = inotify::Reader::new(queue.as_fd(), &mut buffer);
    while let Ok(event) = reader.next() {
        let is_full = event.events().contains(ReadFlags::QUEUE_OVERFLOW);
        let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
        let is_it = |file: &Watched<'_>| name.is_some_and(|name| file.is_named(event.wd(), name));
        files.iter_mut().filter(|file| is_full || is_it(file)).for_each(changed);
    }
}
