//! Programs that are looked for in one directory after another.

use std::path::Path;

use rustc_hash::FxHashMap;

use super::CALLERS_MAX;
use super::asked::Asked;
use crate::plan::why::Need;

/// The most places of one search.
const PLACES_MAX: usize = 64;
/// The most places of all.
const ALL_MAX: usize = 4096;

/// What was tried after what.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// The last program that each process tried to start.
    last: FxHashMap<u32, Asked>,
    next: FxHashMap<Asked, Asked>,
}

impl Search {
    /// Notes what a process asks for.
    pub(super) fn note(&mut self, pid: u32, asked: &Asked) {
        let Some(name) = program(asked).and_then(Path::file_name) else { return };
        if self.last.len() >= CALLERS_MAX {
            self.last.clear();
        }
        let before = self.last.insert(pid, asked.clone()).filter(|before| before != asked);
        let Some(before) = before else { return };
        let is_same = program(&before).and_then(Path::file_name) == Some(name);
        if is_same && self.next.len() < ALL_MAX {
            self.next.insert(before, asked.clone());
        }
    }

    /// Returns where a program was looked for afterwards.
    pub(super) fn later(&self, asked: &Asked) -> impl Iterator<Item = &Asked> {
        std::iter::successors(self.next.get(asked), |asked| self.next.get(asked)).take(PLACES_MAX)
    }
}

fn program(asked: &Asked) -> Option<&Path> {
    match asked {
        Asked::Path(Need::Execute, path) => Some(Path::new(path)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_one_search_follow_each_other() {
        let program = |path: &str| Asked::Path(Need::Execute, path.into());
        let mut search = Search::default();
        for (pid, path) in
            [(1, "/a/tool"), (2, "/a/other"), (1, "/b/tool"), (2, "/b/tool"), (1, "/c/tool")]
        {
            search.note(pid, &program(path));
        }
        search.note(1, &Asked::Path(Need::Read, "/d/tool".into()));
        let later = |path: &str| search.later(&program(path)).cloned().collect::<Vec<_>>();
        assert_eq!(later("/a/tool"), [program("/b/tool"), program("/c/tool")]);
        assert_eq!(later("/a/other"), []);
        assert_eq!(later("/c/tool"), []);
    }
}
