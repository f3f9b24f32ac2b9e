//! The documents: the changelog, links, and that the architecture page is true of the tree.

use std::path::{Component, Path};

use super::tree::{Complaint, File, Tree};

const CHANGELOG: &str = "CHANGELOG.md";
const README: &str = "README.md";
const CI_RUN: &str = ".ci/run";
const TEST: &str = "cargo ci test";
const ARCHITECTURE: &str = "docs/architecture.md";

/// The crates whose module folders the architecture page names.
const CRATES: &[&str] = &[
    "policy/src",
    "vfs/src",
    "launcher/src",
    "launcher/adapters/bridge/src",
    "launcher/adapters/broker/src",
    "launcher/adapters/common/src",
    "launcher/adapters/reapi/src",
    "launcher/adapters/ssh-agent/src",
];

/// The changelog has a section for what is not released.
pub(super) fn changelog_has_unreleased(tree: &Tree) -> Vec<Complaint> {
    let has_section = |file: &File| file.text.lines().any(|line| line == "## [Unreleased]");
    if tree.file(CHANGELOG).is_some_and(has_section) {
        return Vec::new();
    }
    vec![Complaint::missing(CHANGELOG, "no section `## [Unreleased]`")]
}

/// The README's test command is the one that continuous integration runs.
pub(super) fn readme_tests_like_ci(tree: &Tree) -> Vec<Complaint> {
    let has_line = |path: &str, wanted: &str| {
        tree.file(path).is_some_and(|file| file.text.lines().any(|line| line == wanted))
    };
    let expected = [(README, format!("    {TEST}")), (CI_RUN, format!("stage test {TEST}"))];
    let missing = expected.iter().filter(|(path, line)| !has_line(path, line));
    missing.map(|(path, line)| Complaint::missing(path, format!("no line `{line}`"))).collect()
}

/// Relative links in Markdown lead to something in the repository.
pub(super) fn links_resolve(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in tree.markdown() {
        for (at, target) in links(&file.text) {
            if !resolves(tree, &file.path, target) {
                complaints.push(file.complain(at, format!("a link to nothing: {target}")));
            }
        }
    }
    complaints
}

/// The architecture page names every top-level module folder.
pub(super) fn architecture_names_folders(tree: &Tree) -> Vec<Complaint> {
    let text = tree.file(ARCHITECTURE).map_or("", |file| file.text.as_str());
    let mut complaints = Vec::new();
    for root in CRATES {
        for folder in folders(tree, root) {
            if !text.contains(&format!("`{root}/{folder}`")) {
                let message = format!("does not name the folder `{root}/{folder}`");
                complaints.push(Complaint::missing(ARCHITECTURE, message));
            }
        }
    }
    complaints
}

fn folders<'a>(tree: &'a Tree, root: &str) -> Vec<&'a str> {
    let below = |file: &'a File| file.path.strip_prefix(root)?.strip_prefix('/')?.split_once('/');
    let mut folders: Vec<&str> = tree.rust().filter_map(below).map(|(folder, _)| folder).collect();
    folders.dedup();
    folders
}

/// The targets of inline links, outside code.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut fenced = false;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        let is_code = fenced || fence || line.starts_with("    ");
        if !is_code {
            found.extend(links_of_line(line).map(|(at, target)| (start + at, target)));
        }
        start += line.len();
    }
    found
}

fn links_of_line(line: &str) -> impl Iterator<Item = (usize, &str)> {
    line.match_indices("](").filter_map(|(at, opening)| {
        let in_code = line[..at].matches('`').count() % 2 == 1;
        let rest = &line[at + opening.len()..];
        let end = rest.find(')')?;
        (!in_code).then(|| (at, &rest[..end]))
    })
}

fn resolves(tree: &Tree, from: &str, target: &str) -> bool {
    let elsewhere = ["https://", "http://", "mailto:", "#"];
    if elsewhere.iter().any(|start| target.starts_with(start)) {
        return true;
    }
    let path = target.split('#').next().unwrap_or_default();
    let folder = Path::new(from).parent().unwrap_or(Path::new(""));
    let Some(resolved) = normalize(&folder.join(path)) else { return false };
    tree.paths.contains(&resolved)
}

/// Takes `.` and `..` out; `None` when the path leaves the repository.
fn normalize(path: &Path) -> Option<String> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name.to_str()?),
            Component::ParentDir => {
                names.pop()?;
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changelog_without_unreleased_is_found() {
        assert_eq!(changelog_has_unreleased(&Tree::of(&[])).len(), 1);
        assert_eq!(changelog_has_unreleased(&Tree::of(&[(CHANGELOG, "## [0.1.0]\n")])).len(), 1);
        let good = Tree::of(&[(CHANGELOG, "# Changelog\n\n## [Unreleased]\n")]);
        assert!(changelog_has_unreleased(&good).is_empty());
    }

    #[test]
    fn another_test_command_is_found() {
        let readme = (README, "Tests:\n\n    cargo ci test\n");
        let good = Tree::of(&[readme, (CI_RUN, "stage test cargo ci test\n")]);
        assert!(readme_tests_like_ci(&good).is_empty());
        let bad = Tree::of(&[readme, (CI_RUN, "stage test cargo test\n")]);
        assert_eq!(readme_tests_like_ci(&bad).len(), 1);
        assert_eq!(readme_tests_like_ci(&Tree::of(&[])).len(), 2);
    }

    #[test]
    fn a_dead_link_is_found() {
        let text = "[a](guide/a.md) [b](../README.md#top) [c](guide) [d](https://example.org)\n\
                    [e](#here) `[f](gone.md)`\n```\n[g](gone.md)\n```\n[h](gone.md) [i](/etc/passwd)\n\
                    [j](../../README.md)\n";
        let tree = Tree::of(&[("docs/x.md", text), ("docs/guide/a.md", ""), ("README.md", "")]);
        let found: Vec<String> = links_resolve(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "docs/x.md:6: a link to nothing: gone.md",
                "docs/x.md:6: a link to nothing: /etc/passwd",
                "docs/x.md:7: a link to nothing: ../../README.md",
            ]
        );
    }

    #[test]
    fn a_folder_that_the_architecture_does_not_name_is_found() {
        let sources = [("launcher/src/plan/mod.rs", ""), ("launcher/src/sys/fd.rs", "")];
        let page = (ARCHITECTURE, "`launcher/src/plan` decides.");
        let found = architecture_names_folders(&Tree::of(&[sources[0], sources[1], page]));
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().contains("`launcher/src/sys`"), "{}", found[0]);
    }
}
