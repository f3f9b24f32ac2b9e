//! Names that deny patterns hide, and endow's own directories, below each physical mount.

mod names;
mod others;
mod own;
mod rules;
mod tops;
mod tracked;

pub(crate) use names::{DeniedNames, HiddenBelow};

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{DirBuilder, File};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use endow_policy::{
    BackendSpec, HostPath, MountClass, MountSpec, PatternError, Policy, ProtectSet,
};
use endow_vfs::fs::{Kind, OsFs};
use endow_vfs::names::{
    ERRORS_MAX, HiddenName as HiddenPath, NameRules, WalkCache, WalkError, WalkOptions, Walked,
    walk, walk_again, walk_at_rest,
};
use endow_vfs::state::EndowDirs;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use crate::plan::granted_as::GrantedAs;
use crate::plan::host::{Found, HiddenName, HiddenNames, Noted, PathFact, Paths};
use crate::plan::step::FileId;
use crate::sys;
use rules::{Denied, Rules};
use tops::Tops;

/// Threads of one walk; all are joined before it returns.
const THREADS: usize = 2;
/// From so many sources on, half of them are walked by a thread of their own: one costs as much as
/// a few dozen small walks.
const MANY: usize = 64;

/// How names are looked for.
#[derive(Debug)]
pub(crate) struct HiddenOptions<'a> {
    /// endow's own directories, out of reach in every grant.
    pub(crate) own: Option<&'a EndowDirs>,
    /// endow's cache directory, where walks are remembered.
    pub(crate) cache: Option<&'a Path>,
    /// The git work tree whose index spares what it tracks.
    pub(crate) work_tree: Option<&'a HostPath>,
    /// Where endow's runs are, of which another may change a tree while it is walked.
    pub(crate) runs: Option<&'a Path>,
}

/// Live mounts, in which protected names are noted on the way.
pub(super) struct Live<'a> {
    pub(super) protect: &'a ProtectSet,
    pub(super) roots: BTreeSet<HostPath>,
}

/// A directory that is mounted, as it was found.
struct Source {
    path: HostPath,
    id: FileId,
    /// Other paths of it.
    others: Vec<PathBuf>,
}

impl Source {
    fn of(fact: &PathFact, granted: &GrantedAs) -> Option<Self> {
        let Found::Directory(id) = fact.found else { return None };
        let others = granted.others(&fact.resolved).into_iter().map(Path::to_owned).collect();
        Some(Self { path: fact.resolved.clone(), id, others })
    }

    fn paths(&self) -> Vec<&Path> {
        std::iter::once(self.path.as_path())
            .chain(self.others.iter().map(PathBuf::as_path))
            .collect()
    }
}

/// Looks below the source of every physical mount that patterns or endow's own directories touch.
pub(super) fn find(
    policy: &Policy,
    paths: &Paths,
    live: Option<&Live<'_>>,
    options: &HiddenOptions<'_>,
) -> Result<BTreeMap<HostPath, HiddenNames>, PatternError> {
    let denied = Denied::new(&policy.deny)?;
    let rules = || Rules::of(&denied, &policy.deny);
    let plain = Asked::new(rules());
    let noting = live.map(|live| {
        let rules = Rules { protect: Some(live.protect), ..rules() };
        (live.roots.clone(), Asked::new(rules))
    });
    let remembered = options.cache.filter(|_| plain.rules.needs_walk()).and_then(cache_directory);
    let work_tree = options.work_tree;
    let looking = Looking { plain, live: noting, work_tree, remembered, runs: options.runs };
    let granted = GrantedAs::of(policy, paths);
    let source = |host: &HostPath| Source::of(paths.get(host)?, &granted);
    let sources = policy.mounts.iter().filter_map(|spec| match &spec.backend {
        BackendSpec::Physical { host } => Some((spec, source(host)?)),
        _ => None,
    });
    let sources: Vec<(&MountSpec, Source)> = sources.collect();
    let walked = looking.all(&sources);
    let found = sources.into_iter().zip(walked).map(|((spec, source), mut names)| {
        match spec.class {
            MountClass::System => names = own::below_system(&source, options),
            _ => own::add(&mut names, &source, options),
        }
        (source.path, names)
    });
    let mut all = BTreeMap::new();
    for (source, names) in found.filter(|(_, names)| *names != HiddenNames::default()) {
        add(all.entry(source).or_default(), names);
    }
    Ok(all)
}

