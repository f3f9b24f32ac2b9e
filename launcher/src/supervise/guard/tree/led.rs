//! Where git is led by a `.git` that is a file, and by settings: to a repository, or to a work tree.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_vfs::fs::Kind;
use endow_vfs::git_config::{self, Setting};
use endow_vfs::git_dir;
use endow_vfs::names::is_looked_into;

use super::super::spare;
use super::Tree;

impl Tree {
    /// Whether a file leads git to a linked work tree or a submodule of a repository in this mount.
    pub(super) fn is_of_own_repository(&self, path: &Path, shown: &Path) -> bool {
        let Some(above) = path.parent().filter(|_| git_dir::is_file(shown)) else { return false };
        self.led_from(above).is_some_and(|place| self.directory(&place).is_ok())
    }

    /// Returns what a repository of this mount keeps for the submodule or linked work tree that a directory is.
    fn led_from(&self, above: &Path) -> Option<PathBuf> {
        let text = self.text(&above.join(".git")).unwrap_or_default();
        let root = Some(self.source.as_path());
        match &self.found {
            None => git_dir::file_leads_to(&text, above, root),
            Some(found) => git_dir::file_leads_to_kept(&text, above, root)
                .filter(|place| found.contains(place)),
        }
    }

    /// Whether what a setting names is this mount's, and a work tree the repository's own.
    pub(super) fn is_known(&self, settings: &Path, setting: &Setting) -> bool {
        let tree = spare::work_tree(settings, setting);
        setting.local().is_some_and(|named| self.is_seen(settings, named))
            || tree.is_some_and(|tree| self.is_own_work_tree(settings, &tree))
    }

    /// A work tree may come after the settings, but not after the run.
    fn is_own_work_tree(&self, settings: &Path, tree: &Path) -> bool {
        let is_gits = |found: &BTreeSet<PathBuf>| tree.ancestors().any(|it| found.contains(it));
        let is_there = || self.directory(tree).is_ok() && !self.found.as_ref().is_some_and(is_gits);
        let led = || if self.is_over { self.led_from(tree) } else { None };
        spare::is_own_work_tree(settings, tree, !self.is_over, &led)
            && (!self.is_over || is_there())
    }

    /// Whether a repository that settings name is a directory of this mount where hooks are seen.
    fn is_seen(&self, settings: &Path, named: &Path) -> bool {
        let Some(place) = self.place_of(settings, named) else { return false };
        is_looked_into(&place) && self.directory(&place).is_ok()
    }

    /// Returns the path in the mount that settings name, which git takes from the top of a work tree.
    fn place_of(&self, settings: &Path, named: &Path) -> Option<PathBuf> {
        let git_dir = settings.parent()?;
        let is_named = git_dir.file_name() == Some(OsStr::new(".git"));
        let above = if is_named { git_dir.parent()? } else { git_dir };
        match self.roots.iter().find_map(|root| named.strip_prefix(root).ok()) {
            Some(below) => git_dir::joined(Path::new(""), below),
            None => git_dir::joined(above, named),
        }
    }

    /// Returns the work trees that settings of repositories name, whoever wrote these.
    pub(super) fn work_trees(&self, repositories: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
        let settings =
            repositories.iter().flat_map(|it| [it.join("config"), it.join("config.worktree")]);
        settings.flat_map(|path| self.named_work_trees(&path)).collect()
    }

    fn named_work_trees(&self, settings: &Path) -> Vec<PathBuf> {
        let text = self.text(settings).unwrap_or_default();
        let all = git_config::parse(&text).unwrap_or_default();
        let place = |setting: &Setting| {
            spare::work_tree(settings, setting).or_else(|| self.whole_work_tree(setting))
        };
        all.iter().filter_map(place).collect()
    }

    /// Returns the work tree in this mount that a setting names by its whole path.
    fn whole_work_tree(&self, setting: &Setting) -> Option<PathBuf> {
        let value = setting.value.as_deref().filter(|_| setting.name() == b"core.worktree")?;
        let named = Path::new(OsStr::from_bytes(value));
        named.strip_prefix(&self.source).ok().map(Path::to_owned)
    }

    /// Whether a new link stands where settings have a work tree, or on the way there: git would write what it leads to.
    pub(super) fn replaces_work_tree(&self, link: &Path, trees: &BTreeSet<PathBuf>) -> bool {
        let is_way = trees.range(link.to_owned()..).next().is_some_and(|it| it.starts_with(link));
        is_way && self.kind(link) == Some(Kind::Symlink) && !self.is_as_old(link)
    }
}
