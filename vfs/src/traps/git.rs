//! What git would follow or run outside: names that are no matter of patterns, since any directory can
//! be a repository, and any `.git` can lead to one.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_policy::is_name;

use super::indexes::Indexes;
use super::objects::ObjectTraps;
use super::{NamesLeft, Sides};
use crate::fs::Kind;
use crate::git_dir::KEPT;

/// Files by which a repository is steered, or leads to another (gitrepository-layout(5)).
const STEERING: [&str; 4] = ["config", "config.worktree", "commondir", "gitdir"];
/// The file without which no directory is a repository.
const HEAD: &str = "HEAD";
/// Directories whose content git runs, now or when work in progress goes on.
const RUN: [&str; 5] = ["hooks", "gitweb", "rebase-apply", "rebase-merge", "sequencer"];

/// Looks at both sides of a mount, which nobody changes meanwhile.
pub struct GitTraps<'a> {
    sides: Sides<'a>,
    objects: ObjectTraps<'a>,
    indexes: Indexes,
    names: NamesLeft,
    /// Directories that were asked for: whether they are git's.
    known: RefCell<HashMap<PathBuf, GitParts>>,
}

/// What a directory has of git's.
#[derive(Clone, Copy)]
struct GitParts {
    /// A `HEAD`, or what makes one a repository as soon as a `HEAD` is there.
    may_be: bool,
    /// More than a `HEAD` alone.
    has_parts: bool,
}

/// What git trusts by what it says, or where some of that is.
const TRUSTED: [&str; 3] = ["refs", "MERGE_RR", "BISECT_START"];
/// Directories with the addresses of remotes, as old versions of git had them.
const REMOTES: [&str; 2] = ["remotes", "branches"];

impl<'a> GitTraps<'a> {
    /// Takes both sides.
    pub fn new(sides: Sides<'a>) -> Self {
        let (objects, indexes) = (ObjectTraps::new(sides.clone()), Indexes::default());
        Self { sides, objects, indexes, names: NamesLeft::default(), known: RefCell::default() }
    }

    pub(super) fn names_left(&self) -> &NamesLeft {
        &self.names
    }

    pub(super) fn indexes(&self) -> &Indexes {
        &self.indexes
    }