/// Adds what was found below a source for another mount of it: one may have been walked, and the other not.
fn add(all: &mut HiddenNames, other: HiddenNames) {
    all.names.extend(other.names);
    all.names.sort();
    all.names.dedup();
    all.unreadable.extend(other.unreadable);
    all.unreadable.sort();
    all.unreadable.dedup();
    if all.noted == Noted::default() {
        all.noted = other.noted;
    }
    all.entries = all.entries.max(other.entries);
    all.elapsed_us = all.elapsed_us.max(other.elapsed_us);
    all.failed = all.failed.or(other.failed);
    all.mounts_below |= other.mounts_below;
}

/// Rules, and what a remembered walk by them is known by.
struct Asked<'a> {
    rules: Rules<'a>,
    digest: [u8; 32],
}

impl<'a> Asked<'a> {
    fn new(rules: Rules<'a>) -> Self {
        Self { digest: rules.digest(), rules }
    }
}

/// What all walks have in common.
struct Looking<'a> {
    plain: Asked<'a>,
    live: Option<(BTreeSet<HostPath>, Asked<'a>)>,
    work_tree: Option<&'a HostPath>,
    /// The place of remembered walks; without one every walk lists every directory.
    remembered: Option<File>,
    runs: Option<&'a Path>,
}

impl Looking<'_> {
    fn all(&self, sources: &[(&MountSpec, Source)]) -> Vec<HiddenNames> {
        let look = |some: &[(&MountSpec, Source)]| -> Vec<HiddenNames> {
            some.iter().map(|(spec, source)| self.one(spec, source)).collect()
        };
        if sources.len() < MANY || !self.plain.rules.needs_walk() {
            return look(sources);
        }
        let (some, others) = sources.split_at(sources.len() / 2);
        std::thread::scope(|scope| {
            let begun = std::thread::Builder::new().spawn_scoped(scope, || look(others));
            let mut found = look(some);
            found.extend(match begun {
                // A walk that panics is a bug, and ends the program as one here would.
                Ok(it) => it.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                // The user may have no more threads.
                Err(_) => look(others),
            });
            found
        })
    }

    fn one(&self, spec: &MountSpec, source: &Source) -> HiddenNames {
        let Asked { rules, .. } = self.asked(&source.path);
        if spec.class == MountClass::System || spec.options.nodeny || !rules.needs_walk() {
            return HiddenNames::default();
        }
        self.look_below(source, hidden).unwrap_or_else(failed)
    }

    fn asked(&self, source: &HostPath) -> &Asked<'_> {
        let live = self.live.as_ref().filter(|(roots, _)| roots.contains(source));
        live.map_or(&self.plain, |(_, asked)| asked)
    }

    /// Walks the tree by what the rules say below it, and tells by the same what was found.
    fn look_below<T>(
        &self,
        source: &Source,
        tell: impl FnOnce(Walked, &Rules<'_>) -> T,
    ) -> Result<T, Errno> {
        let (asked, paths) = (self.asked(&source.path), source.paths());
        let narrower = asked.rules.narrower(&paths);
        let narrower = narrower.as_ref().map(|sets| Asked::new(asked.rules.with(sets, &paths)));
        let asked = narrower.as_ref().unwrap_or(asked);
        self.walk(source, asked).map(|walked| tell(walked, &asked.rules))
    }

    /// Walks the tree; when something is hidden that git tracks, that is spared.
    fn walk(&self, source: &Source, Asked { rules, digest }: &Asked<'_>) -> Result<Walked, Errno> {
        let root = open(source)?;
        let dir = self.remembered.as_ref().map(AsFd::as_fd);
        let cache = dir.map(|dir| WalkCache { fs: &OsFs, dir, rules: *digest });
        let options = WalkOptions { threads: THREADS, cache };
        let walked = walk(root.as_fd(), rules, &options)?;
        // Asked afterwards: one that begins now finds what was covered where it was.
        if self.runs.is_some_and(|runs| others::may_move(runs, source.path.as_path())) {
            return self.walk_at_rest(source, root.as_fd(), rules, &options);
        }
        let spared = self.spared(source, &walked, rules);
        if spared.is_empty() {
            return Ok(walked);
        }
        let rules = Rules { spared, ..*rules };
        walk_again(walked, &|path| rules.spared.contains(path), root.as_fd(), &rules)
    }

    /// The same where another run may move names meanwhile, and put others in the place of those that are read.
    fn walk_at_rest(
        &self,
        source: &Source,
        root: BorrowedFd<'_>,
        rules: &Rules<'_>,
        options: &WalkOptions<'_>,
    ) -> Result<Walked, Errno> {
        let ask = &mut |walked: &Walked| self.spared(source, walked, rules);
        let (walked, spared) = walk_at_rest(root, rules, options, ask)?;
        if spared.is_empty() {
            return Ok(walked);
        }
        let fewer = Rules { spared: spared.clone(), ..*rules };
        // What is in the directories that are shown now was not looked at before.
        let again = &mut |_: &Walked| self.spared(source, &walked, rules) == spared;
        match walk_at_rest(root, &fewer, options, again)? {
            (walked, true) => Ok(walked),
            (_, false) => Err(Errno::AGAIN),
        }
    }

    /// Returns what git tracks of the names that a walk has hidden by built-in patterns.
    fn spared(&self, source: &Source, walked: &Walked, rules: &Rules<'_>) -> BTreeSet<PathBuf> {
        if !walked.hidden.iter().any(|name| rules.is_builtin(&name.path)) {
            return BTreeSet::new();
        }
        let Some(work_tree) = self.work_tree else { return BTreeSet::new() };
        let Some(prefix) = source.path.below(work_tree) else { return BTreeSet::new() };
        let hidden = Tops::of(walked.hidden.iter().map(|name| prefix.join(&name.path)));
        tracked::below((work_tree, prefix), rules, &|name| hidden.has_at_or_above(name))
    }
}

