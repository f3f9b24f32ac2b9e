//! Protected names of live mounts: which are there, and which directories lead to others.
//!
//! Only the root is looked at, and what leads from there to a pattern's name, so that it costs the same
//! in any tree.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use endow_policy::{
    Access, BackendSpec, HostPath, MountClass, MountSpec, Origin, Policy, ProtectSet,
};

use super::live_repositories::is_git;
use crate::plan::host::{Found, LiveNames, Paths};

/// Directories one below the other that are looked at.
const DEPTH: usize = 8;

/// Compiles the patterns, where a mount is live.
pub(super) fn compiled(policy: &Policy, paths: &Paths) -> Option<ProtectSet> {
    live_roots(policy, paths).next()?;
    ProtectSet::new(&policy.protect).ok().filter(|protect| !protect.is_empty())
}

/// Returns the live mounts of directories, each with its source.
pub(super) fn live_roots<'a>(
    policy: &'a Policy,
    paths: &'a Paths,
) -> impl Iterator<Item = (&'a MountSpec, &'a HostPath)> {
    let is_live = |spec: &&MountSpec| spec.access == Access::Rw && spec.class != MountClass::System;
    policy.mounts.iter().filter(is_live).filter_map(|spec| {
        let BackendSpec::Physical { host } = &spec.backend else { return None };
        let fact = paths.get(host).filter(|it| matches!(it.found, Found::Directory(_)))?;
        Some((spec, &fact.resolved))
    })
}

/// Looks at the workspace and at what the user granted. What a profile grants is a tool's own state.
pub(super) fn look(
    policy: &Policy,
    protect: Option<&ProtectSet>,
    paths: &Paths,
) -> BTreeMap<HostPath, LiveNames> {
    let Some(protect) = protect else { return BTreeMap::new() };
    let is_guarded = |spec: &MountSpec| {
        spec.class == MountClass::Workspace || !matches!(spec.origin, Origin::Profile { .. })
    };
    let roots = live_roots(policy, paths).filter(|(spec, _)| is_guarded(spec));
    roots.map(|(_, root)| (root.clone(), names(root.as_path(), protect))).collect()
}

fn names(root: &Path, protect: &ProtectSet) -> LiveNames {
    let prefix = if is_git(root) { PathBuf::from(".git") } else { PathBuf::new() };
    let mut names = LiveNames { prefix, ..LiveNames::default() };
    explore(root, Path::new(""), protect, &mut names);
    names.there.sort();
    names.there.dedup();
    names.ways.sort();
    names
}

fn explore(root: &Path, below: &Path, protect: &ProtectSet, names: &mut LiveNames) {
    let Ok(entries) = std::fs::read_dir(root.join(below)) else { return };
    for entry in entries.flatten() {
        let path = below.join(entry.file_name());
        let Ok(kind) = entry.file_type() else { continue };
        let shown = names.prefix.join(&path);
        if protect.matching_entry(&shown).is_some() {
            names.there.extend(target(root, &path).filter(|_| kind.is_symlink()));
            names.there.push(path);
            continue;
        }
        if protect.leading(&shown).is_none() {
            continue;
        }
        if !kind.is_dir() {
            // It leads elsewhere: a link, and the file by which git finds a repository.
            names.there.push(path);
        } else if path.components().count() < DEPTH {
            explore(root, &path, protect, names);
            names.ways.push(path);
        }
    }
}

/// Returns the place below the root where a link leads.
fn target(root: &Path, link: &Path) -> Option<PathBuf> {
    let place = root.join(link).canonicalize().ok()?;
    let place = place.strip_prefix(root).ok()?;
    (!place.as_os_str().is_empty()).then(|| place.to_owned())
}
