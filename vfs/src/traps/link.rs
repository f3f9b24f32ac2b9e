//! Symbolic links through which a program outside would write what another one follows or runs.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use super::{GitTraps, NamesLeft, Sides};
use crate::git_dir;

/// Links in a row that are followed; the kernel follows as many (path_resolution(7)).
pub(super) const LINKS: usize = 40;
/// A link that git would write through.
const INSIDE: &str = "a link in a git directory";
/// A link by which others would.
const INTO: &str = "a link into a git directory";

/// Judges links of one mount.
pub struct LinkTraps<'a> {
    sides: Sides<'a>,
    git: &'a GitTraps<'a>,
    /// Where the mount stands, as links name it.
    roots: Vec<PathBuf>,
    /// Returns the pattern that protects a path, or what it leads to.
    protected: &'a dyn Fn(&Path) -> Option<String>,
    names: &'a NamesLeft,
}

impl<'a> LinkTraps<'a> {
    /// Takes both sides, and what says of a path which pattern protects it, or what it leads to.
    pub fn new(
        (sides, roots): (Sides<'a>, Vec<PathBuf>),
        git: &'a GitTraps<'a>,
        protected: &'a dyn Fn(&Path) -> Option<String>,
    ) -> Self {
        let names = git.names_left();
        Self { sides: sides.along(git.sides()), git, roots, protected, names }
    }

    /// Counts names that are looked at below links with those of others.
    #[must_use]
    pub fn counting(self, names: &'a NamesLeft) -> Self {
        Self { names, ..self }
    }

    /// Returns why the link at a path is held; `None` for what is none, leads elsewhere, or is what
    /// the tree has there as well.
    pub fn held(&self, link: &Path) -> Option<String> {
        let Ok(target) = self.sides.link(link) else { return Some(INTO.to_owned()) };
        let target = target.filter(|target| !self.sides.tree_has_link(link, target))?;
        self.reason(link, &target).or_else(|| self.below(link, &target))
    }

    /// Returns why a link would be held, whatever stands in its place now.
    pub fn reason(&self, link: &Path, target: &OsStr) -> Option<String> {
        if self.git.is_in(link.parent()?) {
            return (!is_gits(link, target)).then(|| INSIDE.to_owned());
        }
        let place = self.place(link, target);
        self.leads(&place).or_else(|| {
            let real = self.sides.is_behind_link(&place).then(|| self.real(&place))?;
            real.map_or_else(|| Some(INTO.to_owned()), |real| self.leads(&real))
        })
    }

    /// Returns where a link leads when others on its way are followed; `None` where that can't be told.
    pub(super) fn end(&self, link: &Path, target: &OsStr) -> Option<PathBuf> {
        let place = self.place(link, target);
        if self.sides.is_behind_link(&place) { self.real(&place) } else { Some(place) }
    }

    pub(super) fn sides(&self) -> &Sides<'a> {
        &self.sides
    }

    pub(super) fn names_left(&self) -> &NamesLeft {
        self.names
    }

    pub(super) fn protected(&self, path: &Path) -> Option<String> {
        (self.protected)(path)
    }

    pub(super) fn is_of_git(&self, path: &Path) -> bool {
        self.git.is_in(path)
    }

    pub(super) fn leads(&self, place: &Path) -> Option<String> {
        let into = || (self.git.is_in(place)).then(|| INTO.to_owned());
        (self.protected)(place).or_else(into)
    }

    /// Returns the path that a link names by its words. One that leads out is taken from the top: a
    /// pattern of names at any depth knows it there, too.
    fn place(&self, link: &Path, target: &OsStr) -> PathBuf {
        let target = Path::new(target);
        let below = self.roots.iter().find_map(|root| target.strip_prefix(root).ok());
        let above = if target.is_absolute() { None } else { link.parent() };
        let mut place = above.map(Path::to_owned).unwrap_or_default();
        follow(&mut place, below.unwrap_or(target));
        place
    }

    /// Returns where a path leads when links on the way are followed; `None` where that can't be told.
    fn real(&self, place: &Path) -> Option<PathBuf> {
        let (mut real, mut links) = (PathBuf::new(), 0);
        let mut names: Vec<OsString> = place.iter().rev().map(OsStr::to_owned).collect();
        while let Some(name) = names.pop() {
            follow(&mut real, Path::new(&name));
            let Some(target) = self.sides.link(&real).ok()? else { continue };
            links += 1;
            if links > LINKS {
                return None;
            }
            let named = self.place(&real, &target);
            real = PathBuf::new();
            names.extend(named.iter().rev().map(OsStr::to_owned));
        }
        Some(real)
    }
}

