//! Repositories in live mounts: their settings, as a command may see them, and where the hooks are
//! that run outside. Those at a mount's root, those that the walk of names found further down, and
//! those of submodules.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_policy::{HostPath, Policy, ProtectSet};
use endow_vfs::git_config::{self, Setting};
use endow_vfs::git_dir;

use super::live_names::live_roots;
use super::small_file;
use crate::plan::host::{HiddenNames, LiveRepository, Noted, Paths};

/// What of a repository is protected.
#[derive(Clone, Copy)]
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

/// Looks at the repositories of each live mount, by the mount's source.
pub(super) fn look(
    (policy, paths, protect): (&Policy, &Paths, Option<&ProtectSet>),
    hidden: &BTreeMap<HostPath, HiddenNames>,
) -> BTreeMap<HostPath, LiveRepository> {
    let Some(protect) = protect else { return BTreeMap::new() };
    let wanted = Wanted::of(protect);
    let found = |root: &HostPath| {
        let noted = hidden.get(root).map(|it| &it.noted);
        let mut all = LiveRepository::default();
        for directory in directories(root.as_path(), noted) {
            add(root.as_path(), &directory, wanted, &mut all);
        }
        (all != LiveRepository::default()).then(|| (root.clone(), all))
    };
    live_roots(policy, paths).filter_map(|(_, root)| found(root)).collect()
}

/// Returns the directories of git's in a mount.
pub(super) fn directories(root: &Path, noted: Option<&Noted>) -> Vec<PathBuf> {
    let names = noted.iter().flat_map(|it| &it.names);
    let deep = names.filter(|(path, is_dir)| *is_dir && path.file_name() == Some(".git".as_ref()));
    let deep = deep.map(|(path, _)| path).filter(|path| git_dir::is(&root.join(path)));
    let bare = noted.iter().flat_map(|it| &it.repositories);
    let mut all: Vec<PathBuf> = deep.chain(bare).cloned().chain(git_directory(root)).collect();
    let submodules = all.iter().flat_map(|directory| git_dir::submodules(root, directory));
    all = submodules.collect::<Vec<_>>().into_iter().chain(all).collect();
    all.sort();
    all.dedup();
    all
}

fn add(root: &Path, directory: &Path, wanted: Wanted, all: &mut LiveRepository) {
    let place = directory.join("config");
    // A link would lead to another place than the one that is covered.
    let opened = small_file::SmallFile::open(&root.join(&place), small_file::Links::Refused);
    let text = opened.and_then(|opened| opened.read(git_config::MAX)).ok();
    let settings = text.as_deref().and_then(git_config::parse).unwrap_or_default();
    let named = settings.iter().rev().find(|it| it.name() == b"core.hookspath");
    let named = named.and_then(|it| hooks_path(it, root, directory));
    let hooks = [Some(directory.join("hooks")), named].into_iter().flatten();
    let hooks = hooks.flat_map(|hooks| with_target(root, hooks));
    let settings = text.map(|text| (place, git_config::without_traps(&text)));
    all.settings.extend(settings.filter(|_| wanted.settings));
    all.hooks.extend(hooks.filter(|_| wanted.hooks));
}

/// The root holds a repository, or is the git directory of one. A `.git` that is a link or a file
/// leads elsewhere.
fn git_directory(root: &Path) -> Option<PathBuf> {
    let below = root.join(".git");
    let is_directory = below.symlink_metadata().is_ok_and(|found| found.is_dir());
    if is_directory && git_dir::is(&below) {
        return Some(PathBuf::from(".git"));
    }
    git_dir::is(root).then(PathBuf::new)
}

/// Returns where in the mount the settings say that hooks are: relative to the work tree, or to the
/// directory of git's where there is none.
fn hooks_path(setting: &Setting, root: &Path, directory: &Path) -> Option<PathBuf> {
    let value = Path::new(OsStr::from_bytes(setting.value.as_deref()?));
    let is_named = directory.file_name() == Some(".git".as_ref());
    let work_tree = directory.parent().filter(|_| is_named).unwrap_or(directory);
    below(root, &root.join(work_tree).join(value))
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
