//! Which directories of a mount git may take for its own, when a run is over.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use endow_vfs::git_dir;

use super::Tree;
use crate::plan::host::Noted;

impl Tree {
    /// Returns directories of git's that are no `.git`, those of submodules among them, and whether each is but what a
    /// repository keeps for a linked work tree.
    pub(super) fn found_repositories(&self, noted: &Noted) -> BTreeMap<PathBuf, bool> {
        let root = format!("/proc/self/fd/{}/.", self.held.root().as_raw_fd());
        let root = Path::new(&root);
        let kept = self.kept(root, noted);
        let has_more =
            |path: &&PathBuf| root.join(path).join("commondir").symlink_metadata().is_ok();
        let mut found: BTreeMap<PathBuf, bool> =
            kept.iter().map(|path| (path.clone(), is_linked(root, path))).collect();
        // What one has elsewhere is two directories above, or the name of that is held.
        let common = kept.iter().filter(has_more).filter_map(|path| path.parent()?.parent());
        let common = common.filter(|path| !is_git(path)).map(Path::to_owned);
        for path in common.chain(noted.repositories.iter().cloned()) {
            found.entry(path).or_insert(false);
        }
        found.retain(|path, _| !path.as_os_str().is_empty());
        found
    }

    /// Returns what repositories keep for submodules and linked work trees.
    fn kept(&self, root: &Path, noted: &Noted) -> Vec<PathBuf> {
        let named = noted.names.iter().map(|(path, _)| path).filter(|path| is_git(path));
        let own = if self.prefix.as_os_str().is_empty() { ".git" } else { "" };
        let all = named.chain(&noted.repositories).map(PathBuf::as_path).chain([Path::new(own)]);
        all.flat_map(|it| git_dir::submodules(root, it, &git_dir::is_any)).collect()
    }
}

fn is_git(path: &Path) -> bool {
    path.file_name() == Some(OsStr::new(".git"))
}

fn is_linked(root: &Path, path: &Path) -> bool {
    path.parent().is_some_and(|above| above.ends_with(git_dir::WORKTREES))
        && !git_dir::is(&root.join(path))
}
