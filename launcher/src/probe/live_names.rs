//! Protected names of live mounts: which are there, and which directories lead to others.
//!
//! Looked at are the root, and what leads from there to a pattern's name, which costs the same in any
//! tree; further down what the walk of names noted, where there is one.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::FileType;
use std::path::{Component, Path, PathBuf};

use endow_policy::{
    Access, BackendSpec, HostPath, MountClass, MountSpec, Origin, PatternError, Policy, ProtectSet,
};
use endow_vfs::git_dir;
use rustix::fs::CWD;

use super::file_id;
use super::repositories::directories;
use crate::plan::host::{DeepName, Found, HiddenNames, LiveNames, Noted, Paths};
use crate::sys::identity;

/// Directories one below the other that are looked at. No pattern is so long; what leads on may be called the
/// same all the way down.
const DEPTH: usize = 128;
/// Links in a row that are followed; the kernel follows as many (path_resolution(7)).
const LINKS: usize = 40;
/// What steers a repository, or runs (gitrepository-layout(5)).
const STEERING: [&str; 5] = ["config", "hooks", "config.worktree", "info/attributes", "commondir"];

/// Compiles the patterns, where a mount is live.
pub(super) fn compiled(policy: &Policy, paths: &Paths) -> Result<Option<ProtectSet>, PatternError> {
    let is_asked = !policy.protect.is_empty() && live_roots(policy, paths).next().is_some();
    is_asked.then(|| ProtectSet::new(&policy.protect)).transpose()
}

/// Returns the live mounts of directories, each with its source.
pub(super) fn live_roots<'a>(
    policy: &'a Policy,
    paths: &'a Paths,
) -> impl Iterator<Item = (&'a MountSpec, &'a HostPath)> {
    granted_roots(policy, paths).filter(|(spec, _)| spec.access == Access::Rw)
}

/// Returns the mounts of directories that are none of the system's, each with its source.
pub(super) fn granted_roots<'a>(
    policy: &'a Policy,
    paths: &'a Paths,
) -> impl Iterator<Item = (&'a MountSpec, &'a HostPath)> {
    let granted = policy.mounts.iter().filter(|spec| spec.class != MountClass::System);
    granted.filter_map(|spec| {
        let BackendSpec::Physical { host } = &spec.backend else { return None };
        let fact = paths.get(host).filter(|it| matches!(it.found, Found::Directory(_)))?;
        Some((spec, &fact.resolved))
    })
}

/// Returns the workspace and what the user granted live. What a profile grants is a tool's own state.
pub(super) fn guarded<'a>(
    policy: &'a Policy,
    paths: &'a Paths,
) -> impl Iterator<Item = &'a HostPath> {
    live_roots(policy, paths).filter(move |(spec, _)| is_guarded(spec)).map(|(_, root)| root)
}

/// Whether a mount is the workspace or what the user granted.
pub(super) fn is_guarded(spec: &MountSpec) -> bool {
    spec.class == MountClass::Workspace || !matches!(spec.origin, Origin::Profile { .. })
}

/// Looks at the live mounts that are guarded.
pub(super) fn look(
    (policy, paths, protect): (&Policy, &Paths, Option<&ProtectSet>),
    hidden: &BTreeMap<HostPath, HiddenNames>,
) -> BTreeMap<HostPath, LiveNames> {
    let Some(protect) = protect else { return BTreeMap::new() };
    let noted = |root: &HostPath| hidden.get(root).map(|it| &it.noted);
    let found = |root: &HostPath| {
        let protect = protect.below(root.as_path());
        (root.clone(), names((root.as_path(), &protect), noted(root)))
    };
    guarded(policy, paths).map(found).collect()
}

fn names((root, protect): (&Path, &ProtectSet), noted: Option<&Noted>) -> LiveNames {
    let prefix = if git_dir::is(root) { PathBuf::from(".git") } else { PathBuf::new() };
    let mut top = Explored::default();
    top.look((root, &prefix), Path::new(""), protect);
    let mut names = LiveNames {
        there: top.there.into_iter().chain(top.targets).collect(),
        ways: top.ways,
        whole: noted.is_some_and(|it| it.whole),
        ..LiveNames { prefix, ..LiveNames::default() }
    };
    if let Some(noted) = noted.filter(|_| names.prefix.as_os_str().is_empty()) {
        deep(root, protect, noted, &mut names);
    }
    for directory in directories(root, noted) {
        steering(root, &directory, protect, &mut names);
    }
    let lists = [&mut names.there, &mut names.ways, &mut names.below, &mut names.deep_ways];
    for list in lists {
        list.sort();
        list.dedup();
    }
    names
}

/// What leads from a directory to protected names.
#[derive(Default)]
struct Explored {
    there: Vec<PathBuf>,
    /// Where links among those lead.
    targets: Vec<PathBuf>,
    ways: Vec<PathBuf>,
}

