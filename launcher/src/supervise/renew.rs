//! Covered names of live mounts: covered again when the host replaces what lies below.
//!
//! A mount over a name goes with the name: an editor that renames a new file into place leaves the
//! secret in view. The supervisor watches the directories and covers the name again from outside;
//! between the rename and the new cover lies a window of less than a millisecond on an idle machine.
//! While the supervisor is stopped, as the command is, a process of its own stands in for it.

mod moved;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use endow_policy::HostPath;
use rustix::io::Errno;

use super::enter::{self, Covered};
use super::event::Notice;
use super::seen::Seen;
use super::watch::{Opened, Watch};
use super::worker::{Over, Worker};
use crate::apply::Sandbox;
use crate::plan::step::{Cover, FileId, Renew};
use crate::sys::signal::Arrived;
pub(crate) use moved::{Back, Moved, PutBack};

/// How often a name is covered at once whose directory the command moves meanwhile.
const ATTEMPTS: usize = 16;

/// The watch over the covered names of one sandbox.
#[derive(Debug)]
pub(crate) struct Renewal {
    watch: Watch,
    names: Vec<Name>,
    /// What covers a file and what covers a directory.
    covers: [PathBuf; 2],
    /// What a stand-in covered is still to be told.
    relieved: bool,
}

#[derive(Debug)]
struct Name {
    renew: Renew,
    /// The number of its directory.
    directory: usize,
    /// What was covered last.
    seen: Option<Seen>,
    /// What was there when the run began.
    first: Option<FileId>,
    /// It was told that it can't be covered.
    is_told: bool,
}

/// What came of covering a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// It is covered now.
    Renewed,
    /// It was covered before.
    Already,
    /// There is nothing to do.
    Settled,
    /// It was not found where it was.
    Moving,
    /// It could not be covered: that is tried again.
    Failed(Errno),
}

impl Renewal {
    /// Looks at the names; must happen before they are covered, so that no change is missed.
    pub(crate) fn new(names: &[Renew], covers: [PathBuf; 2]) -> Result<Option<Self>, Errno> {
        if names.is_empty() {
            return Ok(None);
        }
        let mut paths: Vec<HostPath> = names.iter().filter_map(Renew::directory).collect();
        paths.sort();
        paths.dedup();
        let watch = Watch::new(&paths)?;
        let look = |renew: &Renew| {
            let directory = renew.directory().and_then(|it| paths.binary_search(&it).ok());
            let (directory, name) = directory.zip(renew.name()).ok_or(Errno::INVAL)?;
            let seen = Seen::look(watch.open(directory)?.as_fd(), name);
            let first = seen.map(Seen::id);
            Ok(Name { renew: renew.clone(), directory, seen, first, is_told: false })
        };
        let names = names.iter().map(look).collect::<Result<_, Errno>>()?;
        Ok(Some(Self { watch, names, covers, relieved: false }))
    }

    /// Starts to watch. Every signal must be blocked.
    pub(super) fn start(&mut self) -> Result<(), Errno> {
        self.watch.start()
    }

    /// Returns whether a signal was for this watch.
    pub(super) fn take(&mut self, arrived: Arrived) -> bool {
        self.watch.take(arrived)
    }

    /// Returns what becomes readable with news, besides signals.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.watch.descriptor()
    }

    /// Starts a process that covers names in place of the supervisor, until it is dropped.
    pub(super) fn stand_in(&mut self, sandbox: &Sandbox) -> Result<Worker, Errno> {
        let queue = self.watch.queue()?;
        let news = queue.share()?;
        let worker = Worker::start_awake(|over| {
            self.watch.read_from(queue);
            self.renew_until(over, &news, sandbox)
        })?;
        self.relieved = true;
        self.watch.all_again();
        Ok(worker)
    }

    fn renew_until(&mut self, over: &Over, news: &OwnedFd, sandbox: &Sandbox) -> bool {
        loop {
            // What can't be covered for want of descriptors, the supervisor finds when it goes on.
            self.renew(sandbox, &mut |_| {}).unwrap_or_default();
            if over.wait(Some(news), None) {
                return true;
            }
        }
    }

    /// Covers every name that has come into being since the last call, once the view stands; fails where there
    /// are no descriptors for that.
    pub(super) fn renew(
        &mut self,
        sandbox: &Sandbox,
        tell: &mut dyn FnMut(Notice),
    ) -> Result<(), Errno> {
        if sandbox.descriptors.mount.is_none() {
            return Ok(());
        }
        let mut is_short = false;
        let changed = self.watch.changed();
        for (number, name) in self.names.iter_mut().enumerate() {
            if !changed.contains(&name.directory) {
                continue;
            }
            match name.renew(&self.watch, &self.covers, sandbox) {
                Outcome::Renewed => tell(Notice::Renewed(number)),
                Outcome::Already if self.relieved => tell(Notice::Renewed(number)),
                Outcome::Already | Outcome::Settled => {}
                Outcome::Moving => self.watch.again(name.directory),
                Outcome::Failed(errno) => {
                    self.watch.again(name.directory);
                    name.fails(errno).then(|| tell(Notice::Uncovered(number)));
                    is_short |= errno == Errno::MFILE;
                }
            }
        }
        self.relieved = false;
        if is_short { Err(Errno::MFILE) } else { Ok(()) }
    }
}