    pub(super) fn sides(&self) -> &Sides<'a> {
        &self.sides
    }

    /// Returns why a changed entry is held; `None` for what git takes as data.
    pub fn held(&self, path: &Path, kind: Kind) -> Option<&'static str> {
        let name = path.file_name()?;
        if is(name, ".git") && kind != Kind::Directory {
            return Some("a `.git` that leads elsewhere");
        }
        let mut gits =
            path.ancestors().filter(|it| it.file_name().is_some_and(|name| is(name, ".git")));
        if gits.any(|git| self.sides.replaces_file(git)) {
            return Some("a repository in the place of a `.git` that leads to another");
        }
        let above = path.parent()?;
        let is_jj = above.file_name().is_some_and(|above| is(above, ".jj")) && is(name, "repo");
        if is_jj && kind != Kind::Directory {
            return Some("a `.jj/repo` that leads elsewhere");
        }
        if is_steering(name) && self.may_become(above) && !self.is_reference(path, kind) {
            return Some("what steers a repository");
        }
        if kind != Kind::Directory && is(name, HEAD) && self.is_completed_by_head(above) {
            return Some("what makes a repository of a directory");
        }
        if self.is_remote(path) {
            return Some("what names a remote of a repository");
        }
        if let Some(why) = (kind == Kind::File).then(|| self.index(path)).flatten() {
            return Some(why);
        }
        if let Some(why) = (kind == Kind::File).then(|| self.unsound_state(path)).flatten() {
            return Some(why);
        }
        if self.is_cut_off(path) {
            return Some("a history that is cut off");
        }
        if let Some(reason) = self.objects.held(path, kind) {
            return Some(reason);
        }
        if self.is_new_linked(path, kind) {
            return Some("a linked work tree");
        }
        let run = path.ancestors().filter(|it| it.file_name().is_some_and(is_run));
        let mut homes = run.filter_map(Path::parent);
        let is_run = homes.any(|home| self.may_become(home)) && !self.is_reference(path, kind);
        is_run.then_some("what a repository runs")
    }

    /// Whether a directory is one of git's by its own name or by what it has.
    pub(super) fn is_of_git(&self, path: &Path) -> bool {
        path.file_name().is_some_and(|name| is(name, ".git")) || self.found(path).may_be
    }

    /// Whether it is in a directory of remotes. References are in others of these names (`refs/remotes`).
    fn is_remote(&self, path: &Path) -> bool {
        let is_remotes = |it: &&Path| {
            it.file_name().is_some_and(|name| REMOTES.iter().any(|known| is(name, known)))
        };
        let mut homes = path.ancestors().skip(1).filter(is_remotes).filter_map(Path::parent);
        homes.any(|home| {
            home.file_name().is_some_and(|name| is(name, ".git"))
                || self.found(home).may_be && !is_of_references(home)
        })
    }

    /// Whether a directory is one of git's, was one, or lacks nothing but data that no rule holds; also what a
    /// repository keeps for a submodule or a work tree: git reads of the latter whatever is there.
    pub(super) fn may_become(&self, path: &Path) -> bool {
        is_named(path) || self.found(path).may_be || self.is_kept(path)
    }

    fn is_kept(&self, path: &Path) -> bool {
        let is_kept = |it: &&Path| {
            it.file_name().is_some_and(|name| KEPT.iter().any(|known| is(name, known)))
        };
        let mut homes = path.ancestors().filter(is_kept).filter_map(Path::parent);
        homes.any(|home| self.found(home).has_parts)
    }

    /// Whether what a repository would be steered by was written back already: with a `HEAD` the rest
    /// is data. A directory of this name is none.
    fn is_completed_by_head(&self, path: &Path) -> bool {
        let has = |name: &&str| self.sides.tree_has(path, name);
        !is_named(path)
            && !self.sides.tree_has_file(path, HEAD)
            && (STEERING.iter().chain(&RUN).chain(&REMOTES).chain(&TRUSTED).chain(&KEPT).any(has)
                || self.has_unsound_state(path))
    }

    /// Returns a path as patterns know it: what is in a directory of git's as if that were a `.git`.
    pub fn shown(&self, path: &Path) -> PathBuf {
        let of_git = path.ancestors().skip(1).find(|above| self.has_parts(above));
        let below = of_git.filter(|_| !is_named(path)).and_then(|it| path.strip_prefix(it).ok());
        below.map_or_else(|| path.to_owned(), |below| Path::new(".git").join(below))
    }

    /// Returns whether a path is, or lies in, a directory of git's.
    pub(super) fn is_in(&self, path: &Path) -> bool {
        is_named(path) || path.ancestors().any(|above| self.has_parts(above))
    }

    fn has_parts(&self, path: &Path) -> bool {
        self.found(path).has_parts
    }

    fn found(&self, path: &Path) -> GitParts {
        if let Some(known) = self.known.borrow().get(path) {
            return *known;
        }
        let has = |name: &str| self.sides.has(path, name);
        let (has_head, was) = (has(HEAD), self.sides.was_git_dir(path));
        let has_parts = was || has_head && ["objects", "refs", "commondir"].into_iter().any(has);
        let found = GitParts { may_be: has_head || was, has_parts };
        self.known.borrow_mut().insert(path.to_owned(), found);
        found
    }
}

fn is_steering(name: &OsStr) -> bool {
    STEERING.iter().any(|it| is(name, it))
}

fn is_named(path: &Path) -> bool {
    path.iter().any(|name| is(name, ".git"))
}

/// Whether a path is in what git keeps references in: a clone has a `HEAD` in `refs/remotes/origin`, and a branch
/// there may be called `branches/x`.
fn is_of_references(path: &Path) -> bool {
    let names: Vec<&OsStr> = path.iter().collect();
    names.windows(2).any(|pair| match pair {
        [git, part] => is(git, ".git") && (is(part, "refs") || is(part, "logs")),
        _ => false,
    })
}

fn is_run(name: &OsStr) -> bool {
    RUN.iter().any(|it| is(name, it))
}

/// Whether some file system takes a name for a known one: of any case, and with other letters folded, too.
pub(super) fn is(name: &OsStr, known: &str) -> bool {
    is_name(name.as_bytes(), known)
}

#[cfg(test)]
mod tests {
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

    /// Writes what is not held of a layer's top into a tree, and takes the layer away.
    fn write_back(layer: &Scratch, tree: &Scratch, names: &[&str]) {
        let goes = |name: &&&str| {
            let sides = Sides::new(&OsFs, Some(layer.fd()), tree.fd());
            let kind = if name.ends_with('/') { Kind::Directory } else { Kind::File };
            GitTraps::new(sides).held(Path::new(name), kind).is_none()
        };
        for name in names.iter().filter(goes).collect::<Vec<_>>() {
            std::fs::rename(layer.path().join(name), tree.path().join(name)).expect("moved");
        }
    }

    /// Returns all ways to leave each part in one of three runs.
    fn splits(parts: usize) -> impl Iterator<Item = Vec<usize>> {
        let run = |all: usize, part: u32| all / 3_usize.pow(part) % 3;
        (0..3_usize.pow(u32::try_from(parts).expect("few")))
            .map(move |all| (0u32..).take(parts).map(|part| run(all, part)).collect())
    }

