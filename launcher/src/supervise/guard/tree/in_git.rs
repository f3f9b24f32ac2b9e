//! What is in directories of git's, which no walk of names enters.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_policy::{ProtectSet, is_name};
use endow_vfs::fs::{Kind, OsFs};
use endow_vfs::git_dir;
use endow_vfs::traps::{GitTraps, Sides};

use super::{HeldName, Tree};

/// Why a repository in a directory of git's is taken away.
const WITHIN: &str = "a repository inside of git's directory";
/// Why what is no file is taken away.
const SPECIAL: &str = "what git would wait for without end";
/// Where git's own daemon is asked what changed.
const DAEMON: &str = "fsmonitor--daemon.ipc";
/// Names that steer a repository, or that it runs.
const STEERING: [&str; 5] = ["config", "config.worktree", "commondir", "gitdir", "hooks"];
/// Why one of them is taken away where no repository is.
const STEERS: &str = "what would steer a repository";

impl Tree {
    /// Looks at links there, and takes repositories away: git makes none, and a later command would find one that nobody has
    /// looked at.
    pub(super) fn check_in_git(
        &mut self,
        directory: &Path,
        protect: &ProtectSet,
        held: &mut dyn FnMut(&HeldName),
    ) {
        for (path, kind) in self.all_in_git(directory) {
            // Some tools keep linked work trees there, and users repositories.
            let is_known = || self.is_of_own_repository(&path, &path) || self.is_untouched(&path);
            if git_dir::is_file(&path) && is_known() {
                continue;
            }
            if git_dir::is_file(&path) {
                self.take_whole(path, WITHIN.to_owned(), held);
            } else if kind == Kind::Symlink {
                self.check_link(&path, protect, held);
            }
        }
    }

    /// Takes files away that git can't be let read: indexes, whatever their age, since what leads to one may be new, and
    /// others that are new.
    pub(super) fn check_files(&mut self, directory: &Path, held: &mut dyn FnMut(&HeldName)) {
        for (path, kind) in self.all_in_git(directory) {
            if let Some(why) = self.unsound((directory, &path), kind) {
                self.take_whole(path, why.to_owned(), held);
            }
        }
        for path in self.special_in_git(directory) {
            self.take_whole(path, SPECIAL.to_owned(), held);
        }
    }

    /// Returns what is no file, directory or link and is new there, among objects too: git opens what it finds, and waits.
    fn special_in_git(&self, directory: &Path) -> Vec<PathBuf> {
        let (mut found, mut pending) = (Vec::new(), vec![directory.to_owned()]);
        while let Some(path) = pending.pop() {
            let (directories, others): (Vec<_>, Vec<_>) =
                self.entries(&path).into_iter().partition(|(_, kind)| *kind == Kind::Directory);
            let entered = directories.into_iter().map(|(below, _)| below);
            pending.extend(entered.filter(|below| !git_dir::is_file(below)));
            let special = others.into_iter().filter(|(_, kind)| *kind == Kind::Other);
            let special = special.map(|(below, _)| below).filter(|below| !is_daemons(below));
            found.extend(special.filter(|below| !self.is_untouched(below)));
        }
        found
    }

    fn unsound(&self, (directory, path): (&Path, &Path), kind: Kind) -> Option<&'static str> {
        let git = GitTraps::new(Sides::new(&OsFs, None, self.held.root()));
        let index = git.unsound_index(path, &self.indexes, &|| self.is_untouched(path));
        if let Some(why) = index.filter(|_| kind == Kind::File) {
            return Some(why);
        }
        let is_file = matches!(kind, Kind::File | Kind::Symlink);
        let is_state = || is_file.then(|| git.unsound_state(path)).flatten();
        let index = index.filter(|_| is_file);
        if let Some(why) = index.or_else(is_state).filter(|_| !self.is_untouched(path)) {
            return Some(why);
        }
        self.steers_nothing_yet(directory, path).then_some(STEERS)
    }

    /// Whether a new name would steer a repository in a directory that is none: git may be led there by a file that it
    /// writes later, and what it writes are ids. Tools have settings in others, where branches may be called so, too.
    fn steers_nothing_yet(&self, directory: &Path, path: &Path) -> bool {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return false };
        let Ok(place) = above.strip_prefix(directory) else { return false };
        let is_known = || self.found.as_ref().is_some_and(|found| found.contains(above));
        let is_new = || {
            if place.iter().any(is_id) { !self.is_untouched(path) } else { !self.is_as_old(path) }
        };
        STEERING.iter().any(|it| is_name(name.as_bytes(), it))
            && !place.as_os_str().is_empty()
            && !place.iter().any(|name| name == "refs" || name == "logs")
            && !is_known()
            && (self.kind(path) != Some(Kind::Directory) || !self.entries(path).is_empty())
            && is_new()
    }

    /// Returns all but objects, and nothing of what is in a repository there.
    fn all_in_git(&self, directory: &Path) -> Vec<(PathBuf, Kind)> {
        let (mut found, mut pending) = (Vec::new(), vec![directory.to_owned()]);
        while let Some(path) = pending.pop() {
            let (is_objects, entries) = (self.is_objects(&path), self.entries(&path));
            let is_entered = |(below, kind): &&(PathBuf, Kind)| {
                let is_dull = || is_objects && self.has_objects_alone(below);
                *kind == Kind::Directory && !git_dir::is_file(below) && !is_dull()
            };
            let dull = entries.iter().filter(|it| it.1 == Kind::Directory && !is_entered(it));
            let led = dull.map(|(below, _)| below.join(".git"));
            found.extend(
                led.filter_map(|led| Some((self.kind(&led)?, led))).map(|(kind, led)| (led, kind)),
            );
            pending.extend(entries.iter().filter(is_entered).map(|(below, _)| below.clone()));
            let is_told = |(below, _): &(PathBuf, Kind)| !is_objects || git_dir::is_file(below);
            found.extend(entries.into_iter().filter(is_told));
        }
        found
    }

    fn is_objects(&self, path: &Path) -> bool {
        let is_named = path.file_name() == Some(OsStr::new("objects"));
        is_named && self.kind(&path.with_file_name("HEAD")) == Some(Kind::File)
    }

    /// Whether a directory is one of many that git keeps objects in, and has none below: file systems that count names tell.
    fn has_objects_alone(&self, path: &Path) -> bool {
        let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
        let is_kept = matches!(name, b"pack" | b"info")
            || (name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit));
        let links = || rustix::fs::fstat(self.directory(path).ok()?.as_fd()).ok();
        is_kept && links().is_some_and(|found| found.st_nlink == 2)
    }
}

fn is_daemons(path: &Path) -> bool {
    path.file_name() == Some(OsStr::new(DAEMON))
}

/// Whether a name is one that git gives an object.
fn is_id(name: &OsStr) -> bool {
    git_dir::is_object_name(&name.as_bytes().to_ascii_lowercase())
}
