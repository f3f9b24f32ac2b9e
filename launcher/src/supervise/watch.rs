//! Directories of the host in which names may come into being.
//!
//! dnotify tells by a signal with the directory's descriptor; inotify stands in where the kernel
//! has none or there are many directories. Closing an inotify descriptor waits for the kernel's
//! readers: 13 ms at the end of each run (measured). dnotify has nothing to wait for.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use endow_policy::HostPath;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use crate::sys;
use crate::sys::signal::Arrived;

/// The most directories that are held open, far below the usual limit on open files.
const HELD_MAX: usize = 256;

/// Watched directories, by number.
#[derive(Debug)]
pub(super) struct Watch {
    directories: Vec<Directory>,
    changed: BTreeSet<usize>,
    inotify: Option<Inotify>,
}

/// A watched directory.
#[derive(Debug)]
enum Directory {
    /// Known wherever it is moved.
    Held(OwnedFd),
    /// Known by its path.
    Named(HostPath),
}

/// What inotify tells of the directories.
#[derive(Debug)]
pub(super) struct Inotify {
    queue: OwnedFd,
    numbers: BTreeMap<i32, usize>,
}

impl Watch {
    /// Opens the directories.
    pub(super) fn new(paths: &[HostPath]) -> Result<Self, Errno> {
        let directory = |path: &HostPath| {
            if paths.len() > HELD_MAX {
                return Ok(Directory::Named(path.clone()));
            }
            open(path.as_path()).map(Directory::Held)
        };
        let directories = paths.iter().map(directory).collect::<Result<_, _>>()?;
        Ok(Self { directories, changed: BTreeSet::new(), inotify: None })
    }

    /// Starts to watch. Every signal must be blocked.
    pub(super) fn start(&mut self) -> Result<(), Errno> {
        let by_signal = self.directories.iter().all(|directory| match directory {
            Directory::Held(directory) => sys::notify::watch(directory.as_fd()).is_ok(),
            Directory::Named(_) => false,
        });
        if !by_signal {
            self.inotify = Some(Inotify::new(&self.directories)?);
        }
        self.all_again();
        Ok(())
    }

    /// Returns what tells another process of the same directories.
    pub(super) fn queue(&self) -> Result<Inotify, Errno> {
        Inotify::new(&self.directories)
    }

    /// Hears of the directories by `queue` from now on.
    pub(super) fn read_from(&mut self, queue: Inotify) {
        self.inotify = Some(queue);
        self.all_again();
    }

    /// Returns whether a signal was for this watch, and notes what it says.
    pub(super) fn take(&mut self, arrived: Arrived) -> bool {
        // Instead of signals that the queue has no room for, the kernel sends this one.
        if arrived.signal == libc::SIGIO && arrived.from_kernel {
            self.all_again();
            return true;
        }
        let about = arrived.about.filter(|_| arrived.signal == sys::notify::signal());
        let is_it = |directory: &Directory| match directory {
            Directory::Held(directory) => about == Some(directory.as_raw_fd()),
            Directory::Named(_) => false,
        };
        let number = self.directories.iter().position(is_it);
        self.changed.extend(number);
        number.is_some()
    }

    /// Returns the directories in which something may have come into being since the last call.
    pub(super) fn changed(&mut self) -> BTreeSet<usize> {
        let mut changed = std::mem::take(&mut self.changed);
        if let Some(inotify) = &self.inotify {
            inotify.read(&mut changed, self.directories.len());
        }
        changed
    }

    /// Notes that a directory must be looked at again.
    pub(super) fn again(&mut self, number: usize) {
        self.changed.insert(number);
    }

    /// Notes that every directory must be looked at again.
    pub(super) fn all_again(&mut self) {
        self.changed.extend(0..self.directories.len());
    }

    /// Returns what becomes readable with news, besides signals.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.inotify.as_ref().map(|inotify| inotify.queue.as_fd())
    }

    /// Opens a directory where it is by now. One that is held is lent: to close a copy of its
    /// descriptor would end the watch (measured).
    pub(super) fn open(&self, number: usize) -> Result<Opened<'_>, Errno> {
        match self.directories.get(number) {
            Some(Directory::Held(directory)) => Ok(Opened::Held(directory.as_fd())),
            Some(Directory::Named(path)) => open(path.as_path()).map(Opened::Own),
            None => Err(Errno::BADF),
        }
    }
}