impl Name {
    fn renew(&mut self, watch: &Watch, covers: &[PathBuf; 2], sandbox: &Sandbox) -> Outcome {
        for _ in 0..ATTEMPTS {
            let directory = match watch.open(self.directory) {
                // The directory is not where it was: what is there now is another one.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Outcome::Settled,
                Err(errno) => return Outcome::Failed(errno),
                Ok(directory) => directory,
            };
            match self.cover(&directory, covers, sandbox) {
                Outcome::Moving => {}
                outcome => return outcome,
            }
        }
        Outcome::Moving
    }

    /// Returns whether this failure is news. Before there is a sandbox, and after it, nobody sees anything.
    fn fails(&mut self, errno: Errno) -> bool {
        errno != Errno::SRCH && !std::mem::replace(&mut self.is_told, true)
    }

    fn cover(
        &mut self,
        directory: &Opened<'_>,
        [file, folder]: &[PathBuf; 2],
        sandbox: &Sandbox,
    ) -> Outcome {
        let Some(name) = self.renew.name() else { return Outcome::Settled };
        let seen = Seen::look(directory.as_fd(), name);
        let Some(now) = seen.filter(|_| seen != self.seen || seen.is_some_and(Seen::is_young))
        else {
            return Outcome::Settled;
        };
        let path = directory.path().ok();
        let Some(at) = path.and_then(|path| self.renew.place_in(&path)) else {
            return Outcome::Settled;
        };
        let cover = match self.renew.cover {
            Cover::Itself => enter::Cover::Itself,
            Cover::Hidden if now.is_directory() => enter::Cover::With(folder),
            Cover::Hidden => enter::Cover::With(file),
        };
        let covered = enter::cover(sandbox, cover, &enter::Target { at: &at, expect: now.id() });
        // What is neither a file nor a directory has nothing that could be covered.
        if matches!(covered, Ok(Covered::Now | Covered::Already) | Err(Errno::INVAL)) {
            (self.seen, self.is_told) = (seen, false);
        }
        match covered {
            Ok(Covered::Now) => Outcome::Renewed,
            Ok(Covered::Other) => Outcome::Moving,
            Ok(Covered::Already) => Outcome::Already,
            Err(Errno::INVAL) => Outcome::Settled,
            Err(errno) => Outcome::Failed(errno),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::create_dir_all;

    use endow_policy::GuestPath;

    use super::*;

    /// A name that was left out was never covered again, and those after it were told by wrong numbers.
    #[test]
    fn no_name_is_left_out_whose_directory_can_not_be_opened() {
        for count in [2, 300] {
            let root = tempfile::tempdir().expect("a directory");
            let path = root.path().canonicalize().expect("a path");
            let source = HostPath::new(&path).expect("a path");
            let at = GuestPath::new("/at").expect("a path");
            let cover = Cover::Hidden;
            let name = |number: i32| {
                let path = format!("{number}/.env").into();
                Renew { source: source.clone(), at: at.clone(), path, cover }
            };
            let names: Vec<Renew> = (0..count).map(name).collect();
            let all = || Renewal::new(&names, [PathBuf::new(), PathBuf::new()]);
            (1..count).for_each(|it| create_dir_all(path.join(it.to_string())).expect("made"));
            assert_eq!(all().err(), Some(Errno::NOENT), "of {count}");
            create_dir_all(path.join("0")).expect("made");
            let watched = all().expect("opened").map(|it| it.names.len());
            assert_eq!(watched, Some(names.len()));
        }
    }
}
