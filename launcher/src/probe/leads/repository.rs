//! Repositories that a directory lies in, or holds: their directories of git's, and where their files are.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use endow_vfs::git_dir;
use rustc_hash::FxHashSet;

use crate::plan::host::Noted;
use crate::probe::{git_dirs, work_trees};

const GIT: &str = ".git";

/// A repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Repository {
    /// Its directories of git's.
    pub(super) directories: Vec<PathBuf>,
    /// The directory that has its `.git`.
    home: Option<PathBuf>,
    /// Directories whose files are its own, in which hooks may run: that one, and what is linked to it.
    pub(super) work_trees: Vec<PathBuf>,
}

impl Repository {
    /// Returns the repository of a directory of git's.
    fn of(directory: PathBuf) -> Self {
        let is_named = directory.file_name() == Some(GIT.as_ref());
        let home = directory.parent().filter(|_| is_named).map(Path::to_owned);
        // A hook of a push runs where git's own files are.
        let work_trees = linked(&directory).chain(home.clone()).chain([directory.clone()]);
        Self { work_trees: work_trees.collect(), home, directories: vec![directory] }
    }

    /// Returns the repository to which a file in the place of `.git` leads.
    fn of_file(work_tree: &Path) -> Self {
        let (home, work_trees) = (Some(work_tree.to_owned()), vec![work_tree.to_owned()]);
        let mut all = Self { directories: Vec::new(), home, work_trees };
        for directory in git_dirs::named(work_tree) {
            let Self { directories, work_trees, .. } = Self::of(directory);
            all.directories.extend(directories);
            all.work_trees.extend(work_trees);
        }
        all
    }

    /// Returns whether a directory holds it: not one of those that anybody may link to it.
    pub(super) fn lies_in(&self, directory: &Path) -> bool {
        let mut all = self.directories.iter().chain(&self.home);
        let is_git = self.directories.iter().any(|git| git == directory);
        !is_git && all.any(|place| place.starts_with(directory))
    }
}

/// Looks for repositories, in each directory once.
#[derive(Default)]
pub(super) struct Finder {
    seen: FxHashSet<PathBuf>,
    pub(super) found: BTreeSet<Repository>,
}

impl Finder {
    /// Adds the repositories that a directory lies in, or is a part of, with submodules. What only looks like one hides
    /// none of those around it. Where the directory itself `has_none`, those around it are looked for.
    pub(super) fn add_around(&mut self, root: &Path, has_none: bool) {
        let above = root.ancestors().skip(usize::from(has_none));
        for above in above {
            if !self.seen.insert(above.to_owned()) {
                break;
            }
            self.add(at(above));
        }
    }

    /// Adds the repositories that the walk of names found in a directory.
    pub(super) fn add_noted(&mut self, root: &Path, noted: &Noted) {
        let named = noted.names.iter().filter(|(path, _)| git_dir::is_file(path));
        for above in named.filter_map(|(path, _)| path.parent()) {
            self.add(at(&root.join(above)));
        }
        for directory in &noted.repositories {
            self.add(Some(Repository::of(root.join(directory))));
        }
    }

    fn add(&mut self, repository: Option<Repository>) {
        let Some(repository) = repository else { return };
        // Also those that somebody took apart.
        let is_one = |directory: &Path| directory.join("config").is_file();
        let submodules = repository.directories.iter();
        let submodules = submodules.flat_map(|it| git_dir::submodules(Path::new("/"), it, &is_one));
        self.found.extend(submodules.map(Repository::of));
        self.found.insert(repository);
    }
}

/// Returns the repository that a directory holds, or is.
fn at(directory: &Path) -> Option<Repository> {
    let git = directory.join(GIT);
    match git.metadata() {
        Ok(found) if found.is_dir() => Some(Repository::of(git)),
        Ok(found) if found.is_file() => Some(Repository::of_file(directory)),
        _ => git_dir::was(directory).then(|| Repository::of(directory.to_owned())),
    }
}

/// Returns the work trees that are linked to a repository (gitrepository-layout(5)).
fn linked(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let trees = work_trees::linked(directory);
    trees.filter_map(|(kept, said)| kept.join(said).parent().map(Path::to_owned))
}
