//! The directories of git that lie outside of a work tree.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_vfs::git_dir;

use super::small_file;

/// The longest `.git` file that is read.
const NAMED_MAX: u64 = 8192;
/// The largest settings of a submodule that are read.
const CONFIG_MAX: u64 = 1 << 20;

/// What tells a directory of git's, each by itself: a command with a live mount can take the others away.
const PARTS: [&str; 5] = ["HEAD", "config", "objects", "refs", "hooks"];

/// Returns the root of the work tree that a directory lies in. One that was taken apart is one still: git would look
/// further up, and what a command does to its own workspace must not make the next one's larger.
pub(crate) fn work_tree(directory: &Path) -> Option<&Path> {
    directory.ancestors().find(|path| is_git(&path.join(".git")))
}

fn is_git(dot_git: &Path) -> bool {
    match fs::symlink_metadata(dot_git) {
        Ok(found) if found.is_dir() => {
            PARTS.iter().any(|part| dot_git.join(part).symlink_metadata().is_ok())
        }
        Ok(found) => found.is_file(),
        Err(_) => false,
    }
}

/// Returns the directory of git of a work tree by each of the names that git compares: of one that a file leads to
/// it resolves the links.
pub(super) fn of(root: &Path) -> Vec<PathBuf> {
    let led = named(root).into_iter().next();
    let own = root.join(".git");
    let real = fs::canonicalize(led.as_ref().unwrap_or(&own)).ok();
    real.into_iter().chain(led.is_none().then_some(own)).collect()
}

/// Follows a `.git` file to the directory it names, and from there to the common one. What the
/// file names must look like a git directory and point back, or a planted file could name any.
pub(crate) fn outside(root: &Path) -> Vec<PathBuf> {
    let Some(named) = named_in(&root.join(".git"), b"gitdir: ") else { return Vec::new() };
    let Ok(directory) = fs::canonicalize(root.join(named)) else { return Vec::new() };
    if directory.join("HEAD").symlink_metadata().is_err() || !points_back(&directory, root) {
        return Vec::new();
    }
    let found = common_of(&directory).unwrap_or(directory);
    if found.starts_with(root) { Vec::new() } else { vec![found] }
}

/// Returns the directories that the `.git` file of a work tree leads to, whatever they are.
pub(super) fn named(root: &Path) -> Vec<PathBuf> {
    let named = named_in(&root.join(".git"), b"gitdir: ").map(|named| root.join(named));
    let common = named.iter().filter_map(|it| Some(it.join(named_in(&it.join("commondir"), b"")?)));
    let common: Vec<PathBuf> = common.collect();
    named.into_iter().chain(common).collect()
}

/// Returns the directory of which `directory` is a linked work tree's. git makes those as
/// `worktrees/NAME` of a git directory: anything else that is named may be any directory above.
fn common_of(directory: &Path) -> Option<PathBuf> {
    let named = named_in(&directory.join("commondir"), b"")?;
    let common = fs::canonicalize(directory.join(named)).ok()?;
    let is_git = ["HEAD", "objects"].iter().all(|it| common.join(it).symlink_metadata().is_ok());
    (is_git && directory.parent()? == common.join(git_dir::WORKTREES)).then_some(common)
}

fn points_back(directory: &Path, root: &Path) -> bool {
    let dot_git = root.join(".git");
    let linked = named_in(&directory.join("gitdir"), b"");
    let linked = linked.is_some_and(|named| directory.join(named) == dot_git);
    linked || is_submodule_of(directory, root)
}

/// A submodule's directory lies in `.git/modules` of a work tree above, and its settings name the
/// work tree: beside it lie those of others.
fn is_submodule_of(directory: &Path, root: &Path) -> bool {
    let above = root.ancestors().skip(1);
    let mut modules = above.map(|above| above.join(".git/modules"));
    modules.any(|modules| directory.starts_with(modules)) && names_work_tree(directory, root)
}

fn names_work_tree(directory: &Path, root: &Path) -> bool {
    let text = small_file::read(&directory.join("config"), CONFIG_MAX).unwrap_or_default();
    let mut named = text.split(|byte| *byte == b'\n').filter_map(|line| {
        let (key, value) = line.split_at_checked(line.iter().position(|byte| *byte == b'=')?)?;
        let value = value.get(1..)?.trim_ascii();
        (key.trim_ascii() == b"worktree").then(|| directory.join(OsStr::from_bytes(value)))
    });
    let root = fs::canonicalize(root).ok();
    root.is_some() && named.any(|named| fs::canonicalize(named).ok() == root)
}

fn named_in(file: &Path, prefix: &[u8]) -> Option<PathBuf> {
    let text = small_file::read(file, NAMED_MAX).ok()?;
    let text = text.strip_prefix(prefix)?;
    let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
    let name = text.get(..end)?;
    (!name.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(name)))
}
