//! One live mount that is watched.

mod closed;
mod found;
mod in_git;
mod kept;
mod led;
mod links;
mod missed;
mod programs;
mod queue;
mod times;
mod vendored;

use std::collections::BTreeSet;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use endow_policy::ProtectSet;
use endow_vfs::fs::{Fs, Kind, Open, OsFs};
use endow_vfs::git_config::Setting;
use endow_vfs::held::{HeldLayer, Pace, Taken};
use endow_vfs::traps::{IndexWork, NamesLeft};
use rustix::io::Errno;

use super::left::Left;
use super::news::{HeldName, Missed};
use super::spare::{self, Verdict};
use crate::plan::host::{LiveNames, Noted, ProgramDirectory};
use crate::plan::step::{FileId, Guard, UPPER};
use crate::sys;
use missed::AllMissed;
pub(super) use queue::Queue;
use vendored::is_vendored;

/// How deep in the mount directories are watched.
const DEPTH: usize = 32;
/// Directories one below the other that are looked into at the end, below each that the walk found.
const DEPTH_AT_END: usize = 192;
/// A directory with more names was moved there whole, and is taken away whole.
const NAMES: usize = 64;

/// A live mount.
#[derive(Debug)]
pub(super) struct Tree {
    number: usize,
    held: HeldLayer,
    /// What patterns see before a path.
    prefix: PathBuf,
    /// Directories of git's that are no `.git`: patterns see one.
    repositories: BTreeSet<PathBuf>,
    /// What git may take for one of its directories, besides each `.git`; known when the command is over.
    found: Option<BTreeSet<PathBuf>>,
    /// Where the mount stands on the host, whose git follows what stands in it.
    source: PathBuf,
    left: Left,
    /// How much of indexes may still be looked at.
    indexes: IndexWork,
    /// How many names may still be looked at below links.
    names_left: NamesLeft,
    /// What the walk at the end could not look through.
    unsearched: Vec<PathBuf>,
    /// Where the mount stands, as links name it: in the view and on the host.
    roots: Vec<PathBuf>,
    /// When the run began.
    started: SystemTime,
    /// When the run began, where it is not known what was there further down.
    begun: Option<SystemTime>,
    /// What was spared, or is taken away when nobody waits.
    later: BTreeSet<PathBuf>,
    ways: Vec<PathBuf>,
    programs: Vec<ProgramDirectory>,
    /// The command is over: what it closed is opened.
    is_over: bool,
    /// Directories that are being looked into, one below the other.
    entered: usize,
    /// Something could not be looked at, or not be taken away.
    missed: AllMissed,
}

impl Tree {
    /// Opens a mount and its layer, and watches where protected names may appear.
    pub(super) fn open(
        number: usize,
        guard: &Guard,
        (run, started): (&Path, SystemTime),
        queue: &mut Queue,
    ) -> Result<Self, Errno> {
        let root = OsFs.open_canonical(guard.source.as_path())?;
        if FileId::from(sys::identity::of(&root)?.parts()) != guard.id {
            return Err(Errno::STALE);
        }
        let run = run.canonicalize().map_err(|_| Errno::NOENT)?;
        let upper = OsFs.open_canonical(&run.join(&guard.layer.0).join(UPPER))?;
        let names = &guard.names;
        let roots = [guard.at.as_path(), guard.source.as_path()].map(Path::to_owned);
        let left = Left::of(guard, root.as_fd());
        let kept = left.hidden();
        let tree = Self {
            number,
            held: HeldLayer::new(root, upper).keeping(kept),
            prefix: names.prefix.clone(),
            repositories: BTreeSet::new(),
            found: None,
            source: guard.source.as_path().to_owned(),
            left,
            indexes: IndexWork::default(),
            names_left: NamesLeft::default(),
            unsearched: Vec::new(),
            roots: roots.into(),
            started,
            begun: (!names.whole).then_some(started),
            later: BTreeSet::new(),
            is_over: false,
            entered: 0,
            missed: AllMissed::default(),
            ways: ways(names),
            programs: names.programs.clone(),
        };
        for path in tree.watched() {
            if let Ok(directory) = tree.directory(path) {
                let is_written = tree.is_of_git(path) || tree.has_git_file(path);
                queue.add(&directory, number, path, is_written)?;
            }
        }
        Ok(tree)
    }

