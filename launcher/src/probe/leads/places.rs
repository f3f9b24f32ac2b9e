//! Places to which protected names lead.

use std::collections::{BTreeMap, VecDeque};
use std::fs::DirEntry;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use endow_policy::{Origin, PatternRule};

use super::way::Way;
use super::{LeadsError, Root};
use crate::probe::explored::prefix;

/// The most names that are looked at in protected directories and in what leads there.
const NAMES_MAX: usize = 500_000;

/// Places, each with what leads there.
#[derive(Default)]
pub(super) struct Places {
    found: BTreeMap<PathBuf, Origin>,
    /// Directories in which links are to be looked for.
    pending: VecDeque<PathBuf>,
    names: usize,
}

impl Places {
    /// Adds where a link leads that is protected itself.
    pub(super) fn add_link(&mut self, link: &Path) {
        let mut way = Way::of(link);
        way.links.retain(|place| place != link);
        self.add(way, &Origin::Link { link: Arc::from(link.to_string_lossy()) });
    }

    /// Adds the end of a way, and the links that lead there.
    pub(super) fn add(&mut self, way: Way, origin: &Origin) {
        let is_directory = way.end.symlink_metadata().is_ok_and(|found| found.is_dir());
        if is_directory && !self.found.contains_key(&way.end) {
            self.add_directory(way.end.clone());
        }
        for place in way.links.into_iter().chain([way.end]) {
            self.found.entry(place).or_insert_with(|| origin.clone());
        }
    }

    /// Adds a protected directory.
    pub(super) fn add_directory(&mut self, directory: PathBuf) {
        self.pending.push_back(directory);
    }

    /// Adds where links lead that are in directories, but for those left out with all below them.
    ///
    /// # Errors
    /// There are too many names.
    pub(super) fn follow(&mut self, is_left_out: &dyn Fn(&Path) -> bool) -> Result<(), LeadsError> {
        while let Some(directory) = self.pending.pop_front() {
            if is_left_out(&directory) {
                continue;
            }
            let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
            entries.for_each(|entry| self.look_at(&entry));
            if self.names > NAMES_MAX {
                return Err(LeadsError::ManyNames { most: NAMES_MAX, directory });
            }
        }
        Ok(())
    }

    fn look_at(&mut self, entry: &DirEntry) {
        self.names += 1;
        match entry.file_type() {
            Ok(kind) if kind.is_symlink() => self.add_link(&entry.path()),
            Ok(kind) if kind.is_dir() => self.add_directory(entry.path()),
            _ => {}
        }
    }

    /// Returns all patterns below a root, if more of it is protected than those of the policy say. Whoever wrote
    /// patterns has the last word.
    pub(super) fn rules(
        &self,
        root: &Root<'_>,
        policy: &[PatternRule],
    ) -> Option<Vec<PatternRule>> {
        let prefix = prefix(root.place);
        let rules: Vec<PatternRule> = self
            .below(root.place)
            .flat_map(|(path, origin)| rules(root, (path, prefix), origin))
            .collect();
        let end = policy.iter().position(|rule| !matches!(rule.origin, Origin::Profile { .. }));
        let (builtin, own) = policy.split_at(end.unwrap_or(policy.len()));
        (!rules.is_empty()).then(|| [builtin, &rules, own].concat())
    }

    /// Returns the places below a root that lie in no other. The root itself, and what is above, is granted on
    /// purpose.
    fn below<'a>(&'a self, root: &'a Path) -> impl Iterator<Item = (&'a Path, &'a Origin)> {
        let is_below = move |place: &Path| place.starts_with(root) && place != root;
        let is_covered = move |place: &Path| {
            let mut above = place.ancestors().skip(1).take_while(|above| is_below(above));
            above.any(|above| self.found.contains_key(above))
        };
        let found = self.found.iter();
        let found = found.filter(move |(place, _)| is_below(place) && !is_covered(place));
        found.filter_map(move |(place, origin)| Some((place.strip_prefix(root).ok()?, origin)))
    }
}

/// Returns what protects a path below a root, if nothing does yet. What is written back is asked for without the
/// name that stands for a root which is a directory of git's.
fn rules(root: &Root<'_>, (path, prefix): (&Path, &Path), origin: &Origin) -> Vec<PatternRule> {
    let shown = prefix.join(path);
    if root.protect.matching(&shown).is_some() {
        return Vec::new();
    }
    let both = [Some(shown.as_path()), (shown != path).then_some(path)];
    let rule = |path: &Path| PatternRule {
        pattern: format!("/{}", literal(path.as_os_str().as_bytes())),
        origin: origin.clone(),
    };
    both.into_iter().flatten().map(rule).collect()
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

    use endow_policy::ProtectSet;

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