/// An open directory.
#[derive(Debug)]
pub(super) enum Opened<'a> {
    Held(BorrowedFd<'a>),
    Own(OwnedFd),
}

impl AsFd for Opened<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Held(directory) => directory.as_fd(),
            Self::Own(directory) => directory.as_fd(),
        }
    }
}

impl Opened<'_> {
    /// Tells where it is by now.
    pub(super) fn path(&self) -> Result<PathBuf, Errno> {
        let path = rustix::fs::readlink(by_number(self.as_fd()), Vec::new())?;
        Ok(PathBuf::from(OsString::from_vec(path.into_bytes())))
    }
}

impl Inotify {
    fn new(directories: &[Directory]) -> Result<Self, Errno> {
        let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let flags = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
        let mut numbers = BTreeMap::new();
        for (number, directory) in directories.iter().enumerate() {
            let watch = match directory {
                Directory::Held(held) => {
                    inotify::add_watch(&queue, by_number(held.as_fd()), flags)?
                }
                Directory::Named(path) => inotify::add_watch(&queue, path.as_path(), flags)?,
            };
            numbers.insert(watch, number);
        }
        Ok(Self { queue, numbers })
    }

    /// Returns a descriptor of its own that becomes readable with news.
    pub(super) fn share(&self) -> Result<OwnedFd, Errno> {
        rustix::io::fcntl_dupfd_cloexec(&self.queue, 0)
    }

    fn read(&self, changed: &mut BTreeSet<usize>, all: usize) {
        let mut space = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.queue, &mut space);
        while let Ok(event) = reader.next() {
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                changed.extend(0..all);
            }
            changed.extend(self.numbers.get(&event.wd()));
        }
    }
}

fn open(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

fn by_number(directory: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", directory.as_raw_fd())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(count: usize) -> (tempfile::TempDir, Watch) {
        let root = tempfile::tempdir().expect("a directory");
        let path = root.path().canonicalize().expect("a path");
        let names = (0..count).map(|number| path.join(number.to_string()));
        let paths = names.map(|path| {
            std::fs::create_dir(&path).expect("a directory");
            HostPath::new(path).expect("a path")
        });
        let paths: Vec<HostPath> = paths.collect();
        (root, Watch::new(&paths).expect("opened"))
    }

    fn signal(signal: i32, about: Option<i32>, from_kernel: bool) -> Arrived {
        Arrived { signal, from_kernel, from_self: false, sender: 1, about }
    }

    #[test]
    fn inotify_stands_in() {
        let (root, mut watch) = watch(2);
        watch.inotify = Some(Inotify::new(&watch.directories).expect("a queue"));
        assert_eq!(watch.changed(), BTreeSet::new());
        std::fs::write(root.path().join("1/new"), "").expect("written");
        assert_eq!(watch.changed(), BTreeSet::from([1]));
        assert_eq!(watch.changed(), BTreeSet::new());
    }

    #[test]
    fn many_directories_are_watched_without_holding_them() {
        let (_root, mut watch) = watch(HELD_MAX + 1);
        watch.start().expect("started");
        assert!(watch.descriptor().is_some());
        assert_eq!(watch.changed().len(), HELD_MAX + 1);
    }

    #[test]
    fn only_own_signals_are_taken() {
        let (_root, mut watch) = watch(2);
        let Some(Directory::Held(second)) = watch.directories.get(1) else { panic!("held") };
        let second = second.as_raw_fd();
        let own = sys::notify::signal();
        assert!(!watch.take(signal(own, None, false)), "a process sent it");
        assert!(!watch.take(signal(own, Some(-1), false)), "of another");
        assert!(!watch.take(signal(libc::SIGIO, None, false)), "a process sent it");
        assert_eq!(watch.changed(), BTreeSet::new());
        assert!(watch.take(signal(own, Some(second), false)));
        assert_eq!(watch.changed(), BTreeSet::from([1]));
        assert!(watch.take(signal(libc::SIGIO, None, true)), "the queue was full");
        assert_eq!(watch.changed(), BTreeSet::from([0, 1]));
    }

    #[test]
    fn directory_is_known_where_it_is_moved() {
        let (root, watch) = watch(1);
        let root = root.path().canonicalize().expect("a path");
        std::fs::rename(root.join("0"), root.join("moved")).expect("moved");
        let path = watch.open(0).expect("opened").path().expect("a path");
        assert_eq!(path, root.join("moved"));
    }
}
