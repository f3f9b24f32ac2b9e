//! A difference over its base is the tree.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use super::*;
use crate::fs::OsFs;
use crate::tree::remove_tree;

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    /// Puts something in the place of a path.
    fn put(&mut self, path: &Path, depth: usize) {
        if path.is_symlink() || path.is_file() {
            std::fs::remove_file(path).expect("removed");
        } else if path.is_dir() {
            remove(path);
        }
        match self.below(if depth == 0 { 4 } else { 7 }) {
            0 => symlink(format!("to{}", self.below(3)), path).expect("a link"),
            1 | 2 => self.file(path),
            3 => {}
            _ => {
                std::fs::create_dir(path).expect("made");
                self.fill(path, depth - 1);
            }
        }
    }

    fn file(&mut self, path: &Path) {
        write(path, format!("{}\n", self.below(3)));
        let mode = if self.below(2) == 0 { 0o644 } else { 0o755 };
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("a mode");
    }

    fn fill(&mut self, dir: &Path, depth: usize) {
        for name in ["a", "a.b", "b", "c"] {
            self.put(&dir.join(name), depth);
        }
    }

    /// Changes one path somewhere.
    fn change(&mut self, top: &Path) {
        let mut dir = top.to_owned();
        for depth in (0..3).rev() {
            let path =
                dir.join(["a", "a.b", "b", "c"][usize::try_from(self.below(4)).expect("few")]);
            if !path.is_dir() || path.is_symlink() || self.below(3) == 0 {
                return self.put(&path, depth);
            }
            dir = path;
        }
    }
}

fn remove(dir: &Path) {
    // From beside it: nothing is removed across a mount.
    let above = std::fs::File::open(dir.parent().expect("above")).expect("opened");
    let name = dir.file_name().expect("a name");
    remove_tree(&OsFs, std::os::fd::AsFd::as_fd(&above), name).expect("removed");
}

/// Returns what an overlay shows of two layers.
fn over(base: &Whole, top: &Whole, gone: &[PathBuf]) -> Whole {
    let is_hidden = |path: &[u8]| {
        let path = Path::new(std::ffi::OsStr::from_bytes(path));
        let found = |path: &Path| top.get(path.as_os_str().as_bytes());
        let above = || path.ancestors().skip(1).filter_map(found);
        let is_gone = gone.iter().any(|gone| path.starts_with(gone));
        is_gone || found(path).is_some() || above().any(|(kind, _)| kind != "tree")
    };
    let kept = base.iter().filter(|(path, _)| !is_hidden(path));
    kept.chain(top).map(|(path, node)| (path.clone(), node.clone())).collect()
}

fn difference(repository: &Repository, base: &str, rev: &str) -> Difference {
    let [base, tree] = [base, rev].map(|rev| repository.resolve(rev).expect("a tree").tree);
    let found = repository.difference(&base, &tree, usize::MAX, &Options::default());
    found.expect("compared").expect("within bounds")
}

fn check(repository: &Repository, base: &str, rev: &str) {
    let found = difference(repository, base, rev);
    let top = contents(repository, &found.snapshot);
    let (base, tree) = (whole(repository, base), whole(repository, rev));
    assert_eq!(over(&base, &top, &found.gone), tree);
    for path in &found.gone {
        let above = path.parent().expect("a directory").as_os_str().as_bytes();
        assert!(above.is_empty() || top[above].0 == "tree", "{path:?}");
    }
    let is_new = |(path, node): (&Vec<u8>, &(String, Vec<u8>))| base.get(path) != Some(node);
    assert!(top.iter().filter(|(_, node)| node.0 != "tree").all(is_new), "nothing needless");
}

#[test]
fn difference_over_its_base_is_the_tree() {
    let scratch = Scratch::new();
    let (dir, mut numbers) = (scratch.path(), Numbers(0x9e37_79b9_7f4a_7c15));
    git(dir, &["init", "-q", "-b", "main"]);
    let mut revs = Vec::new();
    for round in 0..40 {
        match round % 8 {
            0 => numbers.fill(dir, 2),
            changes => (0..changes).for_each(|_| numbers.change(dir)),
        }
        commit(dir, "next");
        revs.push(said(dir, &["rev-parse", "HEAD"]));
    }
    let repository = open(dir);
    for pair in revs.windows(2) {
        check(&repository, &pair[0], &pair[1]);
        check(&repository, &pair[1], &pair[0]);
    }
    check(&repository, &revs[0], &revs[39]);
}

#[test]
fn difference_ends_at_its_bound() {
    let scratch = Scratch::new();
    let dir = scratch.path();
    git(dir, &["init", "-q", "-b", "main"]);
    write(&dir.join("gone/file"), "one\n");
    write(&dir.join("kept"), "one\n");
    commit(dir, "first");
    remove(&dir.join("gone"));
    (0..10).for_each(|number| write(&dir.join(format!("new/{number}")), "new\n"));
    commit(dir, "second");
    let repository = open(dir);
    let [base, tree] = ["HEAD~1", "HEAD"].map(|rev| repository.resolve(rev).expect("a tree").tree);
    let found = |most| repository.difference(&base, &tree, most, &Options::default());
    // A directory, ten files, and one name that is gone.
    assert_eq!(found(11).expect("compared"), None);
    let found = found(12).expect("compared").expect("within bounds");
    assert_eq!((found.snapshot.entries().len(), found.gone), (11, vec![PathBuf::from("gone")]));
}

#[test]
fn submodule_in_the_place_of_a_directory_is_empty() {
    let scratch = Scratch::new();
    let dir = scratch.path();
    git(dir, &["init", "-q", "-b", "main"]);
    write(&dir.join("dir/file"), "one\n");
    commit(dir, "first");
    let link = format!("160000 commit {}\tdir\n", "1".repeat(40));
    let tree = git_with(dir, &["mktree", "--missing"], link.as_bytes());
    let repository = open(dir);
    check(&repository, "HEAD", &tree);
    assert_eq!(difference(&repository, "HEAD", &tree).gone, [PathBuf::from("dir/file")]);
    check(&repository, &tree, "HEAD");
}

#[test]
fn name_that_is_file_and_directory_is_refused() {
    let scratch = small();
    let dir = scratch.path();
    let blob = git_with(dir, &["hash-object", "-w", "--stdin"], b"x");
    let one = said(dir, &["rev-parse", "HEAD:a"]);
    let other = said(dir, &["rev-parse", "HEAD:a/b"]);
    let tree = |below: &str| {
        let mut bytes = Vec::new();
        for (mode, name, id) in
            [("100644", "x", blob.as_str()), ("100644", "x-y", &blob), ("40000", "x", below)]
        {
            bytes.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            bytes.extend_from_slice(super::id(id).as_bytes());
        }
        let args = ["hash-object", "-w", "-t", "tree", "--literally", "--stdin"];
        super::id(&git_with(dir, &args, &bytes))
    };
    let (base, new) = (tree(&one), tree(&other));
    let repository = open(dir);
    let found = repository.difference(&base, &new, usize::MAX, &Options::default());
    assert!(matches!(found, Err(GitError::Tree { fault: TreeFault::Twice, .. })), "{found:?}");
}
