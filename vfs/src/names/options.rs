//! What a walk looks for, and how.

use super::WalkCache;

/// The rules of a walk, asked for each name.
pub trait NameRules: Sync {
    /// Returns `false` only when [`decide`](Self::decide) has no answer for any path that ends in
    /// this name below a directory called `above` (empty: the root), and [`notes`](Self::notes) and
    /// [`notes_foreign`](Self::notes_foreign) say no to all.
    fn may_match_name(&self, above: &[u8], name: &[u8]) -> bool;

    /// Returns whether a path below the root is hidden, or `None` when no rule speaks of it.
    fn decide(&self, relative: &[u8], is_dir: bool) -> Option<bool>;

    /// Like [`decide`](Self::decide), for a path below what is not the project's own.
    fn decide_foreign(&self, _foreign: Foreign, _relative: &[u8]) -> Option<bool> {
        None
    }

    /// Returns whether a directory below what is not the project's own is walked, or one below it, because a rule may
    /// hide something there.
    fn enters_foreign(&self, _foreign: Foreign, _relative: &[u8]) -> bool {
        false
    }

    /// Returns whether a name that is not hidden is of interest; asked for what
    /// [`may_match_name`](Self::may_match_name) lets pass.
    fn notes(&self, _relative: &[u8]) -> bool {
        false
    }

    /// Like [`notes`](Self::notes), for a path below what is not the project's own.
    fn notes_foreign(&self, _foreign: Foreign, _relative: &[u8]) -> bool {
        false
    }

    /// Returns whether directories of git's are of interest whatever they are called.
    fn notes_repositories(&self) -> bool {
        false
    }

    /// Returns whether links that are not hidden are of interest, whatever they are called.
    fn notes_links(&self) -> bool {
        false
    }

    /// Returns whether there is anything to look for.
    fn needs_walk(&self) -> bool;

    /// Returns how many names deep a hidden path can lie; `None` for any depth.
    fn depth_limit(&self) -> Option<usize> {
        None
    }
}

/// Directories whose names are not the project's own. Links and repositories are not noted there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// Other people's code.
    Vendored,
    /// What git keeps of a work tree: a `.git` with the parts of one.
    Git,
}

/// How a walk goes.
#[derive(Clone, Copy, Default)]
pub struct WalkOptions<'a> {
    /// The most threads; small trees are walked by the caller's alone.
    pub threads: usize,
    /// Where the walk is remembered.
    pub cache: Option<WalkCache<'a>>,
}
