//! Places to which protected names lead.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::DirEntry;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use endow_policy::{Origin, PatternRule, ProtectSet};

use super::closed::Closable;
use super::repository::Repository;
use super::settings::{Kind, Named};
use super::way::Way;
use super::{LeadsError, Root};
use crate::probe::explored::Explored;

/// The most names that are looked at in protected directories and in what leads there.
const NAMES_MAX: usize = 500_000;

/// A name that stands for the rest of a way that goes back.
const NOBODYS: &str = "(the way goes back from here)";

/// Places, each with what leads there.
#[derive(Default)]
pub(super) struct Places {
    found: BTreeMap<PathBuf, Origin>,
    /// What has to stay a directory, or missing: whoever goes on from there goes back first.
    left: BTreeMap<PathBuf, Origin>,
    /// What is protected wherever it is: a repository can be made above it at any time.
    anywhere: Vec<PatternRule>,
    mounts: Vec<PathBuf>,
    /// Work trees of the repositories around.
    work_trees: BTreeSet<PathBuf>,
    closable: Closable,
    /// Directories in which links are to be looked for, and whether also in all below them.
    pending: VecDeque<(PathBuf, bool)>,
    names: usize,
}

impl Places {
    /// Begins where these are mounted, and repositories have work trees.
    pub(super) fn of_mounts(
        mounts: impl Iterator<Item = PathBuf>,
        work_trees: BTreeSet<PathBuf>,
        closable: Closable,
    ) -> Self {
        Self { mounts: mounts.collect(), work_trees, closable, ..Self::default() }
    }

    /// Adds what settings name, as far as that is protected at all; those of a repository, or the user's.
    ///
    /// # Errors
    /// Nobody can look there.
    pub(super) fn add_named(
        &mut self,
        all: &[Named],
        protect: &ProtectSet,
        of: Option<&Repository>,
    ) -> Result<(), LeadsError> {
        for named in all.iter().filter(|named| named.kind.is_protected(protect)) {
            let way = Way::of(&named.path, &self.closable)?;
            let is_around = of.is_some_and(|of| of.lies_in(&way.end));
            let file = Arc::from(named.by.to_string_lossy());
            self.add(way, is_around, &Origin::Settings { file });
        }
        Ok(())
    }

    /// Adds what the user's settings name by relative paths, as far as that is protected at all.
    pub(super) fn add_anywhere(&mut self, all: &[Named], protect: &ProtectSet) {
        for named in all.iter().filter(|named| named.kind.is_protected(protect)) {
            let names = named.path.components();
            let path: PathBuf = names.filter(|it| matches!(it, Component::Normal(_))).collect();
            if path.as_os_str().is_empty() {
                continue;
            }
            let file = Arc::from(named.by.to_string_lossy());
            let below = if named.kind == Kind::Hooks { "/**" } else { "" };
            let pattern = format!("**/{}{below}", literal(path.as_os_str().as_bytes()));
            self.anywhere.push(PatternRule { pattern, origin: Origin::Settings { file } });
        }
    }

    /// Adds what the protected names of a directory lead to.
    ///
    /// # Errors
    /// Nobody can look there.
    pub(super) fn add_protected(
        &mut self,
        root: &Path,
        explored: &Explored,
    ) -> Result<(), LeadsError> {
        for closed in explored.closed() {
            let path = root.join(closed);
            self.closable.unless_closed(std::fs::read_dir(&path).map(drop), &path)?;
        }
        for link in explored.links() {
            self.add_link(&root.join(link))?;
        }
        let directories = explored.directories().map(|it| (root.join(it), true));
        self.pending.extend(directories);
        Ok(())
    }

    /// Adds what a name leads to that is protected itself, if it is there.
    ///
    /// # Errors
    /// Nobody can look there.
    pub(super) fn add_start(&mut self, name: &Path) -> Result<(), LeadsError> {
        let found = self.closable.unless_closed(name.symlink_metadata(), name)?;
        match found.map(|found| found.file_type()) {
            Some(kind) if kind.is_symlink() => self.add_link(name)?,
            Some(kind) if kind.is_dir() => self.pending.push_back((name.to_owned(), true)),
            _ => {}
        }
        Ok(())
    }

    /// Adds where a link leads that is protected itself.
    fn add_link(&mut self, link: &Path) -> Result<(), LeadsError> {
        let mut way = Way::of(link, &self.closable)?;
        way.links.retain(|place| place != link);
        let is_around = link.starts_with(&way.end);
        self.add(way, is_around, &Origin::Link { link: Arc::from(link.to_string_lossy()) });
        Ok(())
    }

    /// Adds the end of a way, and the links that lead there. An end around what leads there would leave nothing of
    /// a project to write.
    fn add(&mut self, way: Way, is_around: bool, origin: &Origin) {
        let is_directory = way.end.symlink_metadata().is_ok_and(|found| found.is_dir());
        if is_directory && !self.found.contains_key(&way.end) {
            // What holds a whole mount is granted on purpose, and may be anything.
            let is_above = self.mounts.iter().any(|mount| mount.starts_with(&way.end));
            self.pending.push_back((way.end.clone(), !(is_above || is_around)));
        }
        for place in way.left {
            self.left.entry(place).or_insert_with(|| origin.clone());
        }
        let end = Some(way.end).filter(|_| !is_around);
        for place in way.links.into_iter().chain(end) {
            self.found.entry(place).or_insert_with(|| origin.clone());
        }
    }

