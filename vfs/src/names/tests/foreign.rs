//! Other people's code, and what git keeps.

use std::fs;

use super::*;

#[test]
fn git_and_vendored_directories_are_left_alone() {
    let scratch = Scratch::new();
    let vendored = [
        "node_modules/x/secret",
        "a/vendor/secret",
        "v/site-packages/secret",
        ".cargo/registry/secret",
    ];
    make(&scratch, &vendored);
    make_git(&scratch, ".git");
    make(&scratch, &["registry/secret", ".git/secret", ".git/x/secret", ".cargo/secret"]);
    let walked = walk_with(&scratch, &SECRET, &WalkOptions::default());
    assert_eq!(hidden(&walked), [".cargo/secret", "registry/secret"]);
}

/// What [`SECRET`] hides, in what is not the project's own too.
struct Everywhere(&'static [Foreign]);

impl NameRules for Everywhere {
    fn may_match_name(&self, above: &[u8], name: &[u8]) -> bool {
        SECRET.may_match_name(above, name)
    }

    fn decide(&self, relative: &[u8], is_dir: bool) -> Option<bool> {
        SECRET.decide(relative, is_dir)
    }

    fn decide_foreign(&self, foreign: Foreign, relative: &[u8]) -> Option<bool> {
        self.decide(relative, false).filter(|_| self.0.contains(&foreign))
    }

    fn enters_foreign(&self, foreign: Foreign, relative: &[u8]) -> bool {
        self.0.contains(&foreign) && !relative.ends_with(b"other")
    }

    fn notes(&self, _: &[u8]) -> bool {
        true
    }

    fn needs_walk(&self) -> bool {
        true
    }
}

#[test]
fn rules_say_where_what_is_not_the_projects_own_is_walked() {
    let scratch = Scratch::new();
    make_git(&scratch, ".git");
    make(&scratch, &["vendor/x/secret", "vendor/other/secret", "vendor/.git/secret"]);
    make(&scratch, &[".git/x/secret", ".git/other/secret", ".git/vendor/.env"]);
    let both = [".git/vendor/.env", ".git/x/secret", "vendor/.git/secret", "vendor/x/secret"];
    for (foreign, expected) in [
        (&[][..], &[][..]),
        (&[Foreign::Vendored], &["vendor/.git/secret", "vendor/x/secret"]),
        (&[Foreign::Git], &[".git/vendor/.env", ".git/x/secret"]),
        (&[Foreign::Vendored, Foreign::Git], &both),
    ] {
        let walked = walk_with(&scratch, &Everywhere(foreign), &WalkOptions::default());
        assert_eq!(hidden(&walked), expected, "{foreign:?}");
        assert_eq!(walked.noted, [], "{foreign:?}");
    }
}

/// A name is no way around a pattern: what is in a `.git` counts unless it is git's.
#[test]
fn directory_that_is_only_called_git_is_walked() {
    let scratch = Scratch::new();
    make(&scratch, &["a/.git/x/secret", "b/.git/HEAD", "b/.git/objects/", "b/.git/.env"]);
    make_git(&scratch, "c/.git");
    make(&scratch, &["c/.git/x/secret"]);
    let walk = || walk_later(&scratch, &cached(&OsFs, &scratch));
    assert_eq!(hidden(&walk()), ["a/.git/x/secret", "b/.git/.env"]);
    assert_eq!(walk().listed, 0);
    // Below it nothing changes, and all counts anew.
    fs::remove_dir(scratch.path().join("root/c/.git/refs")).expect("removed");
    make_git(&scratch, "a/.git");
    let again = walk();
    assert_eq!(hidden(&again), ["b/.git/.env", "c/.git/x/secret"]);
    make(&scratch, &["c/.git/refs/"]);
    fs::remove_dir(scratch.path().join("root/a/.git/refs")).expect("removed");
    assert_eq!(hidden(&walk()), ["a/.git/x/secret", "b/.git/.env"]);
}
