//! Trees that change while they are walked.

use std::cell::Cell;
use std::sync::Mutex;

use super::*;

const PLACES: [&str; 2] = ["a", "z"];

/// As [`SECRET`], while somebody moves a directory with a hidden name to where was just listed.
struct Moving<'a> {
    root: &'a Path,
    /// How often that is done.
    left: Mutex<Cell<usize>>,
}

impl Moving<'_> {
    fn come_to(&self, place: &str) {
        let left = self.left.lock().expect("nobody panics");
        let other = PLACES.iter().find(|other| **other != place).expect("two");
        let at = |place: &str| self.root.join(place).join("conf");
        if left.get() > 0 && at(other).exists() {
            left.set(left.get() - 1);
            fs::rename(at(other), at(place)).expect("moved");
        }
    }
}

impl NameRules for Moving<'_> {
    fn may_match_name(&self, above: &[u8], name: &[u8]) -> bool {
        if let Some(place) = PLACES.iter().find(|place| place.as_bytes() == above) {
            self.come_to(place);
        }
        SECRET.may_match_name(above, name)
    }

    fn decide(&self, relative: &[u8], is_dir: bool) -> Option<bool> {
        SECRET.decide(relative, is_dir)
    }

    fn needs_walk(&self) -> bool {
        true
    }
}

/// Walks a tree in which it is in one of the places at first; returns what is hidden, and where it is then.
fn hidden(
    place: &str,
    moves: usize,
    walk: impl Fn(std::os::fd::BorrowedFd<'_>, &Moving<'_>) -> crate::fs::Result<Walked>,
) -> (crate::fs::Result<Vec<PathBuf>>, PathBuf) {
    let scratch = Scratch::new();
    make(&scratch, &["a/other", "z/other", "m/n/other", &format!("{place}/conf/.env")]);
    let root = OsFs.open_dir(scratch.fd(), OsStr::new("root")).expect("open");
    let above = scratch.path().join("root");
    let rules = Moving { root: &above, left: Mutex::new(Cell::new(moves)) };
    let walked = walk(root.as_fd(), &rules);
    let is = PLACES.iter().find(|place| above.join(place).join("conf").exists()).expect("there");
    let names = walked.map(|walked| walked.hidden.into_iter().map(|name| name.path).collect());
    (names, Path::new(is).join("conf/.env"))
}

fn at_rest(
    root: std::os::fd::BorrowedFd<'_>,
    rules: &Moving<'_>,
    options: &WalkOptions<'_>,
) -> crate::fs::Result<Walked> {
    walk_at_rest(root, rules, options, &mut |_| ()).map(|(walked, ())| walked)
}

/// The control: to look once is not enough.
#[test]
fn what_is_moved_meanwhile_can_be_missed() {
    let once = |place| hidden(place, 1, |root, rules| walk(root, rules, &WalkOptions::default())).0;
    assert!(PLACES.map(once).contains(&Ok(Vec::new())));
}

#[test]
fn tree_that_comes_to_rest_is_known() {
    for (place, moves) in [("a", 1), ("z", 1), ("a", 2), ("z", 2), ("a", 9), ("a", 0)] {
        for threads in [1, 2] {
            let options = WalkOptions { threads, ..WalkOptions::default() };
            let (names, is) = hidden(place, moves, |root, rules| at_rest(root, rules, &options));
            assert_eq!(names, Ok(vec![is]), "{place} {moves}");
        }
    }
}

#[test]
fn tree_that_does_not_come_to_rest_is_not_known() {
    let options = WalkOptions::default();
    let (names, _) = hidden("a", usize::MAX, |root, rules| at_rest(root, rules, &options));
    assert_eq!(names, Err(Errno::AGAIN));
}

/// What is asked while somebody swaps two directories is asked again.
#[test]
fn answer_is_of_the_tree_at_rest() {
    let scratch = Scratch::new();
    make(&scratch, &["a/conf/.env", "z/conf/.env"]);
    let root = OsFs.open_dir(scratch.fd(), OsStr::new("root")).expect("open");
    let above = scratch.path().join("root");
    let rules = Moving { root: &above, left: Mutex::new(Cell::new(0)) };
    let swap = || {
        let [one, other] = ["a", "z"].map(|name| above.join(name));
        let between = above.join("between");
        for (from, to) in [(&one, &between), (&other, &one), (&between, &other)] {
            std::fs::rename(from, to).expect("moved");
        }
    };
    let mut asked = 0;
    let mut ask = |_: &Walked| {
        asked += 1;
        if asked == 1 {
            swap();
            swap();
        }
        asked
    };
    let walked = walk_at_rest(root.as_fd(), &rules, &WalkOptions::default(), &mut ask);
    let said = walked.map(|(_, said)| said);
    assert!(said.is_ok_and(|said| said > 1), "{said:?}");
}
