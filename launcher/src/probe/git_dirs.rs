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
    is_linked(directory, root) || is_submodule_of(directory, root)
}

/// A linked work tree's directory names its `.git` file, by a path from itself where git is told so
/// (`worktree.useRelativePaths`).
fn is_linked(directory: &Path, root: &Path) -> bool {
    let Some(named) = named_in(&directory.join("gitdir"), b"") else { return false };
    let dot_git = directory.join(named);
    let above = dot_git.parent().and_then(|above| fs::canonicalize(above).ok());
    dot_git.file_name() == Some(OsStr::new(".git"))
        && above.is_some()
        && above == fs::canonicalize(root).ok()
}

/// A submodule's directory lies in `modules` of the directory of a work tree above, and its settings name the
/// work tree: beside it lie those of others.
fn is_submodule_of(directory: &Path, root: &Path) -> bool {
    let mut above = root.ancestors().skip(1);
    let is_in = |git: PathBuf| directory.starts_with(git.join("modules"));
    above.any(|above| is_in(above.join(".git")) || linked_of(above).is_some_and(is_in))
        && names_work_tree(directory, root)
}

/// Returns the directory of a linked work tree.
fn linked_of(root: &Path) -> Option<PathBuf> {
    let named = named_in(&root.join(".git"), b"gitdir: ")?;
    let directory = fs::canonicalize(root.join(named)).ok()?;
    is_linked(&directory, root).then_some(directory)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository with a linked work tree beside it, which has a submodule, as git makes them.
    fn linked(scratch: &Path, gitdir: &str) -> [PathBuf; 2] {
        let (repository, work_tree) = (scratch.join("repository/.git"), scratch.join("tree"));
        let own = repository.join("worktrees/tree");
        let submodule = own.join("modules/sub");
        for directory in ["objects", "worktrees/tree/modules/sub"] {
            fs::create_dir_all(repository.join(directory)).expect("made");
        }
        fs::create_dir_all(work_tree.join("sub")).expect("made");
        let write = |path: &Path, text: &str| fs::write(path, text).expect("written");
        for directory in [&repository, &own, &submodule] {
            write(&directory.join("HEAD"), "ref: refs/heads/main\n");
        }
        write(&own.join("commondir"), "../..\n");
        write(&own.join("gitdir"), &format!("{gitdir}\n"));
        write(&work_tree.join(".git"), "gitdir: ../repository/.git/worktrees/tree\n");
        let of_sub = "[core]\n\tworktree = ../../../../../../tree/sub\n";
        write(&submodule.join("config"), of_sub);
        let to_sub = "gitdir: ../../repository/.git/worktrees/tree/modules/sub\n";
        write(&work_tree.join("sub/.git"), to_sub);
        [repository, submodule]
    }

    #[test]
    fn linked_work_tree_is_known_by_any_path_that_leads_back() {
        for relative in [true, false] {
            let made = tempfile::tempdir().expect("a directory");
            let scratch = fs::canonicalize(made.path()).expect("a path");
            let absolute = scratch.join("tree/.git").display().to_string();
            let gitdir = if relative { "../../../../tree/.git".to_owned() } else { absolute };
            let [repository, submodule] = linked(&scratch, &gitdir);
            let tree = scratch.join("tree");
            assert_eq!(outside(&tree), [repository], "{gitdir}");
            assert_eq!(outside(&tree.join("sub")), [submodule], "{gitdir}");
        }
    }

    #[test]
    fn directory_that_leads_to_another_work_tree_is_not_taken() {
        for gitdir in ["../../../../other/.git", "../../../../tree/.git2", "../../../../tree"] {
            let made = tempfile::tempdir().expect("a directory");
            let scratch = fs::canonicalize(made.path()).expect("a path");
            fs::create_dir(scratch.join("other")).expect("made");
            linked(&scratch, gitdir);
            for root in ["tree", "tree/sub"] {
                assert_eq!(outside(&scratch.join(root)), Vec::<PathBuf>::new(), "{gitdir} {root}");
            }
        }
    }
}