    /// Adds where links lead that are in directories.
    ///
    /// # Errors
    /// There are too many names, or nobody can look at them.
    pub(super) fn follow(&mut self) -> Result<(), LeadsError> {
        let mut known = BTreeSet::new();
        while let Some((directory, is_whole)) = self.pending.pop_front() {
            if !known.insert((directory.clone(), is_whole)) {
                continue;
            }
            let entries = std::fs::read_dir(&directory);
            let entries = self.closable.unless_closed(entries, &directory)?;
            for entry in entries.into_iter().flatten().flatten() {
                self.look_at(&entry, is_whole)?;
            }
            if self.names > NAMES_MAX {
                return Err(LeadsError::ManyNames { most: NAMES_MAX, directory });
            }
        }
        Ok(())
    }

    fn look_at(&mut self, entry: &DirEntry, is_whole: bool) -> Result<(), LeadsError> {
        self.names += 1;
        match entry.file_type() {
            Ok(kind) if kind.is_symlink() => self.add_link(&entry.path())?,
            // A work tree in a directory of an agent's is a project, whose links lead anywhere.
            Ok(kind) if kind.is_dir() && is_whole && !self.is_work_tree(&entry.path()) => {
                self.pending.push_back((entry.path(), true));
            }
            _ => {}
        }
        Ok(())
    }

    fn is_work_tree(&self, directory: &Path) -> bool {
        self.work_trees.contains(directory)
    }

    /// Returns all patterns below a root, if more of it is protected than those of the policy say. Whoever wrote
    /// patterns has the last word.
    pub(super) fn rules(
        &self,
        root: &Root<'_>,
        policy: &[PatternRule],
    ) -> Option<Vec<PatternRule>> {
        let prefix = root.explored.prefix;
        let found = self.below(&self.found, root.place);
        let found = found.flat_map(|(path, origin)| rules(root, (path, prefix), origin));
        let left = self.below(&self.left, root.place);
        let left = left.flat_map(|(path, origin)| ways(root, (path, prefix), origin));
        let rules: Vec<PatternRule> =
            self.anywhere.iter().cloned().chain(found).chain(left).collect();
        let end = policy.iter().position(|rule| !matches!(rule.origin, Origin::Profile { .. }));
        let (builtin, own) = policy.split_at(end.unwrap_or(policy.len()));
        (!rules.is_empty()).then(|| [builtin, &rules, own].concat())
    }

    /// Returns the places below a root that lie in no other. The root itself, and what is above, is granted on
    /// purpose.
    fn below<'a>(
        &'a self,
        places: &'a BTreeMap<PathBuf, Origin>,
        root: &'a Path,
    ) -> impl Iterator<Item = (&'a Path, &'a Origin)> {
        let is_below = move |place: &Path| place.starts_with(root) && place != root;
        let is_covered = move |place: &Path| {
            let mut above = place.ancestors().skip(1).take_while(|above| is_below(above));
            above.any(|above| self.found.contains_key(above))
        };
        let places = places.iter();
        let places = places.filter(move |(place, _)| is_below(place) && !is_covered(place));
        places.filter_map(move |(place, origin)| Some((place.strip_prefix(root).ok()?, origin)))
    }
}

/// Returns what protects a path below a root, if nothing does yet.
fn rules(root: &Root<'_>, (path, prefix): (&Path, &Path), origin: &Origin) -> Vec<PatternRule> {
    if root.protect.matching(&prefix.join(path)).is_some() {
        return Vec::new();
    }
    both(path, prefix).map(|path| rule(&path, origin)).collect()
}

/// Returns what keeps a path below a root from becoming a link, if nothing does yet: it leads to a name that
/// nobody has.
fn ways(root: &Root<'_>, (path, prefix): (&Path, &Path), origin: &Origin) -> Vec<PatternRule> {
    if root.protect.guarding(&prefix.join(path)).is_some() {
        return Vec::new();
    }
    both(path, prefix).map(|path| rule(&path.join(NOBODYS), origin)).collect()
}

/// A path as patterns see it. What is written back is asked for without the name that stands for a root which is a
/// directory of git's.
fn both(path: &Path, prefix: &Path) -> impl Iterator<Item = PathBuf> {
    let shown = prefix.join(path);
    let plain = (shown != path).then(|| path.to_owned());
    [shown].into_iter().chain(plain)
}

fn rule(path: &Path, origin: &Origin) -> PatternRule {
    let pattern = format!("/{}", literal(path.as_os_str().as_bytes()));
    PatternRule { pattern, origin: origin.clone() }
}

/// Returns a pattern that matches these names alone. A byte that is no UTF-8 is any character.
fn literal(path: &[u8]) -> String {
    let mut pattern = String::new();
    for chunk in path.utf8_chunks() {
        for letter in chunk.valid().chars() {
            if "*?[]{},\\!".contains(letter) {
                pattern.push('\\');
            }
            pattern.push(letter);
        }
        pattern.extend(chunk.invalid().iter().map(|_| '?'));
    }
    pattern
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn patterns_match_what_they_are_made_of() {
        for name in [&b"a/b"[..], b"[x]*?/{a,b}", b"!a/\\b", b"a\xff/b", "é/ü".as_bytes(), b"a b\n"]
        {
            let rule =
                PatternRule { pattern: format!("/{}", literal(name)), origin: Origin::Default };
            let set = ProtectSet::new(std::slice::from_ref(&rule)).expect("compiled");
            let place = Path::new(OsStr::from_bytes(name));
            assert!(set.matching(place).is_some(), "{rule:?}");
            assert!(set.matching(&place.join("x")).is_some(), "{rule:?}");
            assert!(set.matching(Path::new("other")).is_none(), "{rule:?}");
        }
    }
}
