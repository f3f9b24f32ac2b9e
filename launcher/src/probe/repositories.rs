//! Repositories in mounts: their settings, as a command may see them, and where the hooks are that run
//! outside, where a mount is live. Those at a mount's root, those that the walk of names found further
//! down, and those of submodules.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_policy::{Access, HostPath, MountSpec, Policy, ProtectSet};
use endow_vfs::git_config::{self, Setting};
use endow_vfs::git_dir;

use super::live_names::{granted_roots, live_roots};
use super::small_file::{Links, SmallFile};
use super::work_trees;
use crate::plan::host::{HiddenNames, Noted, Paths, RepositoryFacts};

/// The directory of git's in a work tree.
const GIT: &str = ".git";

/// What of a repository is protected.
#[derive(Clone, Copy, Default)]
struct Wanted {
    settings: bool,
    hooks: bool,
}

impl Wanted {
    /// Asks the patterns about a repository, wherever its directory is mounted.
    fn of(protect: &ProtectSet) -> Self {
        let is_protected = |name: &str| protect.matching(Path::new(name)).is_some();
        Self { settings: is_protected(".git/config"), hooks: is_protected(".git/hooks") }
    }
}

/// Looks at the repositories of each mount, by the mount's source.
pub(super) fn look(
    (policy, paths, protect): (&Policy, &Paths, Option<&ProtectSet>),
    hidden: &BTreeMap<HostPath, HiddenNames>,
    without_git: &BTreeSet<HostPath>,
) -> BTreeMap<HostPath, RepositoryFacts> {
    let known =
        |root: &HostPath| Known { names: hidden.get(root), has_no_git: without_git.contains(root) };
    let wanted = protect.map(Wanted::of).unwrap_or_default();
    let live: BTreeSet<&HostPath> = live_roots(policy, paths).map(|(_, root)| root).collect();
    let is_free = |place: &Path| protect.is_some_and(|protect| protect.readmits(place));
    let of_live = live.iter().map(|root| {
        let mut found = facts(root, &known(root), &|at| of_live(at, wanted));
        found.hooks.retain(|place| !is_free(place));
        (*root, found)
    });
    let others = others(policy, paths).filter(|root| !live.contains(root));
    let others = others.map(|root| (root, facts(root, &known(root), &with_credentials)));
    let others = others.filter(|(_, facts)| *facts != RepositoryFacts::default());
    let mut others = others.peekable();
    // Patterns are compiled only where they decide something.
    let shown = others.peek().is_some() && !protects_settings(policy);
    let all = of_live.chain(others.filter(|_| !shown));
    let all = all.filter(|(_, facts)| *facts != RepositoryFacts::default());
    all.map(|(root, facts)| (root.clone(), facts)).collect()
}

/// Returns the directories that are mounted and not live, but for what the user shows on purpose.
fn others<'a>(policy: &'a Policy, paths: &'a Paths) -> impl Iterator<Item = &'a HostPath> {
    let is_asked = |spec: &MountSpec| spec.access != Access::Rw && !spec.options.nodeny;
    granted_roots(policy, paths).filter(move |(spec, _)| is_asked(spec)).map(|(_, root)| root)
}

fn protects_settings(policy: &Policy) -> bool {
    ProtectSet::new(&policy.protect).map_or(true, |protect| Wanted::of(&protect).settings)
}

/// A directory of git's, in a mount.
#[derive(Clone, Copy)]
struct Directory<'a> {
    root: &'a Path,
    /// Where in the mount it is.
    place: &'a Path,
}

/// What is known of a mount.
struct Known<'a> {
    names: Option<&'a HiddenNames>,
    /// Whether git finds nothing at its root.
    has_no_git: bool,
}

