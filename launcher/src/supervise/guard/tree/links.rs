//! Links through which a program outside would write what another one follows or runs: those that the
//! command made. A cover keeps the command from a name, not the user's programs.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use endow_policy::ProtectSet;
use endow_vfs::fs::{COARSEST, Fs, Kind, OsFs, Status};
use endow_vfs::traps::{GitTraps, Lies, LinkTraps, Lying, Sides};

use super::{HeldName, Tree};
use crate::plan::host::Noted;

/// Why a link is taken away that leads git's work tree elsewhere.
const WORK_TREE: &str = "a link in the place of a work tree";

/// Why one is that leads to what nobody has looked at.
const UNSEARCHED: &str = "a link to what could not be searched for protected names";

/// What of a repository makes it one, or leads git to settings.
const STEER: [&str; 5] = ["HEAD", "config", "config.worktree", "commondir", "gitdir"];

/// Times of files come from a clock that may be so far behind (4 to 10 ms, by the kernel's build).
const GRAIN: Duration = Duration::from_millis(10);

impl Tree {
    /// Takes a link away that leads where others write.
    pub(super) fn check_link(
        &mut self,
        path: &Path,
        protect: &ProtectSet,
        held: &mut dyn FnMut(&HeldName),
    ) {
        if let Some(reason) = self.link_trap(path, protect) {
            if self.is_over {
                self.take_whole(path.to_owned(), reason, held);
            } else {
                self.hold(path, &reason, held);
            }
        }
    }

    fn link_trap(&self, path: &Path, protect: &ProtectSet) -> Option<String> {
        let (above, name) = path.parent().zip(path.file_name())?;
        let directory = self.directory(above).ok()?;
        let is_news = self.is_news(&directory, name);
        if !is_news && !self.is_over || self.left.has(self.held.root(), path) {
            return None;
        }
        let target = OsFs.read_link(directory.as_fd(), name).ok()?;
        self.judging(protect, &|links| {
            let why = is_news.then(|| links.reason(path, &target)).flatten();
            why.or_else(|| self.leads_unseen((path, is_news), &target, links))
                .or_else(|| (is_news && self.is_over).then(|| links.below(path, &target)).flatten())
        })
    }

    /// Returns why a link is held that leads to what the walk at the end could not look through; one that was there, where
    /// the command made that.
    fn leads_unseen(
        &self,
        (path, is_news): (&Path, bool),
        target: &OsStr,
        links: &LinkTraps<'_>,
    ) -> Option<String> {
        let whole = Path::new("");
        // That there were more than are named says nothing of a link that was there.
        let named = self.unsearched.iter().filter(|missed| is_news || *missed != whole);
        let named: Vec<PathBuf> = named.cloned().collect();
        let missed = links.unsearched(path, target, &named)?;
        (is_news || !self.is_as_old(&missed)).then(|| UNSEARCHED.to_owned())
    }

    /// Takes away what is new below the end of a link that was there, and would not stay at the link's own place.
    fn check_below(&mut self, path: &Path, protect: &ProtectSet, held: &mut dyn FnMut(&HeldName)) {
        let Some((above, name)) = path.parent().zip(path.file_name()) else { return };
        let Ok(directory) = self.directory(above) else { return };
        if self.is_news(&directory, name) {
            return;
        }
        let Ok(target) = OsFs.read_link(directory.as_fd(), name) else { return };
        let lying = self.judging(protect, &|links| {
            let mut all = Vec::new();
            links.each_below(path, &target, &mut |lying| {
                all.push(lying);
                ControlFlow::Continue(())
            });
            Some(all)
        });
        let new = lying.into_iter().flatten().flat_map(|lying| self.new_of(lying));
        let new: BTreeMap<PathBuf, Lies> = new.map(|it| (it.place, it.lies)).collect();
        self.judge(&new);
        for (place, lies) in new {
            self.take_whole(place, lies.words().to_owned(), held);
        }
    }

    /// Has the end of the run hold what by its own path it would put back. Of a repository that holds what counts.
    fn judge(&self, new: &BTreeMap<PathBuf, Lies>) {
        let shown = new.iter().filter(|(_, lies)| !matches!(lies, Lies::Repository));
        let shown: Vec<&Path> = shown.map(|(place, _)| place.as_path()).collect();
        if !shown.is_empty() && self.held.judge(&OsFs, &shown).is_err() {
            for place in shown {
                self.missed.stays(place);
            }
        }
    }