    /// Returns what of the mount was not looked at, or is left.
    pub(super) fn missed(&self) -> impl Iterator<Item = Missed> {
        self.missed.of(self.number)
    }

    /// Whether settings of git may be in a directory.
    fn is_of_git(&self, path: &Path) -> bool {
        spare::is_of_git(&self.shown(path).join("config"))
    }

    /// Whether a directory has a file that leads git to a repository, and can be changed.
    fn has_git_file(&self, path: &Path) -> bool {
        self.kind(&path.join(".git")) == Some(Kind::File)
    }

    /// Returns a path as patterns see it.
    fn shown(&self, path: &Path) -> PathBuf {
        let of_git = path.ancestors().find(|above| self.repositories.contains(*above));
        let below =
            of_git.and_then(|above| Some(above.join(".git").join(path.strip_prefix(above).ok()?)));
        self.prefix.join(below.as_deref().unwrap_or(path))
    }

    fn watched(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(Path::new("")).chain(self.ways.iter().map(PathBuf::as_path))
    }

    fn directory(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let opened = self.directory_as_it_is(path);
        if self.is_over && self.is_unseen(path, &opened) {
            self.missed.unsearched(path);
        }
        if self.is_over && self.opens_up(path, &opened) {
            return self.directory_as_it_is(path);
        }
        opened
    }

    fn directory_as_it_is(&self, path: &Path) -> Result<OwnedFd, Errno> {
        OsFs.open_below(self.held.root(), path, Open::List)
    }

    /// Looks at one name, and at what is in it when it is a directory on the way to others.
    fn check(
        &mut self,
        (path, kind): (&Path, Option<Kind>),
        protect: &ProtectSet,
        queue: &mut Queue,
        held: &mut dyn FnMut(&HeldName),
    ) {
        let shown = self.shown(path);
        let rule = protect.matching(&shown);
        let leading = if rule.is_none() { protect.leading(&shown) } else { None };
        let Some(known) = rule.or(leading) else {
            if let Some(why) = self.shadows(path) {
                self.hold(path, &why, held);
            } else if kind.is_none_or(|kind| kind == Kind::Symlink) {
                self.check_link(path, protect, held);
            }
            return;
        };
        if self.left.has(self.held.root(), path) {
            return;
        }
        let Some(verdict) = self.verdict(path, &shown, rule.is_some()) else { return };
        match verdict {
            Verdict::Hold | Verdict::Empty if self.is_old(path, protect) => {}
            Verdict::Spare => drop(self.later.insert(path.to_owned())),
            Verdict::Enter if self.enter((path, usize::MAX), protect, queue, held) => {}
            Verdict::Empty
                if queue.has_room() && self.enter((path, NAMES), protect, queue, held) =>
            {
                self.later.insert(path.to_owned());
            }
            Verdict::Enter if rule.is_none() => {}
            Verdict::Enter | Verdict::Empty | Verdict::Hold => {
                self.hold(path, &known.pattern, held);
                if self.kind(path).is_none() {
                    queue.forget(self.number, path);
                }
            }
        }
    }

    /// Decides; `None` when a name is gone, or does not matter.
    fn verdict(&self, path: &Path, shown: &Path, is_protected: bool) -> Option<Verdict> {
        let kind = self.kind(path)?;
        if is_protected {
            let is_known = |setting: &Setting| self.is_known(path, setting);
            return Some(spare::judge(shown, kind, || self.text(path), &is_known));
        }
        match kind {
            Kind::Directory => Some(Verdict::Enter),
            Kind::File if self.is_of_own_repository(path, shown) => Some(Verdict::Spare),
            // In the place of the directory it would lead elsewhere, or have git wait.
            Kind::Symlink | Kind::File | Kind::Other => {
                spare::leads_elsewhere(shown, kind).then_some(Verdict::Hold)
            }
        }
    }

