//! What leads from the root of a mount to protected names, and which of them are there.
//!
//! Looked at are the root, and what leads from there to a pattern's name, which costs the same in any
//! tree; further down what the walk of names noted, where there is one.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::FileType;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_policy::ProtectSet;
use endow_vfs::git_dir;
use rustix::fs::CWD;

use super::{file_id, small_file};
use crate::plan::host::{DeepName, Noted};
use crate::sys::identity;

/// Directories one below the other that are looked at. No pattern is so long; what leads on may be called the
/// same all the way down.
const DEPTH: usize = 128;

/// The most bytes of a file that leads to a repository: git takes no longer path.
const LARGEST: u64 = 64 << 10;

/// What was found in a mount, by paths below its root.
#[derive(Clone)]
pub(super) struct Explored {
    /// What patterns see before a path.
    pub(super) prefix: &'static Path,
    /// At the root, and along the ways from there.
    pub(super) top: Names,
    /// At and below what the walk noted.
    pub(super) deep: Names,
    /// What the walk noted, but for what is known from above.
    pub(super) noted: Vec<DeepName>,
    /// Whether nothing at the root is called as what git looks for.
    pub(super) has_no_git: bool,
}

/// By what git takes a directory for a work tree, or for one of its own (see [`git_dir::was`]).
const SIGNS: [&[u8]; 3] = [b".git", b"HEAD", b"config"];

/// What a directory holds.
struct Listed {
    /// The names, with what each is.
    names: Vec<(OsString, FileType)>,
    /// Whether these are all.
    is_whole: bool,
}

impl Listed {
    fn of(directory: &Path) -> Option<Self> {
        let entries = std::fs::read_dir(directory).ok()?;
        let known = entries.map(|entry| entry.and_then(|it| Ok((it.file_name(), it.file_type()?))));
        let mut listed = Self { names: Vec::new(), is_whole: true };
        for entry in known {
            listed.is_whole &= entry.is_ok();
            listed.names.extend(entry);
        }
        Some(listed)
    }

    /// Whether a name that git looks for may find one of these: a file system that folds case takes other letters for
    /// the same, too.
    fn may_have_sign(&self) -> bool {
        let is_sign = |name: &[u8]| SIGNS.iter().any(|sign| name.eq_ignore_ascii_case(sign));
        let may_be_sign = |name: &[u8]| !name.is_ascii() || is_sign(name);
        !self.is_whole || self.names.iter().any(|(name, _)| may_be_sign(name.as_bytes()))
    }
}

impl Explored {
    /// Looks at a mount by the patterns that hold below its root.
    pub(super) fn of(root: &Path, protect: &ProtectSet, noted: Option<&Noted>) -> Self {
        let listed = Listed::of(root);
        let has_no_git = listed.as_ref().is_some_and(|listed| !listed.may_have_sign());
        let is_git = !has_no_git && git_dir::was_alone(root);
        let prefix = Path::new(if is_git { ".git" } else { "" });
        let (top, deep, names) = (Names::default(), Names::default(), Vec::new());
        let mut explored = Self { prefix, top, deep, noted: names, has_no_git };
        explored.top.look_at((root, prefix), Path::new(""), protect, listed);
        if let Some(noted) = noted {
            explored.look_deep(root, protect, noted);
        }
        explored
    }

    /// Returns the links in the place of protected names.
    pub(super) fn links(&self) -> impl Iterator<Item = &Path> {
        self.top.links.iter().chain(&self.deep.links).map(PathBuf::as_path)
    }

    /// Returns directories on the way to protected names that could not be listed.
    pub(super) fn closed(&self) -> impl Iterator<Item = &Path> {
        self.top.closed.iter().chain(&self.deep.closed).map(PathBuf::as_path)
    }

    /// Returns the protected directories.
    pub(super) fn directories(&self) -> impl Iterator<Item = &Path> {
        self.top.directories.iter().chain(&self.deep.directories).map(PathBuf::as_path)
    }

    /// Adds what the walk noted below the directories that the root shows.
    fn look_deep(&mut self, root: &Path, protect: &ProtectSet, noted: &Noted) {
        let Self { top, deep, noted: names, .. } = self;
        let held: BTreeSet<&Path> = top.there.iter().map(PathBuf::as_path).collect();
        let listed: BTreeSet<&Path> = top.ways.iter().map(PathBuf::as_path).collect();
        // What stands in a directory that was listed was looked at, but not what lies further down in it.
        let is_listed = |above: &Path| above.as_os_str().is_empty() || listed.contains(above);
        let is_known = |path: &Path| {
            path.parent().is_some_and(is_listed)
                || path.ancestors().any(|above| held.contains(above))
        };
        let repositories = noted.repositories.iter().map(|path| (path, true));
        let all = noted.names.iter().map(|(path, is_dir)| (path, *is_dir)).chain(repositories);
        let all: Vec<_> =
            all.filter(|(path, _)| !is_known(path) && path.parent().is_some()).collect();
        let mut covered: Option<&Path> = None;
        for (path, is_dir) in all {
            if covered.is_some_and(|above| path.starts_with(above)) {
                continue;
            }
            if !is_dir && is_of_work_tree(root, path) {
                deep.ways.extend(path.parent().map(Path::to_owned));
                continue;
            }
            names.extend(deep_name(root, path));
            if is_dir && protect.matching_entry(path).is_none() {
                deep.look((root, Path::new("")), path, protect);
                deep.ways.push(path.clone());
                continue;
            }
            covered = Some(path);
            let found = root.join(path).symlink_metadata();
            deep.note(path, is_dir, found.is_ok_and(|found| found.is_symlink()));
            deep.there.push(path.clone());
        }
    }
}