impl Explored {
    fn look(&mut self, (root, prefix): (&Path, &Path), below: &Path, protect: &ProtectSet) {
        let Ok(entries) = std::fs::read_dir(root.join(below)) else { return };
        for entry in entries.flatten() {
            let path = below.join(entry.file_name());
            let Ok(kind) = entry.file_type() else { continue };
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
            if kind.is_symlink() {
                self.targets.extend(targets(root, path));
            }
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
}

/// Whether a file leads from a linked work tree to a repository of this mount. git takes those away: it
/// can be changed, and is looked at then.
fn is_of_work_tree(root: &Path, path: &Path) -> bool {
    let (Some(above), true) = (path.parent(), git_dir::is_file(path)) else { return false };
    let text = std::fs::read(root.join(path)).unwrap_or_default();
    let place = git_dir::file_leads_to(&text, above, Some(root));
    place.is_some_and(|place| place.iter().any(|it| it == "worktrees") && root.join(place).is_dir())
}

/// The same holds for what leads to the repository from what it keeps for a linked work tree.
fn is_spared(root: &Path, path: &Path) -> bool {
    let is_of_work_tree =
        path.file_name() == Some("commondir".as_ref()) && path.iter().any(|it| it == "worktrees");
    is_of_work_tree && std::fs::read(root.join(path)).is_ok_and(|text| text == b"../..\n")
}

/// Adds what the walk noted below the directories that the root shows.
fn deep(root: &Path, protect: &ProtectSet, noted: &Noted, names: &mut LiveNames) {
    let held: BTreeSet<&Path> = names.there.iter().map(PathBuf::as_path).collect();
    let listed: BTreeSet<&Path> = names.ways.iter().map(PathBuf::as_path).collect();
    // What stands in a directory that was listed was looked at, but not what lies further down in it.
    let is_listed = |above: &Path| above.as_os_str().is_empty() || listed.contains(above);
    let is_known = |path: &Path| {
        path.parent().is_some_and(is_listed) || path.ancestors().any(|above| held.contains(above))
    };
    let repositories = noted.repositories.iter().map(|path| (path, true));
    let all = noted.names.iter().map(|(path, is_dir)| (path, *is_dir)).chain(repositories);
    let all: Vec<_> = all.filter(|(path, _)| !is_known(path) && path.parent().is_some()).collect();
    let mut covered: Option<&Path> = None;
    let mut found = Explored::default();
    for (path, is_dir) in all {
        if covered.is_some_and(|above| path.starts_with(above)) {
            continue;
        }
        if !is_dir && is_of_work_tree(root, path) {
            names.deep_ways.extend(path.parent().map(Path::to_owned));
            continue;
        }
        names.deep.extend(deep_name(root, path));
        if is_dir && protect.matching_entry(path).is_none() {
            found.look((root, Path::new("")), path, protect);
            found.ways.push(path.clone());
            continue;
        }
        covered = Some(path);
        let is_link = root.join(path).symlink_metadata().is_ok_and(|it| it.is_symlink());
        if is_link {
            found.targets.extend(targets(root, path));
        }
        found.there.push(path.clone());
    }
    names.below.extend(found.there);
    names.deep_ways.extend(found.ways);
    names.there.extend(found.targets);
}

fn deep_name(root: &Path, path: &Path) -> Option<DeepName> {
    let id = |path: &Path| identity::at(CWD, root.join(path)).ok().map(|(it, _)| file_id(&it));
    Some(DeepName { path: path.to_owned(), id: id(path)?, above: id(path.parent()?)? })
}

/// Adds what steers a repository, which no pattern names where its directory is no `.git`.
fn steering(root: &Path, directory: &Path, protect: &ProtectSet, names: &mut LiveNames) {
    let is_there = |path: &PathBuf| root.join(path).symlink_metadata().is_ok();
    let is_protected = |part: &&&str| protect.matching(&Path::new(".git").join(part)).is_some();
    let parts = STEERING.iter().filter(is_protected).map(|part| directory.join(part));
    names.below.extend(parts.filter(is_there));
    let info = directory.join("info");
    names.deep_ways.extend(Some(info).filter(|info| root.join(info).is_dir()));
    let ways = directory.ancestors().take_while(|it| is_of_git(it));
    names.deep_ways.extend(ways.map(Path::to_owned));
    names.deep_ways.extend((!directory.as_os_str().is_empty()).then(|| directory.to_owned()));
}

/// Whether a path leads through a `.git`.
fn is_of_git(path: &Path) -> bool {
    path.iter().any(|name| name == ".git")
}

/// Returns the places of a tree to which links in the place of protected names lead, with all links on the way.
pub(crate) fn led_to(root: &Path, protect: &ProtectSet) -> Vec<PathBuf> {
    let prefix = if git_dir::is(root) { Path::new(".git") } else { Path::new("") };
    let mut top = Explored::default();
    top.look((root, prefix), Path::new(""), protect);
    top.targets
}

/// Returns the places below the root by which a link leads: further links, and what is at the end.
fn targets(root: &Path, link: &Path) -> Vec<PathBuf> {
    let mut way = Way { here: root.join(link.parent().unwrap_or(link)), links: Vec::new() };
    let end = link.file_name().and_then(|name| way.follow(Path::new(name)));
    let links = way.links.into_iter().skip(1);
    let places = links.chain(end.map(|()| way.here));
    let below = places.filter_map(|place| place.strip_prefix(root).ok().map(Path::to_owned));
    below.filter(|place| !place.as_os_str().is_empty()).collect()
}

/// A walk along links.
struct Way {
    /// Where it has come, by no link.
    here: PathBuf,
    links: Vec<PathBuf>,
}

impl Way {
    /// Goes on by what a link says; `None` when it leads to nothing.
    fn follow(&mut self, said: &Path) -> Option<()> {
        for part in said.components() {
            match part {
                Component::ParentDir => drop(self.here.pop()),
                Component::Normal(name) => self.step(name)?,
                Component::RootDir => self.here = PathBuf::from("/"),
                Component::CurDir | Component::Prefix(_) => {}
            }
        }
        Some(())
    }

    fn step(&mut self, name: &OsStr) -> Option<()> {
        let next = self.here.join(name);
        if !next.symlink_metadata().ok()?.is_symlink() {
            self.here = next;
            return Some(());
        }
        let said = std::fs::read_link(&next).ok()?;
        self.links.push(next);
        if self.links.len() > LINKS {
            return None;
        }
        self.follow(&said)
    }
}
