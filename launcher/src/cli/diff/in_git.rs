//! What of a repository a path is: what nobody reads, and what somebody should see by its name.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use endow_vfs::git_dir::{self, KEPT, Part, WORKTREES};

/// What a path within a git directory is to somebody who looks at changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// An object, or what is made of objects.
    Object,
    /// A reference, or `HEAD`.
    Reference,
    /// The index, a log, or a note of where the repository stands.
    Note,
    /// Settings, hooks, what a rebase does when it goes on, and all that is not known.
    Other,
}

/// A path within a git directory.
pub(super) struct InGit {
    /// The innermost one: that of a submodule or of a linked work tree among them.
    pub(super) git_dir: PathBuf,
    pub(super) below: PathBuf,
    pub(super) what: What,
}

/// What git looks for by these names in a repository of its own, beside what says where it stands.
const OWN: [&str; 4] = ["config", "description", "hooks", "info"];
/// What leads git to programs, or to settings that do.
const LEADING: [&str; 5] = ["attributes", "commondir", "config", "config.worktree", "hooks"];
/// State of a repository that is more than notes: a list of commands, or other repositories.
const TOLD: [&str; 5] = ["modules", "rebase-apply", "rebase-merge", "sequencer", WORKTREES];
/// Directories of notes.
const NOTES: [&str; 2] = ["logs", "reftable"];

/// Returns where in a repository a path is, if it is in one.
pub(super) fn find(path: &Path) -> Option<InGit> {
    let names: Vec<&OsStr> = path.iter().collect();
    let outer = names.iter().rposition(|name| *name == ".git")? + 1;
    let at = outer + kept(names.get(outer..)?);
    let (git_dir, below) = names.split_at_checked(at)?;
    let [git_dir, below]: [PathBuf; 2] = [git_dir, below].map(|it| it.iter().collect());
    // Where a submodule's name ends is a guess, and the command chooses such names.
    let may_lead = at > outer && names.iter().skip(at).any(|name| is_one(name, &LEADING));
    let what = if may_lead { What::Other } else { what(&below) };
    Some(InGit { git_dir, below, what })
}

/// Whether a path is that of an object: its bytes are no text, whatever is among them.
pub(super) fn is_object(path: &Path) -> bool {
    find(path).is_some_and(|it| it.what == What::Object)
}

/// Returns how many names lead to what a repository keeps for a submodule, whose name may have slashes, or for a
/// linked work tree.
fn kept(below: &[&OsStr]) -> usize {
    let mut at = 0;
    while let Some([kind, _, rest @ ..]) = below.get(at..) {
        let own = rest.iter().enumerate().position(|(number, name)| {
            *kind == WORKTREES || is_own(name, number + 1 == rest.len())
        });
        let Some(own) = own.filter(|_| is_one(kind, &KEPT)) else { break };
        at += 2 + own;
    }
    at
}

/// Whether git itself gives a name in a repository; one of capitals only to a file.
fn is_own(name: &OsStr, is_last: bool) -> bool {
    let is_part = || matches!(git_dir::part(Path::new(name)), Part::Object | Part::State);
    let is_capital = name.as_encoded_bytes().iter().all(|it| !it.is_ascii_lowercase());
    is_one(name, &OWN) || is_part() && (is_last || !is_capital)
}

fn what(below: &Path) -> What {
    let Some(first) = below.iter().next() else { return What::Other };
    let is_alone = below.iter().count() == 1;
    match git_dir::part(below) {
        _ if first == "objects" => What::Object,
        Part::State if first == "refs" || is_alone && first == "HEAD" => What::Reference,
        Part::State if is_one(first, &NOTES) => What::Note,
        Part::State if is_alone && !is_one(first, &TOLD) => What::Note,
        _ => What::Other,
    }
}

fn is_one(name: &OsStr, known: &[&str]) -> bool {
    known.iter().any(|it| name == *it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_known_by_their_place() {
        for path in [
            ".git/objects/ab/cd",
            "x/.git/objects/pack/pack-1.idx",
            ".git/objects/info/x",
            ".git/objects/ab/tmp_obj_x",
            ".git/modules/a/b/objects/ab/cd",
        ] {
            assert!(is_object(Path::new(path)), "{path}");
        }
        for path in ["objects/ab/cd", ".git/index", ".git/config", ".gitx/objects/ab/cd"] {
            assert!(!is_object(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn submodules_and_work_trees_are_repositories() {
        for (path, git_dir, what) in [
            (".git/refs/heads/hooks", ".git", What::Reference),
            (".git/COMMIT_EDITMSG", ".git", What::Note),
            (".git/modules/a/HEAD", ".git/modules/a", What::Reference),
            (".git/modules/a/b/logs/HEAD", ".git/modules/a/b", What::Note),
            (".git/modules/a/LIB/index", ".git/modules/a/LIB", What::Note),
            (".git/modules/a/modules/b/refs/heads/x", ".git/modules/a/modules/b", What::Reference),
            (".git/worktrees/t/index", ".git/worktrees/t", What::Note),
            (".git/worktrees/t/modules/a/index", ".git/worktrees/t/modules/a", What::Note),
            ("x/.git/modules/a/ORIG_HEAD", "x/.git/modules/a", What::Note),
        ] {
            let found = find(Path::new(path)).expect("in a repository");
            assert_eq!((found.git_dir.as_path(), found.what), (Path::new(git_dir), what), "{path}");
        }
    }

    #[test]
    fn what_leads_git_is_seen_wherever_it_is() {
        for path in [
            ".git/config",
            ".git/hooks/index",
            ".git/rebase-merge/git-rebase-todo",
            ".git/sequencer/todo",
            ".git/hooks/pre-commit.lock",
            ".git/index/x",
            ".git/modules/a/config",
            ".git/modules/a/hooks/pre-commit",
            ".git/modules/a/hooks/logs/x",
            ".git/modules/a/logs/hooks/pre-commit",
            ".git/modules/a/objects/config",
            ".git/modules/a/refs/commondir",
            ".git/modules/index/hooks/index",
            ".git/modules/a",
            ".git/worktrees/t/gitdir",
            ".git/worktrees/t/commondir",
            ".git/worktrees/t/config.worktree",
        ] {
            let found = find(Path::new(path)).expect("in a repository");
            assert_eq!(found.what, What::Other, "{path}");
        }
    }
}