/// Protected names, and what leads to others.
#[derive(Clone, Default)]
pub(super) struct Names {
    pub(super) there: Vec<PathBuf>,
    /// Links among those, and directories.
    links: Vec<PathBuf>,
    directories: Vec<PathBuf>,
    closed: Vec<PathBuf>,
    /// Directories that lead to protected names, and are none.
    pub(super) ways: Vec<PathBuf>,
}

impl Names {
    fn look(&mut self, (root, prefix): (&Path, &Path), below: &Path, protect: &ProtectSet) {
        let listed = Listed::of(&root.join(below));
        self.look_at((root, prefix), below, protect, listed);
    }

    fn look_at(
        &mut self,
        (root, prefix): (&Path, &Path),
        below: &Path,
        protect: &ProtectSet,
        listed: Option<Listed>,
    ) {
        let Some(listed) = listed else {
            self.closed.push(below.to_owned());
            return;
        };
        for (name, kind) in listed.names {
            let path = below.join(name);
            if self.is_way((root, prefix), &path, protect, kind) {
                self.look((root, prefix), &path, protect);
                self.ways.push(path);
            }
        }
    }

    /// Looks at one name; returns whether it is a directory that leads on.
    fn is_way(
        &mut self,
        (root, prefix): (&Path, &Path),
        path: &Path,
        protect: &ProtectSet,
        kind: FileType,
    ) -> bool {
        let shown = prefix.join(path);
        if protect.matching_entry(&shown).is_some() {
            self.note(path, kind.is_dir(), kind.is_symlink());
            self.there.extend((!is_spared(root, path)).then(|| path.to_owned()));
            return false;
        }
        if protect.leading(&shown).is_none() {
            return false;
        }
        if !kind.is_dir() {
            // It leads elsewhere: a link, and the file by which git finds a repository.
            self.there.push(path.to_owned());
            return false;
        }
        path.components().count() < DEPTH
    }

    fn note(&mut self, path: &Path, is_directory: bool, is_link: bool) {
        self.links.extend(is_link.then(|| path.to_owned()));
        self.directories.extend(is_directory.then(|| path.to_owned()));
    }
}

/// Returns whether a file leads from a linked work tree to a repository of this mount. git takes such files away:
/// one can be changed, and is looked at then.
fn is_of_work_tree(root: &Path, path: &Path) -> bool {
    let (Some(above), true) = (path.parent(), git_dir::is_file(path)) else { return false };
    let text = small_file::read(&root.join(path), LARGEST).unwrap_or_default();
    let place = git_dir::file_leads_to(&text, above, Some(root));
    place.is_some_and(|place| {
        place.iter().any(|it| it == git_dir::WORKTREES) && root.join(place).is_dir()
    })
}

/// Returns whether a file leads to the repository from what it keeps for a linked work tree, or back, as git writes
/// it. git takes such files away, too: one can be changed, and is looked at then.
fn is_spared(root: &Path, path: &Path) -> bool {
    let is_as_git_writes_it = |text: Vec<u8>| match path.file_name().and_then(OsStr::to_str) {
        Some("commondir") => text == b"../..\n",
        Some("gitdir") => git_dir::is_work_tree(&text),
        _ => false,
    };
    path.iter().any(|it| it == git_dir::WORKTREES)
        && small_file::read(&root.join(path), LARGEST).is_ok_and(is_as_git_writes_it)
}

/// Returns what a name further down is; `None` of the root.
pub(super) fn deep_name(root: &Path, path: &Path) -> Option<DeepName> {
    let id = |path: &Path| identity::at(CWD, root.join(path)).ok().map(|(it, _)| file_id(&it));
    Some(DeepName { path: path.to_owned(), id: id(path)?, above: id(path.parent()?)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listing_tells_where_git_finds_nothing() {
        let holding = |name: &str| {
            let directory = tempfile::tempdir().expect("a directory");
            std::fs::write(directory.path().join(name), "").expect("a file");
            Listed::of(directory.path()).expect("a listing")
        };
        assert!(!holding("README").may_have_sign() && !holding("config.toml").may_have_sign());
        for sign in [".git", "HEAD", "config", ".GIT", "con\u{fb01}g", ".g\u{200c}it"] {
            assert!(holding(sign).may_have_sign(), "{sign}");
        }
        assert!(Listed { is_whole: false, ..holding("README") }.may_have_sign());
    }
}
