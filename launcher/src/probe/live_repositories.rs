//! Repositories in live mounts: their settings, as a command may see them, and where the hooks are
//! that run outside.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_policy::{HostPath, Policy, ProtectSet};
use endow_vfs::git_config::{self, Setting};

use super::live_names::live_roots;
use super::small_file;
use crate::plan::host::{LiveRepository, Paths};

/// What makes a directory one of git's (gitrepository-layout(5)).
const PARTS: [&str; 3] = ["HEAD", "objects", "refs"];

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

/// Looks at the repository at the root of each live mount, by the mount's source.
pub(super) fn look(
    policy: &Policy,
    protect: Option<&ProtectSet>,
    paths: &Paths,
) -> BTreeMap<HostPath, LiveRepository> {
    let Some(protect) = protect else { return BTreeMap::new() };
    let wanted = Wanted::of(protect);
    let found = |root: &HostPath| Some((root.clone(), repository(root, wanted)?));
    live_roots(policy, paths).filter_map(|(_, root)| found(root)).collect()
}

fn repository(root: &HostPath, wanted: Wanted) -> Option<LiveRepository> {
    let root = root.as_path();
    let directory = git_directory(root)?;
    let place = directory.join("config");
    // A link would lead to another place than the one that is covered.
    let opened = small_file::SmallFile::open(&root.join(&place), small_file::Links::Refused);
    let text = opened.and_then(|opened| opened.read(git_config::MAX)).ok();
    let settings = text.as_deref().and_then(git_config::parse).unwrap_or_default();
    let named = settings.iter().rev().find(|it| it.name() == b"core.hookspath");
    let named = named.and_then(|it| hooks_path(it, root));
    let hooks = [Some(directory.join("hooks")), named].into_iter().flatten();
    let hooks = hooks.flat_map(|hooks| with_target(root, hooks));
    let settings = text.map(|text| (place, git_config::without_traps(&text)));
    Some(LiveRepository {
        settings: settings.filter(|_| wanted.settings),
        hooks: hooks.filter(|_| wanted.hooks).collect(),
    })
}

/// The root holds a repository, or is the git directory of one. A `.git` that is a link or a file
/// leads elsewhere.
fn git_directory(root: &Path) -> Option<PathBuf> {
    let below = root.join(".git");
    let is_directory = below.symlink_metadata().is_ok_and(|found| found.is_dir());
    if is_directory && is_git(&below) {
        return Some(PathBuf::from(".git"));
    }
    is_git(root).then(PathBuf::new)
}

/// Whether a directory is one of git's.
pub(super) fn is_git(directory: &Path) -> bool {
    PARTS.iter().all(|part| directory.join(part).symlink_metadata().is_ok())
}

/// Returns where in the work tree the settings say that hooks are.
fn hooks_path(setting: &Setting, root: &Path) -> Option<PathBuf> {
    let value = Path::new(OsStr::from_bytes(setting.value.as_deref()?));
    below(root, &root.join(value))
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