    /// Returns what runs leave, each its parts.
    fn left_by(parts: &[&str], runs: &[usize]) -> Scratch {
        let target = tree(&[]);
        for run in 0..3 {
            let of_run = parts.iter().zip(runs).filter(|(_, of)| **of == run);
            let names: Vec<&str> = of_run.map(|(name, _)| *name).collect();
            write_back(&tree(&names), &target, &names);
        }
        target
    }

    #[test]
    fn no_number_of_runs_makes_a_repository_that_is_steered() {
        for steering in ["config", "commondir", "hooks/"] {
            let parts = ["HEAD", "objects/", "refs/", steering];
            for runs in splits(parts.len()) {
                let target = left_by(&parts, &runs);
                let has = |name: &str| target.path().join(name).exists();
                assert!(!(has("HEAD") && has(steering)), "{steering} {runs:?}");
            }
        }
    }

    #[test]
    fn repository_of_the_users_gets_another_head() {
        let (layer, mine) = (tree(&["x/HEAD"]), tree(&["x/HEAD", "x/config", "x/objects/"]));
        assert!(!held(&OsFs, (&layer, &mine), "x/HEAD"));
        let (layer, git) = (tree(&[".git/HEAD"]), tree(&[".git/config"]));
        std::fs::write(layer.path().join(".git/HEAD"), "ref: refs/heads/main\n").expect("written");
        assert!(!held(&OsFs, (&layer, &git), ".git/HEAD"));
    }

    /// What has another `HEAD` already, or a directory of that name, was made by somebody else or is none yet.
    #[test]
    fn a_head_is_held_beside_what_git_would_trust() {
        let layer = tree(&["x/HEAD"]);
        std::fs::write(layer.path().join("x/HEAD"), "ref: refs/heads/main\n").expect("written");
        let is_held = |names: &[&str], state: &str| {
            let mine = tree(names);
            std::fs::write(mine.path().join("x/ORIG_HEAD"), state).expect("written");
            held(&OsFs, (&layer, &mine), "x/HEAD")
        };
        assert!(is_held(&["x/config"], ""));
        assert!(is_held(&["x/config", "x/HEAD/"], ""));
        assert!(is_held(&["x/y"], "ref: commondir\n"));
        assert!(!is_held(&["x/y"], "words\n"));
    }

    /// A file with holes is of any size, and takes no memory.
    #[test]
    fn an_index_is_held_where_the_settings_are_too_large() {
        let (layer, empty) = (tree(&[".git/config", ".git/index"]), tree(&[]));
        std::fs::write(layer.path().join(".git/index"), index(Some("a"))).expect("written");
        assert!(!held(&OsFs, (&layer, &empty), ".git/index"));
        let config = std::fs::File::create(layer.path().join(".git/config")).expect("opened");
        config.set_len(8 << 40).expect("a hole");
        assert!(held(&OsFs, (&layer, &empty), ".git/index"));
    }

    fn held(fs: &dyn Fs, (layer, tree): (&Scratch, &Scratch), path: &str) -> bool {
        let sides = Sides::new(fs, Some(layer.fd()), tree.fd());
        GitTraps::new(sides).held(Path::new(path), Kind::File).is_some()
    }

    /// The bytes of an index with one path, or none.
    fn index(path: Option<&str>) -> Vec<u8> {
        let count = u32::from(path.is_some());
        let mut bytes = [&b"DIRC"[..], &2_u32.to_be_bytes(), &count.to_be_bytes()].concat();
        if let Some(path) = path {
            let mut entry = [&[0; 24][..], &0o100_644_u32.to_be_bytes(), &[0; 32]].concat();
            entry.extend(u16::try_from(path.len()).expect("short").to_be_bytes());
            entry.extend(path.as_bytes());
            entry.resize(entry.len() + 8 - entry.len() % 8, 0);
            bytes.extend(entry);
        }
        bytes.extend([0; 20]);
        bytes
    }

    #[test]
    fn an_index_is_held_by_its_paths() {
        let empty = tree(&[]);
        for (path, text, is_held) in [
            (".git/index", index(Some("a/b")), false),
            (".git/index", index(None), false),
            (".git/index", index(Some("../x")), true),
            (".git/modules/s/index", index(Some("/x")), true),
            (".git/sharedindex.0", index(Some(".git/x")), true),
            ("moved/later/index", index(Some("../x")), true),
            (".git/refs/heads/index", b"0123\n".to_vec(), false),
            ("book/index", b"words".to_vec(), false),
        ] {
            let layer = tree(&[path]);
            std::fs::write(layer.path().join(path), text).expect("written");
            assert_eq!(held(&OsFs, (&layer, &empty), path), is_held, "{path}");
        }
    }

