//! The distribution's own tools answer inside as they do outside.

use crate::harness::{World, debian_program};

/// Each asks files of `/etc` that are easily forgotten: with no flags a build still succeeds, and
/// makes something else.
#[test]
fn tools_answer_as_outside() {
    let world = World::new();
    let questions = [
        ("dpkg-buildflags", "dpkg-buildflags"),
        ("dpkg-vendor", "dpkg-vendor --query vendor"),
        ("gcc", "gcc -v 2>&1; gcc -print-search-dirs; echo | gcc -E -dM - | sort"),
        (
            "python3",
            "python3 -c 'import sys, ssl; print(sys.path, ssl.get_default_verify_paths())'",
        ),
        ("perl", "perl -V:.*; perl -e 'print @INC'"),
        ("git", "git config --system --list; git --exec-path"),
    ];
    for (program, question) in questions {
        if debian_program(program).is_none() {
            continue;
        }
        assert_eq!(world.run(&["--workspace", "rw"], question), world.bare(question), "{question}");
    }
}
