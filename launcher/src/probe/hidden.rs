//! Names that deny patterns hide, and endow's own directories, below each physical mount.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{DirBuilder, File};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use endow_policy::{
    BackendSpec, HostPath, MountClass, MountSpec, Origin, PatternRule, PatternSet, Policy,
};
use endow_vfs::fs::{Kind, OsFs};
use endow_vfs::git_index;
use endow_vfs::names::{NameRules, WalkCache, WalkOptions, Walked, walk};
use endow_vfs::state::{EndowDirs, Relation};
use sha2::{Digest, Sha256};

use crate::plan::host::{Found, HiddenName, HiddenNames, PathFact};

/// Threads of one walk; both are joined before it returns.
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
        let Some(source) = directory(paths.get(host)) else { continue };
        let names = match spec.class {
            MountClass::System => own_only(source, options),
            MountClass::Workspace | MountClass::Granted => below(spec, source, &rules, options),
        };
        if names != HiddenNames::default() {
            found.insert(source.clone(), names);
        }
    }
    found
}

fn directory(fact: Option<&PathFact>) -> Option<&HostPath> {
    fact.filter(|fact| matches!(fact.found, Found::Directory(_))).map(|fact| &fact.resolved)
}

fn below(
    spec: &MountSpec,
    source: &HostPath,
    rules: &Rules<'_>,
    options: &HiddenOptions<'_>,
) -> HiddenNames {
    let mut names = HiddenNames::default();
    if !spec.options.nodeny
        && rules.needs_walk()
        && let Ok(root) = File::open(source.as_path())
    {
        names = hidden(look_below(&root, source, rules, options), rules);
    }
    names.names.extend(own_directories(source, options));
    names.names.sort();
    names
}

/// System and program directories are not walked; endow's own directories are hidden there too.
fn own_only(source: &HostPath, options: &HiddenOptions<'_>) -> HiddenNames {
    let contains_own = options.own.is_some_and(|own| own.any_below(source.as_path()));
    let names = if contains_own { own_directories(source, options) } else { Vec::new() };
    HiddenNames { names, ..HiddenNames::default() }
}

/// Walks the tree; when something is hidden that git tracks, once more with that spared.
fn look_below(
    root: &File,
    source: &HostPath,
    rules: &Rules<'_>,
    options: &HiddenOptions<'_>,
) -> Walked {
    let memory = options.cache.and_then(cache_directory);
    let look = |rules: &Rules<'_>| {
        let dir = memory.as_ref().map(AsFd::as_fd);
        let cache = dir.map(|dir| WalkCache { fs: &OsFs, dir, rules: rules.digest() });
        let options = WalkOptions { threads: THREADS, cache, ..WalkOptions::default() };
        walk(root.as_fd(), rules, &options).unwrap_or_default()
    };
    let walked = look(rules);
    if !walked.hidden.iter().any(|name| rules.is_builtin(&name.path)) {
        return walked;
    }
    match tracked_below(source, rules, options) {
        spared if spared.is_empty() => walked,
        spared => look(&Rules { spared, ..*rules }),
    }
}

/// Returns what the work tree's index tracks of the names that built-in patterns hide, relative
/// to the source. An index that can't be read spares nothing.
fn tracked_below(
    source: &HostPath,
    rules: &Rules<'_>,
    options: &HiddenOptions<'_>,
) -> BTreeSet<PathBuf> {
    let Some(work_tree) = options.work_tree else { return BTreeSet::new() };
    let Some(prefix) = source.below(work_tree) else { return BTreeSet::new() };
    let (tracked, _) = git_index::load(work_tree.as_path());
    let hidden = tracked.hidden_by(rules).into_iter().filter(|path| rules.is_builtin(path));
    hidden.filter_map(|path| path.strip_prefix(prefix).ok().map(Path::to_owned)).collect()
}

fn hidden(walked: Walked, rules: &Rules<'_>) -> HiddenNames {
    let name = |name: endow_vfs::names::HiddenName| HiddenName {
        rule: rules.patterns.decide_entry(&name.path).map(|decision| decision.rule),
        directory: name.kind == Kind::Directory,
        path: name.path,
    };
    HiddenNames {
        names: walked.hidden.into_iter().map(name).collect(),
        entries: walked.entries,
        elapsed_us: u64::try_from(walked.elapsed.as_micros()).unwrap_or(u64::MAX),
        unreadable: walked.errors.into_iter().map(|error| error.path).collect(),
    }
}

fn own_directories(source: &HostPath, options: &HiddenOptions<'_>) -> Vec<HiddenName> {
    let relation = options.own.map(|own| own.relation(source.as_path()));
    let Some(Ok(Relation::Contains(contained))) = relation else { return Vec::new() };
    let present = contained.into_iter().filter(|it| it.exists).map(|it| it.relative);
    present.map(|path| HiddenName { path, directory: true, rule: None }).collect()
}

/// Opens the place of remembered walks; without one every walk lists every directory.
fn cache_directory(cache: &Path) -> Option<File> {
    let directory = cache.join("walks");
    DirBuilder::new().recursive(true).mode(0o700).create(&directory).ok()?;
    File::open(directory).ok()
}

/// The deny patterns as the walk asks them.
struct Rules<'a> {
    patterns: &'a PatternSet,
    written: &'a [PatternRule],
    /// What git tracks of the names that built-in patterns would hide.
    spared: BTreeSet<PathBuf>,
}

impl Rules<'_> {
    fn is_builtin(&self, path: &Path) -> bool {
        let rule = self.patterns.decide(path).and_then(|it| self.written.get(it.rule));
        rule.is_some_and(|rule| matches!(rule.origin, Origin::Profile { .. }))
    }

    /// All that a walk's result depends on, besides the tree.
    fn digest(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        let patterns = self.written.iter().map(|rule| rule.pattern.as_bytes());
        let spared = self.spared.iter().map(|path| path.as_os_str().as_bytes());
        for text in patterns.chain([&b"\0spared"[..]]).chain(spared) {
            digest.update(text);
            digest.update([0]);
        }
        digest.finalize().into()
    }
}

impl NameRules for Rules<'_> {
    fn may_match_name(&self, name: &[u8]) -> bool {
        self.patterns.may_match_name(name)
    }

    fn decide(&self, relative: &[u8], _is_dir: bool) -> Option<bool> {
        let path = Path::new(OsStr::from_bytes(relative));
        let hidden = self.patterns.decide_entry(path).map(|decision| decision.hidden)?;
        Some(hidden && !(self.spared.contains(path) && self.is_builtin(path)))
    }

    fn needs_walk(&self) -> bool {
        !self.patterns.is_empty()
    }

    fn depth_limit(&self) -> Option<usize> {
        self.patterns.anchored_depth()
    }
}