    /// What the tree has counts, of which the command may change nothing.
    #[test]
    fn an_index_counts_by_the_settings_of_the_tree() {
        let layer = tree(&[".git/config", ".git/index"]);
        std::fs::write(layer.path().join(".git/index"), index(Some("a"))).expect("written");
        let other = "[extensions]\nobjectFormat = sha256\n";
        let host = tree(&[".git/config"]);
        assert!(!held(&OsFs, (&layer, &host), ".git/index"));
        std::fs::write(layer.path().join(".git/config"), other).expect("written");
        assert!(held(&OsFs, (&layer, &host), ".git/index"), "its settings may come there later");
        std::fs::remove_file(layer.path().join(".git/config")).expect("removed");
        std::fs::write(host.path().join(".git/config"), other).expect("written");
        assert!(held(&OsFs, (&layer, &host), ".git/index"));
        std::fs::remove_file(host.path().join(".git/config")).expect("removed");
        std::os::unix::fs::symlink("../mine", host.path().join(".git/config")).expect("a link");
        assert!(!held(&OsFs, (&layer, &host), ".git/index"));
        std::fs::write(host.path().join("mine"), other).expect("written");
        assert!(held(&OsFs, (&layer, &host), ".git/index"), "by what the user's link leads to");
    }

    #[test]
    fn what_steers_a_repository_is_held_whichever_side_has_its_parts() {
        let (parts, empty) = (tree(&["x/HEAD", "x/objects/"]), tree(&[]));
        for sides in [(&parts, &empty), (&empty, &parts)] {
            for path in [
                "x/config",
                "x/CommonDir",
                "x/hooks/a/b",
                "x/gitweb/webrick.rb",
                "x/sequencer/todo",
                "x/con\u{fb01}g",
                "x/hoo\u{212a}s/a",
            ] {
                assert!(held(&OsFs, sides, path), "{path}");
            }
            assert!(held(&OsFs, sides, "y/.jj/repo"));
            for path in ["config", "y/config", "x/description", "y/hooks/a"] {
                assert!(!held(&OsFs, sides, path), "{path}");
            }
        }
    }

    /// An earlier run may have taken `HEAD` away.
    #[test]
    fn what_was_a_repository_is_held_as_one() {
        let layer = tree(&[]);
        let was = |names: &[&str], settings: &str| {
            let mine = tree(names);
            if mine.path().join("x/config").is_file() {
                std::fs::write(mine.path().join("x/config"), settings).expect("written");
            }
            let paths = ["x/config", "x/hooks/a", "x/worktrees/w/gitdir", "x/remotes/o"];
            let is_held = paths.map(|path| held(&OsFs, (&layer, &mine), path));
            assert!(is_held.iter().all(|it| *it == is_held[0]), "{names:?}: {is_held:?}");
            is_held[0]
        };
        let made = "[core]\n\trepositoryFormatVersion = 0\n";
        assert!(was(&["x/objects/", "x/refs/"], ""));
        for beside in ["x/objects/", "x/refs/", "x/worktrees/"] {
            assert!(was(&["x/config", beside], made), "{beside}");
            assert!(!was(&["x/config", beside], "[core]\n"), "{beside}");
        }
        assert!(!was(&["x/config/a", "x/objects/"], made));
        assert!(!was(&["x/objects", "x/refs"], made));
    }

    /// git reads the `gitdir` of a work tree that has nothing else.
    #[test]
    fn what_a_repository_keeps_is_held_without_a_head_of_its_own() {
        let (layer, mine) = (tree(&[]), tree(&["x/HEAD", "x/objects/", "x/refs/remotes/o/HEAD"]));
        for path in ["x/worktrees/w/gitdir", "x/modules/a/b/config", "x/Modules/a/hooks/x"] {
            assert!(held(&OsFs, (&layer, &mine), path), "{path}");
        }
        for path in ["x/refs/remotes/o/worktrees/w/gitdir", "y/worktrees/w/gitdir", "x/y/z/config"]
        {
            assert!(!held(&OsFs, (&layer, &mine), path), "{path}");
        }
        let later = tree(&["x/worktrees/w/gitdir"]);
        assert!(held(&OsFs, (&tree(&["x/HEAD"]), &later), "x/HEAD"));
    }

    #[test]
    fn remotes_are_held_and_references_of_these_names_are_not() {
        let (layer, mine) = (tree(&["x/HEAD"]), tree(&[".git/refs/remotes/origin/HEAD"]));
        let sides = (&layer, &mine);
        for path in ["x/remotes/evil", "x/branches/a/b", ".git/remotes/evil", ".git/branches/x"] {
            assert!(held(&OsFs, sides, path), "{path}");
        }
        for path in [
            ".git/refs/remotes/origin/branches/x",
            ".git/logs/refs/remotes/origin/branches/x",
            "y/remotes/x",
        ] {
            assert!(!held(&OsFs, sides, path), "{path}");
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
