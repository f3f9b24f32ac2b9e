//! What git would follow or run outside: names that are no matter of patterns, since any directory can
//! be a repository, and any `.git` can lead to one.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::Sides;
use crate::fs::Kind;

/// Files by which a repository is steered, or leads to another (gitrepository-layout(5)).
const STEERING: [&str; 4] = ["config", "config.worktree", "commondir", "gitdir"];
/// Directories whose content git runs, now or when work in progress goes on.
const RUN: [&str; 4] = ["hooks", "rebase-apply", "rebase-merge", "sequencer"];

/// Looks at both sides of a mount, which nobody changes meanwhile.
pub struct GitTraps<'a> {
    sides: Sides<'a>,
    /// Directories that were asked for.
    known: RefCell<HashMap<PathBuf, bool>>,
}

impl<'a> GitTraps<'a> {
    /// Takes both sides.
    pub fn new(sides: Sides<'a>) -> Self {
        Self { sides, known: RefCell::default() }
    }

    /// Returns why a changed entry is held; `None` for what git takes as data.
    pub fn held(&self, path: &Path, kind: Kind) -> Option<&'static str> {
        let name = path.file_name()?;
        if is(name, ".git") && kind != Kind::Directory {
            return Some("a `.git` that leads elsewhere");
        }
        let steers = STEERING.iter().any(|it| is(name, it));
        if steers && path.parent().is_some_and(|above| self.is_git_dir(above)) {
            return Some("what steers a repository");
        }
        let run = path.ancestors().filter(|it| it.file_name().is_some_and(is_run));
        let mut homes = run.filter_map(Path::parent);
        homes.any(|home| self.is_git_dir(home)).then_some("what a repository runs")
    }

    /// Returns whether a path is, or lies in, a directory of git's.
    pub(super) fn is_in(&self, path: &Path) -> bool {
        is_named(path) || path.ancestors().any(|above| self.is_git_dir(above))
    }

    /// A directory below a `.git`, or one with the parts of a repository.
    fn is_git_dir(&self, path: &Path) -> bool {
        is_named(path) || self.has_parts(path)
    }

    fn has_parts(&self, path: &Path) -> bool {
        if let Some(known) = self.known.borrow().get(path) {
            return *known;
        }
        let has = |name: &str| self.sides.has(path, name);
        let found = has("HEAD") && ["objects", "refs", "commondir"].into_iter().any(has);
        self.known.borrow_mut().insert(path.to_owned(), found);
        found
    }
}

/// Returns whether words of a link may lead to what git follows or runs, wherever that is.
pub(super) fn may_lead_to_git(words: &Path) -> bool {
    let ends = |name: &OsStr| Path::new(name).extension().is_some_and(|it| is(it, "git"));
    let steers = |name: &OsStr| STEERING.iter().any(|it| is(name, it));
    words.iter().any(|name| is(name, ".git") || ends(name) || steers(name) || is_run(name))
}

fn is_named(path: &Path) -> bool {
    path.iter().any(|name| is(name, ".git"))
}

fn is_run(name: &OsStr) -> bool {
    RUN.iter().any(|it| is(name, it))
}

/// Some file systems take names of any case for one.
fn is(name: &OsStr, known: &str) -> bool {
    name.eq_ignore_ascii_case(known)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::fs::faulty::FaultyFs;
    use crate::fs::{Errno, Fs, OsFs};
    use crate::testing::Scratch;

    /// Makes files and directories; a name that ends with `/` is one of the latter.
    fn tree(names: &[&str]) -> Scratch {
        let scratch = Scratch::new();
        for name in names {
            let path = scratch.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            if name.ends_with('/') {
                std::fs::create_dir_all(path).expect("a directory");
            } else {
                std::fs::write(path, "").expect("written");
            }
        }
        scratch
    }

    fn held(fs: &dyn Fs, (layer, tree): (&Scratch, &Scratch), path: &str) -> bool {
        let sides = Sides::new(fs, Some(layer.fd().as_fd()), tree.fd().as_fd());
        GitTraps::new(sides).held(Path::new(path), Kind::File).is_some()
    }

    #[test]
    fn what_steers_a_repository_is_held_whichever_side_has_its_parts() {
        let (parts, empty) = (tree(&["x/HEAD", "x/objects/"]), tree(&[]));
        for sides in [(&parts, &empty), (&empty, &parts)] {
            for path in ["x/config", "x/CommonDir", "x/hooks/a/b", "x/sequencer/todo"] {
                assert!(held(&OsFs, sides, path), "{path}");
            }
            for path in ["config", "y/config", "x/description", "y/hooks/a"] {
                assert!(!held(&OsFs, sides, path), "{path}");
            }
        }
    }

    #[test]
    fn what_can_not_be_looked_at_may_be_a_repository() {
        let (parts, empty) = (tree(&["x/HEAD", "x/objects/"]), tree(&[]));
        let sides = (&parts, &empty);
        let all = FaultyFs::counting();
        assert!(held(&all, sides, "x/config"));
        for call in 0..all.calls() {
            let faulty = FaultyFs::new(call, Errno::ACCESS);
            assert!(held(&faulty, sides, "x/config"), "call {call}");
        }
    }
}
