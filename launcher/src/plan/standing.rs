//! What exists in a view at a moment while it is made.

use endow_policy::GuestPath;
use rustc_hash::FxHashSet;

/// Places that exist by now: made by a step or mounted.
pub(super) struct Standing {
    places: FxHashSet<GuestPath>,
    /// Directories below which something was made, whether or not it is seen still.
    leading: FxHashSet<Vec<u8>>,
}

impl Standing {
    /// Returns a view of nothing but its root.
    pub(super) fn new() -> Self {
        let places = FxHashSet::from_iter([GuestPath::root()]);
        Self { places, leading: FxHashSet::default() }
    }

    pub(super) fn contains(&self, at: &GuestPath) -> bool {
        self.places.contains(at)
    }

    /// Adds what nobody needs to make any more; returns whether it is new.
    pub(super) fn add(&mut self, at: &GuestPath) -> bool {
        if self.places.contains(at) {
            return false;
        }
        for above in at.way_up().skip(1) {
            if self.leading.contains(above) {
                break;
            }
            self.leading.insert(above.to_vec());
        }
        self.places.insert(at.clone())
    }

    /// Puts a mount over a place, and over all that stands below it.
    pub(super) fn cover(&mut self, at: &GuestPath) {
        if self.leading.contains(at.as_bytes()) {
            self.places.retain(|path| !path.is_within(at));
        }
        self.add(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> GuestPath {
        GuestPath::new(text).expect("a path")
    }

    #[test]
    fn mount_covers_what_stood_below_it_and_nothing_beside_it() {
        let mut standing = Standing::new();
        assert!(standing.add(&path("/a/b/c")) && standing.add(&path("/ab")));
        assert!(!standing.add(&path("/a/b/c")) && !standing.contains(&path("/a/b")));
        standing.cover(&path("/a"));
        assert!(standing.contains(&path("/a")) && standing.contains(&path("/ab")));
        assert!(standing.add(&path("/a/b/c")), "what was covered is made again");
        standing.cover(&path("/a/b/c"));
        assert!(standing.contains(&path("/a/b/c")));
        standing.cover(&path("/"));
        assert!(standing.contains(&path("/")) && !standing.contains(&path("/ab")));
    }
}
