//! Protected names of live mounts: which are there, and which directories lead to others.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use endow_policy::{
    Access, BackendSpec, HostPath, MountClass, MountSpec, Origin, PatternError, Policy, ProtectSet,
};

use super::explored::{Explored, deep_name};
use super::leads::Found as Leads;
use super::programs;
use super::repositories::directories;
use crate::plan::granted_as::GrantedAs;
use crate::plan::host::{Found, HiddenNames, LiveNames, Noted, Paths};

/// What steers a repository, or runs (gitrepository-layout(5)).
pub(super) const STEERING: [&str; 5] =
    ["config", "hooks", "config.worktree", "info/attributes", "commondir"];

/// Directories whose files name remotes, beside the settings. They themselves come with any repository.
const REMOTES: [&str; 2] = ["remotes", "branches"];

/// Compiles the patterns, where a command can change a directory that is granted.
pub(super) fn compiled(policy: &Policy, paths: &Paths) -> Result<Option<ProtectSet>, PatternError> {
    let is_changed = |(spec, _): (&MountSpec, _)| spec.access != Access::Ro;
    let is_asked = !policy.protect.is_empty() && granted_roots(policy, paths).any(is_changed);
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
///
/// # Errors
/// A pattern that can't be used.
pub(super) fn look(
    (policy, paths, protect): (&Policy, &Paths, &ProtectSet),
    (hidden, leads): (&BTreeMap<HostPath, HiddenNames>, &Leads),
    path: &[PathBuf],
) -> Result<BTreeMap<HostPath, LiveNames>, PatternError> {
    let granted = GrantedAs::of(policy, paths);
    let found = |root: &HostPath| {
        let noted = hidden.get(root).map(|it| &it.noted);
        let own = leads.rules.get(root).map(|rules| ProtectSet::new(rules)).transpose()?;
        let protect = own.as_ref().unwrap_or(protect).below_all(&granted.all(root));
        let again = || Explored::of(root.as_path(), &protect, noted);
        let known = leads.explored.get(root);
        let explored = known.map_or_else(|| Cow::Owned(again()), Cow::Borrowed);
        let names = names((root.as_path(), &protect), noted, &explored);
        let programs = programs::directories(root, path);
        Ok((root.clone(), LiveNames { programs, ..names }))
    };
    guarded(policy, paths).map(found).collect()
}

fn names(
    (root, protect): (&Path, &ProtectSet),
    noted: Option<&Noted>,
    explored: &Explored,
) -> LiveNames {
    let Explored { top, deep, noted: names, prefix, has_no_git } = explored;
    let mut names = LiveNames {
        prefix: (*prefix).to_owned(),
        there: top.there.clone(),
        ways: top.ways.clone(),
        deep: names.clone(),
        below: deep.there.clone(),
        git_dirs: Vec::new(),
        deep_ways: deep.ways.clone(),
        programs: Vec::new(),
        whole: noted.is_some_and(|it| it.whole),
    };
    for directory in directories(root, noted, *has_no_git) {
        steering(root, &directory, protect, &mut names);
    }
    let lists = [&mut names.there, &mut names.ways, &mut names.below, &mut names.deep_ways];
    for list in lists {
        list.sort();
        list.dedup();
    }
    names
}

/// Adds what steers a repository, which no pattern names where its directory is no `.git`.
fn steering(root: &Path, directory: &Path, protect: &ProtectSet, names: &mut LiveNames) {
    let is_there = |path: &PathBuf| root.join(path).symlink_metadata().is_ok();
    let is_protected = |part: &&&str| protect.matching(&Path::new(".git").join(part)).is_some();
    let parts = STEERING.iter().filter(is_protected).map(|part| directory.join(part));
    names.below.extend(parts.filter(is_there));
    for remotes in REMOTES {
        let files = std::fs::read_dir(root.join(directory).join(remotes)).into_iter().flatten();
        let files = files.flatten().map(|file| Path::new(remotes).join(file.file_name()));
        let is_protected =
            |file: &PathBuf| protect.matching(&Path::new(".git").join(file)).is_some();
        names.below.extend(files.filter(is_protected).map(|file| directory.join(file)));
    }
    names.git_dirs.extend(deep_name(root, directory));
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
