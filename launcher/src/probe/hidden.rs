//! Names that deny patterns hide, and endow's own directories, below each physical mount.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{DirBuilder, File};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use endow_policy::{BackendSpec, HostPath, MountClass, MountSpec, PatternRule, PatternSet, Policy};
use endow_vfs::fs::{Kind, OsFs};
use endow_vfs::names::{NameRules, WalkCache, WalkOptions, Walked, walk};
use endow_vfs::state::{EndowDirs, Relation};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::plan::host::{Found, HiddenName, HiddenNames, PathFact};
use crate::plan::step::FileId;

/// Threads of one walk; both are joined before it returns.
const THREADS: usize = 2;

/// How names are looked for.
#[derive(Debug)]
pub(crate) struct HiddenOptions<'a> {
    /// endow's own directories, out of reach in every grant.
    pub(crate) own: Option<&'a EndowDirs>,
    /// endow's cache directory, where walks are remembered.
    pub(crate) cache: Option<&'a Path>,
}

/// Looks below the source of every physical mount that patterns or endow's own directories touch.
pub(super) fn find(
    policy: &Policy,
    paths: &BTreeMap<HostPath, PathFact>,
    options: &HiddenOptions<'_>,
) -> BTreeMap<HostPath, HiddenNames> {
    let Ok(patterns) = PatternSet::new(&policy.deny) else { return BTreeMap::new() };
    let rules = Rules { patterns: &patterns, digest: digest(&policy.deny) };
    let mut found = BTreeMap::new();
    for spec in policy.mounts.iter().filter(|spec| spec.class != MountClass::System) {
        let BackendSpec::Physical { host } = &spec.backend else { continue };
        let Some(source) = paths.get(host).and_then(Source::of) else { continue };
        let names = below(spec, &source, &rules, options);
        if names != HiddenNames::default() {
            found.insert(source.path, names);
        }
    }
    found
}

/// A directory that is mounted.
struct Source {
    path: HostPath,
    id: FileId,
}

impl Source {
    fn of(fact: &PathFact) -> Option<Self> {
        let Found::Directory(id) = fact.found else { return None };
        Some(Self { path: fact.resolved.clone(), id })
    }
}

fn below(
    spec: &MountSpec,
    source: &Source,
    rules: &Rules<'_>,
    options: &HiddenOptions<'_>,
) -> HiddenNames {
    let mut names = HiddenNames::default();
    if !spec.options.nodeny && rules.needs_walk() {
        names = match walked(source, rules, options) {
            Ok(walked) => hidden(walked, rules),
            Err(errno) => failed(errno),
        };
    }
    match own_directories(&source.path, options) {
        Ok(own) => names.names.extend(own),
        Err(errno) => names.failed = Some(errno.raw_os_error()),
    }
    names.names.sort();
    names
}

fn failed(errno: Errno) -> HiddenNames {
    HiddenNames { failed: Some(errno.raw_os_error()), ..HiddenNames::default() }
}

/// Walks what was found before, and nothing that was put in its place since.
fn walked(
    source: &Source,
    rules: &Rules<'_>,
    options: &HiddenOptions<'_>,
) -> Result<Walked, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let root = openat2(CWD, source.path.as_path(), flags, Mode::empty(), resolve)?;
    let stat = fstat(&root)?;
    if (FileId { dev: stat.st_dev, ino: stat.st_ino }) != source.id {
        return Err(Errno::STALE);
    }
    let memory = options.cache.and_then(cache_directory);
    let cache =
        memory.as_ref().map(|dir| WalkCache { fs: &OsFs, dir: dir.as_fd(), rules: rules.digest });
    let options = WalkOptions { threads: THREADS, cache, ..WalkOptions::default() };
    walk(root.as_fd(), rules, &options)
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
        failed: None,
    }
}

fn own_directories(
    source: &HostPath,
    options: &HiddenOptions<'_>,
) -> Result<Vec<HiddenName>, Errno> {
    let Some(own) = options.own else { return Ok(Vec::new()) };
    let relation = own.relation(source.as_path());
    let relation =
        relation.map_err(|error| Errno::from_io_error(&error.error).unwrap_or(Errno::IO))?;
    let contained = match relation {
        Relation::Apart => return Ok(Vec::new()),
        // Such a grant was refused before: names have been swapped since.
        Relation::Inside(_) => return Err(Errno::ACCESS),
        Relation::Contains(contained) => contained,
    };
    let present = contained.into_iter().filter(|it| it.exists).map(|it| it.relative);
    Ok(present.map(|path| HiddenName { path, directory: true, rule: None }).collect())
}

/// Opens the place of remembered walks; without one every walk lists every directory.
fn cache_directory(cache: &Path) -> Option<File> {
    let directory = cache.join("walks");
    DirBuilder::new().recursive(true).mode(0o700).create(&directory).ok()?;
    File::open(directory).ok()
}

/// All that a walk's result depends on, besides the tree.
fn digest(patterns: &[PatternRule]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for rule in patterns {
        digest.update(rule.pattern.as_bytes());
        digest.update([0]);
    }
    digest.finalize().into()
}

struct Rules<'a> {
    patterns: &'a PatternSet,
    digest: [u8; 32],
}

impl NameRules for Rules<'_> {
    fn may_match_name(&self, name: &[u8]) -> bool {
        self.patterns.may_match_name(name)
    }

    fn decide(&self, relative: &[u8], _is_dir: bool) -> Option<bool> {
        let path = PathBuf::from(OsStr::from_bytes(relative));
        self.patterns.decide_entry(Path::new(&path)).map(|decision| decision.hidden)
    }

    fn needs_walk(&self) -> bool {
        !self.patterns.is_empty()
    }

    fn depth_limit(&self) -> Option<usize> {
        self.patterns.anchored_depth()
    }
}
