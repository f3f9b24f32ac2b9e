//! Words that do not belong in the repository.

use super::tree::{Complaint, File, Tree};

/// Signs of work that is not done.
const UNFINISHED: &[&str] =
    &[concat!("TO", "DO"), concat!("FIX", "ME"), "todo!(", "unimplemented!("];

/// Hosts of package registries: which one is used is the user's choice.
const REGISTRIES: &[&str] = &[
    concat!("crates", ".io"),
    concat!("static.rust-lang", ".org"),
    concat!("npmjs", ".org"),
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
    concat!("proxy.golang", ".org"),
    concat!("rubygems", ".org"),
];

/// Directories that exist on one machine.
const MACHINE: &[&str] = &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/fa", "rm/")];

/// Every test runs; one that cannot run here says so at run time.
pub(super) fn no_ignored_tests(tree: &Tree) -> Vec<Complaint> {
    let found = |file: &File| places(file, &file.code, &["#[ignore"], "an ignored test");
    tree.rust().flat_map(found).collect()
}

/// Nothing is left for later without a place where it is tracked.
pub(super) fn nothing_unfinished(tree: &Tree) -> Vec<Complaint> {
    let own = "ci/src/tidy/words.rs";
    let files = tree.files.iter().filter(|file| file.path != own);
    files.flat_map(|file| places(file, &file.text, UNFINISHED, "unfinished")).collect()
}

/// No registry is named.
pub(super) fn no_registry_hosts(tree: &Tree) -> Vec<Complaint> {
    let found = |file: &File| places(file, &file.text, REGISTRIES, "names a registry");
    tree.files.iter().flat_map(found).collect()
}

/// No path of a developer's machine; tests of path rules may use any.
pub(super) fn no_machine_paths(tree: &Tree) -> Vec<Complaint> {
    let found = |file: &File| places(file, file.product_text(), MACHINE, "a path of one machine");
    tree.files.iter().flat_map(found).collect()
}

fn places(file: &File, text: &str, words: &[&str], message: &str) -> Vec<Complaint> {
    let of_word = |word: &&str| -> Vec<Complaint> {
        let complain = |(at, word): (usize, &str)| file.complain(at, format!("{message}: {word}"));
        text.match_indices(*word).map(complain).collect()
    };
    words.iter().flat_map(of_word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rule: fn(&Tree) -> Vec<Complaint>, path: &str, text: &str) -> usize {
        rule(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn an_ignored_test_is_found() {
        assert_eq!(found(no_ignored_tests, "a.rs", "#[test]\n#[ignore = \"slow\"]\nfn a() {}"), 1);
        assert_eq!(found(no_ignored_tests, "a.rs", "// #[ignore]\n"), 0);
    }

    #[test]
    fn unfinished_work_is_found() {
        for word in UNFINISHED {
            assert_eq!(found(nothing_unfinished, "docs/a.md", &format!("x {word} y")), 1, "{word}");
        }
        assert_eq!(found(nothing_unfinished, "docs/a.md", "a to-do list"), 0);
    }

    #[test]
    fn a_registry_is_found() {
        for host in REGISTRIES {
            assert_eq!(found(no_registry_hosts, "a.toml", &format!("x = \"https://{host}\"")), 1);
        }
    }

    #[test]
    fn a_machine_path_is_found_outside_tests() {
        for path in MACHINE {
            let text = format!("const A: &str = \"{path}x\";\n");
            assert_eq!(found(no_machine_paths, "vfs/src/a.rs", &text), 1, "{path}");
            assert_eq!(found(no_machine_paths, "tests/it/a.rs", &text), 0, "{path}");
            let in_test = format!("#[cfg(test)]\nmod tests {{\n{text}}}\n");
            assert_eq!(found(no_machine_paths, "vfs/src/a.rs", &in_test), 0, "{path}");
        }
    }
}
