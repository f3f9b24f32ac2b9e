//! All files that some action sees.

use std::collections::BTreeSet;

use super::InputPattern;

/// Many patterns at once, so that a directory is walked once for all of them.
#[derive(Clone, Debug, Default)]
pub struct InputSet {
    paths: BTreeSet<String>,
    patterns: Vec<InputPattern>,
}

impl InputSet {
    /// Puts patterns together; one that comes again costs nothing.
    pub fn new<'a>(all: impl IntoIterator<Item = &'a InputPattern>) -> Self {
        let (mut paths, mut patterns) = (BTreeSet::new(), BTreeSet::new());
        for pattern in all {
            let text = pattern.as_str().to_owned();
            if pattern.is_path() {
                paths.insert(text);
            } else {
                patterns.insert(text);
            }
        }
        // What was read once can be read again.
        let patterns = patterns.iter().filter_map(|text| InputPattern::parse(text).ok()).collect();
        Self { paths, patterns }
    }

    /// Returns whether a file is seen by some action.
    pub fn takes(&self, path: &str) -> bool {
        self.is_below_a_path(path) || self.patterns.iter().any(|it| it.matches(path))
    }

    /// Returns whether there may be a file that some action sees in a directory, or below it; the directory of the
    /// project is `""`.
    pub fn enters(&self, directory: &str) -> bool {
        if directory.is_empty() {
            return !(self.paths.is_empty() && self.patterns.is_empty());
        }
        if self.is_below_a_path(directory) {
            return true;
        }
        let below = format!("{directory}/");
        let next = self.paths.range(below.clone()..).next();
        let leads = next.is_some_and(|path| path.starts_with(&below));
        leads || self.patterns.iter().any(|it| it.enters(directory))
    }

    fn is_below_a_path(&self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        ends.into_iter().any(|end| path.get(..end).is_some_and(|it| self.paths.contains(it)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_is_entered_for_what_may_be_in_it() {
        let patterns = ["src/a.c", "include/**/*.h", "data", "x/y/z?"];
        let patterns = patterns.map(|text| InputPattern::parse(text).expect("a pattern"));
        let set = InputSet::new(&patterns);
        for directory in ["src", "include", "include/deep/er", "data", "data/b", "x", "x/y"] {
            assert!(set.enters(directory), "{directory}");
        }
        for directory in ["sr", "src2", "src/b", "includes", "dat", "y", "x/z"] {
            assert!(!set.enters(directory), "{directory}");
        }
        for path in ["src/a.c", "include/a.h", "include/b/c.h", "data/x/y", "x/y/z1"] {
            assert!(set.takes(path), "{path}");
        }
        for path in ["src/b.c", "include/a.c", "datax", "x/y/z", "src/a.c2"] {
            assert!(!set.takes(path), "{path}");
        }
        let all = InputPattern::parse("**").expect("a pattern");
        assert!(InputSet::new([&all]).enters("any/where"));
        assert!(set.enters("") && !InputSet::default().enters(""));
    }
}
