//! `cargo ci tidy`: the project's own rules about its text.
//!
//! What no compiler or lint knows: which folder may use which, where `unsafe` may stand, how
//! long a file may get, that links in the documents lead somewhere. Each rule is a pure function
//! from a [`Tree`] to [`Complaint`]s, and has a test with a sample that it must find.

mod documents;
mod functions;
mod imports;
mod layout;
mod lexer;
mod tree;
mod unsafety;
mod words;

use std::process::ExitCode;

use anyhow::Result;

use self::tree::{Complaint, Tree};
use crate::workspace;

/// Every rule.
const RULES: &[fn(&Tree) -> Vec<Complaint>] = &[
    documents::changelog_has_unreleased,
    documents::readme_tests_like_ci,
    documents::links_resolve,
    documents::architecture_names_folders,
    functions::are_short,
    imports::follow_the_table,
    imports::rows_have_folders,
    imports::only_cli_prints,
    layout::files_are_short,
    layout::files_have_module_docs,
    layout::end_to_end_files_are_declared,
    unsafety::only_in_sys,
    unsafety::has_safety_comments,
    words::no_ignored_tests,
    words::nothing_unfinished,
    words::no_registry_hosts,
    words::no_machine_paths,
];

/// Checks the repository and prints every complaint.
pub(crate) fn run() -> Result<ExitCode> {
    let complaints = check(&Tree::read(&workspace::root())?);
    for complaint in &complaints {
        println!("{complaint}");
    }
    if complaints.is_empty() {
        println!("tidy: {} rules hold", RULES.len());
        return Ok(ExitCode::SUCCESS);
    }
    println!("tidy: {} complaints", complaints.len());
    Ok(ExitCode::FAILURE)
}

fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints: Vec<Complaint> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    complaints.sort();
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let tree = Tree::read(&workspace::root()).expect("the repository");
        let complaints: Vec<String> = check(&tree).iter().map(ToString::to_string).collect();
        assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    }
}