    /// Returns what is new of what lies below a link. Each command of git's changes the directory of a repository: that
    /// came there only where the one above it changed, too. Of one that was there what leads git, and what git runs, counts
    /// by itself.
    fn new_of(&self, lying: Lying) -> Vec<Lying> {
        let place = &lying.place;
        let is_new = self.has_changed(place);
        let has_come = is_new && place.parent().is_some_and(|above| self.has_changed(above));
        if lying.lies == Lies::Unseen && !is_new && self.kind(place) == Some(Kind::Directory) {
            self.missed.unsearched(place);
        }
        if lying.lies != Lies::Repository || has_come {
            return if is_new { vec![lying] } else { Vec::new() };
        }
        let why = || Lies::Protected(lying.lies.words().to_owned());
        let parts = self.new_parts(place).into_iter();
        parts.map(|place| Lying { place, lies: why() }).collect()
    }

    fn has_changed(&self, path: &Path) -> bool {
        self.kind(path).is_some() && !self.is_as_old(path)
    }

    /// Returns what is new in a repository of what leads git to other settings, or is run.
    fn new_parts(&self, repository: &Path) -> Vec<PathBuf> {
        let hooks = repository.join("hooks");
        let mut parts: Vec<PathBuf> = STEER.iter().map(|part| repository.join(part)).collect();
        match self.kind(&hooks) {
            Some(Kind::Directory) if self.directory(&hooks).is_err() => {
                self.missed.unsearched(&hooks);
            }
            Some(Kind::Directory) => {
                parts.extend(self.entries(&hooks).into_iter().map(|(path, _)| path));
            }
            _ => parts.push(hooks),
        }
        parts.retain(|path| self.has_changed(path));
        parts
    }

    /// Asks of links as they are now.
    fn judging<T>(
        &self,
        protect: &ProtectSet,
        ask: &dyn Fn(&LinkTraps<'_>) -> Option<T>,
    ) -> Option<T> {
        let sides = Sides::new(&OsFs, None, self.held.root());
        let protected = |path: &Path| {
            let shown = self.shown(path);
            protect.guarding(&shown).map(|rule| rule.pattern.clone())
        };
        let git = GitTraps::new(sides.clone());
        let links = LinkTraps::new((sides, self.roots.clone()), &git, &protected);
        ask(&links.counting(&self.names_left))
    }

    /// Whether a name was made or moved since the run began. No call can set that time back.
    fn is_news(&self, directory: &OwnedFd, name: &OsStr) -> bool {
        OsFs.status(directory.as_fd(), name).is_ok_and(|found| self.is_young(&found))
    }

    /// Some file systems keep whole seconds alone.
    pub(super) fn is_young(&self, found: &Status) -> bool {
        let seconds = u64::try_from(found.changed.tv_sec).unwrap_or(0);
        let nanoseconds = u32::try_from(found.changed.tv_nsec).unwrap_or(0);
        let grain = if nanoseconds == 0 { COARSEST } else { GRAIN };
        UNIX_EPOCH + Duration::new(seconds, nanoseconds) + grain >= self.started
    }

    /// Looks at the links that a walk noted, and at all in directories of git's: no walk enters those.
    pub(super) fn check_links(
        &mut self,
        (noted, work_trees): (&Noted, &BTreeSet<PathBuf>),
        protect: &ProtectSet,
        held: &mut dyn FnMut(&HeldName),
    ) {
        for link in &noted.links {
            if self.replaces_work_tree(link, work_trees) && !self.left.has(self.held.root(), link) {
                self.take_whole(link.clone(), WORK_TREE.to_owned(), held);
                continue;
            }
            self.check_link(link, protect, held);
            self.check_below(link, protect, held);
        }
        for directory in self.git_directories(noted) {
            self.check_in_git(&directory, protect, held);
        }
    }

    pub(super) fn git_directories(&self, noted: &Noted) -> BTreeSet<PathBuf> {
        let named = noted.names.iter().map(|(path, _)| path);
        let named = named.filter(|path| path.file_name() == Some(OsStr::new(".git")));
        let own = if self.prefix.as_os_str().is_empty() { ".git" } else { "" };
        named.chain(&noted.repositories).cloned().chain([PathBuf::from(own)]).collect()
    }

    pub(super) fn entries(&self, path: &Path) -> Vec<(PathBuf, Kind)> {
        let listed = self.directory(path).and_then(|it| OsFs.list(it.as_fd(), usize::MAX));
        let entries = listed.unwrap_or_default().into_iter();
        let with_kind = entries.filter_map(|entry| {
            let below = path.join(entry.name);
            let kind = entry.kind.or_else(|| self.kind(&below))?;
            Some((below, kind))
        });
        with_kind.collect()
    }
}
