//! Covered names of live mounts: covered again when the host replaces what lies below.
//!
//! A mount over a name goes with the name: an editor that renames a new file into place leaves the
//! secret in view. The supervisor watches the directories and covers the name again from outside;
//! between the rename and the new cover lies a window of less than a millisecond on an idle machine.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::enter;
use crate::apply::Sandbox;
use crate::plan::step::{Cover, Renew};

/// The watch over the covered names of one sandbox.
#[derive(Debug)]
pub(crate) struct Renewal {
    watcher: OwnedFd,
    names: Vec<Renew>,
    by_watch: BTreeMap<i32, Vec<usize>>,
    /// What covers a file and what covers a directory.
    covers: [PathBuf; 2],
}

impl Renewal {
    /// Starts to watch; must happen before the names are covered, so that no change is missed.
    pub(crate) fn watch(names: &[Renew], covers: [PathBuf; 2]) -> Result<Option<Self>, Errno> {
        if names.is_empty() {
            return Ok(None);
        }
        let watcher = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let mut by_watch: BTreeMap<i32, Vec<usize>> = BTreeMap::new();
        let flags = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
        for (number, name) in names.iter().enumerate() {
            let watch = inotify::add_watch(&watcher, name.watch.as_path(), flags)?;
            by_watch.entry(watch).or_default().push(number);
        }
        Ok(Some(Self { watcher, names: names.to_vec(), by_watch, covers }))
    }

    /// Covers every name that has come into being since the last call.
    pub(super) fn renew(&mut self, sandbox: &Sandbox, renewed: &mut dyn FnMut(usize)) {
        for number in self.changed() {
            let Some(name) = self.names.get(number) else { continue };
            let Some(with) = self.cover_of(name) else { continue };
            if enter::cover(sandbox, with, name.at.as_path()).is_ok() {
                renewed(number);
            }
        }
    }

    /// What covers a name as the host has it now; `None` where it has nothing.
    fn cover_of(&self, name: &Renew) -> Option<enter::Cover<'_>> {
        let host = name.watch.as_path().join(&name.name);
        let found = std::fs::symlink_metadata(&host).ok()?;
        let [file, directory] = &self.covers;
        Some(match name.cover {
            Cover::Itself => enter::Cover::Itself,
            Cover::Hidden if found.is_dir() => enter::Cover::With(directory),
            Cover::Hidden => enter::Cover::With(file),
        })
    }

    fn changed(&self) -> Vec<usize> {
        let mut space = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.watcher, &mut space);
        let mut changed = Vec::new();
        while let Ok(event) = reader.next() {
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                return (0..self.names.len()).collect();
            }
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()).to_owned());
            let watched = self.by_watch.get(&event.wd()).map(Vec::as_slice).unwrap_or_default();
            let is_it = |number: &&usize| {
                self.names.get(**number).map(|it| it.name.as_os_str()) == name.as_deref()
            };
            changed.extend(watched.iter().filter(is_it));
        }
        changed.dedup();
        changed
    }
}

impl AsFd for Renewal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.watcher.as_fd()
    }
}
