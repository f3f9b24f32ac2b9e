//! Names that deny patterns hide, and endow's own directories, below each physical mount.

mod own;
mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{DirBuilder, File};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use endow_policy::{BackendSpec, HostPath, MountClass, MountSpec, PatternSet, Policy};
use endow_vfs::fs::{Kind, OsFs};
use endow_vfs::git_index;
use endow_vfs::names::{NameRules, WalkCache, WalkOptions, Walked, walk};
use endow_vfs::state::EndowDirs;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use crate::plan::host::{Found, HiddenName, HiddenNames, PathFact};
use crate::plan::step::FileId;
use crate::sys;
use rules::Rules;

/// Threads of one walk; all are joined before it returns.
const THREADS: usize = 2;

/// How names are looked for.
#[derive(Debug)]
pub(crate) struct HiddenOptions<'a> {
    /// endow's own directories, out of reach in every grant.
    pub(crate) own: Option<&'a EndowDirs>,
    /// endow's cache directory, where walks are remembered.
    pub(crate) cache: Option<&'a Path>,
    /// The git work tree whose index spares what it tracks.
    pub(crate) work_tree: Option<&'a HostPath>,
}

/// A directory that is mounted, as it was found.
struct Source {
    path: HostPath,
    id: FileId,
}

impl Source {
    fn of(fact: &PathFact) -> Option<Self> {
        match fact.found {
            Found::Directory(id) => Some(Self { path: fact.resolved.clone(), id }),
            _ => None,
        }
    }
}

/// Looks below the source of every physical mount that patterns or endow's own directories touch.
pub(super) fn find(
    policy: &Policy,
    paths: &BTreeMap<HostPath, PathFact>,
    options: &HiddenOptions<'_>,
) -> BTreeMap<HostPath, HiddenNames> {
    let Ok(patterns) = PatternSet::new(&policy.deny) else { return BTreeMap::new() };
    let rules = Rules { patterns: &patterns, written: &policy.deny, spared: BTreeSet::new() };
    let mut found = BTreeMap::new();
    for spec in &policy.mounts {
        let BackendSpec::Physical { host } = &spec.backend else { continue };
        let Some(source) = paths.get(host).and_then(Source::of) else { continue };
        let names = match spec.class {
            MountClass::System => own::below_system(&source, options),
            MountClass::Workspace | MountClass::Granted => below(spec, &source, &rules, options),
        };
        if names != HiddenNames::default() {
            found.insert(source.path, names);
        }
    }
    found
}

fn below(
    spec: &MountSpec,
    source: &Source,
    rules: &Rules<'_>,
    options: &HiddenOptions<'_>,
) -> HiddenNames {
    let mut names = HiddenNames::default();
    if !spec.options.nodeny && rules.needs_walk() {
        names = match look_below(source, rules, options) {
            Ok(walked) => hidden(walked, rules),
            Err(errno) => failed(errno),
        };
    }
    own::add(&mut names, source, options);
    names
}

fn failed(errno: Errno) -> HiddenNames {
    HiddenNames { failed: Some(errno.raw_os_error()), ..HiddenNames::default() }
}

/// Walks the tree; when something is hidden that git tracks, once more with that spared.
fn look_below(
    source: &Source,
    rules: &Rules<'_>,
    options: &HiddenOptions<'_>,
) -> Result<Walked, Errno> {
    let root = open(source)?;
    let memory = options.cache.and_then(cache_directory);
    let look = |rules: &Rules<'_>| {
        let dir = memory.as_ref().map(AsFd::as_fd);
        let cache = dir.map(|dir| WalkCache { fs: &OsFs, dir, rules: rules.digest() });
        let options = WalkOptions { threads: THREADS, cache, ..WalkOptions::default() };
        walk(root.as_fd(), rules, &options)
    };
    let walked = look(rules)?;
    if !walked.hidden.iter().any(|name| rules.is_builtin(&name.path)) {
        return Ok(walked);
    }
    match tracked_below(source, rules, options) {
        spared if spared.is_empty() => Ok(walked),
        spared => look(&Rules { spared, ..*rules }),
    }
}

/// Opens what was found before, and nothing that was put in its place since.
fn open(source: &Source) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let root = openat2(CWD, source.path.as_path(), flags, Mode::empty(), resolve)?;
    let id = super::file_id(&sys::identity::of(&root)?);
    if id == source.id { Ok(root) } else { Err(Errno::STALE) }
}

/// Opens the place of remembered walks; without one every walk lists every directory.
fn cache_directory(cache: &Path) -> Option<File> {
    let directory = cache.join("walks");
    if let Ok(opened) = File::open(&directory) {
        return Some(opened);
    }
    DirBuilder::new().recursive(true).mode(0o700).create(&directory).ok()?;
    File::open(directory).ok()
}

/// Returns what the work tree's index tracks of the names that built-in patterns hide, relative
/// to the source. An index that can't be read spares nothing.
fn tracked_below(
    source: &Source,
    rules: &Rules<'_>,
    options: &HiddenOptions<'_>,
) -> BTreeSet<PathBuf> {
    let Some(work_tree) = options.work_tree else { return BTreeSet::new() };
    let Some(prefix) = source.path.below(work_tree) else { return BTreeSet::new() };
    let (tracked, _) = git_index::load(work_tree.as_path());
    let is_own = |path: &Path| is_as_tracked(&tracked, work_tree, path);
    let hidden = tracked.hidden_by(rules).into_iter().filter(|path| rules.is_builtin(path));
    let files: Vec<PathBuf> = hidden.filter(|path| is_own(path)).collect();
    let above = files.iter().flat_map(|file| file.ancestors()).filter(|path| rules.hides(path));
    above.filter_map(|path| path.strip_prefix(prefix).ok().map(Path::to_owned)).collect()
}

/// An entry alone spares nothing: a command that may write the index could add the name of a
/// secret that it can't see. It does not know the secret's times, so those must match.
fn is_as_tracked(tracked: &git_index::Tracked, work_tree: &HostPath, path: &Path) -> bool {
    let stamp = tracked.stamp(path.as_os_str().as_bytes());
    let found = std::fs::symlink_metadata(work_tree.as_path().join(path));
    matches!((stamp, found), (Some(stamp), Ok(found)) if stamp.matches(&found))
}

fn hidden(walked: Walked, rules: &Rules<'_>) -> HiddenNames {
    let name = |name: endow_vfs::names::HiddenName| HiddenName {
        rule: rules.deciding(&name.path),
        directory: name.kind == Kind::Directory,
        path: name.path,
    };
    let mut names: Vec<HiddenName> = walked.hidden.into_iter().map(name).collect();
    names.sort();
    HiddenNames {
        names,
        entries: walked.entries,
        elapsed_us: u64::try_from(walked.elapsed.as_micros()).unwrap_or(u64::MAX),
        unreadable: walked.errors.into_iter().map(|error| error.path).collect(),
        failed: None,
    }
}
