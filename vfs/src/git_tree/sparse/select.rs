//! The patterns together: the last one that matches a path decides, else the directory it is in.

use super::glob::{Glob, Places};

/// Patterns of git's sparse-checkout.
#[derive(Clone, Debug, Default)]
pub struct Sparse {
    patterns: Vec<Pattern>,
}

/// One line.
#[derive(Clone, Debug)]
struct Pattern {
    takes_out: bool,
    only_directories: bool,
    /// With a slash within, it is compared with whole paths; without one, with last names.
    is_anchored: bool,
    glob: Glob,
}

/// What is known of a directory when a path in it is looked at.
#[derive(Clone, Debug)]
pub(super) struct Within {
    /// Whether a path of which no pattern says anything is selected.
    pub(super) is_selected: bool,
    /// How far the directory's path and a slash have come in each pattern that is anchored.
    places: Vec<Places>,
}

impl Sparse {
    /// Reads patterns, the strongest last.
    pub fn new<T: AsRef<str>>(patterns: &[T]) -> Self {
        Self { patterns: patterns.iter().map(|it| Pattern::new(it.as_ref())).collect() }
    }

    /// Returns what is known of the root of a tree.
    pub(super) fn root(&self) -> Within {
        let places = self.patterns.iter().map(|it| it.glob.start()).collect();
        Within { is_selected: false, places }
    }

    /// Returns what holds of a name in a directory, and what is known of it when it is one itself;
    /// `work` grows by what it took.
    pub(super) fn look(
        &self,
        above: &Within,
        (name, is_directory): (&[u8], bool),
        work: &mut u64,
    ) -> Within {
        let mut below = above.clone();
        for (pattern, places) in self.patterns.iter().zip(&mut below.places) {
            if !pattern.is_anchored {
                *places = pattern.glob.start();
            }
            *work += 1 + pattern.glob.read(places, name);
            let counts = is_directory || !pattern.only_directories;
            if counts && pattern.glob.is_match(places) {
                below.is_selected = !pattern.takes_out;
            }
            *work += pattern.glob.read(places, b"/");
        }
        below
    }

    /// Returns whether anything in a directory can be selected.
    pub(super) fn may_hold(&self, within: &Within) -> bool {
        let reaches = |(pattern, places): (&Pattern, &Places)| {
            !pattern.takes_out && (!pattern.is_anchored || !places.is_empty())
        };
        within.is_selected || self.patterns.iter().zip(&within.places).any(reaches)
    }
}

impl Pattern {
    /// As git reads a line, whose end was checked by the policy.
    fn new(text: &str) -> Self {
        let (takes_out, text) = match text.strip_prefix('!') {
            Some(text) => (true, text),
            None => (false, text),
        };
        let (only_directories, text) = match text.strip_suffix('/') {
            Some(text) => (true, text),
            None => (false, text),
        };
        let is_anchored = text.contains('/');
        let text = text.strip_prefix('/').unwrap_or(text);
        Self { takes_out, only_directories, is_anchored, glob: Glob::new(text.as_bytes()) }
    }
}
