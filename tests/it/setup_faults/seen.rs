//! What is left on the host after a run, and what the command saw of its confinement.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::harness::World;

/// Directories of the user, which a run leaves as they are, whatever becomes of it.
const UNTOUCHED: [&str; 6] = ["home", "granted", "repository", "tmp", "runtime", "config"];
/// Those of endow, in which it keeps what later runs use.
const OWN: [&str; 2] = ["state", "cache"];

/// Directories of endow's with names that say where something is on the disk, or what a command wrote.
const NUMBERED: [&str; 7] = [
    "locks",
    "walks",
    "revisions",
    "cas/objects",
    "cache/actions",
    "cache/inputs",
    "state/outputs",
];

/// Returns the kind, mode and content of everything that must stay as it is.
pub(super) fn files(world: &World) -> BTreeMap<PathBuf, String> {
    below(world, &UNTOUCHED)
}

/// Returns the names of what endow keeps, without those that are others each time.
pub(super) fn kept(world: &World) -> BTreeSet<PathBuf> {
    let is_numbered = |path: &&Path| NUMBERED.iter().any(|name| path.ends_with(name));
    let named = |path: PathBuf| match path.ancestors().skip(1).find(is_numbered) {
        Some(numbered) => numbered.join("..."),
        None => path.iter().map(without_place).collect(),
    };
    below(world, &OWN).into_keys().map(named).collect()
}

/// An index is named by where its repository is, too.
fn without_place(name: &OsStr) -> OsString {
    let index = name.to_str().filter(|name| name.starts_with("git-index-"));
    index.and_then(|index| index.rsplit_once('-')).map_or(name, |(index, _)| index.as_ref()).into()
}

fn below(world: &World, names: &[&str]) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut left: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
    while let Some(name) = left.pop() {
        let path = world.root().join(&name);
        let Ok(status) = fs::symlink_metadata(&path) else { continue };
        if status.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            left.extend(entries.map(|entry| name.join(entry.file_name())));
        }
        found.insert(name, about(&path, &status));
    }
    found
}

fn about(path: &Path, status: &fs::Metadata) -> String {
    let kind = status.file_type();
    let content = match () {
        () if kind.is_file() => fs::read_to_string(path).unwrap_or_default(),
        () if kind.is_symlink() => format!("{:?}", fs::read_link(path)),
        () if kind.is_socket() => "a socket".to_owned(),
        () => String::new(),
    };
    format!("{:o} {content}", status.mode())
}

/// Returns mounts of the host that belong to a run.
pub(super) fn mounts(world: &World) -> Vec<String> {
    let table = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    let root = world.root().display().to_string();
    table.lines().filter(|line| line.contains(&root)).map(str::to_owned).collect()
}

/// Returns the facts that the command told, one a line; `None` when it did not get to its end.
pub(super) fn facts(world: &World) -> Option<BTreeSet<String>> {
    let text = fs::read_to_string(world.root().join("streams/stdout")).unwrap_or_default();
    text.ends_with("end\n").then(|| text.lines().map(str::to_owned).collect())
}

/// Returns what endow said.
pub(super) fn said(world: &World) -> String {
    let text = fs::read_to_string(world.root().join("streams/stderr")).unwrap_or_default();
    text.replace(&world.root().display().to_string(), "ROOT")
}