    /// Whether it was there before the run, where nothing else tells.
    fn is_old(&self, path: &Path, protect: &ProtectSet) -> bool {
        if is_vendored(path) {
            return self.is_untouched(path) && (!self.leads(path) || self.has_stood(path));
        }
        let Some(begun) = self.begun else { return false };
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return false };
        let Ok(above) = self.directory(above) else { return false };
        let found = sys::identity::at(above.as_fd(), name);
        let born = found.map_or(0, |(found, _)| found.born);
        born != 0
            && UNIX_EPOCH + Duration::from_nanos(born) < begun
            && self.is_in_place(path, protect)
    }

    fn hold(&mut self, path: &Path, rule: &str, held: &mut dyn FnMut(&HeldName)) {
        if self.found.is_some() {
            return self.take_whole(path.to_owned(), rule.to_owned(), held);
        }
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

    /// Takes a name away for which there is no later.
    pub(super) fn take_whole(
        &mut self,
        path: PathBuf,
        rule: String,
        held: &mut dyn FnMut(&HeldName),
    ) {
        match self.held.take(&OsFs, &path, Pace::Whole) {
            Ok(Taken::Held) => held(&HeldName { guard: self.number, path, rule }),
            Ok(Taken::Gone) => {}
            Ok(Taken::Later) | Err(_) => self.missed.stays(&path),
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
        if self.is_too_deep(path, queue.is_over) {
            return false;
        }
        // What comes before the watch is listed, and what comes after it is told.
        let _ = queue.add(&directory, self.number, path, self.is_of_git(path));
        let Ok(entries) = OsFs.list(directory.as_fd(), usize::MAX) else { return false };
        if entries.len() > most {
            return false;
        }
        self.entered += 1;
        for entry in entries {
            self.check((&path.join(&entry.name), entry.kind), protect, queue, held);
        }
        self.entered -= 1;
        true
    }

    /// A name further down is looked at when the command is over, then from where the walk found it:
    /// only a chain that is deeper by itself is not.
    fn is_too_deep(&self, path: &Path, is_over: bool) -> bool {
        let is_missed = is_over && self.entered >= DEPTH_AT_END;
        if is_missed {
            self.missed.unsearched(path);
        }
        is_missed || (!is_over && path.iter().count() >= DEPTH)
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

    /// Nobody changes the mount from inside any more, nor waits: looks at what a walk of the whole tree
    /// found, too.
    pub(super) fn end(
        &mut self,
        noted: &Noted,
        protect: &ProtectSet,
        queue: &mut Queue,
        held: &mut dyn FnMut(&HeldName),
    ) {
        queue.is_over = true;
        let found = self.found_repositories(noted);
        self.found = Some(found.keys().cloned().collect());
        self.look_again(protect, queue, held);
        for (path, _) in &noted.names {
            self.check((path, None), protect, queue, held);
        }
        let mut directories = self.git_directories(noted);
        directories.extend(found.keys().cloned());
        for (repository, is_linked) in found {
            if !is_linked {
                self.repositories.insert(repository.clone());
            }
            self.enter((&repository, usize::MAX), protect, queue, held);
        }
        self.check_kept(&directories, protect, queue, held);
        let work_trees = self.work_trees(&directories);
        self.check_links((noted, &work_trees), protect, held);
        for path in std::mem::take(&mut self.later) {
            let shown = self.shown(&path);
            let matching = protect.matching(&shown);
            let verdict = self.verdict(&path, &shown, matching.is_some());
            let rule = matching.or_else(|| protect.leading(&shown));
            if let Some(rule) = rule
                && verdict.is_some_and(|verdict| verdict != Verdict::Spare)
            {
                self.take_whole(path, rule.pattern.clone(), held);
            }
        }
        // By settings that are gone now an index may be read in another way.
        for directory in directories {
            self.check_files(&directory, held);
        }
        for path in self.held.finish(&OsFs) {
            self.missed.stays(&path);
        }
        for path in self.held.part(&OsFs) {
            self.missed.shared(&path);
        }
        let _ = self.held.close(&OsFs);
    }
}

/// Returns the directories in which names are looked for.
fn ways(names: &LiveNames) -> Vec<PathBuf> {
    let links = names.programs.iter().flat_map(|it| &it.links);
    let links = links.filter_map(|(link, _)| link.parent()).flat_map(Path::ancestors);
    let programs = names.programs.iter().flat_map(|it| it.path.ancestors()).chain(links);
    let ways = names.ways.iter().chain(&names.deep_ways).map(PathBuf::as_path).chain(programs);
    ways.filter(|it| !it.as_os_str().is_empty()).map(Path::to_owned).collect()
}