/// Goes the way that words tell, as if none of the names were a link.
fn follow(place: &mut PathBuf, words: &Path) {
    for part in words.components() {
        match part {
            Component::Normal(name) => place.push(name),
            Component::ParentDir => drop(place.pop()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
}

/// Whether git may have made a link: a `HEAD` that names a branch (git-config(1),
/// `core.preferSymlinkRefs`), or `tXXXXXX`, by which `git init` finds out whether there are links.
fn is_gits(link: &Path, target: &OsStr) -> bool {
    let is_branch = |text: &str| text.starts_with("refs/") && git_dir::is_reference(text);
    let name = link.file_name().unwrap_or_default();
    let is_tried = name.len() == 7 && name.as_encoded_bytes().starts_with(b"t");
    name == "HEAD" && target.to_str().is_some_and(is_branch) || is_tried && target == "testing"
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::fs::symlink;

    use endow_policy::{Origin, PatternRule, ProtectSet};

    use super::*;
    use crate::fs::OsFs;
    use crate::testing::Scratch;

    const PATTERNS: &[&str] =
        &["**/.git/config", "**/.git/hooks/**", "**/.github/workflows/**", ".envrc", "deploy/x"];

    /// A workspace with a repository, a bare one, and links of the user's.
    fn workspace() -> Scratch {
        let scratch = Scratch::new();
        for directory in [
            ".git/objects",
            ".git/refs",
            ".git/hooks",
            ".github/workflows",
            "src/deep",
            "deploy",
            "bare/objects",
            "bare/hooks",
            "packages/tool",
            "node_modules/.bin",
        ] {
            std::fs::create_dir_all(scratch.path().join(directory)).expect("a directory");
        }
        for file in [".git/HEAD", ".git/config", "bare/HEAD", "bare/config", "src/main.rs"] {
            std::fs::write(scratch.path().join(file), "").expect("written");
        }
        for (link, target) in
            [("node_modules/tool", "../packages/tool"), ("top", "."), ("round", "round")]
        {
            symlink(target, scratch.path().join(link)).expect("a link");
        }
        scratch
    }

    /// Returns why a link is held in a tree without a layer.
    fn held(scratch: &Scratch, link: &str, target: &str) -> Option<String> {
        let rule = |text: &&str| PatternRule { pattern: (*text).into(), origin: Origin::Default };
        let rules: Vec<PatternRule> = PATTERNS.iter().map(rule).collect();
        let set = ProtectSet::new(&rules).expect("patterns");
        let root = scratch.fd();
        let sides = Sides::new(&OsFs, None, root.as_fd());
        let git = GitTraps::new(sides.clone());
        let protected = |path: &Path| set.guarding(path).map(|rule| rule.pattern.clone());
        let roots = vec![PathBuf::from("/home/u/p")];
        let links = LinkTraps::new((sides, roots), &git, &protected);
        links.reason(Path::new(link), OsStr::new(target))
    }

    #[test]
    fn links_to_what_others_run_are_held() {
        let scratch = workspace();
        for (link, target) in [
            (".git/COMMIT_EDITMSG", "config"),
            (".git/COMMIT_EDITMSG", "../src/main.rs"),
            (".git/logs", "../src"),
            (".git/HEAD", "config"),
            (".git/tA1b2c3", "config"),
            (".git/index", "testing"),
            (".git/HEAD", "refs/../config"),
            ("bare/FETCH_HEAD", "../src/main.rs"),
            ("out", ".git/config"),
            ("out", "./src/../.git/config"),
            ("out", "/home/u/p/.git/config"),
            ("src/out", "../.git/index"),
            ("src/out", "../.GIT"),
            ("h", "bare"),
            ("h", "bare/config"),
            ("h", "top/bare/config"),
            ("h", "top/deploy/x"),
            ("dist/ci.yml", "../.github/workflows/ci.yml"),
            ("dist/ci", "../.github"),
            ("notes.md", ".envrc"),
            ("src/notes.md", "deep/.envrc"),
            ("rc", "/home/u/.envrc"),
            ("rc", "../.envrc"),
            ("x", "round/y"),
        ] {
            assert!(held(&scratch, link, target).is_some(), "{link} -> {target}");
        }
    }

    #[test]
    fn ordinary_links_are_not_held() {
        let scratch = workspace();
        for (link, target) in [
            ("node_modules/.bin/tool", "../tool/cli.js"),
            ("node_modules/other", "../packages/other"),
            ("latest", "src"),
            ("src/here", "."),
            ("src/up", ".."),
            ("src/lib.rs", "main.rs"),
            ("python", "/usr/bin/python3"),
            ("lib64", "lib"),
            (".git/HEAD", "refs/heads/main"),
            (".git/tA1b2c3", "testing"),
            ("config", "src/deep/config"),
            ("gone", "not/there"),
        ] {
            assert_eq!(held(&scratch, link, target), None, "{link} -> {target}");
        }
    }

    #[test]
    fn link_that_the_tree_has_is_no_news() {
        let (tree, layer) = (workspace(), Scratch::new());
        for root in [&tree, &layer] {
            symlink(".envrc", root.path().join("same")).expect("a link");
        }
        symlink(".envrc", layer.path().join("new")).expect("a link");
        let (root, upper) = (tree.fd(), layer.fd());
        let sides = Sides::new(&OsFs, Some(upper.as_fd()), root.as_fd());
        let git = GitTraps::new(sides.clone());
        let protected = |path: &Path| path.ends_with(".envrc").then(|| ".envrc".to_owned());
        let links = LinkTraps::new((sides, Vec::new()), &git, &protected);
        let held = |path: &str| links.held(Path::new(path));
        assert_eq!((held("same"), held("new"), held("gone")), (None, Some(".envrc".into()), None));
    }
}
