//! Files: their length, their first lines, and that all of them are compiled.

use super::tree::{Complaint, File, Tree};

/// Lines of a Rust file.
const LIMIT: usize = 500;

/// Tables are as long as what they list.
const TABLES: &[&str] = &["launcher/src/plan/seccomp/table.rs"];

/// Where a package's end-to-end tests stand.
const TESTS: &str = "tests/it/";

/// No Rust file has more than [`LIMIT`] lines, tables excepted.
pub(super) fn files_are_short(tree: &Tree) -> Vec<Complaint> {
    let long =
        tree.rust().filter(|file| !TABLES.contains(&file.path.as_str())).filter_map(|file| {
            let lines = file.text.lines().count();
            let message = || format!("{lines} lines; the limit is {LIMIT}");
            (lines > LIMIT).then(|| Complaint::missing(&file.path, message()))
        });
    long.collect()
}

/// Every Rust file begins by saying what it is for; `tests.rs` has said it by its name.
pub(super) fn files_have_module_docs(tree: &Tree) -> Vec<Complaint> {
    let is_documented = |file: &&File| {
        let mut lines =
            file.text.lines().filter(|line| !line.is_empty() && !line.starts_with("#!["));
        lines.next().is_some_and(|line| line.starts_with("//!"))
    };
    let says_little = |file: &&File| !file.path.ends_with("/tests.rs");
    let bare = tree.rust().filter(says_little).filter(|file| !is_documented(file));
    bare.map(|file| Complaint::missing(&file.path, "does not begin with module docs")).collect()
}

/// Every file below a `tests/it` is a module of the test executable: an undeclared one tests nothing.
pub(super) fn end_to_end_files_are_declared(tree: &Tree) -> Vec<Complaint> {
    let undeclared = tree.rust().filter_map(|file| {
        let (package, below) = file.path.strip_suffix(".rs")?.split_once(TESTS)?;
        if !(package.is_empty() || package.ends_with('/')) {
            return None;
        }
        let module = below.strip_suffix("/mod").unwrap_or(below);
        if module == "main" {
            return None;
        }
        let (folder, name) = module.rsplit_once('/').map_or(("", module), |split| split);
        let declared = parents(&format!("{package}{TESTS}"), folder)
            .iter()
            .filter_map(|path| tree.file(path))
            .any(|parent| {
                parent.code.lines().any(|line| line.trim().ends_with(&format!("mod {name};")))
            });
        (!declared).then(|| Complaint::missing(&file.path, format!("no `mod {name};` declares it")))
    });
    undeclared.collect()
}

/// The files that may declare the modules of a folder of tests.
fn parents(tests: &str, folder: &str) -> Vec<String> {
    if folder.is_empty() {
        return vec![format!("{tests}main.rs")];
    }
    vec![format!("{tests}{folder}/mod.rs"), format!("{tests}{folder}.rs")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_is_found() {
        let long = "x\n".repeat(LIMIT + 1);
        let tree = Tree::of(&[("vfs/src/a.rs", &long), (TABLES[0], &long), ("a.md", &long)]);
        let found = files_are_short(&tree);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].to_string(), "vfs/src/a.rs:1: 501 lines; the limit is 500");
    }

    #[test]
    fn a_file_without_docs_is_found() {
        let tree = Tree::of(&[
            ("a.rs", "use std::fs;\n//! Late.\n"),
            ("b.rs", "//! Docs.\n"),
            ("c.rs", "#![no_main]\n//! Docs.\n"),
            ("d.rs", ""),
            ("e/tests.rs", "use super::e;\n"),
        ]);
        let found: Vec<String> =
            files_have_module_docs(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("a.rs") && found[1].starts_with("d.rs"), "{found:?}");
    }

    #[test]
    fn an_undeclared_test_file_is_found() {
        let tree = Tree::of(&[
            ("tests/it/main.rs", "mod run;\n// mod plan;\nmod escape;\n"),
            ("tests/it/run.rs", ""),
            ("tests/it/plan.rs", ""),
            ("tests/it/escape/mod.rs", "mod fds;\n"),
            ("tests/it/escape/fds.rs", ""),
            ("tests/it/escape/proc.rs", ""),
            ("launcher/adapters/x/tests/it/main.rs", "mod run;\n"),
            ("launcher/adapters/x/tests/it/run.rs", ""),
            ("launcher/adapters/x/tests/it/other.rs", ""),
        ]);
        let found: Vec<String> =
            end_to_end_files_are_declared(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "tests/it/plan.rs:1: no `mod plan;` declares it",
                "tests/it/escape/proc.rs:1: no `mod proc;` declares it",
                "launcher/adapters/x/tests/it/other.rs:1: no `mod other;` declares it",
            ]
        );
    }
}