/// Adds up what is found in each repository of a mount.
fn facts(
    root: &HostPath,
    Known { names, has_no_git }: &Known<'_>,
    look: &dyn Fn(Directory<'_>) -> RepositoryFacts,
) -> RepositoryFacts {
    let root = root.as_path();
    let mut all = RepositoryFacts::default();
    let noted = names.map(|it| &it.noted);
    let at_root = AtRoot::of(root, *has_no_git);
    let called = called_git(noted).map(PathBuf::as_path).chain(at_root.called);
    let places = directories_beside(root, noted, &at_root).into_iter();
    let places: BTreeSet<PathBuf> = places.chain(called.map(Path::to_owned)).collect();
    for place in places {
        let found = look(Directory { root, place: &place });
        all.settings.extend(found.settings);
        all.credentials.extend(found.credentials);
        all.hooks.extend(found.hooks);
        all.work_trees.extend(work_trees::there(root, &place));
    }
    let is_hidden = |path: &Path| {
        names.is_some_and(|it| it.names.iter().any(|name| path.starts_with(&name.path)))
    };
    all.settings.sort();
    all.settings.dedup_by(|one, other| one.0 == other.0);
    all.settings.retain(|(place, _)| !is_hidden(place));
    all.credentials.retain(|place| !is_hidden(place));
    all.hooks.retain(|place| !is_hidden(place));
    all
}

/// Returns the directories that are called `.git` further down. One that is none of git's may be a
/// repository that an earlier command took apart.
fn called_git(noted: Option<&Noted>) -> impl Iterator<Item = &PathBuf> {
    let names = noted.into_iter().flat_map(|it| &it.names);
    let found = names.filter(|(path, is_dir)| *is_dir && path.file_name() == Some(GIT.as_ref()));
    found.map(|(path, _)| path)
}

/// Returns the directories of git's in a mount; at its root may be none.
pub(super) fn directories(root: &Path, noted: Option<&Noted>, has_no_git: bool) -> Vec<PathBuf> {
    directories_beside(root, noted, &AtRoot::of(root, has_no_git))
}

/// Returns the directories of git's in a mount, where that of the root is known. Submodules lie also in what is
/// called `.git` and is none of git's: the end of a run looks for them there.
fn directories_beside(root: &Path, noted: Option<&Noted>, at_root: &AtRoot) -> Vec<PathBuf> {
    let called = || called_git(noted).map(PathBuf::as_path);
    let bare = || noted.into_iter().flat_map(|it| &it.repositories).map(PathBuf::as_path);
    let of_root = at_root.git.as_deref();
    let above = called().chain(bare()).chain(of_root.or(at_root.called));
    let submodules = above.flat_map(|it| git_dir::submodules(root, it, &git_dir::is));
    let gits = called().filter(|it| git_dir::is(&root.join(it))).chain(bare()).chain(of_root);
    let mut all: Vec<PathBuf> = submodules.chain(gits.map(Path::to_owned)).collect();
    all.sort();
    all.dedup();
    all
}

/// Returns the hooks of a live repository, and its settings.
fn of_live(directory: Directory<'_>, wanted: Wanted) -> RepositoryFacts {
    let Directory { root, place } = directory;
    let files = settings(directory);
    let text = files.iter().find(|file| file.is_main).and_then(|file| file.text.as_deref());
    let values = text.and_then(git_config::parse).unwrap_or_default();
    let named = values.iter().rev().find(|it| it.name() == b"core.hookspath");
    let named = named.and_then(|it| hooks_path(it, root, place));
    let hooks = [Some(place.join("hooks")), named].into_iter().flatten();
    let hooks = hooks.flat_map(|hooks| with_target(root, hooks)).filter(|_| wanted.hooks);
    let files = files.into_iter().filter(|_| wanted.settings);
    let mut found = RepositoryFacts { hooks: hooks.collect(), ..RepositoryFacts::default() };
    for file in files {
        found.credentials.extend(file.without_credentials().map(|_| file.place.clone()));
        let shown = file.text.map_or_else(Vec::new, |it| git_config::without_traps(&it));
        found.settings.push((file.place, shown));
    }
    found
}

/// Returns the settings of a repository that hold credentials, without these.
fn with_credentials(directory: Directory<'_>) -> RepositoryFacts {
    let files = settings(directory).into_iter();
    let shown = files.filter_map(|file| Some((file.place.clone(), file.without_credentials()?)));
    let settings: Vec<_> = shown.collect();
    let credentials = settings.iter().map(|(place, _)| place.clone()).collect();
    RepositoryFacts { settings, credentials, ..RepositoryFacts::default() }
}

/// Returns the settings in these directories of a tree, where the directories are git's.
pub(crate) fn settings_of(root: &Path, directories: &BTreeSet<PathBuf>) -> Vec<SettingsFile> {
    // What is called so and is none of git's may be a repository that was taken apart.
    let is_called =
        |place: &Path| place.iter().any(|name| name.as_bytes().ends_with(GIT.as_bytes()));
    let is_gits = |place: &&PathBuf| is_called(place) || git_dir::is(&root.join(place));
    let gits = directories.iter().filter(is_gits);
    gits.flat_map(|place| settings(Directory { root, place })).collect()
}

/// A file of settings.
pub(crate) struct SettingsFile {
    /// Where in the mount it is, links followed: what leads to it needs no cover.
    pub(crate) place: PathBuf,
    /// Whether it is the repository's, and not the work tree's.
    is_main: bool,
    /// What it says; `None` when that can't be read whole.
    pub(crate) text: Option<Vec<u8>>,
}

impl SettingsFile {
    /// Returns what it says without credentials, where it holds some. What can't be read whole may.
    pub(crate) fn without_credentials(&self) -> Option<Vec<u8>> {
        self.text.as_ref().map_or(Some(Vec::new()), |it| git_config::without_credentials(it))
    }
}

/// Looks at the settings of a repository and of its work trees.
fn settings(Directory { root, place }: Directory<'_>) -> Vec<SettingsFile> {
    let trees = place.join(git_dir::WORKTREES);
    let linked = std::fs::read_dir(root.join(&trees)).into_iter().flatten().flatten();
    let linked = linked.map(|entry| trees.join(entry.file_name()));
    let of_trees = linked.chain([place.to_owned()]).map(|it| (it.join("config.worktree"), false));
    let files = of_trees.chain([(place.join("config"), true)]).filter_map(|(path, is_main)| {
        let path = root.join(path).canonicalize().ok()?;
        let place = path.strip_prefix(root).ok()?.to_owned();
        let opened = SmallFile::open(&path, Links::Refused);
        let text = opened.and_then(|opened| opened.read(git_config::MAX)).ok();
        path.is_file().then_some(SettingsFile { place, is_main, text })
    });
    files.collect()
}

/// What there is of git at the root of a mount.
struct AtRoot {
    /// A directory that is called `.git`, git's or not. One that is a link or a file leads elsewhere.
    called: Option<&'static Path>,
    /// The directory of git's: that one, or the root itself.
    git: Option<PathBuf>,
}

impl AtRoot {
    fn of(root: &Path, has_no_git: bool) -> Self {
        if has_no_git {
            return Self { called: None, git: None };
        }
        let called = is_directory(&root.join(GIT)).then(|| Path::new(GIT));
        let git = called.filter(|it| git_dir::is(&root.join(it))).map(Path::to_owned);
        Self { called, git: git.or_else(|| git_dir::was_alone(root).then(PathBuf::new)) }
    }
}

/// Returns where in the mount the settings say that hooks are: relative to the work tree, or to the
/// directory of git's where there is none.
fn hooks_path(setting: &Setting, root: &Path, directory: &Path) -> Option<PathBuf> {
    let value = Path::new(OsStr::from_bytes(setting.value.as_deref()?));
    let is_named = directory.file_name() == Some(GIT.as_ref());
    let work_tree = directory.parent().filter(|_| is_named).unwrap_or(directory);
    // One that holds the repository would leave nothing of it to write; an empty one is none.
    below(root, &root.join(work_tree).join(value)).filter(|place| !directory.starts_with(place))
}

/// Returns a directory of hooks, and what it leads to when it is a link: both below the root.
fn with_target(root: &Path, hooks: PathBuf) -> Vec<PathBuf> {
    let Ok(found) = root.join(&hooks).symlink_metadata() else { return Vec::new() };
    let target = found.is_symlink().then(|| below(root, &root.join(&hooks))).flatten();
    let is_known = found.is_dir() || found.is_symlink();
    target.into_iter().chain(is_known.then_some(hooks)).collect()
}

/// Returns the place of a directory below the root, links resolved.
fn below(root: &Path, directory: &Path) -> Option<PathBuf> {
    let path = directory.canonicalize().ok().filter(|path| path.is_dir())?;
    let place = path.strip_prefix(root).ok()?;
    (!place.as_os_str().is_empty()).then(|| place.to_owned())
}

fn is_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}