/// Looks at a live tree when its run is over: what protected names and repositories are there now. Nothing is hidden from
/// that look: whoever makes a directory of a name that is hidden can have them in it. Of other people's code each `.git` is
/// told, which an index may name: git enters it by itself then.
pub(crate) fn noted(
    protect: &ProtectSet,
    (path, id): (&HostPath, FileId),
    options: &HiddenOptions<'_>,
) -> Option<Noted> {
    let denied = Denied::new(&[]).ok()?;
    let of_all = Rules::of(&denied, &[]);
    let rules = Rules { protect: Some(protect), is_whole: true, is_over: true, ..of_all };
    let remembered = options.cache.and_then(cache_directory);
    let (plain, work_tree) = (Asked::new(rules), options.work_tree);
    let looking = Looking { plain, live: None, work_tree, remembered, runs: None };
    looking.look_below(&Source { path: path.clone(), id, others: Vec::new() }, noted_whole).ok()
}

/// What a walk at the end found, and whether it missed anything.
fn noted_whole(walked: Walked, rules: &Rules<'_>) -> Noted {
    let is_closed = |error: &WalkError| error.errno == Errno::ACCESS;
    let is_cut = walked.errors.len() >= ERRORS_MAX;
    let (closed, missed): (Vec<_>, Vec<_>) = walked.errors.into_iter().partition(is_closed);
    let paths = |errors: Vec<WalkError>| errors.into_iter().map(|error| error.path);
    let closed = paths(closed).collect();
    let missed = is_cut.then(PathBuf::new).into_iter().chain(paths(missed)).collect();
    Noted { closed, missed, ..note(walked.noted, walked.repositories, rules) }
}

fn note(names: Vec<HiddenPath>, repositories: Vec<PathBuf>, rules: &Rules<'_>) -> Noted {
    let is_named = |name: &HiddenPath| rules.notes(name.path.as_os_str().as_bytes());
    let (names, links): (Vec<_>, Vec<_>) = names.into_iter().partition(is_named);
    let names = names.into_iter().map(|name| (name.path, name.kind == Kind::Directory)).collect();
    let links = links.into_iter().map(|name| name.path).collect();
    let whole = rules.protect.is_some() && rules.is_whole();
    Noted { names, links, repositories, closed: Vec::new(), missed: Vec::new(), whole }
}

fn failed(errno: Errno) -> HiddenNames {
    HiddenNames { failed: Some(errno.raw_os_error()), ..HiddenNames::default() }
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

fn hidden(walked: Walked, rules: &Rules<'_>) -> HiddenNames {
    let name = |name: HiddenPath| HiddenName {
        rule: rules.deciding(&name.path),
        directory: name.kind == Kind::Directory,
        path: name.path,
        socket: false,
    };
    let mut names: Vec<HiddenName> = walked.hidden.into_iter().map(name).collect();
    names.sort();
    HiddenNames {
        names,
        noted: Noted { links: Vec::new(), ..note(walked.noted, walked.repositories, rules) },
        entries: walked.entries,
        elapsed_us: u64::try_from(walked.elapsed.as_micros()).unwrap_or(u64::MAX),
        unreadable: walked.errors.into_iter().map(|error| error.path).collect(),
        ..HiddenNames::default()
    }
}
