//! One live mount that is watched, and the queue of what happens in all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_policy::ProtectSet;
use endow_vfs::fs::{Fs, Kind, Open, OsFs};
use endow_vfs::git_config;
use endow_vfs::held::{HeldLayer, Pace, Taken};
use rustix::fs::inotify::{self, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::HeldName;
use super::spare::{self, Verdict};
use crate::plan::step::{FileId, Guard, UPPER};
use crate::sys;

/// Directories one below the other that are watched.
const DEPTH: usize = 32;
/// The most directories that are watched in all mounts: the kernel counts them for each user.
const WATCHES: usize = 1024;
/// A directory with more names was moved there whole, and is taken away whole.
const NAMES: usize = 64;

/// The kernel's news of watched directories.
#[derive(Debug)]
pub(super) struct Queue {
    watches: OwnedFd,
    /// The tree of each, and its path there.
    places: BTreeMap<i32, (usize, PathBuf)>,
}

/// A live mount.
#[derive(Debug)]
pub(super) struct Tree {
    number: usize,
    held: HeldLayer,
    /// What patterns see before a path.
    prefix: PathBuf,
    /// Protected names that were there at the start, and names that the command does not see.
    left: BTreeSet<PathBuf>,
    /// What was spared, or is taken away when nobody waits.
    later: BTreeSet<PathBuf>,
    ways: Vec<PathBuf>,
}

impl Queue {
    pub(super) fn new(watches: OwnedFd) -> Self {
        Self { watches, places: BTreeMap::new() }
    }

    pub(super) fn descriptor(&self) -> &OwnedFd {
        &self.watches
    }

    /// Watches a directory; settings of git are watched for what is written into them, too.
    fn add(
        &mut self,
        directory: &OwnedFd,
        tree: usize,
        path: &Path,
        is_of_git: bool,
    ) -> Result<(), Errno> {
        let mut flags = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
        if is_of_git {
            flags |= WatchFlags::MODIFY;
        }
        let by_number = format!("/proc/self/fd/{}", directory.as_raw_fd());
        let watch = inotify::add_watch(&self.watches, by_number, flags)?;
        self.places.insert(watch, (tree, path.to_owned()));
        Ok(())
    }

    /// Looks at every name that has come into being since the last call.
    pub(super) fn look(
        &mut self,
        trees: &mut [Tree],
        protect: &ProtectSet,
        held: &mut dyn FnMut(&HeldName),
    ) {
        while let Some((names, is_full)) = self.read() {
            let count = trees.len();
            let known = names.into_iter().filter(|(number, _)| *number < count);
            for (number, path) in known {
                trees[number].check(&path, protect, self, held);
            }
            for tree in trees.iter_mut().filter(|_| is_full) {
                tree.look_again(protect, self, held);
            }
        }
    }

    /// Returns names, and whether some were lost; `None` when there is no news.
    fn read(&mut self) -> Option<(BTreeSet<(usize, PathBuf)>, bool)> {
        let mut space = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = inotify::Reader::new(&self.watches, &mut space);
        let (mut names, mut gone) = (BTreeSet::new(), Vec::new());
        let (mut is_full, mut is_any) = (false, false);
        while let Ok(event) = reader.next() {
            is_any = true;
            if event.events().contains(ReadFlags::IGNORED) {
                gone.push(event.wd());
            }
            is_full |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
            if let (Some((tree, path)), Some(name)) = (self.places.get(&event.wd()), name) {
                names.insert((*tree, path.join(name)));
            }
            if reader.is_buffer_empty() {
                break;
            }
        }
        self.places.retain(|watch, _| !gone.contains(watch));
        is_any.then_some((names, is_full))
    }
}

impl Tree {
    /// Opens a mount and its layer, and watches where protected names may appear.
    pub(super) fn open(
        number: usize,
        guard: &Guard,
        run: &Path,
        queue: &mut Queue,
    ) -> Result<Self, Errno> {
        let root = OsFs.open_canonical(guard.source.as_path())?;
        if FileId::from(sys::identity::of(&root)?.parts()) != guard.id {
            return Err(Errno::STALE);
        }
        let run = run.canonicalize().map_err(|_| Errno::NOENT)?;
        let upper = OsFs.open_canonical(&run.join(&guard.layer.0).join(UPPER))?;
        let hidden = guard.hidden.iter().map(|name| name.path.clone());
        let tree = Self {
            number,
            held: HeldLayer::new(root, upper),
            prefix: guard.prefix.clone(),
            left: guard.there.iter().cloned().chain(hidden).collect(),
            later: BTreeSet::new(),
            ways: guard.ways.clone(),
        };
        for path in tree.watched() {
            if let Ok(directory) = tree.directory(path) {
                queue.add(&directory, number, path, tree.is_of_git(path))?;
            }
        }
        Ok(tree)
    }

    /// Whether settings of git may be in a directory.
    fn is_of_git(&self, path: &Path) -> bool {
        spare::is_of_git(&self.prefix.join(path).join("config"))
    }

    fn watched(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(Path::new("")).chain(self.ways.iter().map(PathBuf::as_path))
    }

    fn directory(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        OsFs.open_below(self.held.root(), path, Open::List)
    }

    /// Looks at one name, and at what is in it when it is a directory on the way to others.
    fn check(
        &mut self,
        path: &Path,
        protect: &ProtectSet,
        queue: &mut Queue,
        held: &mut dyn FnMut(&HeldName),
    ) {
        let is_left = path.ancestors().any(|above| self.left.contains(above));
        let shown = self.prefix.join(path);
        let rule = protect.matching(&shown);
        let leading = if rule.is_none() { protect.leading(&shown) } else { None };
        let Some(known) = rule.or(leading).filter(|_| !is_left) else { return };
        let Some(kind) = self.kind(path) else { return };
        let verdict = match (rule, kind) {
            (Some(_), kind) => spare::judge(&shown, kind, || self.text(path)),
            (None, Kind::Directory) => Verdict::Enter,
            // In the place of the directory it would lead elsewhere.
            (None, Kind::Symlink | Kind::File) if spare::leads_elsewhere(&shown, kind) => {
                Verdict::Hold
            }
            (None, _) => return,
        };
        match verdict {
            Verdict::Spare => drop(self.later.insert(path.to_owned())),
            Verdict::Enter if self.enter((path, usize::MAX), protect, queue, held) => {}
            Verdict::Empty if self.enter((path, NAMES), protect, queue, held) => {
                self.later.insert(path.to_owned());
            }
            Verdict::Enter if rule.is_none() => {}
            Verdict::Enter | Verdict::Empty | Verdict::Hold => {
                self.hold(path, &known.pattern, held);
            }
        }
    }

    fn hold(&mut self, path: &Path, rule: &str, held: &mut dyn FnMut(&HeldName)) {
        match self.held.take(&OsFs, path, Pace::AtOnce) {
            Ok(Taken::Held) => {
                let (path, rule) = (path.to_owned(), rule.to_owned());
                held(&HeldName { guard: self.number, path, rule });
            }
            Ok(Taken::Gone) => {}
            // The end of the run tries again, and tells what can't be.
            Ok(Taken::Later) | Err(_) => drop(self.later.insert(path.to_owned())),
        }
    }

    /// Watches a directory and looks at what is in it; returns whether there is not more than
    /// the number of names.
    fn enter(
        &mut self,
        (path, most): (&Path, usize),
        protect: &ProtectSet,
        queue: &mut Queue,
        held: &mut dyn FnMut(&HeldName),
    ) -> bool {
        let Ok(directory) = self.directory(path) else { return true };
        if path.iter().count() >= DEPTH || queue.places.len() >= WATCHES {
            return false;
        }
        // What comes before the watch is listed, and what comes after it is told.
        let _ = queue.add(&directory, self.number, path, self.is_of_git(path));
        let Ok(entries) = OsFs.list(directory.as_fd(), usize::MAX) else { return false };
        if entries.len() > most {
            return false;
        }
        for entry in entries {
            self.check(&path.join(&entry.name), protect, queue, held);
        }
        true
    }

    /// News were lost: looks at all that is watched.
    fn look_again(
        &mut self,
        protect: &ProtectSet,
        queue: &mut Queue,
        held: &mut dyn FnMut(&HeldName),
    ) {
        let watched: Vec<PathBuf> = self.watched().map(Path::to_owned).collect();
        for path in watched {
            self.enter((&path, usize::MAX), protect, queue, held);
        }
    }

    /// Nobody changes the mount from inside any more, nor waits.
    pub(super) fn end(
        &mut self,
        protect: &ProtectSet,
        queue: &mut Queue,
        held: &mut dyn FnMut(&HeldName),
    ) {
        self.look_again(protect, queue, held);
        for path in std::mem::take(&mut self.later) {
            let shown = self.prefix.join(&path);
            let rule = protect.matching(&shown).or_else(|| protect.leading(&shown));
            let kind = self.kind(&path);
            let is_spared =
                |kind| spare::judge(&shown, kind, || self.text(&path)) == Verdict::Spare;
            if let (Some(rule), Some(kind)) = (rule, kind)
                && !is_spared(kind)
                && self.held.take(&OsFs, &path, Pace::Whole) == Ok(Taken::Held)
            {
                let (guard, rule) = (self.number, rule.pattern.clone());
                held(&HeldName { guard, path, rule });
            }
        }
        // What can't be copied is lost, as it would be were the disk full for the command itself.
        let _ = self.held.finish(&OsFs);
    }

    fn kind(&self, path: &Path) -> Option<Kind> {
        let (above, name) = (path.parent()?, path.file_name()?);
        let directory = self.directory(above).ok()?;
        OsFs.status(directory.as_fd(), name).ok().map(|found| found.kind)
    }

    /// Reads settings; `None` for what is no file of their size.
    fn text(&self, path: &Path) -> Option<Vec<u8>> {
        let (above, name) = (path.parent()?, path.file_name()?);
        let directory = self.directory(above).ok()?;
        let file = OsFs.open_file(directory.as_fd(), name).ok()?;
        let found = OsFs.status_of(file.as_fd()).ok()?;
        let is_whole = found.kind == Kind::File && found.size <= git_config::MAX;
        let mut text = vec![0; usize::try_from(found.size).ok().filter(|_| is_whole)?];
        let length = OsFs.read(file.as_fd(), &mut text).ok()?;
        text.truncate(length);
        (length as u64 == found.size).then_some(text)
    }
}
